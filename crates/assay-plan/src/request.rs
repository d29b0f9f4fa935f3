//! What was asked, checked against what makes sense and what the machine can hold.

use assay_model::{
    CellId, Class, CpuPlacement, Kind, Microbenchmark, PlannedCell, Preset, Setup, Study,
    SystemSpec, TestSet, WORKLOAD_VERSION,
};

use crate::{Error, buffer_pool_mb, loaded_mb, parse_system, redo_log_mb, select_tests};

/// The words of a `compare`, as typed; `None` where the preset decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// System names, the base first.
    pub systems: Vec<String>,
    /// How much effort.
    pub preset: Preset,
    /// Which selection of tests.
    pub set: TestSet,
    /// Patterns that narrow the selection.
    pub tests: Vec<String>,
    /// Client counts.
    pub clients: Option<Vec<u32>>,
    /// Tables.
    pub tables: Option<u32>,
    /// Rows per table.
    pub rows: Option<u32>,
    /// Time the study may take, seconds.
    pub budget_s: Option<f64>,
    /// Smallest change of interest, a fraction.
    pub threshold: Option<f64>,
    /// Where clients and servers run.
    pub placement: Option<CpuPlacement>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Measured part of every slice, seconds, instead of the preset's.
    pub slice_s: Option<f64>,
    /// Blocks, instead of the preset's.
    pub blocks: Option<u32>,
    /// Rounds of a cell in a block at most, instead of the preset's.
    pub rounds: Option<u32>,
}

/// What the plan needs to know of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineFacts {
    /// CPUs assay may use.
    pub cpus: u32,
    /// Memory that is free or can be freed, MB.
    pub memory_mb: u64,
    /// Free space where the data directories go, MB.
    pub disk_mb: u64,
}

/// A checked study and the systems it wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The systems, the base first, with the names they have in every report.
    pub systems: Vec<(String, SystemSpec)>,
    /// The study, without identity and times.
    pub study: Study,
    /// Buffer pool of each server, MB.
    pub buffer_pool_mb: u64,
    /// Redo log of each server, MB.
    pub redo_log_mb: u64,
}

/// Effort of a preset.
struct Effort {
    tables: u32,
    rows: u32,
    budget_s: f64,
    blocks: u32,
    rounds: u32,
    slice_ms: u32,
    warm_ms: u32,
}

/// The preset's effort with what the user set in its place.
fn effort(request: &Request) -> Result<Effort, Error> {
    let preset = preset_effort(request.preset);
    Ok(Effort {
        blocks: in_range("--blocks", request.blocks.unwrap_or(preset.blocks), 1, 1000)?,
        rounds: in_range("--rounds", request.rounds.unwrap_or(preset.rounds), 2, 10_000)?,
        ..preset
    })
}

fn preset_effort(preset: Preset) -> Effort {
    match preset {
        Preset::Smoke => Effort {
            tables: 1,
            rows: 10_000,
            budget_s: 60.0,
            blocks: 2,
            rounds: 2,
            slice_ms: 50,
            warm_ms: 5,
        },
        Preset::Quick => Effort {
            tables: 1,
            rows: 100_000,
            budget_s: 600.0,
            blocks: 6,
            rounds: 400,
            slice_ms: 50,
            warm_ms: 10,
        },
        Preset::Standard | Preset::Published => Effort {
            tables: 8,
            rows: 1_000_000,
            budget_s: 3600.0,
            blocks: 8,
            rounds: 400,
            slice_ms: 100,
            warm_ms: 20,
        },
    }
}

