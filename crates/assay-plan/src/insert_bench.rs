//! Plans the Insert Benchmark.

use assay_model::limits::ibench::{INDEXES, PARTITIONS, QUERY_S, ROWS, SEGMENTS, TRANSACTION_S};
use assay_model::{
    CellId, Counting, CpuPlacement, Experiment, IbenchTables, Partitions, PlannedCell, Preset,
    Priority, Setup, Study, Test,
};
use assay_terms::Terms;
use assay_workloads::{IbenchSizes, ibench_steps};

use crate::error::{PlanError, PlanResult};
use crate::fits::{MachineFacts, check_machine};
use crate::limits::{BLOCKS, CLIENTS, FEWER_SYSTEMS, SYSTEMS, at_most, in_range};
use crate::participants::{StudyPlan, systems};
use crate::request::{InsertBenchRequest, Request};
use crate::scheduling::CellScheduling;
use crate::size::Footprint;
use crate::study::study_of;

/// Amount of work of a preset: X, Y and Z, and duration of the query steps in seconds.
struct Amount {
    rows: [u32; 3],
    query_s: u32,
}

/// Preset published has the published amounts, on servers of 32 GB; others keep the proportions of loads, with fewer
/// small transactions.
fn amount(preset: Preset, io_bound: bool) -> Amount {
    let (rows, query_s) = match (preset, io_bound) {
        (Preset::Smoke, false) => ([20_000, 10_000, 1000], 3),
        (Preset::Smoke, true) => ([400_000, 5000, 1000], 3),
        (Preset::Quick, false) => ([1_000_000, 400_000, 40_000], 30),
        (Preset::Quick, true) => ([2_000_000, 100_000, 20_000], 30),
        (Preset::Standard, false) => ([10_000_000, 4_000_000, 400_000], 300),
        (Preset::Standard, true) => ([20_000_000, 400_000, 100_000], 300),
        (Preset::Published, false) => ([30_000_000, 40_000_000, 10_000_000], 1800),
        (Preset::Published, true) => ([800_000_000, 4_000_000, 1_000_000], 1800),
    };
    Amount { rows, query_s }
}

/// Rows that each client inserts in l.i0, l.i1 and l.i2.
pub(crate) fn rows_of_steps(preset: Preset, bench: &InsertBenchRequest) -> PlanResult<[u32; 3]> {
    match bench.rows.as_slice() {
        [] => Ok(amount(preset, bench.io_bound).rows),
        [first, second, third] => Ok([*first, *second, *third]),
        other => {
            let value = other.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            let why = "it takes three numbers: the rows of l.i0, l.i1 and l.i2";
            Err(PlanError::out_of_range("--rows", value, why))
        }
    }
}

fn sizes(request: &Request, bench: &InsertBenchRequest) -> PlanResult<(IbenchSizes, u32)> {
    let amount = amount(request.preset, bench.io_bound);
    let rows = rows_of_steps(request.preset, bench)?;
    for rows in rows {
        if !ROWS.contains(&u64::from(rows)) {
            let why = format!("it must be between {} and {}", ROWS.start(), ROWS.end());
            return Err(PlanError::out_of_range("--rows", rows, why));
        }
    }
    let clients = in_range("--clients", bench.clients.unwrap_or(1), &CLIENTS)?;
    let query_s = bench.query_seconds.unwrap_or(amount.query_s);
    let query_s = in_range("--query-seconds", query_s, &QUERY_S)?;
    let indexes = in_range("--indexes", bench.indexes.unwrap_or(3), &INDEXES)?;
    let transaction_s = bench.open_transaction;
    let transaction_s = transaction_s.map(|it| in_range("--open-transaction", it, &TRANSACTION_S));
    let [first, second, third] = rows.map(u64::from);
    let inserted = first + 100 + second + third + u64::from(query_s) * 3200;
    let tables = IbenchTables {
        is_shared: bench.shared_table,
        indexes,
        partitions: partitions(bench, inserted, clients)?,
        exceed_cache: bench.io_bound,
    };
    let all_rows = first * u64::from(clients);
    let sizes = IbenchSizes {
        tables,
        rows: [first, second, third],
        query_s,
        maintain_s: match request.preset {
            Preset::Published => (60 + all_rows / 1_000_000).min(1200) as u32,
            Preset::Smoke | Preset::Quick | Preset::Standard => 0,
        },
        indexed_at_start: bench.indexes_first,
        is_prepared: !bench.unprepared,
        transaction_s: transaction_s.transpose()?,
    };
    Ok((sizes, clients))
}

/// Partitions of each table. `inserted`: rows inserted per client over all steps.
fn partitions(
    bench: &InsertBenchRequest,
    inserted: u64,
    clients: u32,
) -> PlanResult<Option<Partitions>> {
    let Some(count) = bench.partitions else {
        return match bench.partition_rows {
            None => Ok(None),
            Some(rows) => {
                let why = "it needs `--partitions` as well";
                Err(PlanError::out_of_range("--partition-rows", rows, why))
            }
        };
    };
    let count = in_range("--partitions", count, &PARTITIONS)?;
    let of_table = if bench.shared_table { inserted * u64::from(clients) } else { inserted };
    let rows = match bench.partition_rows {
        Some(0) => {
            return Err(PlanError::out_of_range("--partition-rows", 0, "it must be at least 1"));
        }
        Some(rows) => u64::from(rows),
        None => (of_table / u64::from(count)).max(1),
    };
    Ok(Some(Partitions { count, rows }))
}

