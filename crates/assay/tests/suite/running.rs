//! Studies with running servers, named by URL.

use std::process::{Child, Command, Stdio};

use assay_model::{BusyProcess, EventKind, Slice, Trouble};
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

    // The tables are as the last block left them, and an audit reads them without any change.
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
    let length = ["--budget", "60m", "--blocks", "2", "--rounds", "10000", "--slice", "200ms"];
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
    let stopped = place.run_to_end(&["server", "stop", server["name"].as_str().unwrap()]);
    assert!(stopped.status.success());
    assert_eq!(code, Some(3));
    let message = message(&place);
    // Only the busiest are named, which may be others.
    assert!(!message.is_empty());
    assert!(!message.iter().any(|message| message.pid == server["pid"]), "{message:?}");
    place.assert_nothing_left();
}
