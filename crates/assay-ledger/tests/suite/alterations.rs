//! Files with a foreign schema or damaged indexes: nothing of them is used, and none of their rows reaches another
//! study.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use assay_ledger::{Error, Ledger, Problem};
use rusqlite::Connection;

use crate::common;

fn sound(directory: &Path) -> PathBuf {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    let path = directory.join("sound.db");
    let made = || {
        let (ledger, _, path) = common::sample_ledger(directory);
        drop(ledger);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = DELETE").unwrap();
        fs_err::read(path).unwrap()
    };
    fs_err::write(&path, SOUND.get_or_init(made)).unwrap();
    path
}

fn changed(directory: &Path, sql: &str) -> PathBuf {
    let path = sound(directory);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON").unwrap();
    connection.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    path
}

fn refusals(path: &Path) -> [Error; 3] {
    let bytes = fs_err::read(path).unwrap();
    [Ledger::open_read_only(path), Ledger::of_bytes(&bytes, path), Ledger::open(path)]
        .map(|opened| opened.err().unwrap_or_else(|| panic!("`{}` is opened", path.display())))
}

#[track_caller]
fn assert_altered(sql: &str) {
    let directory = tempfile::tempdir().unwrap();
    for error in refusals(&changed(directory.path(), sql)) {
        let is_refused = matches!(
            error.problem,
            Problem::Altered(_) | Problem::Damaged(_) | Problem::Overfull | Problem::TooLong
        );
        assert!(is_refused, "{sql}: {error}");
    }
}

/// Each would give the file rows of other studies, statements that run, or endless work.
#[test]
fn every_other_schema_is_refused() {
    let rewrite = |table: &str, from: &str, to: &str| {
        format!(
            "UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = '{table}'"
        )
    };
    let owner = "study TEXT NOT NULL";
    for table in ["test", "system", "cell", "run", "slice", "event", "setting", "verdict"] {
        assert_altered(&rewrite(table, owner, "study TEXT COLLATE NOCASE NOT NULL"));
    }
    assert_altered(&rewrite("study", "id TEXT", "id TEXT COLLATE NOCASE"));
    assert_altered(&rewrite("slice_by_study", "(study)", "(study COLLATE NOCASE)"));
    assert_altered(&rewrite("slice_by_study", "(study)", "(lower(study))"));
    assert_altered(&rewrite("slice_by_study", "(study)", "(study) WHERE id < 0"));
    assert_altered(&rewrite("slice_once", "UNIQUE ", ""));
    assert_altered(&rewrite("study", "id TEXT PRIMARY KEY", "id TEXT UNIQUE"));
    assert_altered(&rewrite("content", ") STRICT", ")"));
    assert_altered(&rewrite("setting", ", WITHOUT ROWID", ""));
    assert_altered(&rewrite("event", "when_ms INTEGER", "when_ms TEXT"));
    assert_altered(&rewrite("event", "CREATE TABLE event", "CREATE TABLE Event"));
    assert_altered(&rewrite("event", "-- NULL if", "-- nul if"));
    assert_altered(&rewrite(
        "event",
        "when_ms INTEGER NOT NULL",
        "when_ms INTEGER NOT NULL CHECK (length(hex(zeroblob(1000000))) > 0)",
    ));
    for sql in [
        "ALTER TABLE event ADD COLUMN more TEXT",
        "ALTER TABLE event ADD COLUMN more TEXT AS (hex(what))",
        "ALTER TABLE slice DROP COLUMN bytes_received",
        "CREATE TABLE mine (a)",
        "CREATE TABLE mine (a INTEGER PRIMARY KEY AUTOINCREMENT)",
        "CREATE INDEX mine ON event (what)",
        "CREATE INDEX mine ON event (hex(what)) WHERE when_ms > 0",
        "CREATE VIEW mine AS SELECT * FROM slice",
        "DROP TABLE name; CREATE VIEW name AS SELECT id AS study, id AS name FROM study",
        "CREATE TRIGGER mine AFTER INSERT ON Slice BEGIN DELETE FROM slice; END",
        "CREATE VIEW v AS SELECT 1 AS a; CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN SELECT 1; END",
        "DROP INDEX slice_once",
        "DROP TABLE document",
        "ANALYZE",
        "INSERT INTO sqlite_schema VALUES ('table', 'mine', 'mine', 0, 'CREATE VIRTUAL TABLE mine USING nothing')",
        "INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'event'",
        "UPDATE sqlite_schema SET tbl_name = 'event' WHERE name = 'slice_by_study'",
        "UPDATE sqlite_schema SET sql = NULL WHERE name = 'event'",
        "UPDATE sqlite_schema SET name = x'00ff' WHERE name = 'event'",
        "UPDATE sqlite_schema SET sql = sql || zeroblob(20000000) WHERE name = 'event'",
    ] {
        assert_altered(sql);
    }
}