/// Turns words into a checked plan.
///
/// # Errors
/// Any [`Error`]: names that cannot be read, numbers that make no sense, a machine that is too small.
pub fn plan(request: &Request, machine: MachineFacts) -> Result<Plan, Error> {
    if request.systems.len() < 2 {
        return Err(Error::TooFewSystems);
    }
    let specs: Vec<_> =
        request.systems.iter().map(|name| parse_system(name)).collect::<Result<_, _>>()?;
    let tests = select_tests(request.set, &request.tests)?;
    let effort = effort(request)?;
    let setups = setups(request, &effort, machine)?;
    let data = setups[0];
    check_machine(data, specs.len() as u64, machine)?;

    // Each test at every client count in turn, as published: writes come after all reads that precede them.
    let cells = tests
        .iter()
        .flat_map(|&test| setups.iter().map(move |&setup| (test, setup)))
        .map(|(test, setup)| planned_cell(test, setup, &effort, request))
        .collect();
    let study = Study {
        id: String::new(),
        started_ms: 0,
        preset: request.preset,
        set: request.set,
        seed: request.seed,
        threshold: request.threshold.unwrap_or(0.02),
        budget_s: request.budget_s.unwrap_or(effort.budget_s),
        blocks: effort.blocks,
        rounds: effort.rounds,
        cells,
        setups,
        workload_version: WORKLOAD_VERSION,
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(Plan {
        systems: named(specs),
        study,
        buffer_pool_mb: buffer_pool_mb(data),
        redo_log_mb: redo_log_mb(data),
    })
}

/// The same system given twice gets ` #2`, ` #3`, ...
fn named(specs: Vec<SystemSpec>) -> Vec<(String, SystemSpec)> {
    let mut named: Vec<(String, SystemSpec)> = Vec::with_capacity(specs.len());
    for spec in specs {
        let seen = named.iter().filter(|(_, other)| *other == spec).count();
        let name = if seen == 0 { spec.to_string() } else { format!("{spec} #{}", seen + 1) };
        named.push((name, spec));
    }
    named
}

fn setups(request: &Request, effort: &Effort, machine: MachineFacts) -> Result<Vec<Setup>, Error> {
    let tables = in_range("--tables", request.tables.unwrap_or(effort.tables), 1, 1000)?;
    let rows = in_range("--rows", request.rows.unwrap_or(effort.rows), 1000, 2_000_000_000)?;
    let clients = match &request.clients {
        Some(clients) => clients.clone(),
        None if request.preset == Preset::Standard && machine.cpus > 1 => vec![1, machine.cpus],
        None => vec![1],
    };
    let mut setups = Vec::with_capacity(clients.len());
    for count in clients {
        let setup = Setup { clients: in_range("--clients", count, 1, 1024)?, tables, rows };
        if !setups.contains(&setup) {
            setups.push(setup);
        }
    }
    if setups.is_empty() {
        let why = "at least one client count is needed".to_owned();
        return Err(Error::OutOfRange { option: "--clients", value: String::new(), why });
    }
    Ok(setups)
}

fn in_range(option: &'static str, value: u32, low: u32, high: u32) -> Result<u32, Error> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        let why = format!("it must lie between {low} and {high}");
        Err(Error::OutOfRange { option, value: value.to_string(), why })
    }
}

/// Buffer pools of the resident servers within 70 % of memory; templates and copies of all systems on disk.
fn check_machine(setup: Setup, systems: u64, machine: MachineFacts) -> Result<(), Error> {
    let memory_have = machine.memory_mb * 7 / 10;
    let memory_need = |setup| systems * (buffer_pool_mb(setup) + SERVER_BASE_MB);
    let disk_need = |setup| {
        systems * COPIES_ON_DISK * (2 * loaded_mb(setup) + redo_log_mb(setup) + EMPTY_DATA_MB)
    };
    let (what, need_mb, have_mb) = if memory_need(setup) > memory_have {
        ("memory", memory_need(setup), memory_have)
    } else if disk_need(setup) > machine.disk_mb {
        ("disk space", disk_need(setup), machine.disk_mb)
    } else {
        return Ok(());
    };
    let fits = |rows: u32| {
        let setup = Setup { rows, ..setup };
        memory_need(setup) <= memory_have && disk_need(setup) <= machine.disk_mb
    };
    let (mut low, mut high) = (0, setup.rows / 1000);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle * 1000) { low = middle } else { high = middle - 1 }
    }
    let rows_that_fit = if fits(low * 1000) { u64::from(low) * 1000 } else { 0 };
    Err(Error::TooLittle { what, need_mb, have_mb, rows_that_fit })
}

/// An empty data directory with its system tables, MB.
const EMPTY_DATA_MB: u64 = 100;

