//! Profiles of real servers.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_profile_says_which_functions_use_the_cpu_time_of_the_account() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let words = [
        "compare",
        "mariadb@11.8",
        "mariadb@11.8+performance_schema=ON",
        "--preset",
        "smoke",
        "--budget",
        "20m",
        "--tests",
        "point-query",
        "--profile=all",
        "-o",
        file.to_str().unwrap(),
    ];
    let output = place.run_to_end(&words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let (_, end) = stderr.split_once("taking profiles of 1 test").unwrap();
    assert!(end.contains("in 1 of 1 test"), "{output:?}");
    assert!(end.contains("written to `") && output.stdout.is_empty(), "{output:?}");
    let result: Value = serde_json::from_slice(&fs_err::read(file).unwrap()).unwrap();
    let events = result["events"].to_string();
    if events.contains("no profile of point-query: ") {
        assert!(events.contains("perf_event_paranoid"), "{events}");
        eprintln!("not tested: {events}");
        return;
    }
    let cell = &result["cells"][1];
    let profile = &cell["profile"];
    let functions = profile["serving"].as_array().unwrap();
    // Debian's binaries keep exported names.
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
        let waited = |wait: &str| waits.get(wait).map_or(0.0, |it| number(&it["after"]));
        let all: f64 = waits.values().map(|it| number(&it["after"])).sum();
        assert!(
            waited("client") > 0.0 && waited("client") + waited("cpu") > 0.8 * all,
            "{waits:#?}"
        );
    }
    let directory = folder.path().join("stacks");
    let words = ["report", "--format", "folded", "-o", directory.to_str().unwrap()];
    let written = place.run_to_end(&words);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let stacks =
        fs_err::read_to_string(directory.join("stacks-point-query-mariadb-11.8-serving.folded"));
    let stacks = stacks.unwrap();
    let spent = stacks.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert!(spent.sum::<u64>() > 100 && stacks.contains(';'), "{stacks}");
    let page = place.run_to_end(&["report", "--format", "html"]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(
        page.contains("by function, without what it calls") && page.contains("Calls of "),
        "{page}"
    );
}

fn is_frozen(server: Pid) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", server.as_raw_nonzero()));
    stat.is_ok_and(|it| it.rsplit(')').next().unwrap().trim_start().starts_with('T'))
}

fn kill_while_it_is_sampled(place: &Place, assay: &mut Child) {
    loop {
        assert!(assay.try_wait().unwrap().is_none(), "assay ended");
        let (frozen, thawed): (Vec<Pid>, Vec<Pid>) =
            place.running().into_iter().partition(|it| is_frozen(*it));
        // The last one that starts is frozen as soon as its cache is filled.
        if let ([last], [sampled]) = (frozen.as_slice(), thawed.as_slice())
            && last.as_raw_nonzero() > sampled.as_raw_nonzero()
        {
            std::thread::sleep(Duration::from_millis(1500));
            kill_process(*sampled, Signal::KILL).unwrap();
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_that_is_killed_while_it_is_sampled_loses_one_profile() {
    let place = Place::new();
    let words = ["mariadb@11.8", "mariadb@11.8+performance_schema=ON", "--preset", "smoke"];
    let more = ["--tests", "point-query,hot-points", "--profile=all", "--budget", "20m"];
    let length = ["--key", "blocks=1", "--format", "json"];
    let mut command = place.command(&[&["compare"], &words[..], &more, &length].concat());
    let mut assay = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut message = BufReader::new(assay.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(message.any(|line| line.contains("taking profiles of 2 tests")));
    std::thread::spawn(move || message.for_each(drop));
    kill_while_it_is_sampled(&place, &mut assay);
    let output = assay.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = result["events"].to_string();
    if events.contains("perf_event_paranoid") {
        eprintln!("not tested: {events}");
        return;
    }
    assert_eq!(events.matches("no profile of ").count(), 1, "{events}");
    assert!(events.contains("ended"), "{events}");
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.iter().filter(|cell| cell["profile"].is_object()).count(), 1);
    // The next attempt succeeds, and its failure is no longer an event.
    let resumed = place.run_to_end(&["resume", "--more", "1s", "--format", "json"]);
    let result: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.iter().filter(|cell| cell["profile"].is_object()).count(), 2, "{result}");
    assert!(!result["events"].to_string().contains("no profile of "), "{result}");
}
