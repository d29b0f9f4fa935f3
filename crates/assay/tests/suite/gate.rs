//! Gates with real servers: exit codes, limits judged again, JUnit.

use std::process::Output;

use serde_json::Value;

use crate::common::Place;

const BASE: [&str; 3] = ["gate", "--base", "mariadb@11.8"];

fn result(output: &Output) -> (i32, Value) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{stderr}"));
    (output.status.code().unwrap(), value)
}

#[test]
fn a_system_keeps_up_with_itself_or_is_undecided() {
    let place = Place::new();
    let file = place.run().join("gate.xml");
    let file = file.to_str().unwrap();
    let limits = ["--other", "mariadb@11.8", "--max-slowdown", "40%", "--limit", "writes=90%"];
    let study = ["--preset", "smoke", "--tests", "point-query,scan,update-index", "--offline"];
    let budget = ["--budget", "20m"];
    let output = ["--format", "json", "--junit", file];
    let (code, json) =
        result(&place.run_to_end(&[&BASE[..], &limits, &study, &budget, &output].concat()));
    let gate = &json["gate"];
    match gate["verdict"].as_str().unwrap() {
        "passed" => assert_eq!(code, 0, "{gate}"),
        "undecided" => assert_eq!(code, 3, "{gate}"),
        other => panic!("{other}: {gate}"),
    }
    let limits: Vec<_> =
        gate["cells"].as_array().unwrap().iter().map(|it| &it["max_slowdown"]).collect();
    assert_eq!(limits, [0.9, 0.4, 0.4]);
    let junit = fs_err::read_to_string(file).unwrap();
    assert_eq!(junit.matches("<testcase ").count(), 3, "{junit}");
    fs_err::remove_file(file).unwrap();

    // Other limits can be tried without measuring, and change nothing.
    let slices = place.slices();
    let again = |args: &[&str]| {
        place.run_to_end(&[&["gate", "--study", "latest", "--format", "json"], args].concat())
    };
    let (same, kept) = result(&again(&[]));
    assert_eq!((same, &kept["gate"]), (code, gate));
    let allowed = again(&["--max-slowdown", "90%", "--allow-undecided"]);
    assert_eq!(allowed.status.code(), Some(0));
    assert_eq!(place.slices(), slices);
    let report = place.run_to_end(&["report", "--verbose"]);
    let text = String::from_utf8(report.stdout).unwrap();
    assert_eq!(report.status.code(), Some(0), "{text}");
    assert!(text.starts_with("gate ") && text.contains("--max-slowdown 40%"), "{text}");
    place.assert_nothing_left();
}

#[test]
fn a_slower_system_exceeds_the_limit() {
    let place = Place::with("postgres@16");
    // Every query reads the whole table, which is visible on a busy machine too. The budget allows for a busy machine.
    let slow = "postgres@16+enable_indexscan=off+enable_indexonlyscan=off+enable_bitmapscan=off";
    let base = ["gate", "--base", "postgres@16"];
    let limits = ["--other", slow, "--max-slowdown", "3%", "--offline", "--budget", "20m"];
    let study = ["--rows", "2k", "--tests", "point-query,hot-points"];
    let blocks = ["--key", "slice=50ms,turn=10ms,blocks=6,rounds=10"];
    let output = place.run_to_end(&[&base[..], &limits, &study, &blocks].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("gate failed: ") && text.contains("▼ exceeded"), "{text}");
    // Nothing can change that, so the study ends.
    let ledger = assay_ledger::Ledger::open_read_only(&place.ledger()).unwrap();
    let record = ledger.read(&ledger.latest().unwrap().unwrap()).unwrap();
    assert!(record.finished && record.blocks.len() <= 6, "{}", record.blocks.len());
    place.assert_nothing_left();
}

#[test]
fn an_interrupted_gate_is_resumed_with_its_limits() {
    let place = Place::new();
    let limits = ["--other", "mariadb@11.8", "--max-slowdown", "1%", "--offline"];
    let study = ["--rows", "10k", "--tests", "point-query", "--key", "blocks=2,rounds=15"];
    let mut command =
        place.command(&[&BASE[..], &limits, &study, &["--key", "slice=100ms"]].concat());
    let null = std::process::Stdio::null;
    let mut child = command.stdout(null()).stderr(null()).spawn().unwrap();
    place.wait_for_slices(10, &mut child);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let (code, json) = result(&place.run_to_end(&["resume", "--offline", "--format", "json"]));
    assert_eq!(json["gate"]["cells"][0]["max_slowdown"], 0.01);
    let expected = match json["gate"]["verdict"].as_str().unwrap() {
        "passed" => 0,
        "exceeded" => 1,
        _ => 3,
    };
    assert_eq!(code, expected, "{}", json["gate"]);
    place.assert_nothing_left();
}
