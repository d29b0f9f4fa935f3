//! Files of every schema version, files that are not ledgers, and files that many processes create at once.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod common;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

use assay_ledger::{Error, Ledger, Problem};
use assay_model::{Artifact, Experiment, Hint, Slice};
use rusqlite::Connection;

/// A user's addition to the file.
const BROKEN_VIEW: &str =
    "CREATE TABLE gone (a); CREATE VIEW mine AS SELECT * FROM gone; DROP TABLE gone";

/// The study of [`released`].
const STUDY: &str = "20261122-042121-132";

/// A ledger of schema version 3 with one small study, written by a released assay.
fn released(directory: &Path) -> PathBuf {
    let path = directory.join("released.db");
    let packed = include_bytes!("released/schema-3.db.gz");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
    fs_err::write(&path, bytes).unwrap();
    path
}

/// The same ledger in schema version 2.
fn second_version(directory: &Path) -> (Connection, PathBuf) {
    let path = released(directory);
    let old = Connection::open(&path).unwrap();
    let back = "DROP INDEX slice_once; DROP TABLE setting; PRAGMA user_version = 2;";
    old.execute_batch(back).unwrap();
    (old, path)
}

/// A ledger of schema version 1 with one study of one system.
fn first_version(path: &Path, with_systems: &Path) {
    let old = Connection::open(path).unwrap();
    old.execute_batch(include_str!("../migrations/0001_ledger.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 0x41535359; PRAGMA user_version = 1;
         INSERT INTO study VALUES ('old', 5000, 'quick', '32', '1', 0.02, 600, 6, 400,
            '[{\"clients\":1,\"tables\":2,\"rows\":3000}]', 1, '0.1.0', 0, NULL);
         INSERT INTO host VALUES ('old', 'cpu', 2, 1, '6', 'os', NULL, 'ext4', 1, 1);
         INSERT INTO cell VALUES ('old', 0, 'scan', 1, 2, 3000, 5, 50, NULL, 'free');
         INSERT INTO event (study, when_ms, what) VALUES ('old', 7500, 'something');",
    )
    .unwrap();
    old.execute("ATTACH ? AS other", [with_systems.to_str().unwrap()]).unwrap();
    let columns = "number, name, is_base, is_twin, spec, prefix, options";
    let copy = format!(
        "INSERT INTO system (study, {columns})
         SELECT 'old', {columns} FROM other.system WHERE number = 0"
    );
    old.execute(&copy, []).unwrap();
}

#[test]
fn a_ledger_of_version_1_is_migrated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.db");
    first_version(&path, &released(directory.path()));
    // Reading does not change the file.
    let before = fs_err::read(&path).unwrap();
    let read = Ledger::open_read_only(&path).unwrap().read("old").unwrap();
    assert_eq!(fs_err::read(&path).unwrap(), before);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.read("old").unwrap(), read);
    assert_eq!(read.elapsed_s(), 2.5);
    let [cell] = read.study.cells.as_slice() else { panic!("{:?}", read.study.cells) };
    assert_eq!((cell.slice_ms, cell.turns()), (50, 1));
    assert_eq!(read.study.experiment, Experiment::Interleaved);
    assert_eq!(ledger.settings("old").unwrap().len(), 1);
    drop(ledger);
    Ledger::open_read_only(&path).unwrap();
}

#[test]
fn a_ledger_of_version_2_is_migrated_without_loss() {
    let directory = tempfile::tempdir().unwrap();
    let (old, path) = second_version(directory.path());
    old.execute_batch(BROKEN_VIEW).unwrap();
    drop(old);
    let mut ledger = Ledger::open(&path).unwrap();
    let slices = ledger.read(STUDY).unwrap().slices;
    assert_eq!(slices.len(), 96);
    let error = ledger.add_slice(STUDY, &slices[0]).unwrap_err();
    assert!(matches!(error.problem, Problem::Twice(_)), "{error}");
}

