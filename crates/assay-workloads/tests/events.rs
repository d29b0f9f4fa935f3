//! Compares statements and parameters of every test with the published definition.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_model::{Dialect, Setup, StatementMode, Test, TestSet};
use assay_workloads::{
    Argument, ArgumentType, EventBuf, EventProgram, OltpOptions, Operation, ProgramClient,
    oltp_tests, test_by_name, tests_of,
};

const PREPARED: StatementMode = StatementMode::Prepared;
const SETUP: Setup = Setup { clients: 4, tables: 3, rows: 1000 };

#[test]
fn unused_ids_are_negative_and_different() {
    let options = OltpOptions { auto_inc: false, ..OltpOptions::default() };
    let insert = oltp_tests(&options).into_iter().find(|it| it.name() == "oltp_insert").unwrap();
    let program = Arc::new(EventProgram::new(Dialect::MySql, insert, SETUP, PREPARED));
    assert_eq!(program.tables_to_clear().count(), 3);
    let mut ids = Vec::new();
    for number in 0..SETUP.clients {
        let client = ProgramClient::new(Arc::clone(&program), 1, number);
        let mut event = EventBuf::default();
        for sequence in 0..5000 {
            // A retried event takes another id.
            client.write_event(sequence / 2, (sequence % 2) as u32, &mut event);
            let sent: Vec<String> = event.operations().map(|it| render(&program, &it)).collect();
            let [sql] = sent.as_slice() else { panic!("{sent:?}") };
            let (_, values) = sql.split_once("VALUES (").unwrap();
            ids.push(values.split_once(',').unwrap().0.parse::<i32>().unwrap());
        }
    }
    assert!(ids.iter().all(|id| *id < 0));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    let rises = ids.windows(2).filter(|two| two[0] < two[1]).count();
    let (least, most) = (ids.len() * 45 / 100, ids.len() * 55 / 100);
    assert!((least..most).contains(&rises), "{rises} of {}", ids.len());
}

fn render(program: &EventProgram, operation: &Operation<'_>) -> String {
    match operation {
        Operation::Sleep(_) => panic!("a microbenchmark sleeps"),
        Operation::Pipeline(_) => panic!("a microbenchmark has a pipeline"),
        Operation::Query { sql, .. } => String::from_utf8(sql.to_vec()).unwrap(),
        Operation::Execute { statement, arguments } => {
            let statement = &program.statements()[*statement];
            let mut pieces = statement.sql.split('?');
            let mut text = pieces.next().unwrap().to_owned();
            assert_eq!(arguments.len(), statement.params.len());
            for ((argument, param), piece) in arguments.clone().zip(&statement.params).zip(pieces) {
                match (argument, param) {
                    (Argument::Int(value), ArgumentType::Int) => text += &value.to_string(),
                    (Argument::Text(value), ArgumentType::Text) => {
                        text += &format!("'{}'", std::str::from_utf8(value).unwrap());
                    }
                    (argument, param) => panic!("{argument:?} bound as {param:?}"),
                }
                text += piece;
            }
            text
        }
    }
}

fn written(program: &Arc<EventProgram>, client: u32, sequence: u64) -> EventBuf {
    let mut buf = EventBuf::default();
    ProgramClient::new(Arc::clone(program), 1, client).write_event(sequence, 0, &mut buf);
    buf
}

fn rendered(program: &Arc<EventProgram>, client: u32, sequence: u64) -> Vec<String> {
    let event = written(program, client, sequence);
    event.operations().map(|operation| render(program, &operation)).collect()
}

fn event(test: Test, setup: Setup, client: u32, sequence: u64) -> Vec<String> {
    let program = EventProgram::new(Dialect::MySql, test, setup, PREPARED);
    rendered(&Arc::new(program), client, sequence)
}

fn test(name: &str) -> Test {
    test_by_name(name).unwrap()
}

