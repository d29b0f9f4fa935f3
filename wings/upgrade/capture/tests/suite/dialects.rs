//! Short logs in the variants produced by servers and settings.

use assay_capture::{
    Capture, CapturePlan, CapturedLogs, LogHints, PlanOptions, ProbeError, Skip, WorkloadFiles,
    WorkloadTarget, plan, probe, summary, workload,
};
use assay_model::Dialect;

fn given_captured(text: &[u8], given: &LogHints) -> CapturedLogs {
    let mut capture = Capture::new(given.clone());
    let probe = probe(text, None, given).unwrap();
    capture.read("log", text, &probe, &mut &*text).unwrap();
    capture.finish()
}

fn captured(text: &str) -> CapturedLogs {
    given_captured(text.as_bytes(), &LogHints::default())
}

fn planned(captured: &CapturedLogs) -> CapturePlan {
    plan(captured, &PlanOptions { writes: true, ..PlanOptions::default() }).unwrap()
}

fn written(captured: &CapturedLogs) -> WorkloadFiles {
    workload(
        captured,
        &planned(captured),
        &WorkloadTarget { stem: "app".to_owned(), dump: None, schema: None },
    )
}

/// Names, calls and times in microseconds of all tests.
fn tests(captured: &CapturedLogs) -> Vec<(String, u64, u64)> {
    let works = planned(captured).works;
    works.into_iter().map(|it| (it.name, it.calls, it.time_us.round() as u64)).collect()
}

fn one(name: &str, calls: u64, time_us: u64) -> Vec<(String, u64, u64)> {
    vec![(name.to_owned(), calls, time_us)]
}

fn skipped(captured: &CapturedLogs, why: Skip) -> u64 {
    captured.counts.skipped.get(&why).copied().unwrap_or_default()
}

#[test]
fn a_slow_log_of_mysql_5_5_has_times_of_its_own_and_no_sessions() {
    let found = captured(
        "/usr/sbin/mysqld, Version: 5.5.62 (Source). started with:\nTcp port: 3306  Unix socket: /run/s\n\
         Time                 Id Command    Argument\n# Time: 140810 12:00:00\n\
         # User@Host: app[app] @ web [10.0.0.1]\n\
         # Query_time: 1.500000  Lock_time: 0.000100 Rows_sent: 1  Rows_examined: 100\nuse shop;\n\
         SET timestamp=1407672000;\nSELECT a\n# no header\nFROM t WHERE b = 'x;\ny';\n\
         # User@Host: app[app] @ web [10.0.0.1]\n\
         # Query_time: 0.500000  Lock_time: 0.000100 Rows_sent: 1  Rows_examined: 100\n\
         SET last_insert_id=5,insert_id=6,timestamp=1407672001;\nselect a from t where b = 'z';\n\
         # User@Host: app[app] @ web [10.0.0.1]\n# Query_time: 0.1  Lock_time: 0.0\n\
         SET timestamp=1407672001;\n# administrator command: Quit;\n",
    );
    // A comment between the words is no part of the statement; the case of names may matter.
    assert_eq!(tests(&found), one("select-t-by-b", 2, 2_000_000));
    assert_eq!((found.counts.unreadable, found.sessions), (0, 0));
    assert_eq!(planned(&found).database.as_deref(), Some("shop"));
    assert_eq!(written(&found).values[0].text, "[\"x;\\ny\"]\n[\"z\"]\n");
}

#[test]
fn a_sampled_log_of_percona_server_is_multiplied() {
    let found = captured(
        "# Time: 2026-11-27T22:45:19.177825Z\n# User@Host: app[app] @ web []  Id:    12\n\
         # Schema: shop  Last_errno: 0  Killed: 0\n\
         # Query_time: 0.002000  Lock_time: 0.000008  Rows_sent: 0  Rows_examined: 0  Rows_affected: 0\n\
         # Log_slow_rate_type: query  Log_slow_rate_limit: 100\nSET timestamp=1795819519;\n\
         SELECT a FROM t WHERE b = 1;\n# Time: 2026-11-27T22:45:19.2Z\n\
         # User@Host: app[app] @ web []  Id:    12\n# Schema: shop  Last_errno: 1146  Killed: 0\n\
         # Query_time: 0.1  Lock_time: 0\nSET timestamp=1795819519;\nSELECT a FROM gone;\n\
         # Time: 2026-11-27T22:45:20.2Z\n# User@Host: [SQL_SLAVE] @  []  Id:    13\n\
         # Query_time: 0.1  Lock_time: 0\nSET timestamp=1795819519;\nUPDATE t SET a = 1;\n",
    );
    assert_eq!(tests(&found), one("select-t-by-b", 100, 200_000));
    assert_eq!((skipped(&found, Skip::Failed), skipped(&found, Skip::Replication)), (1, 1));
}

