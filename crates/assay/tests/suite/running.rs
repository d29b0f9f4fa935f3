//! Studies with running servers, named by URL.

use std::process::{Child, Command, Stdio};

use assay_model::{BusyProcess, EventKind, Slice, Trouble};
use assay_run::connection::connect_options;
use assay_wire::{Connection, Stop};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

#[track_caller]
fn json(place: &Place, args: &[&str]) -> Value {
    let output = place.run_to_end(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn running(place: &Place) -> (Value, String, String) {
    let start =
        ["server", "start", "mariadb@10.11", "--port", "0", "--offline", "--format", "json"];
    let server = json(place, &start);
    let password = server["url"].as_str().unwrap().split([':', '@']).nth(2).unwrap().to_owned();
    let url = format!("mysql://root:{password}@127.0.0.1:{}/sbtest", server["port"]);
    (server, url, password)
}

fn connect(server: &Value) -> Connection {
    let url = assay_plan::parse_url(server["url"].as_str().unwrap()).unwrap();
    Connection::connect(&connect_options(&url, Stop::default())).unwrap()
}

/// A study has dropped its database or schema.
#[track_caller]
fn assert_dropped(control: &mut Connection) {
    let schemas =
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'assay%'";
    assert_eq!(control.query(schemas).unwrap().first_string(), None);
}

#[test]
fn a_running_server_is_compared_and_left_running() {
    let place = Place::new();
    let (server, url, password) = running(&place);
    let compare = [
        "compare",
        &url,
        "mariadb@10.11",
        "--preset",
        "smoke",
        "--budget",
        "20m",
        "--tests",
        "point-query,update-index",
        "--offline",
        "--format",
        "json",
    ];
    let result = json(&place, &compare);
    let systems = result["systems"].as_array().unwrap();
    assert_eq!(systems[0]["name"], format!("mysql://root@127.0.0.1:{}/sbtest", server["port"]));
    assert_eq!((&systems[0]["product"], &systems[0]["sha256"]), (&"mariadb".into(), &Value::Null));
    assert_eq!(systems[0]["version"], systems[1]["version"]);
    for cell in result["cells"].as_array().unwrap() {
        assert!(cell["slices"].as_u64().unwrap() > 0, "{cell:#}");
        // assay found its process by its port.
        assert!(cell["per_op"]["server_cpu_us"].as_f64().unwrap() > 0.0, "{cell:#}");
    }
    let ledger = fs_err::read(place.ledger()).unwrap();
    let secret = password.as_bytes();
    assert!(!ledger.windows(secret.len()).any(|it| it == secret), "the ledger holds the password");
    assert!(!result.to_string().contains(&password), "the report holds the password");

    assert_dropped(&mut connect(&server));
    json(&place, &["load", &url, "--rows", "1000", "--format", "json"]);
    let audit = json(&place, &["audit", &url, "mariadb@10.11", "--offline", "--format", "json"]);
    assert!(audit["audit"].as_array().is_some(), "{audit:#}");
    let bench = ["bench", &url, "--test", "point-query", "--time", "1", "--format", "json"];
    assert!(json(&place, &bench)["events"].as_u64().unwrap() > 0);
    let stopped = place.run_to_end(&["server", "stop", server["name"].as_str().unwrap()]);
    assert!(stopped.status.success());
    let gone = place.run_to_end(&compare);
    let stderr = String::from_utf8_lossy(&gone.stderr);
    assert_eq!(gone.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("cannot attach to") && !stderr.contains(&password), "{stderr}");
}

struct Busy(Child);

impl Busy {
    fn start() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn started(place: &Place) -> Vec<Pid> {
    let on_instance = format!("--datadir={}/instances", place.cache().display());
    let processes = fs_err::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_string_lossy().parse::<i32>().ok());
    let is_started = |id: &i32| {
        let line = fs_err::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&on_instance)
    };
    ids.filter(is_started).filter_map(Pid::from_raw).collect()
}

fn message(place: &Place) -> Vec<BusyProcess> {
    let events = place.records().into_iter().flat_map(|record| record.events);
    let processes = events.filter_map(|event| match event.what {
        EventKind::OtherProcesses { processes } => Some(processes),
        _ => None,
    });
    processes.flatten().collect()
}

#[test]
fn a_participating_server_is_not_interference() {
    let place = Place::new();
    let (server, url, _) = running(&place);
    let _busy = [Busy::start(), Busy::start()];
    let args = ["compare", &url, "mariadb@10.11", "--offline", "--rows", "10000"];
    // It is ended below.
    let length = ["--budget", "60m", "--key", "blocks=2,rounds=10000,slice=200ms"];
    let more = [&["--tests", "point-query"][..], &length].concat();
    let mut command = place.command(&[&args[..], &more].concat());
    let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let is_disturbed = |slice: &Slice| slice.trouble.contains(&Trouble::OtherProcess);
    place.wait_while_measuring(&mut child, "a slice is disturbed", || {
        place.all_slices().iter().any(is_disturbed)
    });
    for pid in started(&place) {
        kill_process(pid, Signal::KILL).unwrap();
    }
    let code = child.wait().unwrap().code();
    assert_dropped(&mut connect(&server));
    let stopped = place.run_to_end(&["server", "stop", server["name"].as_str().unwrap()]);
    assert!(stopped.status.success());
    assert_eq!(code, Some(3));
    let message = message(&place);
    // Only the busiest are named, which may be others.
    assert!(!message.is_empty());
    assert!(!message.iter().any(|message| message.pid == server["pid"]), "{message:?}");
    place.assert_nothing_left();
}

/// Tables of others stay, and those of the study go with it, also when it is interrupted.
#[test]
fn a_study_changes_only_its_schema_of_a_running_postgres() {
    let place = Place::with("postgres@16");
    let start = ["server", "start", "postgres@16", "--offline", "--format", "json"];
    let server = json(&place, &start);
    let mut control = connect(&server);
    for sql in ["CREATE ROLE bench LOGIN", "CREATE TABLE public.sbtest1 (precious int)"] {
        control.query(sql).unwrap();
    }
    let address = server["url"].as_str().unwrap().split_once('@').unwrap().1;
    let url = format!("postgres://bench@{address}");
    let compare = ["compare", &url, "postgres@16", "--preset", "smoke", "--budget", "20m"];
    let tests = ["--tests", "point-query,update-index", "--key", "blocks=2,rounds=4", "--offline"];
    let compare = [&compare[..], &tests].concat();
    let refused = place.run_to_end(&compare);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    let grant = "GRANT CREATE ON DATABASE sbtest TO bench";
    assert!(stderr.contains(grant), "{stderr}");
    control.query(grant).unwrap();
    let mut command = place.command(&compare);
    let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_slices(2, &mut child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert_dropped(&mut control);
    let resumed = json(&place, &["resume", "--offline", "--format", "json"]);
    assert!(resumed["cells"].as_array().unwrap().iter().all(|cell| cell["errors"] == 0));
    assert_dropped(&mut control);
    control.query("SELECT precious FROM public.sbtest1").unwrap();
    let stopped = place.run_to_end(&["server", "stop", server["name"].as_str().unwrap()]);
    assert!(stopped.status.success());
    place.assert_nothing_left();
}
