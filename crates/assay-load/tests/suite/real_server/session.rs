//! Clients together, bounds, and failing statements.

use std::collections::HashSet;
use std::time::Duration;

use super::bed::{Bed, SEED, test, work};
use assay_load::{ClientSession, LoadError, RunBound, RunMonitor};
use assay_model::{Hint as _, Product, Setup, StatementMode};
use assay_testkit::eventually;
use assay_wire::Stop;

const SETUP: Setup = Setup { clients: 4, tables: 2, rows: 1000 };

#[test]
fn clients_share_the_events_and_show_who_they_are() {
    let mut bed = Bed::new();
    bed.load(SETUP.tables, SETUP.rows, SEED);
    let mut session = bed.open(test("write-only"), SETUP);

    let connections: HashSet<u64> = session.connection_ids().into_iter().collect();
    assert_eq!(connections.len(), 4);
    let known = bed.rows("SELECT ID FROM information_schema.PROCESSLIST");
    assert!(connections.iter().all(|id| known.contains(&vec![id.to_string()])));
    let threads: HashSet<i32> = session.client_tids().into_iter().collect();
    assert_eq!(threads.len(), 4);
    for tid in threads {
        assert!(std::path::Path::new(&format!("/proc/self/task/{tid}")).exists());
    }

    let counters = session.run(0, RunBound::Events(403)).unwrap();
    assert_eq!(counters.events, 403);
    // A deadlocked attempt leaves queries that belong to no completed event.
    if counters.errors.is_empty() {
        assert_eq!((counters.write, counters.other), (4 * 403, 2 * 403));
    }
    assert_eq!(bed.sum(2, "COUNT(*)"), 2000);
}

#[test]
fn a_run_bound_by_time_ends_after_it() {
    let bed = Bed::new();
    bed.load(SETUP.tables, SETUP.rows, SEED);
    let mut session = bed.open(test("point-query"), SETUP);
    let limit = Duration::from_secs(1);
    let counters = session.run(0, RunBound::Time(limit)).unwrap();
    assert!(Duration::from_nanos(counters.elapsed_ns) >= limit);
    assert!(counters.events > 0 && counters.rows == counters.events);
    assert!(!counters.latency_hdr.is_empty());
}

#[test]
fn a_run_repeats_exactly() {
    let mut bed = Bed::new();
    let setup = Setup { clients: 1, ..SETUP };
    let mut after = |start| {
        bed.load(SETUP.tables, SETUP.rows, SEED);
        let mut session = bed.open(test("write-only"), setup);
        session.run(start, RunBound::Events(10)).unwrap();
        session.run(start + 10, RunBound::Events(40)).unwrap();
        bed.rows("CHECKSUM TABLE sbtest1, sbtest2")
    };
    let first = after(7);
    assert_eq!(first, after(7));
    assert_ne!(first, after(8));
}

#[test]
fn a_failing_statement_ends_the_run_with_code_text_and_query() {
    let mut bed = Bed::new();
    bed.load(1, 100, SEED);
    let setup = Setup { clients: 3, tables: 1, rows: 100 };
    let mut session = bed.open(test("update-index"), setup);
    bed.control.query("DROP TABLE sbtest1").unwrap();
    let error = session.run(0, RunBound::Time(Duration::from_secs(600))).unwrap_err();
    assert_eq!(error.server_code(), Some(1146));
    let message = error.to_string();
    assert!(message.contains("UPDATE sbtest1 SET k=k+1 WHERE id=?"), "{message}");
    assert!(message.contains("1146") && message.contains("doesn't exist"), "{message}");
    assert_eq!(error.hints().len(), 1);

    // The connections are intact: once the table exists again, the session continues.
    bed.load(1, 100, SEED);
    assert_eq!(session.run(0, RunBound::Events(9)).unwrap().write, 9);
}

#[test]
fn a_missing_table_is_reported_when_the_session_opens() {
    let bed = Bed::new();
    let work = work(test("point-query"), SETUP, StatementMode::Prepared);
    let opened = ClientSession::open(&bed.options, &work, &[]);
    let error = opened.err().unwrap();
    assert!(matches!(&error, LoadError::Prepare { sql, .. } if sql.contains("sbtest1")), "{error}");
}