#[test]
fn clocks_that_go_back_and_lines_that_make_no_sense_are_counted() {
    let entry = |time: &str| {
        format!(
            "# Time: {time}\n# User@Host: a[a] @ b []  Id: 1\n# Query_time: 0.1  Lock_time: 0\nSELECT 1 FROM t;\n"
        )
    };
    let text = [
        entry("2026-11-27T22:45:19Z"),
        entry("2026-11-27T22:40:19Z"),
        entry("yesterday"),
        "/usr/sbin/mysqld, Version: 8.0.33 (x). started with:\nnonsense\n".to_owned(),
        entry("2026-11-27T22:46:19Z"),
    ];
    let found = captured(&text.concat());
    assert_eq!(
        (found.counts.clock_changes, found.counts.unreadable, found.counts.statements),
        (1, 2, 4)
    );
    let first = &found.counts.first_unreadable;
    assert_eq!(
        (first[0].line, first[0].text.as_str(), first[1].text.as_str()),
        (9, "# Time: yesterday", "nonsense")
    );
}

#[test]
fn an_old_general_log_follows_the_database_of_each_session() {
    let found = captured(
        "261127 22:45:18\t    1 Connect\tapp@web on shop\n\t\t    2 Connect\tapp@web on \n\
         \t\t    1 Query\tSELECT a FROM t WHERE b = 1\n\t\t    2 Query\tUSE `forum`\n\
         \t\t    2 Query\tSELECT a FROM t WHERE b = 2\n\t\t    1 Init DB\tforum\n\
         \t\t    1 Query\tSELECT a FROM t\n  WHERE b = 3\n\t\t    1 Prepare\tSELECT a FROM u WHERE b = ?\n\
         \t\t    1 Execute\tSELECT a FROM u WHERE b = 4\n\t\t    1 Close stmt\t\n\t\t    3 Binlog Dump\tLog: 'x'\n\
         \t\t    1 Quit\t\n",
    );
    let plan = planned(&found);
    assert_eq!(plan.database.as_deref(), Some("forum"));
    assert_eq!(plan.left_out.databases.get("shop"), Some(&1));
    let names: Vec<(&str, u64)> =
        plan.works.iter().map(|it| (it.name.as_str(), it.calls)).collect();
    assert_eq!(names, [("select-t-by-b", 2), ("select-u-by-b", 1)]);
    assert_eq!(skipped(&found, Skip::Replication), 1);
}

#[test]
fn statements_and_durations_of_postgres_may_stand_apart() {
    let line =
        |pid: u32, text: &str| format!("2026-11-27 22:45:19.100 UTC [{pid}] app@shop {text}\n");
    let text = [
        line(1, "LOG:  statement: SELECT a FROM t\n\t WHERE b = 1"),
        line(2, "LOG:  duration: 0.5 ms"),
        line(2, "LOG:  duration: 0.25 ms"),
        line(2, "LOG:  execute <unnamed>: SELECT a FROM t WHERE b = $1"),
        line(2, "DETAIL:  Parameters: $1 = 'it''s\n\tme'"),
        line(1, "LOG:  duration: 2.000 ms"),
        line(2, "LOG:  duration: 1.000 ms"),
        line(1, "LOG:  statement: SELECT a FROM gone"),
        line(1, "ERROR:  relation \"gone\" does not exist at character 15"),
        line(1, "STATEMENT:  SELECT a FROM gone"),
        line(1, "LOG:  statement: SELECT a FROM t WHERE b = 2"),
    ];
    let found = captured(&text.concat());
    // The last call has no duration and counts with the mean of the others, 1.75 and 2 ms.
    assert_eq!(tests(&found), one("select-t-by-b", 3, 5625));
    assert_eq!((found.counts.unreadable, skipped(&found, Skip::Failed)), (0, 1));
    assert_eq!(written(&found).values[0].text, "[1]\n[\"it's\\nme\"]\n[2]\n");
}

