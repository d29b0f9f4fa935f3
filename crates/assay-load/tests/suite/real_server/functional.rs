//! Runs every test against a real server, and checks the counters of client and server and the content of the tables
//! afterwards (acceptance checks of the published definition).

use std::collections::{HashMap, HashSet};

use super::bed::{Bed, SEED, SentOperation, loaded_k, sent, test, work};
use assay_load::{ClientSession, RunBound};
use assay_model::{Class, DataSet, Product, Setup, StatementMode, Test, TestSet, WorkCounters};
use assay_workloads::{SbtestRow, tests_of};

pub(crate) const SETUP: Setup = Setup { clients: 3, tables: 2, rows: 12_000 };
/// Not divisible by the number of clients.
pub(crate) const EVENTS: u64 = 20;
pub(crate) const MODES: [StatementMode; 2] = [StatementMode::Prepared, StatementMode::Text];

/// The server's counters by statement class.
const COMMANDS: [&str; 7] = [
    "Com_select",
    "Com_update",
    "Com_delete",
    "Com_insert",
    "Com_begin",
    "Com_commit",
    "Com_stmt_execute",
];

pub(crate) fn all_sent(test: Test) -> Vec<SentOperation> {
    let clients = u64::from(SETUP.clients);
    let share = |client| EVENTS / clients + u64::from(client < EVENTS % clients);
    let sent_by = |client: u32| sent(test, SETUP, client, 0..share(u64::from(client)));
    (0..SETUP.clients).flat_map(sent_by).collect()
}

/// Expected server counters for these operations. Older servers cannot prepare `BEGIN`.
fn expected_commands(
    operations: &[SentOperation],
    statements: StatementMode,
    prepares_begin: bool,
) -> Vec<u64> {
    let starting = |word: &str| {
        operations.iter().filter(|operation| operation.sql.starts_with(word)).count() as u64
    };
    let words = ["SELECT", "UPDATE", "DELETE", "INSERT", "BEGIN", "COMMIT"];
    let mut counts = words.map(starting).to_vec();
    let is_prepared = |operation: &&SentOperation| {
        statements == StatementMode::Prepared
            && !operation.always_text
            && (prepares_begin || operation.sql != "BEGIN")
    };
    counts.push(operations.iter().filter(is_prepared).count() as u64);
    counts
}

/// Rows that a `SELECT` returns from freshly loaded tables, computed from the row generator alone.
pub(crate) fn expected_rows(operation: &SentOperation, k_of: &HashMap<u32, Vec<i64>>) -> u64 {
    let SentOperation { sql, numbers, table, .. } = operation;
    let rows = i64::from(SETUP.rows);
    let k =
        |wanted: &dyn Fn(i64) -> bool| k_of[table].iter().filter(|k| wanted(**k)).count() as u64;
    if !sql.starts_with("SELECT") || sql.contains("LENGTH") {
        0
    } else if sql.contains("SUM") || sql.contains("count") || sql.contains("id=") {
        1
    } else if sql.contains("id BETWEEN") {
        (numbers[1].min(rows) - numbers[0] + 1) as u64
    } else if sql.contains("k BETWEEN") {
        k(&|k| (numbers[0]..=numbers[1]).contains(&k))
    } else if sql.contains("id IN") {
        numbers.iter().collect::<HashSet<_>>().len() as u64
    } else {
        let wanted: HashSet<i64> = numbers.iter().copied().collect();
        k(&|k| wanted.contains(&k))
    }
}

fn run_and_check_counters(bed: &mut Bed, test: Test, statements: StatementMode) -> WorkCounters {
    let case = format!("{test}, {statements:?}");
    let prepares_begin = bed.control.query("PREPARE begin FROM 'BEGIN'").is_ok();
    let mut session = bed.open_as(test, SETUP, statements);
    let before: Vec<u64> = COMMANDS.iter().map(|name| bed.status(name)).collect();
    let counters = session.run(0, RunBound::Events(EVENTS)).unwrap();
    let after: Vec<u64> = COMMANDS.iter().map(|name| bed.status(name)).collect();
    check_counters(&counters, test, &case);
    let commands: Vec<u64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    let expected = expected_commands(&all_sent(test), statements, prepares_begin);
    assert_eq!(commands, expected, "{case}: {COMMANDS:?}");
    counters
}

/// Queries of one event without errors, by class.
struct PerEvent {
    read: u64,
    write: u64,
    other: u64,
}