/// Replaces table numbers by `#`, numbers by `N`, digit strings by `S`; the published text remains.
fn shape(sql: &str) -> String {
    let mut shape = String::new();
    let mut rest = sql;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[start..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        shape += &rest[..start];
        shape.push(if shape.ends_with("sbtest") { '#' } else { 'N' });
        rest = digits;
    }
    shape + rest
}

/// As published in the sysbench microbenchmarks, sections 4.1 to 4.4.
#[test]
fn statements_are_the_published_ones() {
    let points = "SELECT c FROM sbtest# WHERE id=N";
    let simple = "SELECT c FROM sbtest# WHERE id BETWEEN N AND N";
    let sum = "SELECT SUM(k) FROM sbtest# WHERE id BETWEEN N AND N";
    let order = "SELECT c FROM sbtest# WHERE id BETWEEN N AND N ORDER BY c";
    let distinct = "SELECT DISTINCT c FROM sbtest# WHERE id BETWEEN N AND N ORDER BY c";
    let index = "UPDATE sbtest# SET k=k+N WHERE id=N";
    let nonindex = "UPDATE sbtest# SET c='N' WHERE id=N";
    let delete = "DELETE FROM sbtest# WHERE id=N";
    let insert = "INSERT INTO sbtest# (id, k, c, pad) VALUES (N, N, 'N', 'N')";
    let list = |columns: &str, key: &str, count: usize| {
        format!("SELECT {columns} FROM sbtest# WHERE {key} IN ({})", ["N"].repeat(count).join(", "))
    };
    let between = |columns: &str, key: &str| {
        format!("SELECT {columns} FROM sbtest# WHERE {key} BETWEEN N AND N")
    };
    let inlist = format!("UPDATE sbtest# SET c='N' WHERE id IN ({})", ["N"; 10].join(", "));
    let transaction = |parts: &[&str]| {
        let mut all = vec!["BEGIN"];
        all.extend(parts);
        all.push("COMMIT");
        all.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let with_points = |parts: &[&str]| transaction(&[&[points; 10], parts].concat());
    let one = |sql: &str| vec![sql.to_owned()];
    for test in tests_of(TestSet::Set47) {
        let (name, range) = match test.name().split_once("_range=") {
            Some((name, range)) => (name, range.parse().unwrap()),
            None => (test.name(), 100),
        };
        let expected = match name.trim_end_matches(".pre") {
            "point-query" => one(points),
            "random-points" | "hot-points" => one(&list("c", "id", range)),
            "points-covered-pk" => one(&list("id", "id", 100)),
            "points-covered-si" => one(&list("k", "k", 100)),
            "points-notcovered-pk" => one(&list("id, c", "id", 100)),
            "points-notcovered-si" => one(&list("k, c", "k", 100)),
            "range-covered-pk" => one(&between("id", "id")),
            "range-covered-si" => one(&between("k", "k")),
            "range-notcovered-pk" => one(&between("id, c", "id")),
            "range-notcovered-si" => one(&between("k, c", "k")),
            "scan" => one("SELECT * from sbtest# WHERE LENGTH(c) < N"),
            "read-only" => with_points(&[simple, sum, order, distinct]),
            "read-only-simple" => with_points(&[simple]),
            "read-only-sum" => with_points(&[sum]),
            "read-only-order" => with_points(&[order]),
            "read-only-distinct" => with_points(&[distinct]),
            "read-only-count" => one(&between("count(c)", "id")),
            "update-inlist" => one(&inlist),
            "update-index" => one(index),
            "update-nonindex" | "update-one" | "update-zipf" => one(nonindex),
            "write-only" => transaction(&[index, nonindex, delete, insert]),
            "read-write" => {
                with_points(&[simple, sum, order, distinct, index, nonindex, delete, insert])
            }
            "delete" => one(delete),
            "insert" => one(insert),
            other => panic!("{other} was not published"),
        };
        let sent: Vec<String> = event(test, SETUP, 0, 0).iter().map(|sql| shape(sql)).collect();
        assert_eq!(sent, expected, "{test}");
    }
}

/// All numbers of a statement, without table numbers.
fn numbers(sql: &str) -> Vec<u64> {
    sql.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && word.len() < 11)
        .filter_map(|word| word.parse().ok())
        .collect()
}