#[test]
fn a_prefix_of_ones_own_is_given() {
    let text = b"<app|shop|77>LOG:  duration: 1.0 ms  statement: SELECT a FROM t WHERE b = 1\n";
    let unknown = probe(text, None, &LogHints::default());
    assert!(matches!(unknown, Err(ProbeError::Unknown)), "{unknown:?}");
    let given = LogHints { log_line_prefix: Some("<%u|%d|%p>".to_owned()), dialect: None };
    let found = given_captured(text, &given);
    assert_eq!(tests(&found), one("select-t-by-b", 1, 1000));
    assert_eq!(planned(&found).database.as_deref(), Some("shop"));
}

#[test]
fn several_statements_in_one_message_share_its_time() {
    let found = captured(
        "2026-11-27 22:45:19.100 UTC [1] LOG:  duration: 3.0 ms  statement: SELECT a FROM t WHERE b = 1; SELECT 'x;y' \
         FROM t; ;SELECT a FROM t WHERE b = 2;\n",
    );
    assert_eq!(tests(&found)[0], ("select-t-by-b".to_owned(), 2, 2000));
}

#[test]
fn a_file_of_statements_may_change_its_delimiter() {
    let found = captured(
        "-- a comment\nUSE shop;\nSELECT a FROM t WHERE b = 'x;y'; SELECT a\nFROM t WHERE b = 'z';\n\
         DELIMITER $$\nCREATE PROCEDURE p() BEGIN SELECT 1; END$$\nSELECT a FROM t WHERE b = 'w'$$\nDELIMITER ;\n\
         SELECT a FROM t WHERE b = 'v'",
    );
    assert_eq!(tests(&found), one("select-t-by-b", 4, 0));
    assert_eq!((skipped(&found, Skip::Definition), skipped(&found, Skip::Session)), (1, 1));
    assert_eq!(planned(&found).dialect, Dialect::MySql);
    assert_eq!(planned(&found).database.as_deref(), Some("shop"));
    let found = captured("SELECT a::text FROM t WHERE b = 1;\n");
    assert_eq!(planned(&found).dialect, Dialect::Postgres);
}

#[test]
fn transactions_keep_their_statements_and_what_is_equal_in_them() {
    let transaction = |id: u32, other: u32| {
        format!(
            "BEGIN; SELECT a FROM t WHERE id = {id}; UPDATE t SET a = {other} WHERE id = {id}; COMMIT;\n"
        )
    };
    let text: String =
        (1..=30).map(|id| transaction(id, if id == 3 { 3 } else { id * 7 })).collect();
    let found = captured(&format!(
        "{text}BEGIN; SELECT a FROM t WHERE id = 99; ROLLBACK;\nSET autocommit = 0;\n"
    ));
    let written = written(&found);
    let expected = "[test.transaction-t]\ndoes = \"30 calls, 49% of all in the log\"\n\
        log = { calls = 30, share = 0.491803 }\nwrites = true\n\
        values = { file = \"app.values/transaction-t.jsonl\", names = [\"p1\", \"p2\"], draw = \"random\" }\n\
        steps = [\n  \
        { mysql = \"BEGIN\" },\n  { mysql = \"SELECT a FROM t WHERE id = :p1\" },\n  \
        { mysql = \"UPDATE t SET a = :p2 WHERE id = :p1\" },\n  { mysql = \"COMMIT\" },\n]\n";
    assert!(written.text.contains(expected), "{}", written.text);
    assert!(
        written.values[0].text.starts_with("[1, 7]\n[2, 14]\n[3, 3]\n"),
        "{}",
        written.values[0].text
    );
    assert!(
        written.text.contains("mix = { transaction-t = 30, select-t-by-id = 1 }"),
        "{}",
        written.text
    );
    // Without statements that write, the query of the transaction is a separate test.
    let reads = plan(&found, &PlanOptions::default()).unwrap();
    let names: Vec<(&str, u64)> =
        reads.works.iter().map(|it| (it.name.as_str(), it.calls)).collect();
    assert_eq!(names, [("select-t-by-id", 31)]);
    assert_eq!((reads.left_out.writes, reads.left_out.transactions), (30, 30));
}

#[test]
fn a_statement_that_asks_about_the_one_before_it_is_no_test_of_its_own() {
    let found = captured(
        "SELECT SQL_CALC_FOUND_ROWS a FROM t WHERE b = 1 LIMIT 2;\nSELECT FOUND_ROWS();\nSELECT FOUND_ROWS();\n",
    );
    let plan = plan(&found, &PlanOptions::default()).unwrap();
    assert_eq!((plan.works.len(), plan.left_out.following), (1, 2));
    let message = summary(&found, &plan, 100);
    assert!(
        message.contains("2 calls of statements that ask about the one before them"),
        "{message}"
    );
}

