//! What goes in comes out, whatever it is; what cannot be right is an error that says where.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod common;

use std::path::Path;
use std::time::Duration;

use assay_ledger::{Ledger, Problem};
use assay_model::{CellId, Hint, Microbenchmark, StudyRecord};
use proptest::prelude::*;
use rusqlite::Connection;

fn write(ledger: &mut Ledger, record: &StudyRecord) {
    let id = &record.study.id;
    ledger.create_study(&record.study, &record.host).unwrap();
    for (index, system) in record.systems.iter().enumerate() {
        ledger.add_system(id, index, system).unwrap();
    }
    for run in &record.runs {
        ledger.add_run(id, run.started_ms).unwrap();
    }
    for block in &record.blocks {
        ledger.add_block(id, block).unwrap();
    }
    for content in &record.data {
        ledger.set_content(id, content).unwrap();
    }
    for instance in &record.instances {
        ledger.add_instance(id, instance).unwrap();
    }
    ledger.set_audit(id, &record.audit).unwrap();
    for slice in &record.slices {
        ledger.add_slice(id, slice).unwrap();
    }
    for event in &record.events {
        ledger.add_event(id, event).unwrap();
    }
    if record.finished {
        ledger.finish(id, Duration::from_millis(1500)).unwrap();
    }
}

/// A ledger with one study, and its file.
fn sample_ledger(directory: &Path) -> (Ledger, StudyRecord, std::path::PathBuf) {
    let path = directory.join("ledger.db");
    let record = common::sample();
    let mut ledger = Ledger::open(&path).unwrap();
    write(&mut ledger, &record);
    (ledger, record, path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_study_is_read_as_it_was_written(record in common::record()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/directory/ledger.db");
        let mut ledger = Ledger::open(&path).unwrap();
        write(&mut ledger, &record);
        let mut read = ledger.read(&record.study.id).unwrap();
        prop_assert_eq!(read.runs.len(), record.runs.len());
        for (read, written) in read.runs.iter_mut().zip(&record.runs) {
            prop_assert_eq!(read.started_ms, written.started_ms);
            read.updated_ms = written.updated_ms;
        }
        prop_assert_eq!(&read, &record);
        drop(ledger);

        let ledger = Ledger::open_read_only(&path).unwrap();
        let summary = &ledger.studies().unwrap()[0];
        prop_assert_eq!(&summary.id, &record.study.id);
        prop_assert_eq!(summary.slices, record.slices.len() as u64);
        prop_assert_eq!(summary.cells, record.study.cells.len() as u64);
        prop_assert_eq!(summary.systems.len(), record.systems.len());
        prop_assert_eq!(summary.elapsed_s, ledger.read(&record.study.id).unwrap().elapsed_s());
    }

    /// Whatever bytes are changed, reading ends in a record or an error.
    #[test]
    fn damage_is_an_error(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        keep in 0.1..1.0_f64,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let (ledger, record, path) = sample_ledger(directory.path());
        drop(ledger);
        let mut bytes = fs_err::read(&path).unwrap();
        for (index, byte) in changes {
            let length = bytes.len();
            bytes[index.index(length)] = byte;
        }
        bytes.truncate((bytes.len() as f64 * keep) as usize);
        fs_err::write(&path, bytes).unwrap();
        if let Ok(ledger) = Ledger::open_read_only(&path) {
            let _: Result<StudyRecord, _> = ledger.read(&record.study.id);
            let _: Result<Vec<_>, _> = ledger.studies();
        }
    }
}

#[test]
fn studies_are_listed_oldest_first_and_the_latest_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&directory.path().join("ledger.db")).unwrap();
    assert_eq!(ledger.latest().unwrap(), None);
    let mut record = common::sample();
    for (id, started_ms) in [("second", 20), ("third", 20), ("first", 10)] {
        record.study.id = id.to_owned();
        record.study.started_ms = started_ms;
        write(&mut ledger, &record);
    }
    let ids: Vec<String> = ledger.studies().unwrap().into_iter().map(|study| study.id).collect();
    assert_eq!(ids, ["first", "second", "third"]);
    assert_eq!(ledger.latest().unwrap().as_deref(), Some("third"));
}