/// Locks the only row that `update-one` uses until the server has timed out waiting for it at least once.
#[test]
fn a_lock_wait_timeout_is_counted_and_the_event_retried() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    bed.load(1, 10, SEED);
    bed.control.query("SET GLOBAL innodb_lock_wait_timeout = 1").unwrap();
    let setup = Setup { clients: 1, tables: 1, rows: 10 };
    let mut session = bed.open(test("update-one"), setup);
    bed.control.query("SET GLOBAL innodb_lock_wait_timeout = DEFAULT").unwrap();
    bed.control.query("BEGIN").unwrap();
    bed.control.query("UPDATE sbtest1 SET k = 0 WHERE id = 1").unwrap();
    let waits_before = bed.status("Innodb_row_lock_waits");
    let run = std::thread::spawn(move || session.run(0, RunBound::Events(5)));
    // The second wait proves that the first has failed.
    while bed.status("Innodb_row_lock_waits") < waits_before + 2 {
        assert!(!run.is_finished());
    }
    bed.control.query("COMMIT").unwrap();
    let counters = run.join().unwrap().unwrap();
    assert_eq!((counters.events, counters.write), (5, 5));
    assert!(matches!(counters.errors[..], [(1205, 1..)]), "{:?}", counters.errors);
}

/// Many clients work on few rows: deadlocks are certain, and the client counts as many as the server reports.
#[test]
fn deadlocks_are_counted_and_their_events_retried() {
    let [mut old, mut new] = ["10.11", "11.8"].map(|it| Bed::alone(Product::MariaDb, it));
    for (is_new, name, events, codes) in [
        (false, "write-only", 1000, &[1213][..]),
        (true, "write-only", 1000, &[1213]),
        // Deadlocks are rare: one event in two hundred.
        (true, "read-write_range=10", 3000, &[1020, 1213]),
    ] {
        let bed = if is_new { &mut new } else { &mut old };
        bed.load(2, 10, SEED);
        if codes.contains(&1020) {
            bed.control.query("SET GLOBAL innodb_snapshot_isolation = ON").unwrap();
        }
        let setup = Setup { clients: 6, tables: 2, rows: 10 };
        let mut session = bed.open(test(name), setup);
        let deadlocks = bed.status("Innodb_deadlocks");
        let counters = session.run(0, RunBound::Events(events)).unwrap();
        let seen: Vec<u32> = counters.errors.iter().map(|(code, _)| *code).collect();
        assert_eq!(seen, codes, "new: {is_new}, {name}: {:?}", counters.errors);
        let counted = counters.errors.iter().find(|(code, _)| *code == 1213).unwrap().1;
        assert_eq!(counted, bed.status("Innodb_deadlocks") - deadlocks, "new: {is_new}, {name}");
        assert_eq!(counters.events, events);
        // Failed attempts leave some of their queries, and completed events all of theirs.
        assert!(
            counters.write > 4 * events && counters.other > 2 * events,
            "new: {is_new}, {name}"
        );
        assert_eq!(bed.sum(2, "COUNT(*)"), 20, "new: {is_new}, {name}");
    }
}

/// Clients wait for the same row, but single-statement transactions cannot deadlock.
#[test]
fn clients_that_update_one_row_wait_and_do_not_fail() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    bed.load(1, 10, SEED);
    let setup = Setup { clients: 6, tables: 1, rows: 10 };
    for statements in [StatementMode::Prepared, StatementMode::Text] {
        let work = work(test("update-one"), setup, statements);
        let mut session = ClientSession::open(&bed.options, &work, &[]).unwrap();
        let mut start = u64::from(statements == StatementMode::Text) * 1_000_000;
        let before = bed.status("Innodb_row_lock_waits");
        // On a busy machine, clients may run one after the other.
        eventually("clients wait for each other", || {
            let counters = session.run(start, RunBound::Events(3000)).unwrap();
            assert_eq!((counters.events, counters.write), (3000, 3000));
            assert!(counters.errors.is_empty(), "{:?}", counters.errors);
            start += 3000;
            bed.status("Innodb_row_lock_waits") > before
        });
    }
}