#[test]
fn a_ledger_of_version_2_with_duplicate_slices_is_refused_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let (old, path) = second_version(directory.path());
    let columns = "SELECT group_concat(name) FROM pragma_table_info('slice') WHERE name <> 'id'";
    let columns: String = old.query_row(columns, [], |row| row.get(0)).unwrap();
    let copy = format!("INSERT INTO slice ({columns}) SELECT {columns} FROM slice WHERE id = 2");
    old.execute(&copy, []).unwrap();
    let second = old.last_insert_rowid();
    let error = Ledger::open(&path).unwrap_err();
    let told = format!("rows 2 and {second} of table `slice` are the same slice");
    assert!(error.to_string().ends_with(&told), "{error}");
    assert!(error.hints()[0].contains(&format!("WHERE id = {second}")), "{:?}", error.hints());
    let version: i32 = old.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 2);
    old.execute("DELETE FROM slice WHERE id = ?", [second]).unwrap();
    drop(old);
    assert_eq!(Ledger::open(&path).unwrap().read(STUDY).unwrap().slices.len(), 96);
}

#[test]
fn a_released_ledger_distinguishes_read_and_unread_counters() {
    let directory = tempfile::tempdir().unwrap();
    let path = released(directory.path());
    let read_only = Ledger::open_read_only(&path).unwrap().read(STUDY).unwrap();
    let record = Ledger::open(&path).unwrap().read(STUDY).unwrap();
    assert_eq!(record, read_only);
    let [run] = record.runs.as_slice() else { panic!("{:?}", record.runs) };
    assert_eq!((run.assay_version.as_str(), run.host.cpus), ("0.1.0", 2));
    assert_eq!(run.started_ms, record.study.started_ms);
    assert!(record.systems.iter().all(|it| it.artifact.sha256().is_some()));
    // The kernel did not account disk waits; the counters of the device were read.
    for slice in &record.slices {
        let (server, host) = (slice.server.unwrap(), slice.host.unwrap());
        assert!(server.connections.cpu_ns > 0 && server.connections.disk_wait_ns.is_none());
        assert!(slice.client.unwrap().tasks.disk_wait_ns.is_none());
        assert!(host.device.is_some() && host.other_ns.is_some());
    }
    let texts: Vec<String> = record.events.iter().map(|it| it.what.to_string()).collect();
    assert!(texts[0].starts_with("no such option: innodb-change-buffering"), "{texts:?}");
}

/// A released assay wrote such rows for a server that was already running and that it could not observe.
#[test]
fn zeros_of_unread_counters_become_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = released(directory.path());
    let old = Connection::open(&path).unwrap();
    let columns = "SELECT group_concat(name || ' = 0') FROM pragma_table_info('slice')
        WHERE name GLOB 'connection_*' OR name GLOB 'background_*' OR name GLOB 'server_*'
            OR name = 'host_other_ns'";
    let zeros: String = old.query_row(columns, [], |row| row.get(0)).unwrap();
    old.execute_batch(&format!(
        "UPDATE slice SET {zeros} WHERE system = 1;
         UPDATE system SET spec = json_set(spec, '$.origin', json_object('url', 'mysql://h/d')),
            prefix = json_set(prefix, '$.build.channel', 'mysql://h/d', '$.layout.server', '')
            WHERE number = 1;
         UPDATE audit SET why = 'asked for, in a name' WHERE id = 1;
         INSERT INTO run (study, started_ms)
            SELECT study, max(written_ms) + 1 FROM slice;
         INSERT INTO instance (study, system, block, start_from, started_ms, start_took_ms)
            SELECT study, 0, 1, 'fresh', started_ms, 1 FROM run WHERE id = 2;",
    ))
    .unwrap();
    drop(old);
    let record = Ledger::open(&path).unwrap().read(STUDY).unwrap();
    for slice in &record.slices {
        let is_watched = slice.system != 1;
        assert_eq!(slice.server.is_some(), is_watched);
        let host = slice.host.unwrap();
        assert_eq!((host.other_ns.is_some(), host.device.is_some()), (is_watched, is_watched));
        assert!(slice.client.is_some() && slice.run == 0);
    }
    let Artifact::Running(server) = &record.systems[1].artifact else {
        panic!("{:?}", record.systems[1].artifact)
    };
    assert_eq!((server.url.as_str(), server.version.as_str()), ("mysql://h/d", "11.8.6"));
    assert_eq!(server.program, None);
    let asked: Vec<bool> = record.audit.iter().map(|it| it.is_asked).collect();
    assert!(asked[0] && !asked[1..].contains(&true), "{asked:?}");
    assert_eq!(record.runs.len(), 2);
    assert_eq!(record.runs[1].host, record.runs[0].host);
    assert_eq!(record.runs[1].assay_version, "");
    assert_eq!(record.instances.last().unwrap().run, 1);
    assert!(record.blocks.iter().all(|block| block.run == 0));
}

