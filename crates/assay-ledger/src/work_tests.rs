//! Tests that the work of adding studies grows with what is added, not with its square or the ledger's size. Work is
//! measured in SQLite instructions, independent of any clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::{
    Artifact, CellId, Host, Origin, Product, ReportedServer, Setup, Slice, Study, StudyRecord,
    System, SystemSpec, WorkCounters,
};

use crate::{Ledger, StudyRows};

/// SQLite instructions per unit of work.
const COUNTED: i32 = 10;

fn work(ledger: &mut Ledger, act: impl FnOnce(&mut Ledger)) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&count);
    let tick = move || {
        counting.fetch_add(1, Ordering::Relaxed);
        false
    };
    ledger.connection.progress_handler(COUNTED, Some(tick)).unwrap();
    act(ledger);
    ledger.connection.progress_handler(0, None::<fn() -> bool>).unwrap();
    count.load(Ordering::Relaxed)
}

fn system(number: usize) -> System {
    let version = format!("8.0.{number}");
    System {
        name: format!("mysql@{version}"),
        spec: SystemSpec::new(Product::MySql, Origin::Version(version.clone())),
        artifact: Artifact::Reported(ReportedServer {
            reported_in: "a.tsv".to_owned(),
            product: Some(Product::MySql),
            version,
            notes: Vec::new(),
        }),
        is_base: number == 0,
        is_twin: false,
        options: Vec::new(),
    }
}

fn record(cells: u32) -> StudyRecord {
    let test = assay_workloads::test_by_name("point-query").unwrap();
    let setup = |clients| Setup { clients, tables: 1, rows: 1000 };
    let ids = (1..=cells).map(|clients| CellId { test, setup: setup(clients) });
    let ids: Vec<CellId> = ids.collect();
    let study = Study::published("imported-1".to_owned(), 1, &ids);
    let mut record = StudyRecord::new(study, Host::default(), vec![system(0), system(1)]);
    record.finished = true;
    let slices = ids.into_iter().flat_map(|cell| [0, 1].map(|system| slice(cell, system)));
    record.slices.extend(slices);
    record
}

fn slice(cell: CellId, system: usize) -> Slice {
    let work = WorkCounters { read: 1000, elapsed_ns: 1_000_000_000, ..WorkCounters::default() };
    Slice { position: system as u32, started_ms: 1, work, ..Slice::new(system, cell) }
}

fn of_cells(cells: u32) -> (u64, StudyRows) {
    let record = record(cells);
    let mut alone = Ledger::in_memory().unwrap();
    let added = work(&mut alone, |ledger| ledger.add_record(&record).unwrap());
    let rows = alone.rows("imported-1").unwrap();
    let copied = rows.clone();
    let mut ledger = Ledger::in_memory().unwrap();
    let copied = work(&mut ledger, |ledger| ledger.add_rows(&[copied]).unwrap());
    (added + copied, rows)
}

#[test]
fn four_times_the_rows_are_four_times_the_work() {
    let [few, many] = [100, 400].map(|cells| of_cells(cells).0);
    assert!(few > 1000, "{few}");
    assert!(many < 5 * few, "{few} {many}");
}

#[test]
fn a_study_is_no_more_work_for_the_many_that_are_there() {
    let (_, rows) = of_cells(10);
    let mut ledger = Ledger::in_memory().unwrap();
    let mut works = Vec::new();
    for number in 0..200 {
        let rows = rows.clone().renamed(format!("imported-{number:04}"));
        works.push(work(&mut ledger, |ledger| ledger.add_rows(&[rows]).unwrap()));
    }
    let (early, late) = (works[1], works[199]);
    assert!(early > 100 && late * 10 < early * 11, "{early} {late}");
}

#[test]
fn a_study_has_no_more_results_and_no_longer_names_than_reports_can_show() {
    use assay_model::limits::{NAME_BYTES, RESULTS};
    let with = |systems: usize, cells: usize, name: usize| {
        let mut record = record(u32::try_from(cells).unwrap());
        record.slices.clear();
        record.systems = (0..systems).map(system).collect();
        record.systems[0].name = "x".repeat(name);
        Ledger::in_memory().unwrap().add_record(&record).map_err(|error| error.to_string())
    };
    assert_eq!(with(20, RESULTS / 20, NAME_BYTES), Ok(()));
    let many = with(20, RESULTS / 20 + 1, 1).unwrap_err();
    assert!(many.contains("`systems times cells` is 20020, not"), "{many}");
    let long = with(2, 1, NAME_BYTES + 1).unwrap_err();
    assert!(long.contains("`length of the name of a system` is 201, not"), "{long}");
}