#[test]
fn calibration_and_a_later_audit_replace() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, record, _) = sample_ledger(directory.path());
    let cell = record.study.cells[0].id;
    ledger.set_calibrated_events("sample", cell, 777).unwrap();
    ledger.set_audit("sample", &record.audit[..1]).unwrap();
    let read = ledger.read("sample").unwrap();
    assert_eq!(read.study.cells[0].events, Some(777));
    assert_eq!(read.audit, record.audit[..1]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, record, _) = sample_ledger(directory.path());
    let mut slice = record.slices[0].clone();
    assert!(matches!(ledger.add_slice("none", &slice).unwrap_err().problem, Problem::Dangling));
    slice.system = 99;
    assert!(matches!(ledger.add_slice("sample", &slice).unwrap_err().problem, Problem::Dangling));
    slice = record.slices[0].clone();
    slice.host.busy_ns = u64::MAX;
    let error = ledger.add_slice("sample", &slice).unwrap_err();
    assert!(error.to_string().contains("`host_busy_ns` of 18446744073709551615"), "{error}");
    slice = record.slices[0].clone();
    slice.cell.test.range = 12_345;
    assert!(matches!(
        ledger.add_slice("sample", &slice).unwrap_err().problem,
        Problem::Unstorable(_)
    ));
    let cell = CellId { test: Microbenchmark::SET_32[0], ..record.study.cells[0].id };
    let cell = CellId { setup: assay_model::Setup { clients: 3, tables: 99, rows: 1 }, ..cell };
    assert!(matches!(
        ledger.set_calibrated_events("sample", cell, 1).unwrap_err().problem,
        Problem::NoSuchCell { .. }
    ));
    assert!(matches!(
        ledger.finish("none", Duration::ZERO).unwrap_err().problem,
        Problem::NoSuchStudy(_)
    ));
    assert!(matches!(ledger.read("none").unwrap_err().problem, Problem::NoSuchStudy(_)));
    assert!(ledger.create_study(&record.study, &record.host).is_err());
    assert_eq!(ledger.read("sample").unwrap().slices, record.slices);
}

#[test]
fn a_bad_row_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, _, path) = sample_ledger(directory.path());
    drop(ledger);
    let tamper = Connection::open(&path).unwrap();
    tamper.pragma_update(None, "foreign_keys", false).unwrap();
    tamper.pragma_update(None, "ignore_check_constraints", true).unwrap();
    for (change, back, complaint) in [
        (
            "UPDATE slice SET test = 'scam' WHERE id = 2",
            "UPDATE slice SET test = (SELECT test FROM cell LIMIT 1) WHERE id = 2",
            "table `slice`, row 2: `test` is `scam`, an unknown microbenchmark",
        ),
        (
            "UPDATE slice SET system = -1 WHERE id = 1",
            "UPDATE slice SET system = 0 WHERE id = 1",
            "table `slice`, row 1: `system` is -1",
        ),
        (
            "UPDATE slice SET system = 99 WHERE id = 1",
            "UPDATE slice SET system = 0 WHERE id = 1",
            "table `slice`, row 1: `system` is 99, but there are",
        ),
        (
            "UPDATE slice SET outcome = 'perfect', failure = 'x' WHERE id = 1",
            "UPDATE slice SET outcome = 'good', failure = NULL WHERE id = 1",
            "table `slice`, row 1: `outcome` is `perfect`, an unknown word",
        ),
        (
            "UPDATE slice SET errors = '[[1]' WHERE id = 1",
            "UPDATE slice SET errors = '[]' WHERE id = 1",
            "table `slice`, row 1: `errors`: ",
        ),
        (
            "UPDATE slice SET block = 5000000000 WHERE id = 1",
            "UPDATE slice SET block = 0 WHERE id = 1",
            "table `slice`, row 1: `block` is 5000000000, out of range",
        ),
        (
            "UPDATE slice SET clients = clients + 1 WHERE id = 1",
            "UPDATE slice SET (test, clients, tables, rows) = \
                (SELECT test, clients, tables, rows FROM cell LIMIT 1) WHERE id IN (1, 2)",
            "table `slice`, row 1: ",
        ),
        (
            "UPDATE system SET number = number + 10",
            "UPDATE system SET number = number - 10",
            "table `system`, row 0: is missing",
        ),
        (
            "UPDATE system SET spec = '{}' WHERE number = 0",
            "DELETE FROM system",
            "table `system`, row 0: `spec`: missing field",
        ),
    ] {
        tamper.execute(change, []).unwrap();
        let error = Ledger::open_read_only(&path).unwrap().read("sample").unwrap_err();
        let expected = format!("ledger `{}`: {complaint}", path.display());
        assert!(error.to_string().starts_with(&expected), "{error}\n{change}");
        tamper.execute(back, []).unwrap();
    }
}

