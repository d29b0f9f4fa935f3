//! The Insert Benchmark on real servers: all steps of every product, resumption, servers that die.

use std::process::{Child, Output, Stdio};

use assay_wire::{ConnectOptions, Connection};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

const STEPS: [&str; 10] =
    ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"];

const SMALL: [&str; 6] = ["--rows", "2k,1k,1k", "--query-seconds", "1", "--seed", "3"];

/// With few slices, so that tests know the step in which something happens.
const WHOLE: [&str; 8] =
    ["--rows", "2k,1k,1k", "--query-seconds", "1", "--seed", "3", "--segments", "1"];

/// Segments of a step in [`SMALL`]: 20 to 200 statements, or a second.
fn segments(test: &str) -> u32 {
    if ["l.i0", "l.i1", "l.i2"].contains(&test) { 20 } else { 1 }
}

fn bench<'a>(systems: &[&'a str], options: &[&'a str]) -> Vec<&'a str> {
    let command = ["insert-bench", "--offline", "--format", "json"];
    [&command[..], systems, options].concat()
}

#[track_caller]
fn json(output: &Output, code: i32) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"))
}

fn start(place: &Place, args: &[&str]) -> Child {
    place.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn server_of(place: &Place, prefix: &str) -> Pid {
    let run = place.run().display().to_string();
    for entry in fs_err::read_dir("/proc").unwrap().flatten() {
        let line = fs_err::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.contains(&run) && line.contains(&format!("/{prefix}")) {
            let pid = entry.file_name().to_string_lossy().parse().unwrap();
            return Pid::from_raw(pid).unwrap();
        }
    }
    panic!("no server of `{prefix}` runs")
}

/// Whether a step was cut off. Losing only the background rate, as on a busy machine, does not count.
fn was_cut_off(cell: &Value) -> bool {
    cell["step"]["failed"] == true && cell["step"]["sla_met"] != false
}

fn cells(result: &Value) -> &[Value] {
    result["cells"].as_array().unwrap()
}

#[test]
fn all_steps_run_on_every_product_and_render_the_same_from_the_ledger() {
    let place = Place::with("postgres@16");
    let _ = Place::with("mysql@8.0");
    let systems = ["mariadb@11.8", "mysql@8.0", "postgres@16"];
    let output = place.run_to_end(&bench(&systems, &SMALL));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(cells(&result).len(), 10 * 3);
    let tests: Vec<_> = cells(&result).iter().step_by(3).map(|cell| &cell["test"]).collect();
    assert_eq!(tests, STEPS);
    for cell in cells(&result) {
        let (test, step) = (cell["test"].as_str().unwrap(), &cell["step"]);
        let slices = Value::from(segments(test));
        assert_eq!((was_cut_off(cell), &cell["slices"]), (false, &slices), "{cell:#}");
        let number = |what: &str| step[what].as_f64().unwrap();
        assert!(number("seconds") > 0.0 && number("ips") > 0.0, "{cell:#}");
        let deletes = !["l.i0", "l.x"].contains(&test);
        assert_eq!(number("dps") > 0.0, deletes, "{cell:#}");
        assert_eq!(step["insert"]["rows"] == step["delete"]["rows"], deletes, "{cell:#}");
        match test.strip_prefix("qr").or_else(|| test.strip_prefix("qp")) {
            None => {
                assert_eq!((&step["target_ips"], &step["sla_met"]), (&Value::Null, &Value::Null))
            }
            Some(rate) => {
                let rate: f64 = rate.parse().unwrap();
                assert_eq!(step["target_ips"].as_f64(), Some(rate));
                assert_eq!(step["sla_met"], number("ips") >= 0.95 * rate, "{cell:#}");
                assert_eq!(step["insert"]["rows"].as_f64(), Some(rate));
                assert!(number("qps") > 10.0, "{cell:#}");
                assert_eq!(cell["qps"]["value"].as_f64().unwrap().round(), number("qps").round());
            }
        }
    }
    let others = cells(&result).iter().filter(|cell| cell["system"] != systems[0]);
    for cell in others {
        // A step of one segment has no interval, and a lost rate cannot be compared.
        let is_one = segments(cell["test"].as_str().unwrap()) == 1;
        let expected = if cell["rqps"].is_null() { "failed" } else { "undecided" };
        assert!(!is_one || cell["verdict"] == expected, "{cell:#}");
        assert!(is_one || cell["rqps"]["low"].is_number(), "{cell:#}");
    }
    let again = place.run_to_end(&["report", "--format", "json"]);
    assert_eq!(again.stdout, output.stdout);
    for (format, message) in [
        ("text", "background inserts: rows per second"),
        ("markdown", "### Relative rates"),
        ("html", "<summary>qp1000</summary>"),
        ("html", "<th scope=\"col\" class=\"n\">dbgb2</th>"),
        ("csv", "qp1000"),
    ] {
        let report = place.run_to_end(&["report", "--format", format]);
        let text = String::from_utf8_lossy(&report.stdout);
        assert!(text.contains(message), "{format}: {text}");
    }
    place.assert_nothing_left();
}

#[track_caller]
fn assert_plans_differ(result: &Value) {
    let audit = result["audit"].to_string();
    assert!(audit.contains("plan.range queries") && audit.contains("Seq Scan"), "{audit}");
}

#[test]
fn an_interrupted_benchmark_is_resumed_at_the_next_step() {
    let place = Place::with("postgres@16");
    let systems = ["postgres@16", "postgres@16+enable_indexscan=off+enable_indexonlyscan=off"];
    let mut child = start(&place, &bench(&systems, &WHOLE));
    // Both have begun the queries, so their plans are known.
    place.wait_for_slices(11, &mut child);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    place.assert_nothing_left();
    let kept = place.all_slices();
    let mut child = start(&place, &["resume", "--offline"]);
    place.wait_for_slices(kept.len() as u64 + 3, &mut child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    place.assert_nothing_left();
    assert_plans_differ(&json(&place.run_to_end(&["report", "--format", "json"]), 0));
    let resumed = place.run_to_end(&["resume", "--offline", "--format", "json"]);
    let result: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!(result["study"]["finished"], true);
    let measured = place.all_slices();
    assert_eq!(measured[..kept.len()], kept, "a slice was changed or lost");
    assert_eq!(measured.len(), 20, "a step was measured twice, or not at all");
    assert_plans_differ(&result);
    let message = result["events"].to_string();
    assert!(message.contains("repeated without being recorded"), "{message}");
    place.assert_nothing_left();
}

#[test]
fn a_server_that_dies_fails_its_step_and_the_other_goes_on() {
    let place = Place::new();
    let systems = ["mariadb@10.11", "mariadb@11.8"];
    let mut child = start(&place, &bench(&systems, &WHOLE));
    place.wait_for_slices(10, &mut child);
    kill_process(server_of(&place, "mariadb-11.8"), Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let report = json(&place.run_to_end(&["report", "--format", "json"]), 3);
    let system_cells = |system: &str| -> Vec<&Value> {
        cells(&report).iter().filter(|cell| cell["system"] == system).collect()
    };
    assert!(system_cells(systems[0]).iter().all(|cell| !was_cut_off(cell)));
    let failed: Vec<_> =
        system_cells(systems[1]).into_iter().filter(|cell| was_cut_off(cell)).collect();
    assert_eq!(failed.len(), 1, "{failed:#?}");
    assert!(!failed[0]["why"].as_str().unwrap().is_empty());
    // Nothing was measured after it, until the study is resumed.
    let unmeasured = system_cells(systems[1]).into_iter().filter(|cell| cell["slices"] == 0);
    assert!(unmeasured.count() >= 1);
    let resumed = place.run_to_end(&["resume", "--offline", "--format", "json"]);
    let resumed: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    for cell in cells(&resumed) {
        assert_eq!((was_cut_off(cell), &cell["slices"]), (false, &1.into()), "{cell:#}");
    }
    place.assert_nothing_left();
}

fn runs(pid: Pid) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let Ok(stat) = stat else { return false };
    !stat.rsplit(')').next().unwrap().trim_start().starts_with('T')
}

#[test]
fn lost_connections_fail_their_step_and_the_rest_goes_on() {
    let place = Place::new();
    let systems = ["mariadb@10.11", "mariadb@11.8"];
    let sizes = ["--rows", "2k,60k,1k", "--query-seconds", "1", "--segments", "1"];
    let mut child = start(&place, &bench(&systems, &sizes));
    place.wait_for_slices(4, &mut child);
    let pid = server_of(&place, "mariadb-11.8");
    let line = fs_err::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap();
    let line = String::from_utf8(line).unwrap();
    let socket = line.split('\0').find_map(|word| word.strip_prefix("--socket=")).unwrap();
    let options = ConnectOptions::unix(socket, "root");
    // An insert may end, and with it its step, before the server acts on KILL. So each insert is aimed at, until a step
    // fails and the server is stopped.
    while child.try_wait().unwrap().is_none() {
        // A frozen server would not answer until its next step.
        if !runs(pid) {
            std::thread::sleep(std::time::Duration::from_millis(1));
            continue;
        }
        let Ok(mut control) = Connection::connect(&options) else { continue };
        let clients =
            "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'INSERT INTO pi1 %'";
        let Ok(found) = control.query(clients) else { continue };
        for row in found.rows {
            let id = String::from_utf8(row[0].clone().unwrap()).unwrap();
            // The connection may be gone by now.
            let _ = control.query(&format!("KILL {id}"));
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let report = json(&place.run_to_end(&["report", "--format", "json"]), 3);
    let failed: Vec<_> = cells(&report).iter().filter(|cell| was_cut_off(cell)).collect();
    assert_eq!(failed.len(), 1, "{failed:#?}");
    assert_eq!(failed[0]["system"], systems[1]);
    assert!(!failed[0]["why"].as_str().unwrap().is_empty());
    place.assert_nothing_left();
}

#[test]
fn what_cannot_be_run_is_told_before_anything_is_measured() {
    let place = Place::new();
    let systems = ["mariadb@10.11", "mariadb@11.8"];
    for (options, message) in [
        (&["--rows", "2k,1k"][..], "it takes three numbers"),
        (&["--rows", "2k,1k,10"][..], "must be between 1,000 and"),
        (&["--indexes", "4"][..], "must be between 0 and 3"),
        (&["--preset", "published", "--segments", "20"][..], "systems take no turns"),
        (&["--partition-rows", "1k"][..], "it needs `--partitions` as well"),
        (&["--query-seconds", "1.5"][..], "whole number of seconds"),
    ] {
        let output = place.run_to_end(&bench(&systems, options));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
    let url = "mysql://root@127.0.0.1:1/test";
    let output = place.run_to_end(&bench(&["mariadb@10.11", url], &[]));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("works only with servers that assay starts"), "{stderr}");
}
