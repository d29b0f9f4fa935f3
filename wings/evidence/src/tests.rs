//! Packs of a small measured study: every change is found, and nothing personal is in them.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use assay_ledger::Ledger;
use assay_model::{Attachment, Series};
use assay_pack::{LEDGER, MEMBERS, Pack};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::pack::{judged, packed};
use super::verify::{of_pack, of_this_version};
use assay_run::study_records;

const STUDY: &str = include_str!("../../../crates/assay-ledger/tests/recorded/study.id");

/// A ledger with a study of two tests and two systems, with everything that a study can have.
fn ledger(directory: &Path) -> PathBuf {
    let recorded = include_bytes!("../../../crates/assay-ledger/tests/recorded/study.db.gz");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(recorded.as_slice()).read_to_end(&mut bytes).unwrap();
    let path = directory.join("ledger.db");
    fs_err::write(&path, bytes).unwrap();
    let small = "PRAGMA foreign_keys = OFF;
        DELETE FROM cell WHERE number > 1;
        DELETE FROM test WHERE name NOT IN (SELECT test FROM cell);
        DELETE FROM slice WHERE system = 2 OR round > 1 OR test NOT IN (SELECT test FROM cell);
        DELETE FROM system WHERE number = 2;
        DELETE FROM instance WHERE system = 2;
        DELETE FROM content WHERE system = 2;
        DELETE FROM setting WHERE system = 2;
        DELETE FROM event WHERE system = 2;
        UPDATE audit SET \"values\" = json_remove(\"values\", '$[2]');
        UPDATE block SET cells = '[0,1]', cell_rounds = '[2,2]';
        UPDATE cell SET warm_us = 5000, events = iif(test GLOB 'update*', 100, NULL);
        UPDATE slice SET outcome = 'failed', failure = 'gone' WHERE id = (SELECT max(id) FROM slice);";
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(small).unwrap();
    drop(connection);
    let mut ledger = Ledger::open(&path).unwrap();
    let record = study_records::read(&ledger, STUDY).unwrap();
    let slice = record.slices[0].id();
    let series = Series { name: "events".to_owned(), step_ms: 10, counts: vec![1, 2] };
    ledger.add_series(STUDY, slice, &series).unwrap();
    let (name, media_type) = ("server.folded".to_owned(), "text/plain".to_owned());
    let bytes = b"main;work 7\n".to_vec();
    ledger.add_attachment(STUDY, slice, &Attachment { name, media_type, bytes }).unwrap();
    ledger.conclude(&record.study.id, &study_records::conclusions(&record)).unwrap();
    path
}

const HOME: &str = "/home/canary";

fn directories() -> Vec<String> {
    vec![HOME.to_owned()]
}

fn pack(path: &Path) -> Pack {
    let ledger = Ledger::open_read_only(path).unwrap();
    let record = ledger.read(STUDY).unwrap();
    let pack = packed(ledger.rows(STUDY).unwrap(), &record, &directories()).unwrap();
    assert_eq!(Pack::read(&pack.bytes()).unwrap(), pack);
    pack
}

/// A pack with another ledger and a matching manifest.
fn forged(pack: &Pack, ledger: &[u8]) -> Pack {
    let contents =
        MEMBERS.map(|name| if name == LEDGER { ledger } else { pack.member(name) }.to_vec());
    Pack::new(&pack.manifest.study, &pack.manifest.assay, contents).unwrap()
}

fn columns(connection: &Connection) -> Vec<(String, String)> {
    let sql = "SELECT t.name, c.name FROM pragma_table_list t, pragma_table_xinfo(t.name) c
        WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' AND c.hidden = 0";
    let mut statement = connection.prepare(sql).unwrap();
    let all = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let has_value = |(table, column): &(String, String)| {
        let sql = format!("SELECT count(\"{column}\") > 0 FROM {table}");
        connection.query_row(&sql, [], |row| row.get::<_, bool>(0)).unwrap()
    };
    let columns = all.map(Result::unwrap).filter(has_value);
    columns.flat_map(|(table, column): (String, String)| {
        // Each value of these documents counts.
        let keys = match (table.as_str(), column.as_str()) {
            ("study", "plan") | ("run", "host") => {
                let sql = format!("SELECT key FROM {table}, json_each({table}.{column}) WHERE value IS NOT NULL");
                let mut statement = connection.prepare(&sql).unwrap();
                let keys = statement.query_map([], |row| row.get(0)).unwrap();
                keys.map(|key: rusqlite::Result<String>| format!("{column}.{}", key.unwrap())).collect()
            }
            _ => vec![column],
        };
        keys.into_iter().map(move |key| (table.clone(), key))
    })
    .collect()
}