#[test]
fn other_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text");
    fs_err::write(&text, "no database at all, but long enough to look at").unwrap();
    let other = directory.path().join("other.db");
    Connection::open(&other).unwrap().execute("CREATE TABLE t (a)", []).unwrap();
    for path in [&text, &other] {
        for opened in [Ledger::open(path), Ledger::open_read_only(path)] {
            let error = opened.unwrap_err();
            assert!(matches!(error.problem, Problem::NotALedger), "{error}");
            assert_eq!(error.hints().len(), 1);
        }
    }
    let error = Ledger::open(&text.join("ledger.db")).unwrap_err();
    assert!(matches!(error.problem, Problem::Directory(_)), "{error}");
    let missing = directory.path().join("missing.db");
    let error = Ledger::open_read_only(&missing).unwrap_err();
    assert!(error.to_string().contains("missing.db"), "{error}");
    assert!(!missing.exists());
}

/// A ledger as the first version of the schema had it, with one study.
fn first_schema(path: &Path) {
    let old = Connection::open(path).unwrap();
    old.execute_batch(include_str!("../migrations/0001_ledger.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 0x41535359; PRAGMA user_version = 1;
         INSERT INTO study VALUES ('old', 5000, 'quick', '32', '1', 0.02, 600, 6, 400,
            '[{\"clients\":1,\"tables\":2,\"rows\":3000}]', 1, '0.1.0', 0, NULL);
         INSERT INTO host VALUES ('old', 'cpu', 2, 1, '6', 'os', NULL, 'ext4', 1, 1);
         INSERT INTO event (study, when_ms, what) VALUES ('old', 7500, 'something');",
    )
    .unwrap();
}

#[test]
fn a_ledger_of_the_first_schema_is_brought_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    first_schema(&path);
    let error = Ledger::open_read_only(&path).unwrap_err();
    assert!(matches!(error.problem, Problem::Schema { found: 1, .. }), "{error}");
    let ledger = Ledger::open(&path).unwrap();
    let read = ledger.read("old").unwrap();
    assert_eq!(read.elapsed_s(), 2.5);
    assert_eq!(read.study.experiment, assay_model::Experiment::Interleaved);
    drop(ledger);
    Ledger::open_read_only(&path).unwrap();
}

#[test]
fn a_newer_schema_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, _, path) = sample_ledger(directory.path());
    drop(ledger);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    for opened in [Ledger::open(&path), Ledger::open_read_only(&path)] {
        let error = opened.unwrap_err();
        assert!(error.to_string().ends_with("schema version 99, this assay knows 2"), "{error}");
        assert_eq!(error.hints(), ["read it with the assay that wrote it, or a newer one"]);
    }
}

#[test]
fn a_lock_is_told_and_reading_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let (mut ledger, record, path) = sample_ledger(directory.path());
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = ledger.add_slice("sample", &record.slices[0]).unwrap_err();
    assert!(matches!(error.problem, Problem::Locked), "{error}");
    assert!(error.hints()[0].starts_with("wait for the other assay"));
    let reader = Ledger::open_read_only(&path).unwrap();
    assert_eq!(reader.read("sample").unwrap().slices, record.slices);
    other.execute_batch("ROLLBACK").unwrap();
    ledger.add_slice("sample", &record.slices[0]).unwrap();
}
