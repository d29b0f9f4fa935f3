//! Session settings, and numbers generated in transactions, become parts of the workload.

use assay_capture::{
    Capture, LogHints, PlanOptions, WorkloadTarget, plan, probe, summary, workload,
};

fn read(text: &str) -> (String, String) {
    let given = LogHints::default();
    let mut capture = Capture::new(given.clone());
    let found = probe(text.as_bytes(), None, &given).unwrap();
    capture.read("log", text.as_bytes(), &found, &mut text.as_bytes()).unwrap();
    let captured = capture.finish();
    let plan = plan(&captured, &PlanOptions { writes: true, ..PlanOptions::default() }).unwrap();
    let target = WorkloadTarget { stem: "app".to_owned(), dump: None, schema: None };
    let summary = summary(&captured, &plan, 140);
    (workload(&captured, &plan, &target).text, summary)
}

/// A general log: each session sends its statements, and quits.
fn general(sessions: &[&[&str]]) -> String {
    let mut log = String::new();
    for (id, statements) in (7..).zip(sessions) {
        log += &format!("2026-11-27T22:45:19.1Z\t{id:5} Connect\tapp@web on shop using Socket\n");
        for sql in *statements {
            log += &format!("2026-11-27T22:45:19.2Z\t{id:5} Query\t{sql}\n");
        }
        log += &format!("2026-11-27T22:45:19.3Z\t{id:5} Quit\t\n");
    }
    log
}

/// A plain log of Postgres, with the session in its prefix.
fn postgres(statements: &[(u32, &str)]) -> String {
    let line = |(id, sql): &(u32, &str)| {
        format!(
            "2026-11-27 22:45:19.177 UTC [{id}] app@shop LOG:  duration: 0.5 ms  statement: {sql}\n"
        )
    };
    statements.iter().map(line).collect()
}

#[test]
fn the_same_statement_with_other_settings_is_another_test() {
    let select = "SELECT a, b FROM t WHERE c = 1 GROUP BY a";
    let log = general(&[
        &["SET NAMES utf8", "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION'", select],
        &["SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION', NAMES utf8", select],
        &[select, "SET GLOBAL sql_mode = ''", "SET sql_log_bin = 0", select],
    ]);
    let (text, summary) = read(&log);
    let session = "session = { names = \"utf8\", sql_mode = \"NO_ENGINE_SUBSTITUTION\" }\n";
    assert_eq!(text.matches(session).count(), 1, "{text}");
    assert_eq!(text.matches("session = ").count(), 1, "{text}");
    assert!(text.contains("mix = { select-t-by-c = 2, select-t-by-c-2 = 2 }"), "{text}");
    for part in [
        "session    names = 'utf8', sql_mode = 'NO_ENGINE_SUBSTITUTION': 2 calls\n",
        "tests      2, from 1 different statement of the log, because sessions set names, sql_mode differently\n",
        "2 changes of settings cannot be carried, so statements run without: SET GLOBAL sql_mode = '', \
         sql_log_bin = '0'\n",
    ] {
        assert!(summary.contains(part), "{summary}");
    }
    assert!(!summary.contains("do not show the beginning"), "{summary}");
}

