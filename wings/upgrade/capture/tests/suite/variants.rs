//! Logs rewritten by other programs, and files that are no logs.

use assay_capture::{
    Capture, CapturedLogs, LogHints, PlanOptions, ProbeError, plan, probe, summary,
};
use assay_model::Dialect;

fn captured(text: &str) -> CapturedLogs {
    let given = LogHints::default();
    let mut capture = Capture::new(given.clone());
    let probe = probe(text.as_bytes(), None, &given).unwrap();
    capture.read("log", text.as_bytes(), &probe, &mut text.as_bytes()).unwrap();
    capture.finish()
}

/// Names, calls and times in microseconds of all tests, and the dialect.
fn tests(captured: &CapturedLogs) -> (Vec<(String, u64, Option<u64>)>, Dialect) {
    let plan = plan(captured, &PlanOptions { writes: true, ..PlanOptions::default() }).unwrap();
    let time = |us: f64| plan.time_us.map(|_| us.round() as u64);
    let tests = plan.works.iter().map(|it| (it.name.clone(), it.calls, time(it.time_us)));
    (tests.collect(), plan.dialect)
}

fn names(captured: &CapturedLogs) -> Vec<String> {
    tests(captured).0.into_iter().map(|(name, ..)| name).collect()
}

fn unread(captured: &CapturedLogs) -> Vec<(u64, String)> {
    let counts = &captured.counts;
    counts.first_unreadable.iter().map(|it| (it.line, it.text.clone())).collect()
}