#[test]
fn a_hang_is_an_error() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    bed.load(1, 10, SEED);
    bed.options.timeout = Duration::from_secs(5);
    let setup = Setup { clients: 1, tables: 1, rows: 10 };
    let mut session = bed.open(test("update-one"), setup);
    bed.control.query("BEGIN").unwrap();
    bed.control.query("UPDATE sbtest1 SET k = 0 WHERE id = 1").unwrap();
    let error = session.run(0, RunBound::Events(1)).unwrap_err();
    // The server answers others, so the statement was ended there.
    assert!(matches!(&error, LoadError::Unanswered { events: 0, .. }), "{error}");
    let waiting = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
    assert!(bed.control.query(waiting).unwrap().rows.is_empty());
}

#[test]
fn an_open_loop_sends_what_is_due() {
    let bed = Bed::new();
    bed.load(1, 100, SEED);
    let setup = Setup { clients: 3, tables: 1, rows: 100 };
    let mut session = bed.open(test("point-query"), setup);
    let bound = RunBound::Rate { time: Duration::from_millis(500), per_second: 400.0 };
    // Clients of a busy machine may be late with the last events, which are then not sent.
    let mut start = 0;
    eventually("all due events are sent", || {
        let work = session.run(start, bound).unwrap();
        assert!(work.events <= 200, "{}", work.events);
        assert!(work.elapsed_ns >= 500_000_000, "{}", work.elapsed_ns);
        start += 200;
        work.events == 200
    });
}

/// One event is due at the start, and none later.
#[test]
fn an_open_loop_lasts_its_time_however_seldom_events_are_due() {
    let bed = Bed::new();
    bed.load(1, 100, SEED);
    let setup = Setup { clients: 2, tables: 1, rows: 100 };
    let mut session = bed.open(test("point-query"), setup);
    let bound = RunBound::Rate { time: Duration::from_millis(400), per_second: 1.0 };
    let work = session.run(0, bound).unwrap();
    assert_eq!(work.events, 1);
    assert!(work.elapsed_ns >= 400_000_000, "{}", work.elapsed_ns);
}

/// While the row is locked, nothing answers. The latency of events that were due meanwhile includes the whole wait.
#[test]
fn a_stall_is_in_the_latency_of_all_events_that_were_due() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    bed.load(1, 10, SEED);
    let setup = Setup { clients: 1, tables: 1, rows: 10 };
    let mut session = bed.open(test("update-one"), setup);
    bed.control.query("BEGIN").unwrap();
    bed.control.query("UPDATE sbtest1 SET k = k WHERE id = 1").unwrap();
    let bound = RunBound::Rate { time: Duration::from_millis(400), per_second: 100.0 };
    let mut run = || {
        let mut monitor = RunMonitor {
            grace: Duration::from_secs(60),
            stop: Stop::default(),
            every: Duration::from_secs(1),
            report: &mut |_, _| {},
        };
        session.run_monitored(0, bound, &mut monitor).unwrap()
    };
    let finished = std::thread::scope(|scope| {
        let running = scope.spawn(&mut run);
        // The lock lasts longer than the run, so all of its events are late. The first one waits for it, so the run has
        // begun.
        let waiting = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
        eventually("an event waits", || {
            // The server refreshes this table only if it was last read more than 100 ms ago.
            std::thread::sleep(Duration::from_millis(150));
            !bed.control.query(waiting).unwrap().rows.is_empty()
        });
        std::thread::sleep(Duration::from_millis(600));
        bed.control.query("ROLLBACK").unwrap();
        running.join().unwrap()
    });
    // On a busy machine, the time to catch up may be too short for all of them.
    let work = finished.work;
    assert_eq!(work.events + finished.backlog.unwrap(), 40);
    // Events are due every 10 ms and are answered after 600 ms at least. Together, 40 of them take 40 × 600 ms less the
    // sum of 0, 10, 20, ... 390 ms. If they ran one after the other, they would wait 600 ms together.
    let late_ms: u64 = (0..work.events).map(|event| 600 - 10 * event).sum();
    assert!(work.event_ns_sum >= late_ms * 1_000_000, "{}", work.event_ns_sum);
    assert!(work.events > 1, "{}", work.events);
}
