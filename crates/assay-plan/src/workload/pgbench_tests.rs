//! Parsing of pgbench scripts, and display of mistakes.

use assay_model::{Dialect, Distribution, Hint as _, Schema, UserRows};

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

fn read(text: &str) -> Result<UserWorkload, String> {
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
    let Schema::User(data) = &test.definition().schema else { panic!("{test:?}") };
    let rows: Vec<_> = data.tables.iter().map(|table| table.count()).collect();
    assert_eq!(rows, [Some(1), Some(10), Some(100_000), Some(0)]);
    assert!(data.tables.iter().all(|it| matches!(it.rows, UserRows::Generated { .. })));
    let transaction = &test.definition().roles[0].script.mix[0];
    assert_eq!(transaction.variables.len(), 4);
    let assay_model::UserStep::Send { sql, .. } = &transaction.steps[1] else { panic!() };
    assert!(sql.for_dialect(Dialect::MySql).is_none());
    assert_eq!(sql.for_dialect(Dialect::Postgres).unwrap().variables, [3, 0]);
}

#[test]
fn a_script_that_leaves_a_transaction_open_is_refused() {
    let message = "a transaction begins in the script and does not end";
    for text in ["BEGIN;\nSELECT 1;", "SELECT 1;\nEND;\nSTART TRANSACTION;"] {
        assert!(read(text).unwrap_err().contains(message), "{text}");
    }
    let ends = "BEGIN;\n\\if :scale > 1\nCOMMIT;\n\\else\nROLLBACK;\n\\endif\n";
    assert!(read(ends).is_ok(), "{:?}", read(ends));
}

