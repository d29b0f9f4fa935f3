//! Files of other versions, files that are no ledgers, and concurrent creation.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

use assay_ledger::{Error, Ledger};
use assay_model::{Hint, Slice};
use rusqlite::Connection;

use crate::common;

#[test]
fn a_ledger_of_another_version_is_refused_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, _, path) = common::sample_ledger(directory.path());
    drop(ledger);
    let other = |pragma, value: i32, message: &str| {
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, pragma, value).unwrap();
        drop(connection);
        for opened in [Ledger::open(&path), Ledger::open_read_only(&path)] {
            let error = opened.unwrap_err();
            assert!(error.to_string().ends_with(message), "{error}");
            assert!(error.hints().is_empty(), "{:?}", error.hints());
        }
    };
    let newer = "it was made by a newer assay (schema version 99): upgrade assay to read it";
    other("user_version", 99, newer);
    let older = "it was made by an assay before the first release: measure again into another file, \
                 or read it with that assay";
    other("user_version", 0, older);
    other("user_version", -1, older);
    other("application_id", i32::from_be_bytes(*b"ASPL"), older);
}

/// Opens a ledger that others open at the same moment, and begins a study in it.
fn begin(path: &Path, id: &str) -> Result<(), Error> {
    let mut record = common::sample();
    record.study.id = id.to_owned();
    let mut ledger = Ledger::open(path)?;
    ledger.create_study(&record.study, &record.runs[0], &record.systems)?;
    let slice = Slice { run: 0, ..record.slices[0].clone() };
    ledger.add_slice(id, &slice)
}

fn assert_all_begun(path: &Path, count: usize) {
    let ledger = Ledger::open_read_only(path).unwrap();
    let studies = ledger.studies().unwrap();
    assert_eq!(studies.len(), count);
    assert!(studies.iter().all(|study| study.slices == 1));
}

#[test]
fn threads_can_create_a_ledger_concurrently() {
    const THREADS: usize = 8;
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/ledger.db");
        let start = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for number in 0..THREADS {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    start.wait();
                    begin(path, &number.to_string()).unwrap();
                });
            }
        });
        assert_all_begun(&path, THREADS);
    }
}

/// SQLite does not wait for other processes when it changes the journal mode.
#[test]
fn opening_waits_for_a_concurrent_creator() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let opener = scope.spawn(|| begin(&path, "waited"));
        // Gives the opener time to find the file locked, which nothing reports.
        std::thread::sleep(Duration::from_millis(100));
        other.execute_batch("ROLLBACK").unwrap();
        opener.join().unwrap().unwrap();
    });
    assert_all_begun(&path, 1);
}

const LEDGER: &str = "ASSAY_TEST_LEDGER";

#[test]
#[ignore = "not a test: the process that `processes_that_make_a_ledger_at_once` starts"]
fn maker() {
    let path = PathBuf::from(std::env::var_os(LEDGER).unwrap());
    common::sample();
    // Wait until all have started.
    std::io::stdin().read_line(&mut String::new()).unwrap();
    begin(&path, &std::process::id().to_string()).unwrap();
}

#[test]
fn processes_can_create_a_ledger_concurrently() {
    const PROCESSES: usize = 6;
    for _ in 0..3 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.db");
        let start = || -> Child {
            Command::new(std::env::current_exe().unwrap())
                .args(["schema::maker", "--exact", "--ignored", "--nocapture"])
                .env(LEDGER, &path)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut makers: Vec<Child> = (0..PROCESSES).map(|_| start()).collect();
        for maker in &mut makers {
            maker.stdin.take().unwrap().write_all(b"\n").unwrap();
        }
        for mut maker in makers {
            assert!(maker.wait().unwrap().success());
        }
        assert_all_begun(&path, PROCESSES);
    }
}