/// Memory a server takes besides its buffer pool, MB.
const SERVER_BASE_MB: u64 = 200;

/// Data directories on disk per system: fresh template, aged template, the running copy.
const COPIES_ON_DISK: u64 = 3;

fn planned_cell(
    test: Microbenchmark,
    setup: Setup,
    effort: &Effort,
    request: &Request,
) -> PlannedCell {
    let preset_ms = effort.slice_ms * slice_factor(test);
    PlannedCell {
        id: CellId { test, setup },
        warm_ms: effort.warm_ms,
        slice_ms: request.slice_s.map_or(preset_ms, |seconds| (seconds * 1000.0).ceil() as u32),
        events: None,
        placement: request.placement.unwrap_or(default_placement(test, setup)),
    }
}

/// Tests whose single event takes tens of milliseconds, and writes, need longer slices than the rest.
fn slice_factor(test: Microbenchmark) -> u32 {
    match (test.kind, test.class()) {
        (Kind::Scan, _) => 3,
        (Kind::ReadOnly, _) if test.range >= 10_000 => 3,
        (_, Class::Write) => 2,
        _ => 1,
    }
}

/// One connection on two CPUs measures the wake-up of an idle CPU, so one client shares a CPU with its server.
fn default_placement(test: Microbenchmark, setup: Setup) -> CpuPlacement {
    match (setup.clients, test.class()) {
        (1, Class::Read) => CpuPlacement::OneCpu,
        (1, Class::Write) => CpuPlacement::ConnectionsOnOneCpu,
        _ => CpuPlacement::Free,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            systems: vec!["mariadb@10.11".into(), "mariadb@11.8".into()],
            preset: Preset::Quick,
            set: TestSet::Set32,
            tests: Vec::new(),
            clients: None,
            tables: None,
            rows: None,
            budget_s: None,
            threshold: None,
            placement: None,
            seed: 1,
            slice_s: None,
            blocks: None,
            rounds: None,
        }
    }

    const MACHINE: MachineFacts = MachineFacts { cpus: 2, memory_mb: 16_000, disk_mb: 50_000 };

    #[test]
    fn quick_is_the_published_set_on_one_small_table() {
        let plan = plan(&request(), MACHINE).unwrap();
        assert_eq!(plan.study.cells.len(), 32);
        assert_eq!(plan.study.setups, [Setup { clients: 1, tables: 1, rows: 100_000 }]);
        assert!(plan.study.blocks >= 4);
    }

    #[test]
    fn the_same_system_twice_gets_a_number() {
        let mut request = request();
        request.systems = vec!["mariadb@11.8".into(); 3];
        let names: Vec<_> =
            plan(&request, MACHINE).unwrap().systems.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["mariadb@11.8", "mariadb@11.8 #2", "mariadb@11.8 #3"]);
    }

    #[test]
    fn every_test_runs_at_all_client_counts_before_the_next() {
        let mut request = request();
        request.clients = Some(vec![1, 4, 1]);
        let cells = plan(&request, MACHINE).unwrap().study.cells;
        assert_eq!(cells.len(), 64);
        for both in cells.chunks(2) {
            assert_eq!(both[0].id.test, both[1].id.test);
            assert_eq!([both[0].id.setup.clients, both[1].id.setup.clients], [1, 4]);
        }
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for change in [
            (|r: &mut Request| r.systems.truncate(1)) as fn(&mut Request),
            |r| r.rows = Some(0),
            |r| r.tables = Some(0),
            |r| r.clients = Some(vec![0]),
            |r| r.clients = Some(Vec::new()),
            |r| r.tests = vec!["nothing".into()],
        ] {
            let mut request = request();
            change(&mut request);
            assert!(plan(&request, MACHINE).is_err());
        }
    }

    #[test]
    fn says_what_would_fit() {
        let mut request = request();
        request.rows = Some(50_000_000);
        let error = plan(&request, MACHINE).unwrap_err();
        let Error::TooLittle { what: "memory", rows_that_fit, .. } = error else {
            panic!("{error}")
        };
        request.rows = Some(rows_that_fit as u32);
        plan(&request, MACHINE).unwrap();
    }
}