#[test]
fn constants_become_part_of_the_statement_and_draws_do_not() {
    let text = "\\set n 2 * (3 + -1) \\\n  % 3\n\\set m :n - 7 / 2\n\
                \\set z random_zipfian(:m, :n * 1000, 1.5)\n\\sleep :n ms\nSELECT :n, :m, :z";
    let workload = read(text).unwrap();
    let transaction = &workload.tests[0].definition().roles[0].script.mix[0];
    let [_, assay_model::UserStep::Send { sql, .. }] = transaction.steps.as_slice() else {
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
        "\\set a random(1, 9)\n\\startpipeline\nSELECT ':a';\n\\endpipeline",
        "SELECT 1 AS a \\gset\nDO $$ BEGIN PERFORM :a; END $$;",
        "\\sleep 2h\nSELECT 1;",
        "CREATE TABLE notes (id int PRIMARY KEY, body text);",
        "\\if 1\nSELECT 1;",
        "SELECT 1;\n\\else\n\\endif",
        "SELECT * FROM pgbench_accounts \\gset\nSELECT 1;",
        "SELECT bid FROM pgbench_accounts \\gset\n\\set a :bid + 1\nSELECT :a;",
        "\\set a permute(1, 2)\nSELECT :a;",
        "SELECT 1 \\; SELECT 2;",
        "\\set d random(1, 9)\n\\sleep :d ms\nSELECT 1;",
        "CREATE TEMP TABLE work_:client_id AS SELECT 1 AS a;\nDROP TABLE work_:client_id;",
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

#[test]
fn all_mistakes_are_shown_at_once() {
    let script = r"\set a random_gaussian(1, 100000, 5.0)
\setrandom e 1 10
\setshell s date
\startpipeline
SELECT :e, :s, :f;
\endpipeline
\if :a >
SELECT :'a', ':a';
\else
SELECT 2 \gdesc
";
    insta::assert_snapshot!(read(script).unwrap_err());
}

fn events(script: &str, client: u32) -> Vec<String> {
    use assay_model::{Setup, StatementMode};
    use assay_workloads::{Argument, EventBuf, EventProgram, Operation, ProgramClient};
    let workload = read(script).unwrap();
    let setup = Setup { clients: 4, tables: 1, rows: 1000 };
    let program =
        EventProgram::new(Dialect::Postgres, workload.tests[0], setup, StatementMode::Prepared);
    let program = std::sync::Arc::new(program);
    let (worker, mut event) =
        (ProgramClient::new(std::sync::Arc::clone(&program), 7, client), EventBuf::default());
    let mut shown = Vec::new();
    for sequence in 0..40 {
        worker.write_event(sequence, 0, &mut event);
        for operation in event.operations() {
            let Operation::Execute { statement, arguments } = operation else { continue };
            let values: Vec<String> = arguments
                .map(|argument| match argument {
                    Argument::Int(value) => value.to_string(),
                    Argument::Text(text) | Argument::Bare(text) | Argument::Raw(text) => {
                        String::from_utf8_lossy(text).into_owned()
                    }
                    Argument::Null => "NULL".to_owned(),
                    Argument::Kept(place) => format!("kept {place}"),
                })
                .collect();
            shown.push(format!("{} {}", program.statements()[statement].sql, values.join(" ")));
        }
    }
    shown
}

#[test]
fn expressions_are_computed_for_each_event() {
    let script = "\\set a :client_id + 1\n\\set b abs(-7) + 2 * 3 << 1 % 5\n\\set c random(1, 10) * 100 + :a\n\
                  \\set d case when :c > 500 then greatest(:a, 2, 9) else 1.5 / 3 end\n\
                  \\set e random_gaussian(1, 1000, 5.0)\n\\set f random_exponential(1, :e, 2)\n\
                  \\set g hash(:c) is not null\nSELECT :a, :b, :c, :d, :e, :f, :g;";
    let sent = events(script, 2);
    for text in &sent {
        let values: Vec<&str> = text.rsplit(' ').collect();
        let [g, f, e, d, c, a, ..] = values.as_slice() else { panic!("{text}") };
        assert_eq!((*g, *a), ("true", "3"), "{text}");
        let [f, e, c] = [f, e, c].map(|it| it.parse::<i64>().unwrap());
        assert!((1..=e).contains(&f) && (1..=1000).contains(&e) && c % 100 == 3, "{text}");
        assert_eq!(*d, if c > 500 { "9" } else { "0.5" }, "{text}");
        assert!(text.starts_with("SELECT $1, 26, $2"), "{text}");
    }
    let drawn: std::collections::BTreeSet<&String> = sent.iter().collect();
    assert!(drawn.len() > 30, "{drawn:?}");
}

#[test]
fn branches_send_what_their_condition_says() {
    let script = "\\set dice random(1, 10)\n\\set kind 0\n\\if :dice > 5\n\\set kind 1\nSELECT :dice, :kind;\n\
                  \\elif :dice > 3 and not :dice = 5\nUPDATE t SET a = :dice, b = :kind;\n\\else\n\\if :dice <= 2\n\
                  DELETE FROM t WHERE a = :dice;\n\\endif\n\\endif\nSELECT :dice;";
    let sent = events(script, 0);
    for (number, text) in sent.iter().enumerate() {
        let last =
            |number: usize| sent.get(number).map(|it| it.rsplit(' ').next().unwrap().to_owned());
        if !text.starts_with("SELECT $1 ") || number == 0 {
            continue;
        }
        let dice: i64 = last(number).unwrap().parse().unwrap();
        let expected = match dice {
            6.. => format!("SELECT $1, $2 {dice} 1"),
            4 => "UPDATE t SET a = $1, b = $2 4 0".to_owned(),
            ..=2 => format!("DELETE FROM t WHERE a = $1 {dice}"),
            _ => sent[number - 1].clone(),
        };
        assert_eq!(sent[number - 1], expected);
    }
    for part in ["SELECT $1, $2", "UPDATE", "DELETE"] {
        assert!(sent.iter().any(|it| it.starts_with(part)), "{part}: {sent:?}");
    }
}

/// An expression that ends in a constant, as a comparison does, is not that constant.
#[test]
fn comparisons_are_truth_values() {
    let script = "\\set c random(1, 10)\n\\set a (:c > 3 and :c < 8)\n\\set b not (:c > 3 and :c < 8)\n\
                  \\set d case when :c > 7 or :c < 4 then 1 else 0 end\nSELECT :c, :a, :b, :d;\n\
                  \\if :c > 7 or (:c < 4)\nSELECT 'out', :c;\n\\endif";
    let sent = events(script, 0);
    let mut outside = 0;
    for text in &sent {
        let values: Vec<&str> = text.split(' ').collect();
        let c = |value: &str| value.parse::<i64>().unwrap();
        match values.as_slice() {
            [.., "'out',", _, value] => {
                outside += 1;
                assert!(!(4..8).contains(&c(value)), "{text}");
            }
            [.., value, a, b, d] => {
                let is_inside = (4..8).contains(&c(value));
                assert_eq!(
                    [*a, *b],
                    [is_inside, !is_inside].map(|it| if it { "true" } else { "false" })
                );
                assert_eq!(*d, if is_inside { "0" } else { "1" });
            }
            _ => panic!("{text}"),
        }
    }
    assert!(outside > 5 && sent.len() > outside + 30, "{sent:?}");
    // Numbers, and their sums, are no truth values.
    assert!(read("\\if 1 and true\nSELECT 1;\n\\endif").is_err());
    assert!(read("\\set c random(1, 9)\n\\if :c > 1 + true\nSELECT 1;\n\\endif").is_err());
}

#[test]
fn copies_to_the_client_are_refused() {
    let message = read("SELECT 1;\nCOPY (SELECT 1) TO stdout;").unwrap_err();
    assert!(message.contains("`COPY` to or from the client cannot be used"), "{message}");
    assert!(read("COPY t FROM '/rows' WITH (FORMAT csv);").is_ok());
}

#[test]
fn columns_of_a_result_become_variables() {
    let script = "\\set row random(1, 5)\nSELECT bid, abalance AS b FROM pgbench_accounts WHERE aid = :row \\gset x_\n\
                  UPDATE pgbench_branches SET bbalance = :x_b WHERE bid = :x_bid;";
    let workload = read(script).unwrap();
    let transaction = &workload.tests[0].definition().roles[0].script.mix[0];
    let assay_model::UserStep::Send { keep, .. } = &transaction.steps[0] else { panic!() };
    assert_eq!(keep, &[1, 2]);
    assert!(events(script, 0).iter().any(|it| it.ends_with("kept 2 kept 1")));
}

#[test]
fn own_variables_are_those_of_pgbench() {
    let script = "\\set row :client_id * 10 + :scale\nSELECT :row, :client_id, :random_seed, t_:scale FROM t_:scale;";
    let sent = events(script, 3);
    assert_eq!(sent[0], "SELECT $1, $2, $3, t_1 FROM t_1 31 3 7");
}
