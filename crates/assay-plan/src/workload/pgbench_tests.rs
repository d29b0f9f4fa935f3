//! pgbench scripts: what is read, and how mistakes are shown.

use assay_model::{Distribution, Hint as _, OwnRows, Product, Schema};

use super::*;

const TPCB: &str = r"\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
  VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

fn read(text: &str) -> Result<Workload, String> {
    let none = |_: &str| Err("no file".to_owned());
    read_workload("tpcb.pgbench", text, &none).map_err(|error| {
        let hints = error.hints().into_iter().map(|hint| format!("\n    hint: {hint}"));
        format!("{error}{}", hints.collect::<String>())
    })
}

#[test]
fn a_script_is_a_test_on_the_tables_of_pgbench() {
    let workload = read(TPCB).unwrap();
    let [test] = workload.tests.as_slice() else { panic!("{workload:?}") };
    assert_eq!(test.name(), "tpcb");
    assert_eq!(test.does, "BEGIN, UPDATE, SELECT, UPDATE, UPDATE, INSERT, END");
    assert_eq!(test.class, assay_model::Class::Write);
    let Schema::Own(data) = &test.definition().schema else { panic!("{test:?}") };
    let rows: Vec<_> = data.tables.iter().map(|table| table.count()).collect();
    assert_eq!(rows, [Some(1), Some(10), Some(100_000), Some(0)]);
    assert!(data.tables.iter().all(|it| matches!(it.rows, OwnRows::Generated { .. })));
    let transaction = &test.definition().roles[0].script.mix[0];
    assert_eq!(transaction.variables.len(), 4);
    let assay_model::OwnStep::Send { sql, .. } = &transaction.steps[1] else { panic!() };
    assert!(sql.of(Product::MySql).is_none());
    assert_eq!(sql.of(Product::Postgres).unwrap().variables, [3, 0]);
}

#[test]
fn constants_become_part_of_the_statement_and_draws_do_not() {
    let text = "\\set n 2 * (3 + -1) \\\n  % 3\n\\set m :n - 7 / 2\n\
                \\set z random_zipfian(:m, :n * 1000, 1.5)\n\\sleep :n ms\nSELECT :n, :m, :z";
    let workload = read(text).unwrap();
    let transaction = &workload.tests[0].definition().roles[0].script.mix[0];
    let [_, assay_model::OwnStep::Send { sql, .. }] = transaction.steps.as_slice() else {
        panic!("{transaction:?}")
    };
    assert_eq!(sql.postgres.as_ref().unwrap().pieces, ["SELECT 1, (-2), ", ""]);
    let Some(assay_model::Generator::Integer(range)) = &transaction.variables[0].values else {
        panic!("{transaction:?}")
    };
    assert_eq!((range.low, range.high), (-2, 1000));
    assert_eq!(range.draw, Distribution::Zipfian { s: 1.5 });
}

#[test]
fn what_it_cannot_do_is_shown_with_its_place() {
    let cases = [
        "",
        "\\set\nSELECT 1;",
        "\\set a random(1, 2)\n\\set b :a + 1\nSELECT :b;",
        "\\set a random_gaussian(1, 2, 3)\nSELECT :a;",
        "\\set a random(2, 1)\nSELECT :a;",
        "\\set a 1 / 0\nSELECT :a;",
        "\\set a 1 +\nSELECT :a;",
        "\\set a 1.5\nSELECT :a;",
        "\\set a random(1, 2) + 1\nSELECT :a;",
        "\\set a random_zipfian(1, 2, 0.5)\nSELECT :a;",
        "\\set a ((1)\nSELECT :a;",
        "\\if 1\nSELECT 1;\n\\endif",
        "SELECT 1 \\gset\n;",
        "  \\gset\nSELECT 1;",
        "\\sleep 2 h\nSELECT 1;",
        "\\sleep :x\nSELECT 1;",
        "SELECT :client_id;",
        "\\set abc 1\nSELECT\n  :abd;",
        "\\set a 1\nSELECT ':a';",
    ];
    let mut shown = String::new();
    for text in cases {
        match read(text) {
            Err(error) => shown += &format!("{error}\n\n"),
            Ok(workload) => shown += &format!("{text:?} is {:?}\n\n", workload.tests),
        }
    }
    insta::assert_snapshot!(shown);
}
