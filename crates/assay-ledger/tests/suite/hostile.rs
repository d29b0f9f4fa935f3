//! Malicious files: reading them ends soon, takes little memory, and names the fault.

use std::path::Path;

use assay_ledger::{Error, Ledger, Problem};
use assay_model::{FollowedRange, SearchPart};
use rusqlite::Connection;

use crate::common;

fn sound() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let (ledger, _, path) = common::sample_ledger(directory.path());
    drop(ledger);
    fs_err::read(path).unwrap()
}

/// Error of reading a sound file after a change that its own constraints would refuse.
fn read_changed(sound: &[u8], change: impl FnOnce(&Connection)) -> Error {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    fs_err::write(&path, sound).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection.pragma_update(None, "ignore_check_constraints", true).unwrap();
    change(&connection);
    drop(connection);
    read(&path)
}

fn read(path: &Path) -> Error {
    Ledger::open_read_only(path).unwrap().read("sample").unwrap_err()
}

/// Reports and lists tell users to run commands with the names of studies.
#[test]
fn names_that_a_shell_would_execute_are_refused() {
    for name in ["x;touch y;#", "$(touch y)", "-rf", "../x", "a b", ""] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.db");
        fs_err::write(&path, sound()).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        connection.execute("UPDATE study SET id = ?", [name]).unwrap();
        drop(connection);
        let ledger = Ledger::open_read_only(&path).unwrap();
        for error in [ledger.studies().unwrap_err(), ledger.read(name).unwrap_err()] {
            assert!(error.to_string().contains("a name that assay gives to no study"), "{error}");
        }
    }
}

/// A change of a sound ledger, and the complaint.
const INVALID: &[(&str, &str)] = &[
    (
        "study SET plan = json_set(plan, '$.blocks', 4294967295)",
        "`study`, row `sample`: `blocks` is 4294967295, not",
    ),
    (
        "study SET plan = json_set(plan, '$.rounds', 0)",
        "`study`, row `sample`: `rounds` is 0, not between 1 and 10000",
    ),
    (
        "study SET plan = json_set(plan, '$.threshold', 2)",
        "`study`, row `sample`: `threshold` is 2, not",
    ),
    (
        "study SET plan = json_set(plan, '$.budget_s', -1)",
        "`study`, row `sample`: `budget_s` is -1, not",
    ),
    (
        r#"study SET request = '"' || printf('%.*c', 2000000, 'x') || '"'"#,
        "`study`, row `sample`: `request` has 2000002 bytes, more than 1048576",
    ),
    ("study SET started_ms = -1", "`study`, row `sample`: `started_ms` is -1, not"),
    (
        "study SET plan = json_set(plan, '$.setups', json('[]'))",
        "`study`, row `sample`: a study of 0 setups",
    ),
    (
        r#"study SET plan = json_set(plan, '$.gate', json('{"margins":[],"allow_undecided":false}'))"#,
        "`study`, row `sample`: `margins` is 0, not between ",
    ),
    (
        r#"study SET plan = json_set(plan, '$.gate', json(replace(
               '{"margins":[X],"allow_undecided":false}', 'X', (SELECT group_concat('1.0') FROM cell))))"#,
        "`study`, row `sample`: a margin is 1, not between 0 and 1",
    ),
    (
        r#"study SET plan = json_set(plan, '$.table_form', json('{"create_table_options":"; DROP DATABASE x"}'))"#,
        "`study`, row `sample`: `create_table_options` must be a part of one statement",
    ),
    (
        "study SET plan = json_set(plan, '$.terms', '--x')",
        "`study`, row `sample`: `terms` is not the name of any terms",
    ),
    ("run SET started_ms = 9000000000000000000", "`run`, row 1: `started_ms` is 9000"),
    ("slice SET written_ms = 9000000000000000000", "`slice`, row 1: `written_ms` is 9000"),
    ("cell SET clients = 1000000", "`cell`, row 0: `clients` is 1000000, not"),
    ("cell SET rows = 0", "`cell`, row 0: `rows` is 0, not"),
    ("cell SET slice_ms = 4294967295", "`cell`, row 0: `slice_ms` is 4294967295, not"),
    ("cell SET events = 1 << 50", "`cell`, row 0: `events` is 1125899906842624, not"),
    ("cell SET events = 10", "`events` is set, and "),
    ("system SET is_base = 0", "`system`, row 0: the base is not the first"),
    ("slice SET block = 4294967295", "`slice`, row 1: `block` is 4294967295, not"),
    ("slice SET round = 4294967295", "`slice`, row 1: `round` is 4294967295, not"),
    ("slice SET position = 4294967295", "`slice`, row 1: `position` is 4294967295, not"),
    ("slice SET started_ms = -5", "`slice`, row 1: `started_ms` is -5, not"),
    ("slice SET elapsed_ns = 1 << 62", "`slice`, row 1: `elapsed_ns` is 4611686018427387904"),
    ("slice SET read = -1", "`slice`, row 1: `read` is -1"),
    (
        "slice SET errors = '[[1,18446744073709551615],[2,18446744073709551615]]'",
        "`slice`, row 1: `errors in all` is 18446744073709551615, not",
    ),
    ("slice SET latency_hdr = zeroblob(100)", "`slice`, row 1: `latency_hdr` is no histogram"),
    ("event SET when_ms = -1", "`event`, row 1: `when_ms` is -1, not"),
    ("event SET what = '{\"kind\":\"gone\"}'", "`event`, row 1: `what`: unknown variant `gone`"),
    ("system SET artifact = '{\"kind\":\"gone\"}'", "`system`, row 0: `artifact`: unknown variant"),
    ("slice SET run = 99", "`slice`, row 1: `run` is 99, not one of the study"),
    ("slice SET counter_names = 99", "`slice`, row 1: `counter_names` is 99, not one of the study"),
    ("counter_names SET names = '[\"a\",\"a\"]'", "`counter_names`, row 0: `names` has one twice"),
    ("run SET host = json_set(host, '$.cpus', -1)", "`run`, row 1: `host`: invalid value"),
    ("run SET study = 'other'", "`slice`, row 1: `run` is "),
];

