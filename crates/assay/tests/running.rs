//! Servers that run already take part by their URL.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod common;

use common::Place;
use serde_json::Value;

/// What a command prints as JSON, after it ended well.
#[track_caller]
fn json(place: &Place, args: &[&str]) -> Value {
    let output = place.run_to_end(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_server_that_runs_already_is_compared_and_left_running() {
    let place = Place::new();
    let start =
        ["server", "start", "mariadb@10.11", "--port", "0", "--offline", "--format", "json"];
    let server = json(&place, &start);
    let password = server["url"].as_str().unwrap().split([':', '@']).nth(2).unwrap().to_owned();
    let url = format!("mysql://root:{password}@127.0.0.1:{}/sbtest", server["port"]);
    let compare = [
        "compare",
        &url,
        "mariadb@10.11",
        "--preset",
        "smoke",
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
        // Its process was found by its port.
        assert!(cell["per_op"]["server_cpu_us"].as_f64().unwrap() > 0.0, "{cell:#}");
    }
    let ledger = fs_err::read(place.ledger()).unwrap();
    let secret = password.as_bytes();
    assert!(!ledger.windows(secret.len()).any(|it| it == secret), "the ledger holds the password");
    assert!(!result.to_string().contains(&password), "the report holds the password");

    // Its tables are there as the last block left them, and an audit asks without touching anything.
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