fn queries_per_event(test: Test) -> PerEvent {
    let mut counts = PerEvent { read: 0, write: 0, other: 0 };
    for step in test.roles.iter().flat_map(|role| &role.script.steps) {
        let count = match step.sql.split(' ').next().unwrap() {
            "SELECT" => &mut counts.read,
            "BEGIN" | "COMMIT" | "CREATE" | "DROP" => &mut counts.other,
            _ => &mut counts.write,
        };
        *count += u64::from(step.times);
    }
    counts
}

pub(crate) fn check_counters(counters: &WorkCounters, test: Test, case: &str) {
    let per_event = queries_per_event(test);
    assert_eq!(counters.events, EVENTS, "{case}");
    assert_eq!(counters.read, EVENTS * per_event.read, "{case}");
    assert_eq!(
        counters.queries(),
        EVENTS * (per_event.read + per_event.write + per_event.other),
        "{case}"
    );
    // MySQL and MariaDB count a created database as a changed row.
    if !["delete", "create-drop-database"].contains(&test.name()) {
        assert_eq!(counters.write, EVENTS * per_event.write, "{case}");
    }
    assert!(counters.errors.is_empty() && counters.elapsed_ns > 0, "{case}");
    assert!(counters.bytes_sent > 0 && counters.bytes_received > counters.rows, "{case}");
    assert!(counters.event_ns_sum > 0, "{case}");
}

#[test]
fn reads_return_the_rows_that_the_generator_predicts() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    let k_of: HashMap<u32, Vec<i64>> =
        (1..=SETUP.tables).map(|table| (table, loaded_k(table, SETUP.rows))).collect();
    let loaded = bed.load(SETUP.tables, SETUP.rows, SEED).content;
    for test in tests_of(TestSet::All).into_iter().filter(|test| test.class == Class::Read) {
        let predicted = |operation| expected_rows(operation, &k_of);
        let rows: u64 = all_sent(test).iter().map(predicted).sum();
        for statements in MODES {
            let counters = run_and_check_counters(&mut bed, test, statements);
            assert_eq!(counters.rows, rows, "{test}, {statements:?}");
        }
    }
    assert_eq!(bed.content(SETUP.data()), loaded);
}

#[test]
fn scans_read_the_table_of_their_client_to_its_end() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    let data = DataSet { tables: 2, rows: 1000 };
    bed.load(data.tables, data.rows, SEED);
    let setup = Setup { clients: 3, tables: data.tables, rows: data.rows };
    for statements in MODES {
        let work = work(test("scan"), setup, statements);
        let mut session = ClientSession::open(&bed.options, &work, &[]).unwrap();
        bed.control.query("SET GLOBAL userstat = ON").unwrap();
        bed.control.query("FLUSH TABLE_STATISTICS").unwrap();
        let counters = session.run(0, RunBound::Events(6)).unwrap();
        assert_eq!((counters.read, counters.rows), (6, 0));
        let read = "SELECT ROWS_READ FROM information_schema.TABLE_STATISTICS \
                    WHERE TABLE_NAME LIKE 'sbtest%' ORDER BY TABLE_NAME";
        assert_eq!(bed.rows(read), [["4000"], ["2000"]], "{statements:?}");
    }
}

/// The definition gives the number of returned rows for these tests: 100 hot points, and 101 rows of a range away from
/// the end of the table.
#[test]
fn hot_points_are_a_hundred_and_ranges_a_hundred_and_one() {
    let bed = Bed::new();
    bed.load(1, 1000, SEED);
    let setup = Setup { clients: 1, tables: 1, rows: 1000 };
    let hot = bed.open(test("hot-points"), setup).run(0, RunBound::Events(3)).unwrap();
    assert_eq!(hot.rows, 300);
    // Clients that assume fewer rows stay away from the end of the table.
    let inner = Setup { rows: 800, ..setup };
    for name in ["range-covered-pk", "range-notcovered-pk"] {
        let range = bed.open(test(name), inner).run(0, RunBound::Events(5)).unwrap();
        assert_eq!(range.rows, 505, "{name}");
    }
}

#[test]
fn writes_have_the_predicted_effect() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    let writes = tests_of(TestSet::Set32).into_iter().filter(|test| test.class == Class::Write);
    for test in writes {
        for statements in MODES {
            bed.load(SETUP.tables, SETUP.rows, SEED);
            check_write(&mut bed, test, statements);
        }
    }
}