fn table(sql: &str) -> &str {
    sql.split_whitespace().find(|word| word.starts_with("sbtest")).unwrap()
}

#[test]
fn range_tests_read_101_values_and_transactions_read_their_label() {
    for (name, operation, span) in [
        ("range-covered-pk", 0, 100),
        ("range-notcovered-si", 0, 100),
        ("read-only_range=10", 11, 9),
        ("read-only_range=10000", 14, 9999),
        ("read-only-sum", 11, 999),
        ("read-only-count", 0, 999),
        ("read-write_range=100", 13, 99),
    ] {
        for sequence in 0..50 {
            let ends = numbers(&event(test(name), SETUP, 0, sequence)[operation]);
            assert!((1..=1000).contains(&ends[0]) && ends[1] == ends[0] + span, "{name}: {ends:?}");
        }
    }
}

#[test]
fn hot_points_are_those_above_the_middle() {
    let ids = numbers(&event(test("hot-points"), SETUP, 2, 9)[0]);
    assert_eq!(ids, (501..=600).collect::<Vec<_>>());
}

#[test]
fn update_one_knows_only_the_first_row() {
    for sequence in 0..50 {
        assert!(event(test("update-one"), SETUP, 0, sequence)[0].ends_with("WHERE id=1"));
    }
}

#[test]
fn update_zipf_prefers_low_ids() {
    let hot = (0..1000)
        .filter(|sequence| {
            let sql = &event(test("update-zipf"), SETUP, 0, *sequence)[0];
            numbers(sql)[0] <= 10
        })
        .count();
    // P(<= 10) at n = 1000, s = 0.8 is .230456.
    assert!((180..285).contains(&hot), "{hot}");
}

#[test]
fn the_row_deleted_is_the_row_inserted() {
    for sequence in 0..50 {
        let event = event(test("write-only"), SETUP, 1, sequence);
        let (delete, insert) = (&event[3], &event[4]);
        assert_eq!(table(delete), table(insert));
        assert_eq!(numbers(delete)[0], numbers(insert)[0]);
    }
}

#[test]
fn ten_point_selects_share_a_table_and_each_step_draws_its_own() {
    let mut tables_per_event = BTreeSet::new();
    for sequence in 0..500 {
        let event = event(test("read-only_range=10"), SETUP, 0, sequence);
        let of_points: BTreeSet<&str> = event[1..11].iter().map(|sql| table(sql)).collect();
        assert_eq!(of_points.len(), 1);
        let all: BTreeSet<&str> = event[1..15].iter().map(|sql| table(sql)).collect();
        tables_per_event.insert(all.len());
    }
    assert_eq!(tables_per_event, BTreeSet::from([1, 2, 3]));
}

#[test]
fn scan_stays_on_the_table_of_its_client() {
    for client in 0..7 {
        let expected = format!("SELECT * from sbtest{} WHERE LENGTH(c) < 0", client % 3 + 1);
        assert_eq!(event(test("scan"), SETUP, client, 5), [expected]);
    }
}

#[test]
fn events_depend_on_seed_test_client_sequence_and_attempt_alone() {
    let texts = |seed, name, client, sequence, attempt| {
        let program = Arc::new(EventProgram::new(Dialect::MySql, test(name), SETUP, PREPARED));
        let mut buf = EventBuf::default();
        let client = ProgramClient::new(Arc::clone(&program), seed, client);
        // The earlier content of the buffer must not matter.
        client.write_event(sequence + 17, 3, &mut buf);
        client.write_event(sequence, attempt, &mut buf);
        buf.operations().map(|operation| render(&program, &operation)).collect::<Vec<_>>()
    };
    let base = texts(1, "update-index", 0, 0, 0);
    assert_eq!(base, texts(1, "update-index", 0, 0, 0));
    for other in [
        texts(2, "update-index", 0, 0, 0),
        texts(1, "update-index", 1, 0, 0),
        texts(1, "update-index", 0, 1, 0),
        texts(1, "update-index", 0, 0, 1),
    ] {
        assert_ne!(base, other);
    }
    assert_ne!(texts(1, "point-query", 0, 0, 0)[0], texts(1, "point-query.pre", 0, 0, 0)[0]);
}