#[test]
fn a_newer_version_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, _, path) = common::sample_ledger(directory.path());
    drop(ledger);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    for opened in [Ledger::open(&path), Ledger::open_read_only(&path)] {
        let error = opened.unwrap_err();
        assert!(
            error.to_string().ends_with("schema version 99, and this assay knows 13"),
            "{error}"
        );
        assert_eq!(error.hints(), ["read it with the assay that wrote it, or a newer one"]);
    }
}

#[test]
fn an_altered_schema_is_refused_but_additions_are_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let endless = "WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n)";
    let view = format!("DROP TABLE event; CREATE VIEW event AS {endless} SELECT * FROM n");
    for (number, (change, is_refused)) in [
        ("CREATE VIEW good AS SELECT * FROM slice; CREATE INDEX mine ON event (what)", false),
        (BROKEN_VIEW, false),
        ("CREATE TABLE mine (a); CREATE TRIGGER t AFTER INSERT ON mine BEGIN SELECT 1; END", false),
        ("DROP INDEX slice_once", true),
        (view.as_str(), true),
        ("DROP TABLE event; CREATE VIEW event AS SELECT * FROM nowhere", true),
        ("ALTER TABLE slice DROP COLUMN events", true),
        ("CREATE TRIGGER t AFTER INSERT ON Slice BEGIN DELETE FROM slice; END", true),
    ]
    .into_iter()
    .enumerate()
    {
        let place = directory.path().join(number.to_string());
        fs_err::create_dir(&place).unwrap();
        let (ledger, _, path) = common::sample_ledger(&place);
        drop(ledger);
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        for opened in [Ledger::open(&path), Ledger::open_read_only(&path)] {
            let problem = opened.err().map(|error| error.problem);
            let is_altered = matches!(problem, Some(Problem::Altered(_)));
            assert_eq!(is_altered, is_refused, "{change}: {problem:?}");
        }
    }
}

/// Opens a ledger that others open at the same moment, and begins a study in it.
fn begin(path: &Path, id: &str) -> Result<(), Error> {
    let mut record = common::sample();
    record.study.id = id.to_owned();
    let mut ledger = Ledger::open(path)?;
    ledger.create_study(&record.study, record.host(), &record.systems)?;
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
        // Gives the opener time to find the file locked. Nothing reports that it has.
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
    for is_old in [false, false, false, true, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.db");
        if is_old {
            let (old, made) = second_version(directory.path());
            old.execute_batch(
                "PRAGMA foreign_keys = OFF; DELETE FROM study; DELETE FROM system; DELETE FROM cell;
                 DELETE FROM run; DELETE FROM block; DELETE FROM host; DELETE FROM content;
                 DELETE FROM event; DELETE FROM instance; DELETE FROM audit; DELETE FROM slice;",
            )
            .unwrap();
            drop(old);
            fs_err::rename(made, &path).unwrap();
        }
        let start = || -> Child {
            Command::new(std::env::current_exe().unwrap())
                .args(["maker", "--exact", "--ignored", "--nocapture"])
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
