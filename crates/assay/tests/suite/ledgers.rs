//! Ledgers may come from anyone: `resume` with them, and the names of their studies.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};

use assay_ledger::Ledger;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

const LONG: [&str; 15] = [
    "compare",
    "mariadb@10.11",
    "mariadb@11.8+innodb_io_capacity=300",
    "--preset",
    "smoke",
    "--rows",
    "1k",
    "--tests",
    "oltp_point_select,scan",
    "--budget",
    "600",
    "--key",
    "blocks=100,rounds=4",
    "--offline",
    "--quiet",
];

const EVIL: &str = "\u{1b}[2J\u{9b}31m\u{7}\r\nhint: run this\u{202e}x\u{2066}";

fn start(place: &Place) -> Child {
    let mut child =
        place.command(&LONG).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_slices(4, &mut child);
    child
}

fn interrupt(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
}

fn latest(place: &Place) -> String {
    Ledger::open_read_only(&place.ledger()).unwrap().latest().unwrap().unwrap()
}

/// Exit code and messages, without terminal control sequences.
#[track_caller]
fn message(output: &Output) -> (Option<i32>, String) {
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(stderr.find(harmful), None, "{stderr:?}");
    (output.status.code(), stderr)
}

fn harmful(c: char) -> bool {
    c != '\n' && (c.is_control() || "\u{202e}\u{2066}".contains(c))
}

#[test]
fn a_running_study_is_marked_and_found_by_short_names() {
    let place = Place::new();
    let mut child = start(&place);
    let id = latest(&place);
    let measured = place.run_to_end(&["resume"]);
    let (code, stderr) = message(&measured);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains(&format!("is being measured by process {}", child.id())), "{stderr}");
    let listed = place.run_to_end(&["studies"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains(" running\n") && !listed.contains("assay resume"), "{listed}");
    let reported = place.run_to_end(&["report", "--format", "markdown"]);
    let reported = String::from_utf8(reported.stdout).unwrap();
    assert!(!reported.contains("assay resume"), "{reported}");
    assert!(child.try_wait().unwrap().is_none());
    interrupt(child);
    let listed = place.run_to_end(&["studies"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains(&format!("assay resume {id}")), "{listed}");

    for name in [&id[..], &id[..12], "latest"] {
        let page = place.run().join("page.HTML");
        let page_of = ["report", name, "-o", page.to_str().unwrap()];
        assert_eq!(message(&place.run_to_end(&page_of)).0, Some(0));
        let page = fs_err::read_to_string(page).unwrap();
        assert!(page.starts_with("<!") && page.contains(&id), "{page}");
    }
    // A study that failed before anything was measured is not the latest.
    let ledger = Connection::open(place.ledger()).unwrap();
    let copy = |table: &str, whose: &str, change: &str| {
        let sql = format!("SELECT group_concat(name) FROM pragma_table_info('{table}')");
        let columns: String = ledger.query_row(&sql, [], |row| row.get(0))?;
        ledger.execute_batch(&format!(
            "CREATE TEMP TABLE t AS SELECT {columns} FROM {table} WHERE {whose}; UPDATE t SET {change};
             INSERT INTO {table} ({columns}) SELECT * FROM t; DROP TABLE t"
        ))
    };
    let of_study = format!("study = '{id}'");
    let other = format!("study = '{id}x'");
    let later = format!("id = '{id}x', started_ms = started_ms + 1");
    copy("study", &format!("id = '{id}'"), &later).unwrap();
    copy("run", &of_study, &format!("{other}, id = id + 1000")).unwrap();
    for table in ["test", "system", "cell"] {
        copy(table, &of_study, &other).unwrap();
    }
    drop(ledger);
    let json = place.run_to_end(&["report", "--format", "json"]);
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(document["study"]["id"], id);
    let (code, stderr) = message(&place.run_to_end(&["report", &id[..12]]));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("several of its studies begin with") && stderr.contains("hint: give"));
    let (code, stderr) = message(&place.run_to_end(&["resume", "x"]));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("no study `x`") && stderr.contains("hint: `assay studies`"));
    what_a_ledger_says_commands_nothing(&place, &id);
    place.assert_nothing_left();
}

fn what_a_ledger_says_commands_nothing(place: &Place, id: &str) {
    let ledger = Connection::open(place.ledger()).unwrap();
    // Names of systems have no control characters.
    ledger.execute("UPDATE system SET name = 'a' || number || ?", [EVIL]).unwrap();
    let (code, stderr) = message(&place.run_to_end(&["report", id]));
    assert!(code == Some(2) && stderr.contains("has a control character"), "{stderr}");
    ledger
        .execute("UPDATE system SET name = '=1+1 run this ' || number || ?", ["\u{202e}x"])
        .unwrap();
    ledger
        .execute("UPDATE event SET what = json_object('kind', 'started-again', 'error', ?)", [EVIL])
        .unwrap();
    drop(ledger);
    for format in ["text", "html", "markdown", "csv", "json"] {
        let output = place.run_to_end(&["report", id, "--format", format]);
        message(&output);
        let text = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
        assert_eq!(text.find(harmful), None, "{format}: {text:?}");
        assert!(text.contains("run this"), "{format}: {text}");
        if format == "csv" {
            assert!(text.contains(",'=1+1") || text.contains("\"'=1+1"), "{text}");
        }
    }
    let again = place.run_to_end(&["report", id, "--verbose"]);
    let again = String::from_utf8(again.stdout).unwrap();
    assert!(again.contains("assay compare mariadb@10.11 mariadb@11.8"), "{again}");
    for format in ["text", "markdown", "csv", "json"] {
        let listed = place.run_to_end(&["studies", "--format", format]);
        let text = String::from_utf8(listed.stdout).unwrap().replace("\r\n", "\n");
        assert_eq!(text.find(harmful), None, "{format}: {text:?}");
    }
    // Any colours in a terminal are assay's own.
    let mut command = place.command(&["report", id]);
    let colored = command.env("CLICOLOR_FORCE", "1").output().unwrap();
    let text = String::from_utf8(colored.stdout).unwrap();
    assert!(text.contains("\u{1b}[") && !text.contains("\u{1b}[2J"), "{text}");
    let plain =
        text.split("\u{1b}[").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    assert!(plain.skip(1).all(|part| part.starts_with('m')), "{text:?}");
}

