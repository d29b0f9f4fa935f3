//! pgbench scripts: options, weights, results, pipelines, old syntax, and bounds.

use assay_model::{
    Class, Dialect, Hint as _, PipelineMark, Schema, Sending, Setup, StatementMode, Transaction,
    UserStep, UserTable,
};
use assay_workloads::{Argument, EventBuf, EventProgram, Operation, ProgramClient};

use super::*;

fn read_all(files: &[(&str, &str)], options: &ScriptOptions) -> Result<UserWorkload, String> {
    let given: Vec<WorkloadFile<'_>> = files
        .iter()
        .map(|(path, text)| {
            let NamedFile { path, weight } = NamedFile::parse(path);
            WorkloadFile { path, weight, text }
        })
        .collect();
    read_workload_files(&given, options, &|_, _, _| Err("no file".to_owned())).map_err(|error| {
        let hints = error.hints().into_iter().map(|hint| format!("\nhint: {hint}"));
        format!("{error}{}", hints.collect::<String>())
    })
}

fn read(text: &str) -> Result<UserWorkload, String> {
    read_all(&[("script.sql", text)], &ScriptOptions::default())
}

fn kinds(workload: &UserWorkload) -> &'static [Transaction] {
    &workload.tests.last().unwrap().definition().roles[0].script.mix
}

fn tables(workload: &UserWorkload) -> &'static [UserTable] {
    let Schema::User(data) = &workload.tests[0].definition().schema else { panic!() };
    &data.tables
}

/// Texts of an event's statements. `results` are returned by each statement with results.
fn event(script: &str, options: &ScriptOptions, results: &[&[Option<&str>]]) -> Vec<String> {
    let workload = read_all(&[("script.sql", script)], options).unwrap();
    let setup = Setup { clients: 4, tables: 1, rows: 1000 };
    let test = workload.tests[0];
    let program = EventProgram::new(Dialect::Postgres, test, setup, StatementMode::Text);
    let program = std::sync::Arc::new(program);
    let client = ProgramClient::new(std::sync::Arc::clone(&program), 7, 3);
    let (mut event, mut kept, mut sent) = (EventBuf::default(), vec![None; 100], Vec::new());
    let mut results = results.iter();
    client.write_event(0, 0, &mut event);
    loop {
        for operation in event.operations() {
            let Operation::Execute { statement, arguments } = operation else {
                sent.push(format!("{operation:?}"));
                continue;
            };
            let (statement, mut text) = (&program.statements()[statement], Vec::new());
            statement.push_text(false, arguments, &kept, &mut text);
            sent.push(String::from_utf8(text).unwrap());
            if !statement.keep.is_empty() {
                for (place, value) in statement.keep.iter().zip(*results.next().unwrap()) {
                    kept[*place as usize] = value.map(|it| it.as_bytes().to_vec());
                }
            }
        }
        if !client.write_rest(&kept, &mut event) {
            return sent;
        }
    }
}

#[test]
fn tables_have_the_rows_of_their_scale() {
    let options = ScriptOptions { scale: Some(10), ..ScriptOptions::default() };
    for name in PGBENCH_SCRIPTS {
        let script = pgbench_script(name).unwrap();
        let workload = read_all(&[(name, &script)], &options).unwrap();
        assert_eq!((workload.name.as_str(), workload.tests[0].name()), (name, name));
        let counts: Vec<_> = tables(&workload).iter().map(UserTable::count).collect();
        assert_eq!(counts, [Some(10), Some(100), Some(1_000_000), Some(0)]);
        let class = if name == "select-only" { Class::Read } else { Class::Write };
        assert_eq!(workload.tests[0].class, class);
    }
    let sent = event("SELECT :scale, bid FROM pgbench_branches;", &options, &[]);
    assert_eq!(sent, ["SELECT 10, bid FROM pgbench_branches"]);
    // No statement uses them, so none are created.
    assert!(tables(&read("SELECT 1;").unwrap()).is_empty());
}