/// A document with another value of one key.
fn change_key(connection: &Connection, table: &str, column: &str, key: &str) {
    let document = format!("SELECT {column} FROM {table} LIMIT 1");
    let document: String = connection.query_row(&document, [], |row| row.get(0)).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let changed = match &document[key] {
        serde_json::Value::Number(number) if number.is_u64() => {
            (number.as_u64().unwrap() + 1).into()
        }
        serde_json::Value::Number(number) => (number.as_f64().unwrap() * 1.5 + 0.1).into(),
        serde_json::Value::String(text) => format!("{text}x").into(),
        serde_json::Value::Bool(is_on) => (!is_on).into(),
        serde_json::Value::Array(values) => [values.as_slice(), values.as_slice()].concat().into(),
        other => panic!("{other}"),
    };
    document[key] = changed;
    let sql = format!("UPDATE {table} SET {column} = ?");
    connection.execute(&sql, [document.to_string()]).unwrap();
}

fn change(path: &Path, table: &str, column: &str) {
    let connection = Connection::open(path).unwrap();
    let off = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA journal_mode = DELETE";
    connection.execute_batch(off).unwrap();
    if let Some((column, key)) = column.split_once('.') {
        return change_key(&connection, table, column, key);
    }
    let sql = format!("SELECT \"{column}\" FROM {table} WHERE \"{column}\" IS NOT NULL LIMIT 1");
    let changed = match connection.query_row(&sql, [], |row| row.get(0)).unwrap() {
        Value::Integer(number) => Value::Integer(number + 1),
        Value::Real(number) => Value::Real(number * 1.5 + 1.0),
        Value::Text(text) if column == "counters" => {
            let numbers: Vec<u64> = serde_json::from_str(&text).unwrap();
            let changed: Vec<u64> = numbers.iter().map(|number| number + 1).collect();
            Value::Text(serde_json::to_string(&changed).unwrap())
        }
        Value::Text(text) => Value::Text(match text.rfind(|c: char| c.is_ascii_digit()) {
            Some(at) => {
                let digit = if text.as_bytes()[at] == b'1' { "2" } else { "1" };
                format!("{}{digit}{}", &text[..at], &text[at + 1..])
            }
            None => text.replacen(['e', 'o'], "i", 1) + "x",
        }),
        Value::Blob(mut bytes) => {
            *bytes.last_mut().unwrap() ^= 2;
            Value::Blob(bytes)
        }
        Value::Null => unreachable!("it has a value"),
    };
    let sql = format!(
        "UPDATE {table} SET \"{column}\" = ?1 WHERE \"{column}\" = (
            SELECT \"{column}\" FROM {table} WHERE \"{column}\" IS NOT NULL LIMIT 1)"
    );
    if connection.execute(&sql, [changed]).is_err() {
        // Another row has this number.
        connection.execute(&sql, [1000]).unwrap();
    }
}

/// Columns on which verdicts and reports depend: a change is found even with a matching manifest. Names without a dot
/// are whole tables.
const SEEN: [&str; 34] = [
    "verdict",
    "content",
    "event",
    "audit.setting",
    "audit.values",
    "audit.class",
    "audit.why",
    "study.id",
    "study.started_ms",
    "study.plan.preset",
    "study.plan.seed",
    "study.plan.threshold",
    "study.plan.setups",
    "study.plan.workload_version",
    "test.name",
    "test.digest",
    "system.name",
    "system.artifact",
    "cell.test",
    "cell.clients",
    "run.host.cpu",
    "run.host.memory_kb",
    "setting.study",
    "slice.system",
    "slice.test",
    "slice.outcome",
    "slice.failure",
    "slice.events",
    "slice.read",
    "slice.elapsed_ns",
    "slice.latency_hdr",
    "slice.turns",
    "slice.counters",
    "slice.errors",
];