#[test]
fn server_messages_cannot_inject_output() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let greeter = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut packet = vec![0xff, 0x10, 0x04];
        packet.extend(EVIL.as_bytes());
        let length = u8::try_from(packet.len()).unwrap();
        stream.write_all(&[&[length, 0, 0, 0], &packet[..]].concat()).unwrap();
        let _ = stream.read(&mut [0; 64]);
    });
    let url = format!("mysql://root@{address}/sbtest");
    let mut command = place.command(&["bench", &url, "--test", "oltp_point_select", "--time", "1"]);
    let output = command.env("CLICOLOR_FORCE", "1").output().unwrap();
    greeter.join().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let own = ["\u{1b}[1m", "\u{1b}[31m", "\u{1b}[36m", "\u{1b}[0m"];
    let left = own.into_iter().fold(stderr.clone(), |text, style| text.replace(style, ""));
    assert!(left.contains("run this"), "{left:?}");
    assert_eq!(left.find(harmful), None, "{left:?}");
    // It does not look like a line of assay's own.
    assert!(!left.lines().any(|line| line.starts_with("hint: run this")), "{left}");
}

#[test]
fn a_study_file_is_run_with_other_tests_and_another_budget() {
    let place = Place::new();
    let file = place.run().join("study.toml");
    let text = "preset = \"smoke\"\nblocks = 1\ntests = [\"insert\"]\n\
                compare = [\"mariadb@10.11\", \"mariadb@11.8\"]\n";
    fs_err::write(&file, text).unwrap();
    let args = ["run", file.to_str().unwrap(), "--tests", "read-only-count,scan", "--set", "47"];
    let more = ["--budget", "1h", "--offline", "--format", "json"];
    let output = place.run_to_end(&[&args[..], &more].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["study"]["budget_s"], 3600.0);
    let tests = result["cells"].as_array().unwrap().iter().map(|cell| cell["test"].as_str());
    let mut tests: Vec<_> = tests.flatten().collect();
    tests.dedup();
    assert!(tests.iter().all(|test| ["read-only-count", "scan"].contains(test)), "{tests:?}");
    let report = place.run_to_end(&["report", "--verbose"]);
    let report = String::from_utf8(report.stdout).unwrap();
    let again = "--preset smoke --set 47 --tests read-only-count,scan --budget 1h";
    assert!(report.contains(again), "{report}");
    place.assert_nothing_left();
}

/// Without the study's mark, or with a changed plan, a ledger is read-only.
#[test]
fn a_study_is_resumed_only_by_the_assay_that_began_it_and_as_it_was_planned() {
    let place = Place::new();
    let words = ["server", "start", "mariadb@11.8", "--offline", "--format", "json"];
    let server: Value = serde_json::from_slice(&place.run_to_end(&words).stdout).unwrap();
    let word = |name: &str| server[name].as_str().unwrap().to_owned();
    let url = word("url");
    let study = ["compare", &url, "mariadb@10.11", "--rows", "1k", "--tests", "point-query,insert"];
    let mut command = place
        .command(&[&study[..], &["--preset", "smoke", "--budget", "600", "--offline"]].concat());
    let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_slices(4, &mut child);
    interrupt(child);

    let resume = ["resume", "--offline"];
    let refused = |command: &mut Command| {
        let (code, stderr) = message(&command.output().unwrap());
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("was not started here by you"), "{stderr}");
        assert!(
            stderr.contains("hint: `assay report ") && !stderr.contains("panicked"),
            "{stderr}"
        );
    };
    refused(place.command(&resume).env("XDG_STATE_HOME", place.run().join("other")));
    let edit = |sql: &str| {
        let ledger = Connection::open(place.ledger()).unwrap();
        assert_ne!(ledger.execute(sql, []).unwrap(), 0, "{sql}");
    };
    for (there, back) in [
        (
            "study SET plan = json_set(plan, '$.budget_s', (plan ->> '$.budget_s') + 1)",
            "study SET plan = json_set(plan, '$.budget_s', (plan ->> '$.budget_s') - 1)",
        ),
        (
            "study SET plan = json_set(plan, '$.table_form', json_object('create_table_options', 'X=1'))",
            "study SET plan = json_remove(plan, '$.table_form')",
        ),
        (
            "system SET options = json_insert(options, '$[#]', '--userstat=1') WHERE number = 1",
            "system SET options = json_remove(options, '$[#-1]') WHERE number = 1",
        ),
        (
            "system SET spec = json_set(spec, '$.origin', json_object('dir', '/x')) WHERE number = 1",
            "system SET spec = json_set(spec, '$.origin', json_object('version', '10.11')) WHERE number = 1",
        ),
        ("cell SET slice_ms = slice_ms + 1", "cell SET slice_ms = slice_ms - 1"),
    ] {
        edit(&format!("UPDATE {there}"));
        refused(&mut place.command(&resume));
        edit(&format!("UPDATE {back}"));
    }
    let slices = place.slices();
    let mut child =
        place.command(&resume).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_for_slices(slices + 1, &mut child);
    interrupt(child);
    assert!(place.run_to_end(&["server", "stop", &word("name")]).status.success());
    place.assert_nothing_left();
}