#[test]
fn scripts_are_mixed_by_their_weights() {
    let [a, b] = ["SELECT abalance FROM pgbench_accounts WHERE aid = 1;", "UPDATE t SET a = 1;"];
    let files = [("x/a.sql@3", a), ("b.sql", b), ("y/a.sql@2", a)];
    let workload = read_all(&files, &ScriptOptions::default()).unwrap();
    let [test] = workload.tests.as_slice() else { panic!("{workload:?}") };
    assert_eq!((test.name(), test.class), ("mix", Class::Write));
    let parts: Vec<_> = kinds(&workload).iter().map(|it| (it.name.as_str(), it.weight)).collect();
    assert_eq!(parts, [("a", 3.0), ("b", 1.0), ("a-2", 2.0)]);
    assert_eq!(test.does, "50% a, 17% b, 33% a-2");
    for weight in ["0", "-1", "1.5", "2000000"] {
        let name = format!("a.sql@{weight}");
        let message = read_all(&[(&name, a), ("b.sql", b)], &ScriptOptions::default()).unwrap_err();
        assert!(
            message.contains("from 1 to 1,000,000, not `") && message.contains("a.sql"),
            "{message}"
        );
    }
    // Mistakes of all files are reported.
    let files = [("a.sql", "SELECT :x;"), ("b.sql", "\\shell date\nSELECT 1;")];
    let message = read_all(&files, &ScriptOptions::default()).unwrap_err();
    assert!(message.contains("--> a.sql:1:8") && message.contains("--> b.sql:1:1"), "{message}");
}

#[test]
fn scripts_work_on_the_tables_of_a_workload_file() {
    let file = "[table.t]\nrows = 5\ncreate = \"CREATE TABLE t (a INT)\"\ncolumns = { a = 1 }\n";
    let script = "\\set a random(1, 5)\nSELECT a FROM t WHERE a = :a;";
    let none = ScriptOptions::default();
    let workload = read_all(&[("shop.toml", file), ("read.sql", script)], &none).unwrap();
    assert_eq!((workload.name.as_str(), workload.tests[0].name()), ("shop", "read"));
    let [table] = tables(&workload) else { panic!("{workload:?}") };
    assert_eq!((table.name.as_str(), table.count()), ("t", Some(5)));
    // pgbench's tables are added where a script uses them.
    let both = format!("{script}\nSELECT bid FROM pgbench_branches;");
    let workload = read_all(&[("read.sql", &both), ("shop.toml", file)], &none).unwrap();
    assert_eq!(tables(&workload).len(), 5);
    let tests = format!("{file}[test.read]\nsteps = [\"SELECT a FROM t\"]\n");
    let message = read_all(&[("shop.toml", &tests), ("read.sql", script)], &none).unwrap_err();
    assert!(message.contains("the workload file has a test `read` too"), "{message}");
    let workload = read_all(&[("shop.toml", &tests), ("other.sql", script)], &none).unwrap();
    let names: Vec<_> = workload.tests.iter().map(|it| it.name()).collect();
    assert_eq!(names, ["read", "other"]);
    for (files, words) in [
        (&[("shop.toml", file)][..], "the workload has no tests"),
        (&[("shop.toml@2", &tests)], "a workload file has no weight"),
        (&[("shop.toml", &tests), ("b.toml", &tests)], "one workload file at most"),
    ] {
        let message = read_all(files, &none).unwrap_err();
        assert!(message.contains(words), "{words}: {message}");
    }
    let scaled = ScriptOptions { scale: Some(2), ..none };
    let message = read_all(&[("shop.toml", &tests)], &scaled).unwrap_err();
    assert!(message.contains("`--scale` is for scripts of pgbench"), "{message}");
}