#[test]
fn a_literal_that_never_changes_stays_and_no_text_looks_like_a_variable() {
    let text: String = (0..20)
        .map(|id| format!("SELECT ':p1' FROM t WHERE a = 'open' AND b = {id} LIMIT 5;\n"))
        .collect();
    let written = written(&captured(&text));
    let sql = "SELECT ':p1' FROM t WHERE a = 'open' AND b = :p1 LIMIT 5";
    assert!(!written.text.contains(sql), "{}", written.text);
    assert!(written.text.contains(&sql.replace("= :p1", "= :v1")), "{}", written.text);
}

#[test]
fn a_database_that_no_log_has_is_an_error_with_those_that_there_are() {
    let found = captured("USE shop; SELECT 1 FROM t;");
    let chosen = PlanOptions { database: Some("other".to_owned()), ..PlanOptions::default() };
    assert_eq!(plan(&found, &chosen).err(), Some(vec!["shop".to_owned()]));
}

#[test]
fn the_limit_keeps_the_tests_with_the_largest_weight() {
    let text: String = (1..=9).map(|n| format!("SELECT a FROM t{n};\n").repeat(n)).collect();
    let kept =
        plan(&captured(&text), &PlanOptions { limit: Some(3), ..PlanOptions::default() }).unwrap();
    let names: Vec<&str> = kept.works.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["select-t9", "select-t8", "select-t7"]);
    assert_eq!((kept.left_out.beyond, kept.left_out.beyond_calls), (6, 21));
}

#[test]
fn statements_that_reach_outside_become_no_tests() {
    let found = captured(
        "SELECT LOAD_FILE('/etc/passwd');\nSELECT a FROM t /*!50000 INTO OUTFILE '/tmp/x' */;\n\
         SELECT GET_LOCK('a', 1);\nSELECT @a := 5;\nSELECT a FROM `t` WHERE b = 1;\n\
         SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`;\nLOCK TABLES t READ;\n",
    );
    assert_eq!(tests(&found), one("select-t-by-b", 1, 0));
    let counts = [Skip::Outside, Skip::Session, Skip::Dump].map(|why| skipped(&found, why));
    assert_eq!(counts, [3, 2, 1]);
    let given = LogHints { dialect: Some(Dialect::Postgres), ..LogHints::default() };
    let text = "SELECT pg_catalog.set_config('search_path', '', false);\nSELECT oid FROM pg_class;\n\
                SELECT pg_read_file('x');\nDO $$BEGIN PERFORM 1; END$$;\nCOPY t TO stdout;\n\
                SELECT a FROM t WHERE b = timestamptz '2026-01-02';\n\
                SELECT a FROM t WHERE b = timestamptz '2026-01-03';\n";
    let found = given_captured(text.as_bytes(), &given);
    assert_eq!(tests(&found), one("select-t-by-b", 2, 0));
    let counts = [Skip::Outside, Skip::Session, Skip::System].map(|why| skipped(&found, why));
    assert_eq!(counts, [2, 1, 2]);
}

#[test]
fn a_very_long_statement_counts_as_one() {
    let line = format!("SELECT '{}' FROM t;\nSELECT a FROM t;\n", "x".repeat(40 << 20));
    let lines = format!("SELECT '{}' FROM t;\nSELECT a FROM t;\n", "y\n".repeat(9 << 20));
    let slow = format!(
        "# Time: 2026-11-27T22:45:19Z\n# User@Host: a[a] @ b []  Id: 1\n# Query_time: 0.1  Lock_time: 0\n\
         SELECT '{}';\n",
        "x".repeat(40 << 20)
    );
    for (text, all) in [(line, 2), (lines, 2), (slow, 1)] {
        let found = captured(&text);
        let count =
            (skipped(&found, Skip::TooLong), found.counts.statements, found.counts.unreadable);
        assert_eq!(count, (1, all, 0));
    }
}

#[test]
fn a_log_in_utf_16_is_named() {
    for text in ["\u{feff}SELECT 1;", "SELECT 1;"] {
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(matches!(probe(&bytes, None, &LogHints::default()), Err(ProbeError::Utf16)));
    }
}
