//! Profiles of real servers.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod common;

use common::Place;
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_profile_says_which_functions_use_the_cpu_time_of_the_account() {
    let place = Place::new();
    let words = [
        "compare",
        "mariadb@11.8",
        "mariadb@11.8+performance_schema=ON",
        "--preset",
        "smoke",
        "--tests",
        "point-query",
        "--profile=all",
        "--format",
        "json",
    ];
    let output = place.run_to_end(&words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("taking profiles of 1 test"), "{stderr}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = result["events"].to_string();
    if events.contains("no profile of point-query: ") {
        assert!(events.contains("perf_event_paranoid"), "{events}");
        eprintln!("not tested: {events}");
        return;
    }
    let cell = &result["cells"][1];
    let profile = &cell["profile"];
    let functions = profile["serving"].as_array().unwrap();
    // Debian's binaries keep the names that other modules may use.
    let named =
        functions.iter().filter(|it| it["module"] == "mariadbd" && it["function"].is_string());
    assert!(named.count() > 5, "{functions:#?}");
    let shown: f64 = functions.iter().map(|it| number(&it["after"])).sum();
    let sum = shown + number(&profile["serving_rest"]["after"]);
    let change = &cell["change_us"]["server_cpu"]["value"];
    let whole = number(&result["cells"][0]["per_op"]["server_cpu_us"]) + number(change);
    assert!((sum / whole - 1.0).abs() < 0.05, "{sum} of {whole}");
    if let Some(waits) = profile["waits"].as_object() {
        // The thread of a single client waits for the client and, on one CPU, behind it.
        let of = |wait: &str| waits.get(wait).map_or(0.0, |it| number(&it["after"]));
        let all: f64 = waits.values().map(|it| number(&it["after"])).sum();
        assert!(of("client") > 0.0 && of("client") + of("cpu") > 0.8 * all, "{waits:#?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("stacks");
    let words = ["report", "--format", "folded", "-o", directory.to_str().unwrap()];
    let written = place.run_to_end(&words);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let stacks =
        fs_err::read_to_string(directory.join("stacks-point-query-mariadb-11.8-serving.folded"));
    let stacks = stacks.unwrap();
    let spent = stacks.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert!(spent.sum::<u64>() > 1000 && stacks.contains(';'), "{stacks}");
    let page = place.run_to_end(&["report", "--format", "html"]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("by function itself") && page.contains("Calls of "), "{page}");
}
