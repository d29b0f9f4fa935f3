//! The steps of the Insert Benchmark on real servers: exact row counts, and the lowest key.

use std::time::Duration;

use assay_load::{
    IbenchProgress, IbenchSession, IbenchStepRun, IbenchWork, LoadError, create_ibench_tables,
};
use assay_model::{IbenchTables, Product, StepSegment};
use assay_wire::Stop;
use assay_workloads::{IbenchSizes, ibench_steps};

use super::bed::{Bed, SEED};

pub(crate) const PRODUCTS: [(Product, &str); 3] =
    [(Product::MariaDb, "10.11"), (Product::MySql, "8.0"), (Product::Postgres, "16")];

/// Steps know only the dialect.
const DIALECTS: [(Product, &str); 2] = [(Product::MariaDb, "10.11"), (Product::Postgres, "16")];

pub(crate) const SIZES: IbenchSizes = IbenchSizes {
    tables: IbenchTables { is_shared: false, indexes: 3, partitions: None, exceed_cache: false },
    rows: [5000, 3000, 505],
    query_s: 1,
    maintain_s: 0,
    indexed_at_start: false,
    is_prepared: true,
    transaction_s: None,
};

/// Inserts of a step with a rate of 100 for one second, in statements of 50 rows.
const PACED: u64 = 100;

pub(crate) fn work(product: Product, sizes: &IbenchSizes, name: &str, clients: u32) -> IbenchWork {
    let test = ibench_steps(sizes).into_iter().find(|test| test.name() == name).unwrap();
    IbenchWork {
        dialect: product.dialect(),
        engine: product.default_engine(),
        name: test.name(),
        step: *test.ibench().unwrap(),
        clients,
        seed: SEED,
    }
}

pub(crate) fn run(bed: &Bed, work: &IbenchWork) -> IbenchStepRun {
    let engine = (work.dialect, work.engine);
    create_ibench_tables(&bed.options, engine, &work.step, work.clients).unwrap();
    let mut last = IbenchProgress::default();
    let mut session = IbenchSession::open(&bed.options, work).unwrap();
    let run = session.run(&Stop::default(), &mut |progress| last = progress).unwrap();
    assert!(last.inserted <= run.step.insert.rows);
    run
}

/// Runs a step in segments, with their statements.
fn in_segments(bed: &Bed, work: &IbenchWork, wanted: u32) -> Vec<(u64, IbenchStepRun)> {
    let mut session = IbenchSession::open(&bed.options, work).unwrap();
    let count = work.step.segments(wanted);
    let segments = (0..count).map(|index| {
        let statements = work.step.statements_of(StepSegment { index, count });
        let length = statements.end - statements.start;
        let run = session.run_segment(statements, &Stop::default(), &mut |_| ());
        (length, run.unwrap())
    });
    segments.collect()
}

fn step(bed: &Bed, product: Product, name: &str) -> IbenchStepRun {
    run(bed, &work(product, &SIZES, name, 2))
}

fn rows_and_lowest(bed: &mut Bed, table: u32) -> (i64, i64) {
    let count = bed.number(&format!("SELECT count(*) FROM pi{table}"));
    (count, bed.number(&format!("SELECT min(transactionid) FROM pi{table}")))
}

/// `kind` is the prefix of the series' name.
fn sum_of(run: &IbenchStepRun, kind: &str) -> u64 {
    let series = run.series.iter().filter(|series| series.name.starts_with(kind));
    series.flat_map(|series| &series.counts).sum()
}