#[test]
fn given_variables_are_parts_of_the_text() {
    let define = ["t=notes", "n=-7", "s=1.50", "scale=3", "yes=on"].map(str::to_owned).to_vec();
    let options = ScriptOptions { scale: None, define };
    let script = "\\set a :n * 2\n\\set b :s / 2\n\\set c case when :yes then :scale else 0 end\n\
                  SELECT :a, :b, :c, :s, x - :n FROM my_:t;";
    assert_eq!(
        event(script, &options, &[]),
        ["SELECT (-14), 0.75, 3, 1.50, x - (-7) FROM my_notes"]
    );
    let message = read_all(&[("a.sql", "\\set a :t + 1\nSELECT :a;")], &options).unwrap_err();
    assert!(
        message.contains("the value of `t` is neither a number nor a truth value"),
        "{message}"
    );
    for good in ["a=1", "a_1=x=y", "a= "] {
        assert_eq!(script_variable(good).as_deref(), Ok(good));
    }
    for bad in ["a", "=1", "a=", "1a=1", "a b=1", ""] {
        assert!(script_variable(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_old_way_to_draw_is_understood() {
    let script = "\\set n 3\n\\setrandom a 5 :n\n\\setrandom b 1 10 gaussian 4.0\n\
                  \\setrandom c 7 7 uniform\n\\setrandom d 1 :n exponential 2\nSELECT :b, :c, :d;";
    let message = read(script).unwrap_err();
    assert!(
        message.contains("--> script.sql:2:14") && message.contains("the range is empty"),
        "{message}"
    );
    let sent = event(&script.replace("\\setrandom a 5 :n\n", ""), &ScriptOptions::default(), &[]);
    let numbers: Vec<i64> = sent[0][7..].split(", ").map(|it| it.parse().unwrap()).collect();
    assert!((1..=10).contains(&numbers[0]) && numbers[1] == 7 && (1..=3).contains(&numbers[2]));
    for bad in ["\\setrandom a 1\n", "\\setrandom\n", "\\setrandom a 1 2 normal 3\n"] {
        let message = read(&format!("{bad}SELECT 1;")).unwrap_err();
        assert!(message.contains("`\\setrandom` has a name"), "{message}");
    }
}

#[test]
fn expressions_may_use_results() {
    let script = "\\set x 5\nSELECT a, b FROM t \\gset r_\n\\set y :r_a * 2 + :x\n\\if :y > 20\n\
                  UPDATE t SET a = :y WHERE b = :r_b;\n\\else\n\\sleep :r_a us\n\
                  DELETE FROM t WHERE b = :r_b;\n\\endif\n\
                  SELECT :y + :r_a AS z \\gset\n\\set w :z + random(1, 1)\nSELECT :w;";
    let none = ScriptOptions::default();
    let sent = event(script, &none, &[&[Some("10"), Some("it's")], &[Some("100")]]);
    assert_eq!(
        sent,
        [
            "SELECT a, b FROM t",
            "UPDATE t SET a = 25 WHERE b = 'it''s'",
            "SELECT 25 + '10' AS z",
            "SELECT 101"
        ]
    );
    let sent = event(script, &none, &[&[Some("1"), None], &[None]]);
    assert_eq!(
        sent,
        [
            "SELECT a, b FROM t",
            "Sleep(1µs)",
            "DELETE FROM t WHERE b = NULL",
            "SELECT 7 + '1' AS z",
            "SELECT NULL"
        ]
    );
}

#[test]
fn several_statements_in_a_message_and_their_results() {
    let script = "\\set x random(1, 1)\nSELECT 1 AS a \\; UPDATE t SET b = :x \\; SELECT 2 AS b, 3 AS c; \\aset p_\n\
                  SELECT :p_a, :p_c \\; SELECT 4 AS d; SELECT 5 AS e \\gset\n\
                  INSERT INTO t VALUES (1) \\; SELECT 6 AS f \\gset\nSELECT :e, :f;";
    let workload = read(script).unwrap();
    let sendings: Vec<(Sending, usize)> = kinds(&workload)[0]
        .steps
        .iter()
        .map(|step| match step {
            UserStep::Send { sending, keep, .. } => (*sending, keep.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    use Sending::{Alone, Combined, LastRows};
    assert_eq!(sendings, [(LastRows, 3), (Combined, 0), (Alone, 1), (Combined, 1), (Alone, 0)]);
    let results: [&[Option<&str>]; 3] =
        [&[Some("1"), Some("2"), Some("3")], &[Some("5")], &[Some("6")]];
    let sent = event(script, &ScriptOptions::default(), &results);
    assert_eq!(sent[0], "SELECT 1 AS a; UPDATE t SET b = 1; SELECT 2 AS b, 3 AS c");
    assert_eq!(sent[1], "SELECT '1', '3'; SELECT 4 AS d");
    assert_eq!(sent[3..], ["INSERT INTO t VALUES (1); SELECT 6 AS f", "SELECT '5', '6'"]);
    assert_eq!(workload.tests[0].class, Class::Write);
    // A transaction may begin and end in one message.
    assert!(read("BEGIN \\; SELECT 1 \\; END;").is_ok());
    // Without a row, `\aset` leaves a variable unchanged.
    let script = "\\set a 7\nSELECT a FROM t \\aset\n\\set b :a + 1\nSELECT :b;";
    let none = ScriptOptions::default();
    assert_eq!(event(script, &none, &[&[None]])[1], "SELECT 8");
    assert_eq!(event(script, &none, &[&[Some("1")]])[1], "SELECT 2");
    for (script, words) in [
        ("SELECT * FROM t \\; SELECT 1 AS a \\aset\nSELECT :a;", "not known before it runs"),
        (
            "\\set a 1\n\\if :a = 1\nSELECT 1 AS a \\gset\n\\endif\nSELECT :a;",
            "has a value already",
        ),
    ] {
        let message = read(script).unwrap_err();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn pipelines_have_a_begin_and_an_end() {
    let script = "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\nSELECT 3;";
    let marks: Vec<_> = kinds(&read(script).unwrap())[0]
        .steps
        .iter()
        .filter_map(|step| match step {
            UserStep::Pipeline { mark, .. } => Some(*mark),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [PipelineMark::Start, PipelineMark::Sync, PipelineMark::End]);
    for (script, words) in [
        ("\\startpipeline\nSELECT 1;", "has no `\\endpipeline`"),
        ("SELECT 1;\n\\endpipeline", "no pipeline has begun"),
        (
            "\\startpipeline\n\\startpipeline\nSELECT 1;\n\\endpipeline",
            "a pipeline has begun above",
        ),
        (
            "\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline",
            "`\\gset` cannot stand in a pipeline",
        ),
        ("\\startpipeline\nSELECT 1 \\; SELECT 2;\n\\endpipeline", "sends statements one by one"),
        ("\\startpipeline\n\\if 1\nSELECT 1;\n\\endpipeline\n\\endif", "in another branch"),
    ] {
        let message = read(script).unwrap_err();
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn a_given_seed_is_the_one_of_hashes() {
    let options = ScriptOptions { define: vec!["default_seed=42".to_owned()], scale: None };
    let script =
        "\\set a hash(10)\n\\set b permute(1, 4)\n\\set c permute(0, 4, 5432)\nSELECT :a, :b, :c;";
    assert_eq!(event(script, &options, &[]), ["SELECT (-3562774314593256714), 2, 3"]);
    let script = "\\set a hash(:client_id)\nSELECT :a;";
    assert_eq!(event(script, &options, &[]).len(), 1);
}

#[test]
fn statements_are_parsed_each_time_if_that_is_asked_for() {
    let workload = read("SELECT 1;\nSELECT 2 AS a \\gset\nSELECT :a;").unwrap();
    let setup = Setup { clients: 1, tables: 1, rows: 1 };
    let test = workload.tests[0];
    let program = EventProgram::new(Dialect::Postgres, test, setup, StatementMode::Extended);
    let modes: Vec<StatementMode> = program.statements().iter().map(|it| it.mode).collect();
    assert_eq!(modes, [StatementMode::Extended, StatementMode::Text, StatementMode::Extended]);
    assert_eq!(program.places(), [(0, 0), (0, 1), (0, 2)]);
}

/// Bad input soon ends with an error at its place, without much memory.
#[test]
fn what_is_too_large_is_refused_with_its_line() {
    let many = "SELECT 1;\n".repeat(10_000);
    let message = read(&many).unwrap_err();
    assert!(
        message.contains("--> script.sql:1001:1") && message.contains("at most 1000"),
        "{message}"
    );
    let many = "\\set a random(1, 9)\n".repeat(100_000) + "SELECT :a;";
    let message = read(&many).unwrap_err();
    assert!(message.contains("--> script.sql:65536:"), "{message}");
    let many = "\\if 1\n".to_owned() + &"\\elif 1\n".repeat(10_000) + "SELECT 1;\n\\endif\n";
    let message = read(&many).unwrap_err();
    assert!(
        message.contains("--> script.sql:201:1") && message.contains("at most 200 branches"),
        "{message}"
    );
    let many = "\\if 1\n".repeat(10_000);
    let message = read(&many).unwrap_err();
    assert!(message.contains("has no `\\endif`"), "{message}");
    let many = "\\nosuch\n".repeat(100_000) + "SELECT 1;\n";
    let message = read(&many).unwrap_err();
    assert!(message.contains("no command that assay knows"), "{message}");
    let long = "-- a comment\n".repeat(1 << 20) + "SELECT 1;\n";
    assert!(read(&long).is_ok());
    let long = "x".repeat((16 << 20) + 1);
    assert!(read_all(&[("a.sql", &long)], &ScriptOptions::default()).is_err());
}

#[test]
fn arguments_that_are_numbers_stand_without_quotes() {
    let script = "\\set a random(1, 1) - 2.5\n\\set b :a < 0\nSELECT x -:a, :b;";
    assert_eq!(event(script, &ScriptOptions::default(), &[]), ["SELECT x -(-1.5), true"]);
    let bare = Argument::Bare(b"1");
    assert_ne!(bare, Argument::Text(b"1"));
}

/// As replaced by `pgbench -M simple`: also in quotes, and wherever a comment is.
#[test]
fn variables_in_quotes_are_parts_of_the_text_and_comments_have_none() {
    let none = ScriptOptions::default();
    let statements = |script: &str, results: &[&[Option<&str>]]| event(script, &none, results);
    let script = "\\set h random(7, 7)\n\\set m -1\n-- UPDATE t SET a = :h WHERE b = :undefined;\n\
                  SELECT now() - ':h hours'::interval, ':m:x 12:30', E'\\t:h', \":h\" /* ':h' */, :h, :m; -- it's :h\n\
                  DO $f$ BEGIN PERFORM :h; END $f$;";
    assert_eq!(
        statements(script, &[]),
        [
            "-- UPDATE t SET a = :h WHERE b = :undefined;\nSELECT now() - '7 hours'::interval, '-1:x 12:30', \
             E'\\t7', \"7\" /* ':h' */, 7, (-1)",
            "-- it's :h\nDO $f$ BEGIN PERFORM 7; END $f$",
        ]
    );
    // A value of a result does not end the quotes around it.
    let script = "SELECT 'x' AS a \\gset\nSELECT ':a', E':a', \":a\", :a;";
    let sent = statements(script, &[&[Some("it's \\ \"")]]);
    let value = sent[1].strip_prefix(r#"SELECT 'it''s \ "', E'it''s \\ "', "it's \ """, "#);
    assert!(value.is_some(), "{sent:?}");
    let options =
        ScriptOptions { define: vec!["day=2026-11-28".to_owned()], ..ScriptOptions::default() };
    assert_eq!(event("SELECT date ':day';", &options, &[]), ["SELECT date '2026-11-28'"]);
}

#[test]
fn commands_have_no_case_and_pauses_need_no_blank() {
    let none = ScriptOptions::default();
    let script = "\\SET t random(3, 3)\n\\If :t = 3\n\\Sleep 2ms\n\\sleep 3 MS\n\\sleep 4us\n\\ENDIF\n\
                  SELECT :t AS a \\GSET\nSELECT :a;";
    let sent = event(script, &none, &[&[Some("3")]]);
    let pauses: Vec<&String> = sent.iter().filter(|it| it.contains("Sleep")).collect();
    assert_eq!(pauses.len(), 3, "{sent:?}");
    assert!(pauses[0].contains("2ms") && pauses[1].contains("3ms"), "{sent:?}");
    assert!(sent.iter().any(|it| it == "SELECT 3 AS a"), "{sent:?}");
}
