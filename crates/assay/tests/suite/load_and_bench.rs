//! `load` and `bench` against a server that somebody else runs: none of its data is lost, and every run ends.

use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixListener;
use std::process::{Command, Output, Stdio};

use assay_wire::{ConnectOptions, Connection};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

struct Running {
    place: Place,
    url: String,
    name: String,
    socket: String,
}

impl Running {
    fn start(system: &str) -> Self {
        let place = Place::with(system);
        let output =
            place.run_to_end(&["server", "start", system, "--offline", "--format", "json"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        let message: Value = serde_json::from_slice(&output.stdout).unwrap();
        let word = |name: &str| message[name].as_str().unwrap().to_owned();
        Self { url: word("url"), name: word("name"), socket: word("socket"), place }
    }

    fn connect(&self) -> Connection {
        let database = Some("sbtest".to_owned());
        let options = ConnectOptions { database, ..ConnectOptions::unix(&self.socket, "root") };
        Connection::connect(&options).unwrap()
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        said(self.place.run_to_end(&[&[args[0], self.url.as_str()], &args[1..]].concat()))
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let (code, stdout, stderr) = self.run(&[args, &["--format", "json"]].concat());
        assert_eq!(code, Some(0), "{args:?}: {stderr}");
        serde_json::from_str(&stdout).unwrap()
    }

    #[track_caller]
    fn refused(&self, args: &[&str], words: &str) {
        let (code, stdout, stderr) = self.run(args);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let stopped = self.place.run_to_end(&["server", "stop", &self.name]);
        assert!(std::thread::panicking() || stopped.status.success());
    }
}

fn said(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn only_tables_of_an_earlier_load_are_replaced_without_a_question() {
    let server = Running::start("mariadb@10.11");
    let mut control = server.connect();
    for sql in ["CREATE TABLE sbtest1 (precious INT)", "INSERT INTO sbtest1 VALUES (42)"] {
        control.query(sql).unwrap();
    }
    control.query("CREATE VIEW sbtest2 AS SELECT precious FROM sbtest1").unwrap();
    server.refused(&["load", "--rows", "100"], "`assay load URL --replace`");
    for more in [&[][..], &["--replace"]] {
        let load = [&["load", "--tables", "2", "--rows", "100"][..], more].concat();
        server.refused(&load, "`sbtest2` exists and is not an ordinary table");
    }
    server.refused(&["bench", "--test", "scan"], "`sbtest1` was not created by assay or sysbench");
    let kept = control.query("SELECT precious FROM sbtest2").unwrap();
    assert_eq!(kept.text(0, 0), Some("42"));

    for sql in ["DROP VIEW sbtest2", "CREATE TABLE sbtest2 (precious INT)"] {
        control.query(sql).unwrap();
    }
    let (code, _, stderr) =
        server.run(&["load", "--tables", "2", "--rows", "100", "--replace", "-q"]);
    assert_eq!(code, Some(0), "{stderr}");
    // It is a warning, so `-q` does not hide it.
    assert!(stderr.contains("dropping existing tables: sbtest1, sbtest2"), "{stderr}");
    server.refused(&["load", "--engine", "rocksdb"], "no storage engine `rocksdb`");
    control.query("ALTER TABLE sbtest1 ADD precious INT").unwrap();
    let rows = control.query("SELECT COUNT(*) FROM sbtest1").unwrap();
    server.refused(&["bench", "--test", "delete"], "these tables have other columns");
    assert_eq!(control.query("SELECT COUNT(*) FROM sbtest1").unwrap(), rows);
    control.query("ALTER TABLE sbtest1 DROP precious").unwrap();
    let (code, _, stderr) = server.run(&["load", "--tables", "2", "--table-size", "200"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("dropping existing tables: sbtest1, sbtest2"), "{stderr}");
}

#[test]
fn a_run_uses_the_given_tables_and_reports_progress() {
    let server = Running::start("mariadb@10.11");
    let bench = ["bench", "--test", "point-query", "--time", "1.2"];
    let with = |more: &'static [&'static str]| [&bench[..], more].concat();
    server.refused(&bench, "the database has no tables");
    server.json(&["load", "--tables", "2", "--rows", "2000"]);
    server.refused(&with(&["--tables", "3"]), "table `sbtest3` is missing");
    server.refused(&with(&["--rows", "2001"]), "fewer than the 2,001 of `--rows`");

    let (code, stdout, stderr) =
        server.run(&with(&["--threads", "2", "--table-size", "1000", "--report-interval", "0.5"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("more than 1,000 rows; only these are used"), "{stderr}");
    let lines = stderr.lines().filter(|line| line.contains("thds: 2 tps: ")).count();
    // A busy machine may miss one line.
    assert!((1..=2).contains(&lines), "{stderr}");
    for word in
        ["transactions ", "ignored errors   0 (0.00 per sec.)", "95th percentile", "total events"]
    {
        assert!(stdout.contains(word), "{stdout}");
    }
    let found = server.json(&bench);
    assert_eq!((&found["tables"], &found["rows_per_table"]), (&2.into(), &2000.into()));
    assert_eq!((&found["backlog"], &found["ignored_errors"]), (&Value::Null, &0.into()));
    assert!(found["latency_us"]["sum"].as_f64().unwrap() > 0.0);
    assert_eq!(found["latency_histogram"], Value::Null);

    let found = server.json(&with(&["--histogram"]));
    let steps = found["latency_histogram"].as_array().unwrap();
    assert!(steps.is_sorted_by_key(|it| it["up_to_us"].as_f64().unwrap()), "{found:#}");
    let events: u64 = steps.iter().map(|it| it["events"].as_u64().unwrap()).sum();
    assert_eq!(events, found["events"].as_u64().unwrap());

    // The rate is higher than any server can serve. The rest is reported as the backlog and not sent.
    let (code, stdout, stderr) =
        server.run(&with(&["--rate", "10000000", "--format", "json", "--quiet"]));
    assert_eq!(code, Some(3), "{stderr}");
    let found: Value = serde_json::from_str(&stdout).unwrap();
    let (events, backlog) = (found["events"].as_u64().unwrap(), found["backlog"].as_u64().unwrap());
    assert_eq!(events + backlog, 12_000_000);
    assert!(found["seconds"].as_f64().unwrap() < 10.0 && backlog > 0);
}

#[test]
fn partial_results_are_printed_at_ctrl_c() {
    let server = Running::start("mariadb@10.11");
    server.json(&["load", "--rows", "1000"]);
    let bench = ["bench", &server.url, "--test", "point-query", "--time", "86400"];
    let more = ["--format", "json", "--report-interval", "0.1"];
    let mut command = server.place.command(&[&bench[..], &more].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut message = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("tps") {
        line.clear();
        assert_ne!(message.read_line(&mut line).unwrap(), 0, "ended by itself");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let (code, stdout, _) = said(child.wait_with_output().unwrap());
    assert_eq!(code, Some(4));
    let found: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&found["interrupted"], &found["cut_off"]), (&true.into(), &0.into()));
    assert!(found["events"].as_u64().unwrap() > 0);
}

fn limited(place: &Place, limits: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_assay")]);
    let plain = place.command(args);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    said(shell.args(args).output().unwrap())
}

#[test]
fn the_limit_of_open_files_is_raised_or_reported_for_many_clients() {
    let place = Place::new();
    let systems = ["compare", "mariadb@10.11", "mariadb@11.8", "--offline", "--preset", "smoke"];
    let compare = [&systems[..], &["--clients", "1024"]].concat();
    let (code, _, stderr) = limited(&place, "ulimit -n 1024", &compare);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("this process may open only 1024"), "{stderr}");
    assert!(stderr.contains("hint: use fewer clients, or raise the hard limit"), "{stderr}");
    for system in ["mariadb@10.11", "postgres@16"] {
        let server = Running::start(system);
        server.json(&["load", "--rows", "1000"]);
        let bench = ["bench", &server.url, "--test", "point-query", "--clients", "1024"];
        let args = [&bench[..], &["--time", "1", "--format", "json"]].concat();
        let (code, stdout, stderr) = limited(&server.place, "ulimit -Sn 1024", &args);
        assert_eq!(code, Some(0), "{stderr}");
        let found: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(found["clients"], 1024);
        assert!(found["events"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_url_of_the_wrong_kind_is_recognised() {
    let server = Running::start("postgres@16");
    let url = format!("mysql://root@/sbtest?socket={}", server.socket);
    let bench = ["bench", &url, "--test", "point-query"];
    let (code, _, stderr) = said(server.place.run_to_end(&bench));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("speaks the protocol of Postgres"), "{stderr}");
    assert!(stderr.contains("hint: begin the URL with `postgres://`"), "{stderr}");
    let nobody = tempfile::tempdir().unwrap();
    let path = nobody.path().join("s");
    drop(UnixListener::bind(&path).unwrap());
    let url = format!("mysql://root@/db?socket={}", path.display());
    let (code, _, stderr) = said(server.place.run_to_end(&["load", &url]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("hint: nothing listens there"), "{stderr}");
}