fn refused(text: &str) -> String {
    match probe(text.as_bytes(), None, &LogHints::default()) {
        Err(ProbeError::Foreign(foreign)) => foreign.what.to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_slow_log_without_users_has_times() {
    let with_client = "# Time: 261128 10:00:00.637394\n# Client: 10.0.0.1:42167\n# Thread_id: 9\n\
        # Query_time: 0.5  Lock_time: 0 Rows_sent: 1\nuse shop;\nSELECT a FROM t WHERE b = 1;\n\
        # Time: 261128 10:00:01\n# Client: 10.0.0.1:42167\n# Thread_id: 9\n\
        # Query_time: 0.25  Lock_time: 0\nSELECT a FROM t WHERE b = 2;\n";
    let bare = "# Query_time: 0.5\nSELECT a FROM t WHERE b = 1;\n\
        # Query_time: 0.25\nSELECT a\nFROM t WHERE b = 2;\n";
    for text in [with_client, bare] {
        let found = captured(text);
        assert_eq!(unread(&found), [], "{text}");
        assert_eq!(tests(&found).0, [("select-t-by-b".to_owned(), 2, Some(750_000))], "{text}");
    }
    assert_eq!(captured(with_client).sessions, 1);
}

#[test]
fn a_general_log_may_have_blanks_in_place_of_tabs() {
    let found = captured(
        "\u{feff}2026-11-28T10:00:00.179537Z    11 Connect   app@web on shop using TCP/IP\r\n\
         2026-11-28T10:00:00.180000Z    11 Query     SELECT a\r\nFROM t WHERE b = 1\r\n\
         2026-11-28T10:00:01.000000Z    12 Init DB   shop\r\n\
         2026-11-28T10:00:01.000000Z    12 Query     SELECT a FROM t WHERE b = 2\r\n\
         2026-11-28T10:00:02.000000Z    11 Quit      \r\nsome text\r\n",
    );
    assert_eq!((names(&found), found.sessions), (vec!["select-t-by-b".to_owned()], 2));
    assert_eq!(unread(&found), [(7, "some text".to_owned())]);
}

#[test]
fn lines_before_the_first_command_of_a_general_log_are_counted() {
    let found =
        captured("FROM t WHERE a = 1\n\n2026-11-28T10:00:00Z\t   11 Query\tSELECT 1 FROM t\n");
    assert_eq!(unread(&found), [(1, "FROM t WHERE a = 1".to_owned())]);
}

#[test]
fn what_is_no_statement_is_counted_with_its_line() {
    let found = captured(
        "SELECT a FROM t WHERE b = 1;\nDear all,\nplease run this;\nSELECT a FROM t WHERE b = 2;\nhello\n",
    );
    assert_eq!(unread(&found), [(2, "Dear all,".to_owned()), (5, "hello".to_owned())]);
    let shown = summary(&found, &plan(&found, &PlanOptions::default()).unwrap(), 100);
    assert!(
        shown.contains("unreadable 2 lines; the first:\n           log:2: Dear all,"),
        "{shown}"
    );
    // A manually repaired server log may have the same.
    let found = captured(
        "# Query_time: 0.5\nSELECT 1 FROM t;\noops;\n# Query_time: 0.5\nSELECT 1 FROM t;\n",
    );
    assert_eq!((unread(&found).len(), names(&found).len()), (1, 1));
}

#[test]
fn files_for_clients_end_statements_as_the_clients_do() {
    let mysql = captured(
        "SELECT a FROM t WHERE b = 1\\G\nSELECT c FROM u WHERE d = 2\\g\nDELIMITER //\nSELECT 1 FROM v//\n",
    );
    assert_eq!(tests(&mysql).1, Dialect::MySql);
    assert_eq!((names(&mysql).len(), unread(&mysql)), (3, vec![]));
    let psql = captured(
        "\\c shop\n\\timing on\nSELECT a FROM \"t\" WHERE b = 1 \\gx\nCOPY t FROM stdin;\n1\tDear\n\\.\n\
         SELECT 2 FROM t;\n",
    );
    assert_eq!(tests(&psql).1, Dialect::Postgres);
    assert_eq!((names(&psql).len(), unread(&psql)), (2, vec![]));
}

#[test]
fn reports_and_other_files_are_refused_in_words() {
    let digest = "\n# 120ms user time, 10ms system time\n# Overall: 10 total, 2 unique, 0 QPS, 0x concurrency ____\n\n\
        # Query 1: 0 QPS, 0x concurrency, ID 0xAAAA at byte 0 ____\n# Count         60       6\n\
        SELECT a FROM t WHERE b = 4\\G\n";
    assert!(refused(digest).contains("pt-query-digest"));
    let binlog = "/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\nDELIMITER /*!*/;\n# at 4\n\
        #261127 10:00:00 server id 1  end_log_pos 126 CRC32 0x1 \tQuery\nUPDATE t SET a = 1\n/*!*/;\n";
    assert!(refused(binlog).contains("mysqlbinlog"));
    assert!(refused("BZh91AY&SY").contains("bzip2"));
    assert!(
        refused("{\"insertId\":\"a\",\"textPayload\":\"LOG:  duration: 1 ms\"}\n")
            .contains("Google")
    );
}

const STATEMENT: &str = "LOG:  duration: 250.000 ms  statement: SELECT a\n\tFROM t WHERE b = 1";

#[test]
fn a_plain_log_of_postgres_may_have_any_prefix() {
    for prefix in [
        "",
        "2026-11-28 10:00:00.123 UTC-6a1b2c3d.4d-",
        "2026-11-28 10:00:00 CET <7> db=shop,user=me,ip=10.0.0.1 ",
        "[77] me@shop 2026-11-28 10:00:00.123 CET [5-1] ",
        "1795819519.100 [77] ",
    ] {
        let found = captured(&format!("{prefix}{STATEMENT}\n").repeat(2));
        let expected = (vec![("select-t-by-b".to_owned(), 2, Some(500_000))], Dialect::Postgres);
        assert_eq!((tests(&found), unread(&found)), (expected, vec![]), "{prefix}");
    }
    // A message under another prefix is no part of the one before it.
    let text = format!("2026-11-28 10:00:00.123 UTC [7] {STATEMENT}\n")
        + "2026-11-28 10:00:00.123 UTC [7] other LOG:  checkpoint starting\n";
    assert_eq!(unread(&captured(&text)).len(), 1);
}

#[test]
fn logs_of_postgres_are_taken_out_of_syslog_and_heroku() {
    let heads = [
        "Nov 28 10:00:00 db1 postgres[77]: [5-PART] me@shop ",
        "2026-11-28T10:00:00+00:00 app[postgres.77]: [DATABASE] [5-PART]  sql_error_code = 00000 ",
    ];
    for head in heads {
        let first = head.replace("PART", "1");
        let next = head.replace("PART", "2");
        let next = next.split_inclusive("2]").next().unwrap();
        let text = STATEMENT.replace("\n\t", &format!("\n{next} #011"));
        let found = captured(&format!("{first}{text}\nsomething else\n"));
        let expected = (vec![("select-t-by-b".to_owned(), 1, Some(250_000))], Dialect::Postgres);
        assert_eq!(tests(&found), expected, "{head}");
        assert_eq!((unread(&found).len(), found.sessions), (1, 1), "{head}");
    }
}

#[test]
fn csvlog_has_quoted_times_and_records_without_an_end() {
    let record = |at: &str, text: &str| {
        format!(
            "{at},\"me\",\"shop\",77,\"[local]\",a.b,1,\"SELECT\",{at},3/1,0,LOG,00000,\"{text}\",,,,,,,,,\"psql\"\n"
        )
    };
    let at = "2026-11-28 10:00:00.123 UTC";
    let text = "duration: 250.000 ms  statement: SELECT a\nFROM t WHERE b = 1";
    for at in [at.to_owned(), format!("\"{at}\"")] {
        let found = captured(&record(&at, text));
        assert_eq!(tests(&found).0, [("select-t-by-b".to_owned(), 1, Some(250_000))]);
        assert_eq!(unread(&found), []);
    }
    let whole = record(at, text);
    let cut = &whole[..whole.find("\nFROM").unwrap()];
    let single = record(at, "duration: 250.000 ms  statement: SELECT a FROM t WHERE b = 2");
    let found = captured(&format!("FROM u\",,,,\n{cut}\n{single}{single}"));
    assert_eq!(tests(&found).0, [("select-t-by-b".to_owned(), 2, Some(500_000))]);
    assert_eq!(unread(&found).len(), 2, "{:?}", unread(&found));
}

#[test]
fn tables_of_logs_are_read() {
    let slow = "start_time,user_host,query_time,lock_time,rows_sent,rows_examined,db,last_insert_id,insert_id,\
        server_id,sql_text,thread_id\n2026-11-28 10:00:00.123456,a[a] @ b [],00:00:00.250000,0,1,1,shop,0,0,1,\
        \"SELECT a\nFROM t WHERE b = 1\",9\n";
    let found = captured(slow);
    assert_eq!(tests(&found).0, [("select-t-by-b".to_owned(), 1, Some(250_000))]);
    let general = "event_time\tuser_host\tthread_id\tserver_id\tcommand_type\targument\n\
        2026-11-28 10:00:00.1\ta[a] @ b []\t9\t1\tConnect\ta@b on shop\n\
        2026-11-28 10:00:00.2\ta[a] @ b []\t9\t1\tQuery\tSELECT a\\nFROM t WHERE b = 1\n";
    let found = captured(general);
    assert_eq!(
        (tests(&found).0, unread(&found)),
        (vec![("select-t-by-b".to_owned(), 1, None)], vec![])
    );
}

#[test]
fn the_database_of_the_log_is_taken_off_names() {
    let found = captured(
        "# User@Host: a[a] @ b []  Id: 1\n# Query_time: 0.5\nuse shop;\n\
         SELECT shop.t.a FROM `shop`.t JOIN other.u WHERE b = 1;\n",
    );
    let plan = plan(&found, &PlanOptions::default()).unwrap();
    let target = assay_capture::WorkloadTarget { stem: "app".to_owned(), dump: None, schema: None };
    let written = assay_capture::workload(&found, &plan, &target).text;
    assert!(written.contains("SELECT t.a FROM t JOIN other.u WHERE"), "{written}");
}

/// Neither a line that grows with each one before it, nor a mark in each line, may cause quadratic time.
#[test]
fn time_grows_with_the_size_of_a_file() {
    let long = 1 << 18;
    for text in [
        format!("SELECT '{}", ";\n".repeat(long)),
        format!("SELECT 1{}", "\n".repeat(long)),
        format!("SELECT 1;{}", "\n ;".repeat(long)),
        format!("# Query_time: 1\nSELECT 1;{}", "\n".repeat(long)),
        format!(
            "2026-11-28 10:00:00.123 UTC [7] LOG:  duration: 1 ms  statement: SELECT {}",
            "\n#".repeat(long)
        ),
    ] {
        assert!(!captured(&text).counts.files.is_empty());
    }
}