#[test]
fn every_changed_field_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let pack = pack(&ledger(directory.path()));
    let verified = of_pack(&pack, Some(&pack.digest));
    assert!(verified.verified, "{verified:#?}");
    let path = directory.path().join("packed.db");
    fs_err::write(&path, pack.member(LEDGER)).unwrap();
    let columns = columns(&Connection::open(&path).unwrap());
    let tables: BTreeSet<&String> = columns.iter().map(|(table, _)| table).collect();
    assert_eq!(tables.len(), 16, "the study lacks rows of a table: {tables:?}");
    assert!(columns.len() > 120, "{}", columns.len());
    let is_unseen = |number: usize| {
        let (table, column) = &columns[number];
        let path = directory.path().join(format!("{number}.db"));
        fs_err::write(&path, pack.member(LEDGER)).unwrap();
        change(&path, table, column);
        let forged = forged(&pack, &fs_err::read(&path).unwrap());
        assert_ne!(forged.digest, pack.digest, "{table}.{column}");
        let found = of_pack(&forged, Some(&pack.digest));
        assert!(!found.verified, "{table}.{column}");
        found.differences.iter().all(|it| it.member == "manifest.json")
    };
    let unseen = std::thread::scope(|scope| {
        let numbers = |thread| (thread..columns.len()).step_by(THREADS).filter(|it| is_unseen(*it));
        let threads: Vec<_> =
            (0..THREADS).map(|it| scope.spawn(move || numbers(it).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|it| it.join().unwrap()).collect::<BTreeSet<_>>()
    });
    let unseen = unseen.into_iter().map(|it| format!("{}.{}", columns[it].0, columns[it].1));
    let is_seen = |name: &String| {
        SEEN.iter().any(|seen| name == seen || name.starts_with(&format!("{seen}.")))
    };
    let missed: Vec<_> = unseen.filter(is_seen).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

const THREADS: usize = 4;

#[test]
fn a_pack_has_nothing_but_its_study() {
    let directory = tempfile::tempdir().unwrap();
    let pack = pack(&ledger(directory.path()));
    let path = directory.path().join("packed.db");
    for more in [
        "CREATE TABLE more (a)",
        "INSERT INTO name VALUES ('20261122-042121-132', 'nightly')",
        "INSERT INTO setting VALUES ('other', 0, 'a', 'b')",
        "UPDATE study SET id = 'other'",
    ] {
        fs_err::write(&path, pack.member(LEDGER)).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {more}")).unwrap();
        drop(connection);
        let verified = of_pack(&forged(&pack, &fs_err::read(&path).unwrap()), None);
        assert!(!verified.verified, "{more}");
    }
    for bytes in [b"".as_slice(), b"SQLite format 3\0", &[7; 9000]] {
        let verified = of_pack(&forged(&pack, bytes), None);
        assert!(!verified.verified && verified.differences[0].member == LEDGER, "{verified:?}");
    }
}

#[test]
fn a_pack_of_an_older_or_newer_ledger_is_refused_rather_than_called_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let pack = pack(&ledger(directory.path()));
    of_this_version(&pack).unwrap();
    let path = directory.path().join("packed.db");
    for (version, message) in [(0, "measure again"), (2, "upgrade assay")] {
        fs_err::write(&path, pack.member(LEDGER)).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        drop(connection);
        let error = of_this_version(&forged(&pack, &fs_err::read(&path).unwrap())).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// Without its verdicts, nothing in the ledger would contradict others.
#[test]
fn a_finished_study_without_verdicts_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = ledger(directory.path());
    let stripped = "UPDATE study SET judged_by = NULL; DELETE FROM verdict";
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(stripped).unwrap();
    drop(connection);
    let without = of_pack(&pack(&path), None);
    let places: Vec<_> = without.differences.iter().map(|it| it.place.as_str()).collect();
    assert_eq!(places, ["study 20261122-042121-132, verdicts"]);
    let ledger = Ledger::open_read_only(&path).unwrap();
    let record = ledger.read(STUDY).unwrap();
    let judged = packed(judged(&ledger, STUDY).unwrap(), &record, &directories()).unwrap();
    let verified = of_pack(&judged, None);
    assert!(verified.verified, "{verified:#?}");
}

/// A recorded report may be a bomb: it is neither parsed nor shown as a whole.
#[test]
fn long_reports_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let pack = pack(&ledger(directory.path()));
    let long = |name: &str, bytes: Vec<u8>| {
        let contents =
            MEMBERS.map(|it| if it == name { bytes.clone() } else { pack.member(it).to_vec() });
        let forged = Pack::new(&pack.manifest.study, &pack.manifest.assay, contents).unwrap();
        let verified = of_pack(&forged, None);
        assert_eq!(verified.differences.len(), 1, "{verified:?}");
        let found = format!("{:?}", verified.differences[0]);
        assert!(found.len() < 1000, "{found}");
        found
    };
    let json = [b"[".as_slice(), &b"[],".repeat(1 << 20), b"[]]"].concat();
    assert!(long("report.json", json).contains("\"length\""));
    let line = b"\x1b".repeat(pack.member("report.html").len());
    assert!(long("report.html", line).contains("\"line 1\""));
    let more = [pack.member("report.txt"), b"more"].concat();
    assert!(long("report.txt", more).contains("recorded: \"`more`\", computed: \"nothing more\""));
}

