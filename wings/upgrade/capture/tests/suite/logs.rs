//! Logs of real servers, and the workloads derived from them.
//!
//! Three clients of a shop, sysbench and a dump were sent to MariaDB 10.11, MySQL 8.0 and Postgres 15 with all logs on.

use std::path::Path;

use assay_capture::{
    Capture, CapturePlan, CapturedLogs, LogHints, PlanOptions, Skip, WorkloadFiles, WorkloadTarget,
    plan, probe, summary, workload,
};

const LOGS: [(&str, &str); 10] = [
    ("mariadb-10.11-slow.log", "slow"),
    ("mysql-8.0-slow.log", "slow"),
    ("mariadb-10.11-general.log", "general"),
    ("mysql-8.0-general.log", "general"),
    ("mysql-8.0-digests.tsv", "digests"),
    ("mysql-8.0-digests.csv", "digests"),
    ("postgres-15.csv", "csvlog"),
    ("postgres-15.json", "jsonlog"),
    ("postgres-15.log", "stderr"),
    ("postgres-15-pg_stat_statements.csv", "pg-stat-statements"),
];

fn bytes(name: &str) -> Vec<u8> {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    fs_err::read(logs.join(name)).unwrap()
}

fn captured(logs: &[(&str, &[u8])]) -> CapturedLogs {
    let given = LogHints::default();
    let mut capture = Capture::new(given.clone());
    for (name, bytes) in logs {
        let probe = probe(bytes, None, &given).unwrap();
        capture.read(name, bytes, &probe, &mut &**bytes).unwrap();
    }
    capture.finish()
}

fn read_log(name: &str) -> CapturedLogs {
    captured(&[(name, &bytes(name))])
}

fn planned(captured: &CapturedLogs, writes: bool) -> CapturePlan {
    plan(captured, &PlanOptions { writes, ..PlanOptions::default() }).unwrap()
}

fn written(captured: &CapturedLogs, writes: bool) -> WorkloadFiles {
    let target = WorkloadTarget {
        stem: "app".to_owned(),
        dump: Some("dump.sql.gz".to_owned()),
        schema: None,
    };
    workload(captured, &planned(captured, writes), &target)
}

/// The workload file, and the first lines of each file of values.
fn shown(written: &WorkloadFiles) -> String {
    let values = written.values.iter().map(|it| {
        let lines: Vec<&str> = it.text.lines().take(3).collect();
        format!("{} ({} lines)\n{}\n", it.path, it.text.lines().count(), lines.join("\n"))
    });
    std::iter::once(written.text.clone()).chain(values).collect::<Vec<_>>().join("\n")
}

#[test]
fn formats_are_recognised_by_their_content() {
    for (name, format) in LOGS {
        let bytes = bytes(name);
        let found = probe(&bytes, None, &LogHints::default()).unwrap();
        assert_eq!(found.format.name, format, "{name}");
        let has_time = format != "pg-stat-statements";
        assert_eq!(found.first_us.is_some(), has_time, "{name}");
    }
}

#[test]
fn every_line_of_a_log_is_read() {
    for (name, _) in LOGS {
        let captured = read_log(name);
        assert_eq!(captured.counts.unreadable, 0, "{name}: {:?}", captured.counts.first_unreadable);
        insta::assert_snapshot!(
            format!("summary-{name}"),
            summary(&captured, &planned(&captured, true), 140)
        );
    }
}

#[test]
fn workloads_have_statements_values_transactions_and_weights() {
    for name in [
        "mysql-8.0-slow.log",
        "mariadb-10.11-general.log",
        "mysql-8.0-digests.tsv",
        "postgres-15.csv",
    ] {
        insta::assert_snapshot!(format!("workload-{name}"), shown(&written(&read_log(name), true)));
    }
    let reads = read_log("mariadb-10.11-slow.log");
    insta::assert_snapshot!("workload-reads", shown(&written(&reads, false)));
    insta::assert_snapshot!(
        "workload-views",
        shown(&written(&read_log("postgres-15-pg_stat_statements.csv"), true))
    );
}

#[test]
fn the_forms_of_a_postgres_log_say_the_same() {
    let workloads: Vec<WorkloadFiles> = ["postgres-15.csv", "postgres-15.json", "postgres-15.log"]
        .map(|name| written(&read_log(name), true))
        .into();
    assert_eq!(workloads[0], workloads[1]);
    assert_eq!(workloads[0], workloads[2]);
}

#[test]
fn a_log_reads_the_same_in_pieces_and_with_other_ends_of_lines() {
    let whole = bytes("mysql-8.0-slow.log");
    let entries: Vec<usize> =
        (1..whole.len()).filter(|at| whole[*at..].starts_with(b"# Time: ")).collect();
    let (first, second) = whole.split_at(entries[entries.len() / 2]);
    let parts = captured(&[("1", first), ("2", second)]);
    assert_eq!(parts.counts.statements, read_log("mysql-8.0-slow.log").counts.statements);
    let dos = String::from_utf8_lossy(&whole).replace('\n', "\r\n").into_bytes();
    let unix = String::from_utf8_lossy(&whole).into_owned().into_bytes();
    let count = |bytes: &[u8]| planned(&captured(&[("log", bytes)]), true).works.len();
    assert_eq!(count(&dos), count(&unix));
}

#[test]
fn a_log_that_is_cut_off_is_read_up_to_there() {
    let whole = bytes("mysql-8.0-slow.log");
    let end = whole.len() - 9;
    let cut = captured(&[("log", &whole[..end])]);
    assert_eq!(cut.counts.skipped.get(&Skip::Cut), Some(&1), "{:?}", cut.counts);
}