/// Listing the columns of the last view takes SQLite impossibly long.
#[test]
fn nested_views_are_refused_before_they_are_expanded() {
    let mut views = "CREATE VIEW v0 AS SELECT 1 AS a;".to_owned();
    for number in 1..60 {
        let last = number - 1;
        let columns = "a.a, b.a, ".repeat(10) + "a.a";
        writeln!(views, "CREATE VIEW v{number} AS SELECT {columns} FROM v{last} a, v{last} b;")
            .unwrap();
    }
    assert_altered(&views);
}

/// SQLite keeps every table that it finds in memory.
#[test]
fn a_schema_without_end_is_not_read_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = changed(
        directory.path(),
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
         INSERT INTO sqlite_schema SELECT 'view', 'v' || i, 'v' || i, 0,
            'CREATE VIEW v' || i || ' AS SELECT 1' FROM n",
    );
    for error in refusals(&path) {
        assert!(matches!(error.problem, Problem::Overfull), "{error}");
    }
}

/// Rows of another study found through a damaged index are dropped.
#[test]
fn a_damaged_index_gives_no_rows_of_another_study() {
    for (table, index) in [("slice", "slice_by_study"), ("run", "run_by_study")] {
        let directory = tempfile::tempdir().unwrap();
        let path = sound(directory.path());
        let connection = Connection::open(&path).unwrap();
        let root = |name: &str| -> usize {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?";
            connection.query_row(sql, [name], |row| row.get::<_, u32>(0)).unwrap() as usize
        };
        let size: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
        let size = size as usize;
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        // The table has rows of `Sample`; the index keeps `sample`.
        let rows = connection.execute(&format!("UPDATE {table} SET study = 'Sample'"), []).unwrap();
        assert!(rows > 0);
        let root = root(index);
        drop(connection);
        let mut bytes = fs_err::read(&path).unwrap();
        let page = &mut bytes[(root - 1) * size..root * size];
        let mut at = 0;
        while let Some(found) = page[at..].windows(6).position(|it| it == b"Sample") {
            at += found;
            page[at] = b's';
        }
        assert!(at > 0, "the index has one page");
        fs_err::write(&path, bytes).unwrap();
        match Ledger::open_read_only(&path).unwrap().rows("sample") {
            Err(error) => {
                assert!(error.to_string().contains("belongs to another study"), "{table}: {error}");
            }
            // SQLite has taken the study from the index.
            Ok(rows) => {
                let bytes = Ledger::bytes_of(&[rows]).unwrap();
                assert!(!bytes.windows(6).any(|it| it == b"Sample"), "{table}");
            }
        }
    }
}

/// Columns with text that may come from anywhere.
const FREE: [&str; 4] = ["audit.setting", "audit.why", "run.assay_version", "study.judged_by"];

/// A value that assay never writes there is found before a copy is made.
#[test]
fn nothing_is_copied_that_was_not_checked() {
    let directory = tempfile::tempdir().unwrap();
    let path = sound(directory.path());
    let bytes = fs_err::read(&path).unwrap();
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT t.name, c.name FROM pragma_table_list t, pragma_table_xinfo(t.name) c
        WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' AND c.hidden = 0
            AND c.type = 'TEXT' AND c.name <> 'study'";
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let columns: Vec<(String, String)> = columns.map(Result::unwrap).collect();
    let mut free = Vec::new();
    for (table, column) in columns {
        fs_err::write(&path, &bytes).unwrap();
        let connection = Connection::open(&path).unwrap();
        let off = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON";
        connection.execute_batch(off).unwrap();
        let change = format!("UPDATE OR IGNORE {table} SET \"{column}\" = '\u{1b}[2J'");
        // JSON from which columns are generated cannot be anything else.
        let is_changed = connection.execute(&change, []).is_ok_and(|rows| rows > 0);
        drop(connection);
        if is_changed && Ledger::open_read_only(&path).unwrap().rows("sample").is_ok() {
            free.push(format!("{table}.{column}"));
        }
    }
    free.sort();
    assert_eq!(free, FREE);
}