pub(crate) fn plan(
    request: &Request,
    bench: &InsertBenchRequest,
    machine: MachineFacts,
) -> PlanResult<StudyPlan> {
    if request.count != Counting::None {
        return Err(PlanError::Conflict(
            "the Insert Benchmark is counted by `assay count --suite insert-bench`",
        ));
    }
    let systems = systems(request, false)?;
    at_most("systems", systems.len(), SYSTEMS, FEWER_SYSTEMS)?;
    if let Some(system) = systems.iter().find(|system| system.url.is_some()) {
        let why = "the Insert Benchmark works only with servers that assay starts";
        return Err(PlanError::cannot_take_part(&system.name, why));
    }
    let (sizes, clients) = sizes(request, bench)?;
    let rows = u32::try_from(sizes.rows[0]).unwrap_or(u32::MAX);
    let tables = if sizes.tables.is_shared { 1 } else { clients };
    let setup = Setup { clients, tables, rows };
    let experiment = match request.preset {
        Preset::Published => Experiment::Consecutive,
        Preset::Smoke | Preset::Quick | Preset::Standard => Experiment::Stepwise,
    };
    let segments = segments(bench, experiment)?;
    let scheduling = CellScheduling::new(request, experiment, &systems, false, machine)?;
    let planned = |test| planned_cell(test, setup, scheduling.of_cell(test, setup));
    let cells: Vec<PlannedCell> = ibench_steps(&sizes).into_iter().map(planned).collect();
    let specs: Vec<_> = systems.iter().map(|system| &system.spec).collect();
    let terms = Terms::or_default(Some(&request.terms));
    if let Some(footprint) = Footprint::of_steps(&cells, terms) {
        let checked = check_machine(&footprint, &specs, experiment, machine);
        // There are three numbers of rows.
        checked.map_err(PlanError::whatever_rows)?;
    }
    let repeats = in_range("--repeats", bench.repeats.unwrap_or(1), &BLOCKS)?;
    let once_s: f64 = cells.iter().map(expected_s).sum();
    let study = Study {
        budget_s: once_s * systems.len() as f64 * f64::from(repeats),
        blocks: repeats,
        rounds: 2,
        cells,
        setups: vec![setup],
        experiment,
        segments,
        ..study_of(request)
    };
    Ok(StudyPlan {
        systems,
        source: request.source.clone(),
        study,
        scaled: request.scaled.clone(),
        shard: None,
    })
}

/// Segments of each step if the user names no number.
const SEGMENTS_USUAL: u32 = 20;

/// Wanted segments of each step; 0 for whole steps.
fn segments(bench: &InsertBenchRequest, experiment: Experiment) -> PlanResult<u32> {
    match (bench.segments, experiment) {
        (None | Some(1), Experiment::Consecutive) => Ok(0),
        (Some(_), Experiment::Consecutive) => Err(PlanError::Conflict(
            "`--segments` does not work with preset `published`, in which systems take no turns",
        )),
        (wanted, _) => {
            let wanted = wanted.unwrap_or(SEGMENTS_USUAL);
            let wanted = in_range("--segments", wanted, &SEGMENTS)?;
            Ok(if wanted == 1 { 0 } else { wanted })
        }
    }
}

fn planned_cell(
    test: Test,
    setup: Setup,
    (placement, priority): (CpuPlacement, Priority),
) -> PlannedCell {
    let step_ms = test.ibench().map_or(0.0, |step| 1000.0 * paced_s(step).unwrap_or(0.0)) as u32;
    PlannedCell {
        id: CellId { test, setup },
        warm_ms: 0,
        warm_us: Some(0),
        turn_ms: step_ms,
        slice_ms: step_ms,
        events: None,
        placement,
        priority,
    }
}

fn paced_s(step: &assay_model::IbenchStep) -> Option<f64> {
    Some(step.rows as f64 / f64::from(step.per_second?))
}

/// Approximate rows per second on a small machine: inserted per client of a load step, by rows per statement, and
/// indexed per table. Only for estimating the duration of a study.
const INSERTED: f64 = 60_000.0;
const CHANGED_BY_50: f64 = 12_000.0;
const CHANGED_BY_5: f64 = 4000.0;
const INDEXED: f64 = 200_000.0;

fn expected_s(cell: &PlannedCell) -> f64 {
    let Some(step) = cell.id.test.ibench() else { return 0.0 };
    let rows = step.rows as f64 * f64::from(cell.id.setup.clients);
    if let Some(seconds) = paced_s(step) {
        return seconds;
    }
    if step.builds_indexes {
        return f64::from(cell.id.setup.rows) * f64::from(cell.id.setup.clients) / INDEXED;
    }
    rows / match step.rows_per_commit {
        100.. => INSERTED,
        50..100 => CHANGED_BY_50,
        _ => CHANGED_BY_5,
    }
}