fn check_write(bed: &mut Bed, test: Test, statements: StatementMode) {
    let (count, sum) = (bed.sum(2, "COUNT(*)"), bed.sum(2, "SUM(k)"));
    let counters = run_and_check_counters(bed, test, statements);
    let (count_after, sum_after) = (bed.sum(2, "COUNT(*)"), bed.sum(2, "SUM(k)"));
    let written = i64::try_from(counters.write).unwrap();
    let events = EVENTS as i64;
    match test.name() {
        "delete" => {
            assert_eq!((count_after, counters.write + counters.other), (count - written, EVENTS))
        }
        "insert" => assert_eq!(count_after, count + events),
        "update-index" => assert_eq!((count_after, sum_after), (count, sum + events)),
        "read-write_range=10" | "read-write_range=100" | "write-only" => {
            assert_eq!(count_after, count, "{test}")
        }
        _ => assert_eq!((count_after, sum_after), (count, sum), "{test}"),
    }
    let malformed = "SUM(NOT (c REGEXP '^[0-9]{11}(-[0-9]{11}){9}$' \
                     AND pad REGEXP '^[0-9]{11}(-[0-9]{11}){4}$'))";
    assert_eq!(bed.sum(2, malformed), 0, "{test}");
}

/// Runs one session after another on the same data, on the oldest and the newest series.
#[test]
fn other_versions_count_alike() {
    for version in ["10.5", "11.8"] {
        let mut bed = Bed::alone(Product::MariaDb, version);
        for statements in MODES {
            bed.load(SETUP.tables, SETUP.rows, SEED);
            for test in tests_of(TestSet::Set32) {
                run_and_check_counters(&mut bed, test, statements);
            }
        }
    }
}

#[test]
fn a_delete_of_a_missing_row_is_neither_read_nor_write() {
    let mut bed = Bed::new();
    bed.load(1, 10, SEED);
    let setup = Setup { clients: 1, tables: 1, rows: 10 };
    let counters = bed.open(test("delete"), setup).run(0, RunBound::Events(200)).unwrap();
    assert_eq!((counters.read, counters.write, counters.other), (0, 10, 190));
    assert_eq!(bed.sum(1, "COUNT(*)"), 0);
}

#[test]
fn update_one_touches_only_the_first_row() {
    let mut bed = Bed::new();
    bed.load(2, 1000, SEED);
    let rest = "SUM(CRC32(CONCAT(id, k, c, pad)) * (id > 1))";
    let (others, first) = (bed.sum(2, rest), bed.rows("SELECT c FROM sbtest1 WHERE id = 1"));
    let setup = Setup { clients: 1, tables: 2, rows: 1000 };
    bed.open(test("update-one"), setup).run(0, RunBound::Events(20)).unwrap();
    assert_eq!(bed.sum(2, rest), others);
    assert_ne!(bed.rows("SELECT c FROM sbtest1 WHERE id = 1"), first);
}

#[test]
fn the_same_seed_loads_the_same_rows() {
    let mut bed = Bed::new();
    let rows = 8_000;
    let mut checksums = |seed| {
        let report = bed.load(2, rows, seed);
        assert_eq!(report.rows, 16_000);
        bed.rows("CHECKSUM TABLE sbtest1, sbtest2")
    };
    let first = checksums(SEED);
    assert_ne!(first[0][1], first[1][1]);
    assert_ne!(first, checksums(SEED + 1));
    assert_eq!(first, checksums(SEED));

    for id in [1, 2, 2_675, 7_999, rows] {
        let SbtestRow { k, c, pad } = SbtestRow::new(SEED, 2, id, rows);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let loaded = bed.rows(&format!("SELECT id, k, c, pad FROM sbtest2 WHERE id = {id}"));
        assert_eq!(loaded, [[id.to_string(), k.to_string(), text(c), text(pad)]]);
    }
    assert_eq!(bed.sum(2, "SUM(k NOT BETWEEN 1 AND 8000)"), 0);
    assert_eq!(bed.number("SELECT MAX(id) - COUNT(*) FROM sbtest1"), 0);
    let indexes = bed.rows("SHOW INDEX FROM sbtest2");
    let columns: Vec<_> = indexes.iter().map(|row| (row[2].as_str(), row[4].as_str())).collect();
    assert_eq!(columns, [("PRIMARY", "id"), ("k_2", "k")]);
}