#[test]
fn every_step_leaves_as_many_rows_as_it_found() {
    for (product, version) in DIALECTS {
        let is_mysql = product != Product::Postgres;
        let mut bed = Bed::shared(product, version);
        let filled = step(&bed, product, "l.i0");
        assert_eq!((filled.step.insert.statements, filled.step.insert.rows), (100, 10_000));
        assert_eq!((sum_of(&filled, "insert."), filled.work.write), (10_000, 100));
        assert_eq!(filled.step.insert.buckets.iter().sum::<u64>(), 100);
        assert_eq!(rows_and_lowest(&mut bed, 2), (5000, 1));
        let indexed = step(&bed, product, "l.x");
        assert_eq!((indexed.step.insert.rows, indexed.step.indexes_ns.is_some()), (200, true));
        assert_eq!(rows_and_lowest(&mut bed, 1), (5100, 1));
        let changed = step(&bed, product, "l.i1").step;
        assert_eq!((changed.insert.rows, changed.delete.rows), (2 * 3000, 2 * 3000));
        let segments = in_segments(&bed, &work(product, &SIZES, "l.i2", 2), 4);
        assert_eq!(segments.iter().map(|(statements, _)| statements).sum::<u64>(), 101);
        for (statements, run) in segments {
            let rows = 2 * 5 * statements;
            assert_eq!((run.step.insert.rows, run.step.delete.rows), (rows, rows));
            assert_eq!(run.work.write, 2 * statements);
        }
        let (count, lowest) = rows_and_lowest(&mut bed, 1);
        assert_eq!(count, 5100, "{product}");
        if is_mysql {
            assert_eq!(lowest, 3506);
        }
        for (name, rows_per_query) in [("qr100", 9.5..=10.0), ("qp100", 5.0..=10.0)] {
            let queried = step(&bed, product, name);
            let seconds = queried.work.elapsed_ns as f64 / 1e9;
            assert!((0.9..2.0).contains(&seconds), "{name}: {seconds} s");
            let insert = &queried.step.insert;
            assert_eq!((insert.statements, insert.rows), (2 * PACED / 50, 2 * PACED), "{name}");
            assert_eq!(queried.step.delete.rows, 2 * PACED, "{name}");
            let query = &queried.step.query;
            assert!(query.statements > 100, "{name}: {query:?}");
            assert_eq!(sum_of(&queried, "query."), query.statements);
            let rows = query.rows as f64 / query.statements as f64;
            assert!(rows_per_query.contains(&rows), "{product} {name}: {rows} rows per query");
        }
        assert_eq!(rows_and_lowest(&mut bed, 2).0, 5100, "{product}");
    }
}

#[test]
fn a_table_may_be_partitioned_and_shared_and_a_transaction_open() {
    let tables = IbenchTables {
        is_shared: true,
        partitions: Some(assay_model::Partitions { count: 3, rows: 4000 }),
        ..SIZES.tables
    };
    let sizes = IbenchSizes { tables, transaction_s: Some(1), ..SIZES };
    for (product, version) in DIALECTS {
        let mut bed = Bed::shared(product, version);
        for name in ["l.i0", "l.x", "l.i1", "l.i2", "qp100"] {
            run(&bed, &work(product, &sizes, name, 2));
        }
        let rows = 2 * (5000 + 100 + 3000 + 505 + 100);
        assert_eq!(rows_and_lowest(&mut bed, 1), (rows, 1), "{product}");
    }
}

#[test]
fn a_step_ends_when_it_is_asked_to_and_when_a_statement_fails() {
    let mut bed = Bed::new();
    step(&bed, Product::MariaDb, "l.i0");
    let long = work(Product::MariaDb, &IbenchSizes { query_s: 600, ..SIZES }, "qp100", 2);
    let stop = Stop::default();
    let mut session = IbenchSession::open(&bed.options, &long).unwrap();
    assert_eq!(session.connection_ids().len(), 8);
    let ask = &mut |progress: IbenchProgress| {
        if progress.elapsed > Duration::from_millis(500) {
            stop.ask();
        }
    };
    assert!(matches!(session.run(&stop, ask), Err(LoadError::Stopped)));
    let mut session = IbenchSession::open(&bed.options, &long).unwrap();
    bed.control.query("DROP TABLE pi2").unwrap();
    let error = session.run(&Stop::default(), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("pi2"), "{error}");
}

/// Locks two rows that a deleter needs, the later one first. The deleter has done less work than the other transaction,
/// so the server rolls back the deleter.
#[test]
fn a_deadlock_is_counted_and_the_statement_sent_again() {
    let mut bed = Bed::new();
    step(&bed, Product::MariaDb, "l.i0");
    bed.control.query("CREATE TABLE ballast (a INT)").unwrap();
    let long =
        work(Product::MariaDb, &IbenchSizes { rows: [5000, 100_000, 505], ..SIZES }, "l.i1", 1);
    let options = bed.options.clone();
    let running = std::thread::spawn(move || {
        let mut session = IbenchSession::open(&options, &long).unwrap();
        session.run(&Stop::default(), &mut |_| ()).unwrap()
    });
    while !running.is_finished() {
        bed.control.query("BEGIN").unwrap();
        let ballast = "INSERT INTO ballast SELECT seq FROM seq_1_to_3000";
        bed.control.query(ballast).unwrap();
        let lowest = bed.number("SELECT min(transactionid) FROM pi1");
        let locked = ["SELECT transactionid FROM pi1 WHERE transactionid = ", " FOR UPDATE"];
        // Both are among the 50 rows of a later statement.
        for id in [lowest + 540, lowest + 505] {
            // This transaction may be rolled back, too.
            let _ = bed.control.query(&format!("{}{id}{}", locked[0], locked[1]));
            std::thread::sleep(Duration::from_millis(30));
        }
        bed.control.query("ROLLBACK").unwrap();
    }
    let run = running.join().unwrap();
    assert_eq!((run.step.insert.rows, run.step.delete.rows), (100_000, 100_000));
    assert!(run.step.delete.retries > 0, "{:?}", run.step.delete);
}