#[test]
fn invalid_numbers_are_named() {
    let sound = sound();
    for (change, complaint) in INVALID {
        // Only the first slice is changed: slices must not become equal.
        let first = if change.starts_with("slice") { " WHERE id = 1" } else { "" };
        let sql = format!("UPDATE {change}{first}");
        let error = read_changed(&sound, |file| assert!(file.execute(&sql, []).unwrap() > 0));
        let error = error.to_string();
        let (_, message) = error.split_once("table ").unwrap();
        assert!(message.contains(complaint), "{change}: {error}");
    }
}

/// JSON's null is a value, but no search.
#[test]
fn a_study_of_no_search_does_not_hide_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    fs_err::write(&path, sound()).unwrap();
    let connection = Connection::open(&path).unwrap();
    let sql = "UPDATE study SET plan = json_set(plan, '$.bisect', NULL, '$.watch', NULL)";
    assert_eq!(connection.execute(sql, []).unwrap(), 1);
    drop(connection);
    let ledger = Ledger::open_read_only(&path).unwrap();
    assert!(ledger.parts::<SearchPart>("bisect").unwrap().is_empty());
    assert!(ledger.parts::<FollowedRange>("watch").unwrap().is_empty());
}

fn with_counters(sound: &[u8], names: &str, values: &str) -> Error {
    read_changed(sound, |file| {
        let sql = "INSERT INTO counter_names (study, number, names) VALUES ('sample', 99, ?)";
        file.execute(sql, [names]).unwrap();
        let sql = "UPDATE slice SET counter_names = 99, counters = ? WHERE id = 1";
        assert_eq!(file.execute(sql, [values]).unwrap(), 1);
    })
}

#[test]
fn invalid_counters_are_named() {
    let sound = sound();
    for (names, values, complaint) in [
        ("[\"status.a\"]", "[0.5]", "`counters`: "),
        ("[\"status.a\"]", "[-1]", "`status.a` is -1"),
        ("[\"status.a\"]", "[4611686018427387904]", "`status.a` is 4611686018427387904"),
        ("[\"status.a\"]", "[1,2]", "`counters` and their names are not equally many"),
    ] {
        let error = with_counters(&sound, names, values).to_string();
        assert!(error.contains(&format!("table `slice`, row 1: {complaint}")), "{error}");
    }
    let error = with_counters(&sound, "[\"a b\"]", "[1]").to_string();
    assert!(error.contains("row 99: `a b` is no name of a counter"), "{error}");
}

#[test]
fn only_regular_files_are_opened() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let fifo = |path: &Path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    fifo(&at("fifo"));
    std::os::unix::fs::symlink(at("fifo"), at("link")).unwrap();
    let refused = |path: &Path, message: &str| {
        for opened in [Ledger::open(path), Ledger::open_read_only(path)] {
            let error = opened.unwrap_err();
            assert!(matches!(error.problem, Problem::NotAFile(_)), "{error}");
            assert!(error.to_string().contains(message), "{error}");
        }
    };
    for path in [&at("fifo"), &at("link"), Path::new("/dev/null"), directory.path()] {
        refused(path, "it is not a regular file");
    }
    for suffix in ["-wal", "-shm", "-journal"] {
        let path = at(&format!("with{suffix}.db"));
        fs_err::write(&path, sound()).unwrap();
        fifo(&at(&format!("with{suffix}.db{suffix}")));
        refused(&path, &format!("with{suffix}.db{suffix}` is not a regular file"));
    }
    std::os::unix::fs::symlink(at("new.db"), at("dangling")).unwrap();
    assert!(Ledger::open(&at("dangling")).is_ok() && at("new.db").is_file());
}