const CANARY: &str = "canary";

#[test]
fn a_pack_has_no_place_of_the_machine() {
    let directory = tempfile::tempdir().unwrap();
    let path = ledger(directory.path());
    let connection = Connection::open(&path).unwrap();
    let request = r#"UPDATE study SET request = json_set(request, '$.options.workload', json_array(?),
        '$.systems', json('[{"words":"mysql@dir:/srv/canary builds/8.0","name":"a","config":"/srv/canary/my.cnf"},
            {"words":"mysql@git:../canary/tree#v1"},{"words":"mysql@8.0"}]'))"#;
    let message = "cannot read `/home/canary/x/y`: `../canary work/w.toml`, ../canary/tree, -I/home/canary/src, \
        x@/srv/canary builds/8.0/s";
    for (sql, value) in [
        (request, "../canary work/w.toml"),
        ("UPDATE system SET name = ? WHERE number = 1", "mysql@dir:/srv/canary builds/8.0"),
        (
            "UPDATE system SET spec = json_set(spec, '$.origin', json_object('dir', ?)) WHERE number = 1",
            "/srv/canary builds/8.0",
        ),
        (
            "UPDATE system SET spec = json_set(spec, '$.origin', json_object('git', ?)) WHERE number = 0",
            "../canary/tree#v1",
        ),
        (
            "UPDATE system SET artifact = json_set(artifact, '$.path', ?1, '$.layout.server', ?1 || '/bin/mysqld',
                '$.build.notes', json_array('built in ' || ?1), '$.build.channel', ?1)",
            "/home/canary/.cache/assay/builds/1",
        ),
        ("UPDATE system SET options = json_array('--init-connect=x@' || ?)", "/home/canary/tmp"),
        ("UPDATE setting SET value = ? WHERE name = 'datadir'", "/srv/canary data/x"),
        ("UPDATE setting SET value = ? WHERE name = 'hostname'", "canaryhost.example"),
        ("UPDATE setting SET value = ? WHERE name = 'general_log_file'", "canaryhost.log"),
        ("UPDATE audit SET why = ?", message),
        ("UPDATE audit SET \"values\" = json_array(?, NULL)", "/home/canary/data/"),
        ("UPDATE event SET what = json_object('kind', 'started-again', 'error', ?)", message),
        ("UPDATE slice SET failure = ? WHERE outcome = 'failed'", message),
        ("UPDATE attachment SET bytes = CAST(? AS BLOB)", "mysqld;/home/canary/lib.so;x 7\n"),
    ] {
        assert!(connection.execute(sql, [value]).unwrap() > 0, "{sql}");
    }
    drop(connection);
    let packed = pack(&path);
    for name in MEMBERS {
        let text = String::from_utf8_lossy(packed.member(name));
        let at = text.find(CANARY).map(|at| text.get(at.saturating_sub(200)..at + 200));
        assert!(at.is_none(), "{name}: {at:?}");
    }
    let text = String::from_utf8_lossy(packed.member("report.txt")).into_owned();
    assert!(text.contains("mysql@dir:/path"), "{text}");
    assert!(of_pack(&packed, None).verified);
    let ledger = Ledger::of_bytes(packed.member(LEDGER), Path::new("packed")).unwrap();
    let kept = ledger.read(STUDY).unwrap().study;
    let read = assay_plan::request_of(&kept);
    assert!(read.is_ok(), "{read:?} in {}", kept.request);
}

/// Binary data stay unchanged, so a path in them is a reason not to pack.
#[test]
fn a_directory_of_the_user_in_an_attachment_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = ledger(directory.path());
    let connection = Connection::open(&path).unwrap();
    let bytes = b"\xff/home/canary/t/x".as_slice();
    assert!(connection.execute("UPDATE attachment SET bytes = ?", [bytes]).unwrap() > 0);
    drop(connection);
    let ledger = Ledger::open_read_only(&path).unwrap();
    let (rows, record) = (ledger.rows(STUDY).unwrap(), ledger.read(STUDY).unwrap());
    let refused = packed(rows, &record, &directories()).unwrap_err().to_string();
    assert!(refused.contains("would contain the path `/home/canary`"), "{refused}");
}

/// The same study makes the same bytes for every user, and also from a pack.
#[test]
fn a_pack_of_a_pack_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let first = pack(&ledger(directory.path()));
    let path = directory.path().join("packed.db");
    fs_err::write(&path, first.member(LEDGER)).unwrap();
    let second = pack(&path);
    assert_eq!(first.bytes(), second.bytes());
}