#[test]
fn tenants_of_postgres_are_tests_of_their_own() {
    let select = "SELECT name FROM users WHERE id = 5";
    let (text, summary) = read(&postgres(&[
        (1, "SET search_path TO tenant_1"),
        (1, select),
        (1, "SET search_path TO \"tenant 2\", public"),
        (1, select),
        (2, select),
    ]));
    assert!(text.contains("session = { search_path = \"tenant_1\" }\n"), "{text}");
    assert!(text.contains(r#"session = { search_path = "\"tenant 2\", public" }"#), "{text}");
    assert_eq!(text.matches("[test.select-users").count(), 3, "{text}");
    assert!(summary.contains("do not show the beginning of 1 session:"), "{summary}");
}

#[test]
fn sessions_of_assay_itself_are_left_out() {
    let log = general(&[
        &["/* assay */ SET SESSION max_execution_time = 0", "SELECT COUNT(*) FROM t"],
        &["SELECT a FROM t"],
        &["/* assay */ SELECT 1"],
        &["SELECT '/* assay */'"],
    ]);
    // A session number may be reused.
    let again = log.replace("    7 ", "    9 ").replace("/* assay */ SELECT 1", "SELECT b FROM t");
    let (text, summary) = read(&(log + &again.replace("/* assay */", "/* other */")));
    assert!(summary.contains("skipped    3 statements of assay itself\n"), "{summary}");
    assert_eq!(text.matches("COUNT(*)").count(), 1, "{text}");
    assert_eq!(text.matches("SELECT b FROM t").count(), 1, "{text}");
}

#[test]
fn only_sessions_that_begin_as_those_of_assay_are_left_out() {
    let own = "/* assay */ SET SESSION max_execution_time = 0";
    let log = general(&[
        // The mark comes later, or is in another statement.
        &["SELECT a FROM t", own, "SELECT b FROM t"],
        &["/* assay */ SELECT c FROM t", "SELECT d FROM t"],
    ]);
    let (text, summary) = read(&log);
    for column in ["a", "b", "c", "d"] {
        assert_eq!(text.matches(&format!("SELECT {column} FROM t")).count(), 1, "{text}");
    }
    assert!(!summary.contains("of assay itself"), "{summary}");
    let (text, summary) = read(&format!("{own};\nSELECT a FROM t;\nSELECT b FROM t;\n"));
    assert_eq!(text.matches("SELECT b FROM t").count(), 1, "{text}");
    assert!(!summary.contains("of assay itself"), "{summary}");
}

#[test]
fn a_file_of_statements_begins_its_session() {
    let (text, summary) =
        read("SELECT a FROM t WHERE id = 1;\nSET sql_mode = '';\nSELECT b FROM t;\n");
    assert!(!summary.contains("do not show the beginning"), "{summary}");
    assert!(
        summary.contains("tests      2, from 2 different statements of the log\n"),
        "{summary}"
    );
    assert_eq!(text.matches("session = ").count(), 1, "{text}");
}

#[test]
fn a_transaction_of_mysql_uses_the_numbers_of_its_own_rows() {
    let order = |id: u32, customer: u32| -> [String; 5] {
        [
            "BEGIN".to_owned(),
            format!("INSERT INTO orders (customer) VALUES ({customer})"),
            format!("INSERT INTO item (order_id, n) VALUES ({id}, 1), ({id}, 2)"),
            format!("UPDATE orders SET total = 3 WHERE id = {id} AND customer = {customer}"),
            "COMMIT".to_owned(),
        ]
    };
    let orders = [order(101, 7), order(102, 3), order(105, 5)];
    let statements: Vec<&str> = orders.iter().flatten().map(String::as_str).collect();
    let (text, _) = read(&general(&[&statements]));
    for part in [
        "\"INSERT INTO orders (customer) VALUES (:p1)\", keep = \"pnew1\" },",
        "\"INSERT INTO item (order_id, n) VALUES (:pnew1, :p2), (:pnew1, :p3)\" },",
        "WHERE id = :pnew1 AND customer = :p1\" },",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_transaction_of_postgres_keeps_what_it_returns() {
    let order = |id: u32, customer: u32| -> [String; 4] {
        [
            "BEGIN".to_owned(),
            format!("INSERT INTO orders (customer) VALUES ({customer}) RETURNING at, \"id\""),
            format!("INSERT INTO item (order_id) VALUES ({id})"),
            "COMMIT".to_owned(),
        ]
    };
    let orders = [order(101, 7), order(102, 3)];
    let statements: Vec<(u32, &str)> =
        orders.iter().flatten().map(|sql| (1, sql.as_str())).collect();
    let (text, _) = read(&postgres(&statements));
    assert!(text.contains("keep = [\"pother0_0\", \"pnew1\"] },"), "{text}");
    assert!(text.contains("INSERT INTO item (order_id) VALUES (:pnew1)"), "{text}");
}

#[test]
fn values_that_only_look_like_numbers_of_rows_stay() {
    let visit = |author: u32| -> [String; 4] {
        [
            "BEGIN".to_owned(),
            "INSERT INTO page (title) VALUES ('a')".to_owned(),
            format!("UPDATE author SET pages = 1 WHERE id = {author}"),
            "COMMIT".to_owned(),
        ]
    };
    let visits = [visit(4), visit(9), visit(12), visit(2)];
    let statements: Vec<&str> = visits.iter().flatten().map(String::as_str).collect();
    let (text, _) = read(&general(&[&statements]));
    assert!(!text.contains("keep"), "{text}");
}
