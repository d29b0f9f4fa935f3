//! A study of the Insert Benchmark.

use assay_model::*;
use assay_workloads::{IbenchSizes, ibench_steps};

/// Rows per second of a step whose queries run at this rate, by system.
type Rates = [f64; 3];

/// l.i1 and qr100 of three systems. The third one misses its SLA.
pub(crate) fn benchmark() -> StudyRecord {
    let tables =
        IbenchTables { is_shared: false, indexes: 3, partitions: None, exceed_cache: false };
    let sizes = IbenchSizes {
        tables,
        rows: [10_000, 40_000, 5000],
        query_s: 10,
        maintain_s: 0,
        indexed_at_start: false,
        is_prepared: true,
        transaction_s: None,
    };
    let mut record = super::record(&["11.4", "11.8"]);
    let setup = Setup { clients: 1, tables: 1, rows: 10_000 };
    let template = record.study.cells[0].clone();
    let steps = ibench_steps(&sizes).into_iter();
    let steps = steps.filter(|test| ["l.i1", "qr100"].contains(&test.name()));
    let planned = |test| PlannedCell { id: CellId { test, setup }, ..template.clone() };
    record.study.cells = steps.map(planned).collect();
    record.study.setups = vec![setup];
    record.study.experiment = Experiment::Stepwise;
    let like = record.slices[0].clone();
    let rates: [Rates; 2] = [[20_000.0, 25_000.0, 10_000.0], [5000.0, 4700.0, 9000.0]];
    record.slices = Vec::new();
    for (planned, rates) in record.study.cells.iter().zip(rates) {
        for (system, rate) in rates.into_iter().enumerate() {
            let mut slice = slice(planned.id, rate, system == 2, &like);
            slice.system = system;
            record.series.extend(series(&slice));
            record.slices.push(slice);
        }
    }
    record
}

fn slice(cell: CellId, rate: f64, is_slow: bool, like: &Slice) -> Slice {
    let has_queries = cell.test.ibench().unwrap().queries.is_some();
    let seconds = if is_slow && has_queries { 20.0 } else { 10.0 };
    let units = (rate * seconds) as u64;
    let mut insert = Statements::default();
    let inserted = if has_queries { 1000 } else { units };
    for statement in 0..20 {
        let us = if statement == 19 { 2_000_000 } else { 300 };
        insert.count(us * 1000, inserted / 20);
    }
    let mut query = Statements::default();
    if has_queries {
        (0..units).for_each(|_| query.count(200_000, 10));
    }
    let broke = (is_slow && has_queries).then_some(RateLoss {
        second: 3,
        insert_us: 2_000_000,
        delete_us: 0,
    });
    let step = StepWork {
        insert,
        query,
        relative_error: (!has_queries).then_some(0.01),
        broke,
        ..StepWork::default()
    };
    Slice {
        cell,
        block: 0,
        round: 0,
        work: WorkCounters {
            events: units,
            read: if has_queries { units } else { 0 },
            elapsed_ns: (seconds * 1e9) as u64,
            ..WorkCounters::default()
        },
        step: Some(Box::new(step)),
        ..like.clone()
    }
}

fn series(slice: &Slice) -> [(SliceId, Series); 2] {
    let named_series = |name: &str, counts| {
        let name = name.to_owned();
        (slice.id(), Series { name, step_ms: 1000, counts })
    };
    [
        named_series("insert.1", vec![100, 0, 200, 100]),
        named_series("insert-longest-us.1", vec![1000, 0, 2000, 500]),
    ]
}
