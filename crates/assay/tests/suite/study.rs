//! Whole studies with real servers: the result, an interruption, and a kill.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::Duration;

use assay_model::{Product, Slice};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

const SMOKE: [&str; 6] =
    ["compare", "mariadb@10.11", "mariadb@11.8", "--preset", "smoke", "--offline"];

const LONG: [&str; 12] = [
    "compare",
    "mariadb@10.11",
    "mariadb@11.8",
    "--preset",
    "smoke",
    "--tests",
    "point-query,scan,update-index,delete",
    "--budget",
    "5m",
    "--key",
    "blocks=3,rounds=7",
    "--offline",
];

fn json(place: &Place, args: &[&str]) -> (i32, Value, Vec<u8>) {
    let output = place.run_to_end(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{stderr}"));
    (output.status.code().unwrap(), value, output.stdout)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_study_announces_its_cost_first() {
    let place = Place::new();
    let short = ["--tests", "point-query", "--budget", "1s", "--format", "json"];
    let output = place.run_to_end(&[&SMOKE[..], &short[..]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let at = |what: &str| stderr.find(what).unwrap_or_else(|| panic!("no `{what}` in {stderr}"));
    let pass = at("one pass over 1 test on 2 systems takes about ");
    assert!(pass < at("measuring block 1 of 2: 1 test, 2 rounds each"), "{stderr}");
    assert!(at("the last tests may not be measured; use `--budget ") > pass, "{stderr}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["study"]["budget_s"].as_f64(), Some(1.0));
}

#[test]
fn a_smoke_study_has_every_cell_and_renders_the_same_from_the_ledger() {
    let place = Place::new();
    let tests = ["--tests", "update-index,scan,point-query,delete,insert", "--format", "json"];
    let words = [&SMOKE[..], &["--budget", "20m"], &tests[..]].concat();
    let (code, result, bytes) = json(&place, &words);
    assert_eq!(code, 0);
    assert_eq!(result["schema"], 1);
    let systems: Vec<_> = result["systems"].as_array().unwrap().iter().collect();
    assert_eq!(systems.len(), 2);
    assert_eq!(systems[0]["name"], "mariadb@10.11");
    assert_eq!(systems[0]["is_base"], true);
    assert!(systems[1]["version"].as_str().unwrap().starts_with("11.8."));
    let cells = result["cells"].as_array().unwrap();
    let names: Vec<_> =
        cells.iter().step_by(2).map(|cell| cell["test"].as_str().unwrap()).collect();
    assert_eq!(names, ["update-index", "scan", "point-query", "delete", "insert"]);
    for cell in cells {
        assert_eq!(cell["errors"], 0, "{cell}");
        let is_base = cell["system"] == "mariadb@10.11";
        assert!(!is_base || cell["rqps"].is_null(), "{cell}");
        if cell["slices"] == 0 {
            // On a busy machine, all slices of a cell can be disturbed. They are shown without a verdict.
            assert!(cell["troubled"].as_u64().unwrap() >= 4, "{cell}");
            assert!(cell["qps"].is_null(), "{cell}");
            continue;
        }
        assert!(cell["qps"]["value"].as_f64().unwrap() > 0.0, "{cell}");
        assert!(cell["per_op"]["server_cpu_us"].as_f64().unwrap() > 0.0, "{cell}");
        assert!(cell["per_op"]["client_cpu_us"].as_f64().unwrap() > 0.0, "{cell}");
        assert_eq!(cell["counters"].is_object(), !is_base, "{cell}");
        let change = &cell["change_us"];
        assert_eq!(change.is_null(), is_base, "{cell}");
        if !is_base {
            let names =
                ["client_cpu", "server_cpu", "cpu_wait", "disk_wait", "other_wait", "unknown"];
            let message: f64 = names.iter().filter_map(|name| change[name]["value"].as_f64()).sum();
            let whole = change["time"]["value"].as_f64().unwrap();
            assert!((message - whole).abs() < 1e-6 * whole.abs().max(1.0), "{change}");
        }
    }
    let again = place.run_to_end(&["report", "--format", "json"]);
    assert_eq!(String::from_utf8(again.stdout), String::from_utf8(bytes));
    let listed = place.run_to_end(&["studies", "--format", "json"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains(result["study"]["id"].as_str().unwrap()), "{listed}");
    assert_settings_are_kept(&place);
    let finished = place.run_to_end(&["resume", result["study"]["id"].as_str().unwrap()]);
    assert_eq!(finished.status.code(), Some(2));
    for format in ["text", "html", "markdown", "csv"] {
        let report = || place.run_to_end(&["report", "--format", format]);
        let (first, second) = (report(), report());
        assert_eq!(first.status.code(), Some(0));
        assert!(!first.stdout.is_empty(), "{format}");
        assert_eq!(first.stdout, second.stdout, "{format}");
    }
    place.assert_nothing_left();
}

/// The ledger has all settings that the servers report, equal or not, except those that may be secret.
fn assert_settings_are_kept(place: &Place) {
    let ledger = assay_ledger::Ledger::open_read_only(&place.ledger()).unwrap();
    let settings = ledger.settings(&ledger.latest().unwrap().unwrap()).unwrap();
    for (of_system, version) in settings.iter().zip(["10.11.", "11.8."]) {
        assert!(of_system["version"].starts_with(version), "{}", of_system["version"]);
        assert_eq!(of_system["autocommit"], "ON");
        assert!(of_system.contains_key("build.compiler"));
        assert!(of_system.len() > 500, "{}", of_system.len());
        assert!(!of_system.keys().any(|name| assay_model::may_be_secret(name)));
    }
    assert_eq!(settings.len(), 2);
}

#[test]
fn mysql_is_compared_with_mariadb() {
    let _ = assay_testkit::product_prefix(Product::MySql, "5.7");
    let place = Place::new();
    let words = ["compare", "mariadb@10.11", "mysql@5.7", "--preset", "smoke", "--offline"];
    let tests = ["--tests", "update-index,read-write_range=10,point-query,insert"];
    let more = ["--budget", "20m", "--key", "blocks=1", "--format", "json"];
    let (code, result, _) = json(&place, &[&words[..], &tests, &more].concat());
    assert_eq!(code, 0);
    assert!(result["systems"][1]["version"].as_str().unwrap().starts_with("5.7."));
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 8);
    for cell in cells {
        assert_eq!(cell["errors"], 0, "{cell}");
        assert_ne!(cell["verdict"], "failed", "{cell}");
    }
    // The same events produced the same rows.
    let text = String::from_utf8(place.run_to_end(&["report", "--verbose"]).stdout).unwrap();
    assert_eq!(text.matches("the same on all systems").count(), 2, "{text}");
    place.assert_nothing_left();
}

#[test]
fn an_unknown_option_is_reported_by_every_product() {
    let _ = assay_testkit::product_prefix(Product::MySql, "5.7");
    for system in ["mariadb@10.11+no_such_option=1", "mysql@5.7+no_such_option=1"] {
        let place = Place::new();
        let output =
            place.run_to_end(&["compare", system, system, "--preset", "smoke", "--offline"]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("`no_such_option` is unknown"), "{message}");
        assert!(message.contains("hint: "), "{message}");
        place.assert_nothing_left();
    }
}

fn slices(place: &Place) -> Vec<Slice> {
    let ledger = assay_ledger::Ledger::open_read_only(&place.ledger()).unwrap();
    ledger.read(&ledger.latest().unwrap().unwrap()).unwrap().slices
}

#[test]
fn a_killed_study_is_resumed_without_repeating_or_losing_a_slice() {
    let place = Place::new();
    let mut child = start_measuring(&place);
    let mut kept: Vec<Slice> = Vec::new();
    for _ in 0..4 {
        place.wait_for_slices(kept.len() as u64 + 10, &mut child);
        signal(&child, Signal::KILL);
        child.wait().unwrap();
        place.assert_nothing_left();
        let measured = slices(&place);
        assert_eq!(measured[..kept.len()], kept, "a slice was changed or lost");
        kept = measured;
        child = place
            .command(&["resume", "--offline"])
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
    }
    place.wait_for_slices(kept.len() as u64 + 10, &mut child);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let resumed = place.run_to_end(&["resume", "--offline", "--format", "json"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", String::from_utf8_lossy(&resumed.stderr));
    let measured = slices(&place);
    assert_eq!(measured[..kept.len()], kept, "a slice was changed or lost");
    let places: BTreeSet<_> =
        measured.iter().map(|it| (it.system, it.cell, it.block, it.round)).collect();
    assert_eq!(places.len(), measured.len(), "a slice was measured twice");
    let result: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!(result["study"]["finished"], true);
    place.assert_nothing_left();
}

#[test]
fn a_study_is_resumed_only_on_its_machine_and_a_new_kernel_is_noted() {
    let place = Place::new();
    let mut child = start_measuring(&place);
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let kept = slices(&place);
    for (change, message) in [
        ("'$.cpu', 'Z80'", "another machine, which has `Z80`; this one has `"),
        ("'$.cpus', (host ->> '$.cpus') + 4096", " CPUs; this one has "),
        ("'$.memory_kb', (host ->> '$.memory_kb') * 106 / 100", " GiB of memory; this one has "),
    ] {
        let resumed =
            on_another_host(&place, change, || place.run_to_end(&["resume", "--offline"]));
        let stderr = String::from_utf8(resumed.stderr).unwrap();
        assert_eq!(resumed.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(message) && stderr.contains("hint: resume it on"), "{stderr}");
    }
    assert_eq!(slices(&place), kept);
    let changed = "'$.kernel', '2.6.32', '$.memory_kb', (host ->> '$.memory_kb') * 104 / 100";
    on_another_host(&place, changed, || {
        let mut command = place.command(&["resume", "--offline"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        place.wait_for_slices(kept.len() as u64 + 1, &mut child);
        signal(&child, Signal::INT);
        assert_eq!(child.wait().unwrap().code(), Some(4));
    });
    let (_, result, _) = json(&place, &["report", "--format", "json"]);
    let events = result["events"].as_array().unwrap();
    let message = |it: &Value| it["what"].as_str().unwrap().ends_with(", began on 2.6.32");
    assert!(events.iter().any(message), "{events:?}");
    place.assert_nothing_left();
}

fn on_another_host<T>(place: &Place, change: &str, act: impl FnOnce() -> T) -> T {
    let ledger = rusqlite::Connection::open(place.ledger()).unwrap();
    ledger.execute_batch("CREATE TEMP TABLE kept AS SELECT id, host FROM run").unwrap();
    let changed = format!("UPDATE run SET host = json_set(host, {change})");
    ledger.execute(&changed, []).unwrap();
    let done = act();
    let restored = "UPDATE run SET host = kept.host FROM kept WHERE kept.id = run.id";
    ledger.execute_batch(restored).unwrap();
    done
}

fn start_measuring(place: &Place) -> Child {
    let before = place.slices();
    let mut child =
        place.command(&LONG).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    place.wait_for_slices(before + 1, &mut child);
    child
}

#[test]
fn one_interrupt_ends_after_the_slice_in_flight_and_keeps_what_was_measured() {
    let place = Place::new();
    for asked in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut child = start_measuring(&place);
        let measured = place.slices();
        signal(&child, asked);
        assert_eq!(child.wait().unwrap().code(), Some(4));
        assert!(place.slices() >= measured);
        place.assert_nothing_left();
    }
}

#[test]
fn sigkill_leaves_no_process_and_no_directory() {
    let place = Place::bare();
    let mut child = start_measuring(&place);
    let measured = place.slices();
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    place.assert_nothing_left();
    // Any moment: fetching, initialising, loading, starting, or with some servers frozen.
    for after_ms in [50, 200, 400, 700, 1000, 1500, 2200, 3000] {
        let seed = after_ms.to_string();
        let args = [&LONG[..], &["--seed", &seed]].concat();
        let mut child =
            place.command(&args).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        signal(&child, Signal::KILL);
        child.wait().unwrap();
        place.assert_nothing_left();
    }
    assert!(place.slices() >= measured, "what was measured before is still there");
}