#[test]
fn a_block_lists_each_cell_once() {
    let error = read_changed(&sound(), |file| {
        let sql = "INSERT OR REPLACE INTO block (study, number, cells, cell_rounds, expected, run)
             VALUES ('sample', 0, '[0,0]', '[2,2]', 1, 1)";
        file.execute(sql, []).unwrap();
    });
    assert!(error.to_string().ends_with("`block`, row 0: `cells` has one twice"), "{error}");
}

#[test]
fn overlong_values_are_refused() {
    let error = read_changed(&sound(), |file| {
        file.execute("UPDATE study SET request = json_quote(hex(zeroblob(9000000)))", []).unwrap();
    });
    assert!(matches!(error.problem, Problem::TooLong), "{error}");
}

/// With a damaged unique index, a slice may exist twice.
#[test]
fn a_duplicate_slice_is_detected_despite_a_damaged_index() {
    let error = read_changed(&sound(), |file| {
        let names = "SELECT group_concat(name) FROM pragma_table_info('slice') WHERE name <> 'id'";
        let names: String = file.query_row(names, [], |row| row.get(0)).unwrap();
        let text = "SELECT quote(sql) FROM sqlite_schema WHERE name = 'slice_once'";
        let text: String = file.query_row(text, [], |row| row.get(0)).unwrap();
        file.execute_batch(&format!(
            "DROP INDEX slice_once;
             INSERT INTO slice ({names}) SELECT {names} FROM slice WHERE id = 1;
             CREATE UNIQUE INDEX slice_once ON slice
                (study, system, test, clients, tables, rows, block, round) WHERE id < 0;
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = {text} WHERE name = 'slice_once';"
        ))
        .unwrap();
    });
    assert!(matches!(error.problem, Problem::SliceTwice { first: 1, .. }), "{error}");
}

/// Pages of a table that refer to the same page repeatedly. A few of them make more rows than can be read.
#[test]
fn reading_endless_rows_is_aborted() {
    for is_of_study in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.db");
        fs_err::write(&path, sound()).unwrap();
        let file = Connection::open(&path).unwrap();
        file.pragma_update(None, "foreign_keys", false).unwrap();
        if !is_of_study {
            file.execute("UPDATE event SET study = 'other'", []).unwrap();
        }
        file.execute_batch("CREATE TABLE spare (x); INSERT INTO spare VALUES (zeroblob(65536))")
            .unwrap();
        let number = |sql| file.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap() as usize;
        let root = number("SELECT rootpage FROM sqlite_schema WHERE name = 'event'");
        let (last, size) = (number("PRAGMA page_count"), number("PRAGMA page_size"));
        // The pages stay in the file.
        file.execute_batch("DROP TABLE spare").unwrap();
        drop(file);
        let mut bytes = fs_err::read(&path).unwrap();
        let mut put = |number: usize, page: &[u8]| {
            bytes[(number - 1) * size..number * size].copy_from_slice(page);
        };
        put(root, &interior(size, last - 4));
        (last - 4..last).for_each(|number| put(number, &interior(size, number + 1)));
        put(last, &leaf(&path, root, size));
        fs_err::write(&path, bytes).unwrap();
        let error = read(&path);
        assert!(matches!(error.problem, Problem::Overfull), "{error}");
        assert!(Ledger::open_read_only(&path).unwrap().studies().is_err());
    }
}

fn leaf(path: &Path, root: usize, size: usize) -> Vec<u8> {
    let page = fs_err::read(path).unwrap()[(root - 1) * size..root * size].to_vec();
    assert_eq!(page[0], 13, "a table of one page");
    page
}

/// A page whose entries all refer to the same page.
fn interior(size: usize, child: usize) -> Vec<u8> {
    const ENTRIES: usize = 300;
    let child = (child as u32).to_be_bytes();
    let mut page = vec![0; size];
    let content = size - 5 * ENTRIES;
    page[0] = 5;
    page[3..5].copy_from_slice(&(ENTRIES as u16).to_be_bytes());
    page[5..7].copy_from_slice(&(content as u16).to_be_bytes());
    page[8..12].copy_from_slice(&child);
    for entry in 0..ENTRIES {
        let at = content + 5 * entry;
        page[12 + 2 * entry..14 + 2 * entry].copy_from_slice(&(at as u16).to_be_bytes());
        page[at..at + 4].copy_from_slice(&child);
        page[at + 4] = 1;
    }
    page
}