/// If these values change, the work changes, and needs a new workload version.
#[test]
fn events_are_pinned() {
    let sent = event(test("delete"), SETUP, 1, 2);
    assert_eq!(sent, ["DELETE FROM sbtest1 WHERE id=570"]);
}

#[test]
fn statements_are_prepared_unless_a_test_sends_text() {
    for test in tests_of(TestSet::All) {
        let program = EventProgram::new(Dialect::MySql, test, SETUP, PREPARED);
        let text = matches!(test.name(), "scan" | "insert" | "connect")
            || test.name.starts_with("create-drop-");
        let mode = if text { StatementMode::Text } else { StatementMode::Prepared };
        assert!(program.statements().iter().all(|statement| statement.mode == mode), "{test}");
    }
    let program = EventProgram::new(Dialect::MySql, test("read-only_range=10"), SETUP, PREPARED);
    assert_eq!(program.statements().len(), 2 + 3 * 5);
}

#[test]
fn as_text_every_statement_is_the_same_and_none_is_prepared() {
    for dialect in [Dialect::MySql, Dialect::MySql] {
        for test in tests_of(TestSet::All) {
            let program = |mode| Arc::new(EventProgram::new(dialect, test, SETUP, mode));
            let (prepared, text) = (program(PREPARED), program(StatementMode::Text));
            assert!(
                text.statements().iter().all(|statement| statement.mode == StatementMode::Text)
            );
            for sequence in 0..20 {
                let sent = written(&text, 1, sequence);
                assert!(sent.operations().all(|it| matches!(it, Operation::Query { .. })));
                assert_eq!(
                    rendered(&text, 1, sequence),
                    rendered(&prepared, 1, sequence),
                    "{test}"
                );
            }
        }
    }
}

#[test]
fn a_client_works_on_its_own_scratch_tables() {
    let program = EventProgram::new(Dialect::Postgres, test("delete-cascade"), SETUP, PREPARED);
    let program = Arc::new(program);
    let tables: Vec<_> = program.scratch(2).collect();
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["parent_sbtest3", "child_sbtest3"]);
    let key = tables[1].then.last().unwrap().sql(Dialect::Postgres);
    assert!(key.contains("ALTER TABLE child_sbtest3") && key.contains("REFERENCES parent_sbtest3"));
    let event = written(&program, 2, 0);
    let sent: Vec<_> = event.operations().filter_map(|operation| operation.statement()).collect();
    let clients = sent.iter().map(|statement| program.statements()[*statement].client);
    assert_eq!(clients.collect::<Vec<_>>(), [None, Some(2), Some(2), Some(2), None]);
    let child = &program.statements()[sent[3]].sql;
    assert!(child.starts_with("INSERT INTO child_sbtest3 (id, parent) VALUES (5*$1-4, $2)"));
}

#[test]
fn postgres_has_its_own_placeholders_and_insert() {
    let program = |name, mode| EventProgram::new(Dialect::Postgres, test(name), SETUP, mode);
    let update = program("update-nonindex", PREPARED);
    assert_eq!(update.statements()[1].sql, "UPDATE sbtest2 SET c=$1 WHERE id=$2");
    let sent = |name| shape(&rendered(&Arc::new(program(name, StatementMode::Text)), 0, 0)[0]);
    assert_eq!(sent("insert"), "INSERT INTO sbtest# (k, c, pad) VALUES (N, 'N', 'N')");
    assert_eq!(sent("update-nonindex"), "UPDATE sbtest# SET c='N' WHERE id=N");
}
