//! The TPC-C-like workload: compared on every product, resumed, loaded and run on a running server, and inconsistent
//! tables.

use std::process::{Output, Stdio};

use assay_model::SliceOutcome;
use assay_wire::{ConnectOptions, Connection};
use serde_json::Value;

use crate::common::Place;

#[track_caller]
fn json(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// More than a busy machine needs: blocks and rounds decide how much is measured.
const TIME: [&str; 2] = ["--budget", "20m"];

#[test]
fn a_study_of_every_product_is_measured_and_reported() {
    drop(Place::with("mysql@8.0"));
    let place = Place::with("postgres@15");
    let systems = ["compare", "mariadb@10.11", "mysql@8.0", "postgres@15", "--offline"];
    let suite = ["--suite", "tpcc", "--preset", "smoke", "--key", "blocks=1"];
    let options = ["--clients", "2", "--format", "json"];
    let last = ["--", "--warehouses", "1"];
    let result = json(&place.run_to_end(&[&systems[..], &suite, &options, &TIME, &last].concat()));
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3);
    for cell in cells {
        assert_eq!((&cell["test"], &cell["group"]), (&"tpcc".into(), &"tpcc".into()), "{cell:#}");
        let rate = |name: &str| cell["per_op"][name].as_f64().unwrap();
        assert!(rate("nopm") > 0.0 && rate("nopm") < 0.6 * rate("tpm"), "{cell:#}");
        // Both count the events of the same slices.
        let tps = cell["tps"].as_f64().unwrap();
        assert!((rate("tpm") / (60.0 * tps) - 1.0).abs() < 0.01, "{cell:#}");
        for of in ["new_order", "payment", "order_status", "delivery", "stock_level"] {
            let [mean, p95] = [rate(&format!("{of}_us")), rate(&format!("{of}_p95_us"))];
            // At most a twentieth of them take longer than the percentile, so the mean cannot exceed it by much more
            // than that, unless single ones take very long.
            assert!(mean > 0.0 && p95 > 0.3 * mean, "{of}: {cell:#}");
        }
    }
    let rendered = |format: &str| {
        let report = place.run_to_end(&["report", "--format", format]);
        String::from_utf8(report.stdout).unwrap()
    };
    let text = rendered("text");
    assert!(text.contains("NOPM") && text.contains("no TPC results"), "{text}");
    assert!(rendered("html").contains("not a TPC result"));
    assert!(rendered("csv").lines().next().unwrap().contains(",nopm,tpm,new_order_us,"));
    place.assert_nothing_left();
}

#[test]
fn a_study_of_procedures_is_resumed_with_its_options() {
    let place = Place::with("postgres@15");
    let systems = ["compare", "postgres@15", "--twin", "--offline"];
    let suite = ["--suite", "tpcc", "--preset", "smoke", "--key", "blocks=1", "--format", "json"];
    let last = ["--", "--procedures", "on"];
    json(&place.run_to_end(&[&systems[..], &suite, &TIME, &last].concat()));
    let report = place.run_to_end(&["report", "--verbose"]);
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("1 warehouse, stored procedures, not a TPC result"), "{report}");
    assert!(words.contains("--suite tpcc") && words.contains("-- --procedures on"), "{report}");
    let slices = place.slices();
    place.measure_more("another slice", || place.slices() > slices);
    place.assert_nothing_left();
}

#[test]
fn a_running_server_is_loaded_and_checked_after_every_run() {
    let place = Place::with("mariadb@10.11");
    let start = ["server", "start", "mariadb@10.11", "--offline", "--format", "json"];
    let server = json(&place.run_to_end(&start));
    let (url, name) = (server["url"].as_str().unwrap(), server["name"].as_str().unwrap());
    let refused = |args: &[&str], message: &str| {
        let output = place.run_to_end(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    };
    let bench =
        ["bench", url, "--test", "tpcc", "--clients", "2", "--events", "60", "--time", "10m"];
    refused(&bench, "has no table `warehouse`");
    refused(&["load", url, "--warehouses", "2"], "need `--suite tpcc`");
    let load = ["load", url, "--suite", "tpcc", "--procedures", "on", "--format", "json"];
    let loaded = json(&place.run_to_end(&load));
    assert_eq!(loaded["tables"], 9);
    for procedures in ["off", "on"] {
        let options = ["--procedures", procedures, "--format", "json"];
        let done = json(&place.run_to_end(&[&bench[..], &options].concat()));
        assert_eq!((&done["events"], &done["errors"]), (&60.into(), &serde_json::json!({})));
        let tpcc = &done["tpcc"];
        assert!(tpcc["nopm"].as_f64().unwrap() > 0.0, "{done:#}");
        let count = |kind: &str| tpcc["transactions"][kind]["count"].as_u64().unwrap_or(0);
        let kinds =
            ["new_order", "rolled_back", "payment", "order_status", "delivery", "stock_level"];
        assert_eq!(kinds.map(count).iter().sum::<u64>(), 60, "{done:#}");
    }
    refused(&["bench", url, "--test", "tpcc", "--warehouses", "2"], "the database has 1 warehouse");
    let word = |key: &str| server[key].as_str().unwrap();
    let database = Some("sbtest".to_owned());
    let options = ConnectOptions { database, ..ConnectOptions::unix(word("socket"), "root") };
    let mut control = Connection::connect(&options).unwrap();
    control.query("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 3").unwrap();
    refused(&bench, "consistency condition 1 does not hold");
    assert!(place.run_to_end(&["server", "stop", name]).status.success());
}

#[test]
fn tables_that_contradict_themselves_fail_a_study() {
    let place = Place::new();
    let start = ["server", "start", "mariadb@10.11", "--offline", "--format", "json"];
    let server = json(&place.run_to_end(&start));
    let word = |key: &str| server[key].as_str().unwrap();
    let systems = ["compare", "mariadb@10.11", word("url"), "--offline", "--suite", "tpcc"];
    // Long enough for a row to be changed before the last of them.
    let effort = ["--preset", "smoke", "--key", "blocks=1,rounds=20"];
    let mut command = place.command(&[&systems[..], &effort, &TIME].concat());
    let mut study = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_for_slices(2, &mut study);
    let database = Some("sbtest".to_owned());
    let options = ConnectOptions { database, ..ConnectOptions::unix(word("socket"), "root") };
    let mut control = Connection::connect(&options).unwrap();
    let found = control.query("SHOW DATABASES LIKE 'assay%'").unwrap().first_string().unwrap();
    let change = format!("UPDATE {found}.district SET d_ytd = d_ytd + 1 WHERE d_id = 3");
    control.query(&change).unwrap();
    study.wait().unwrap();
    let slices = place.all_slices();
    let reasons: Vec<(usize, String)> = slices
        .into_iter()
        .filter_map(|slice| match slice.outcome {
            SliceOutcome::Failed(why) => Some((slice.system, why)),
            _ => None,
        })
        .collect();
    let [(1, why)] = reasons.as_slice() else { panic!("{reasons:?}") };
    assert!(
        why.contains("consistency condition 1 does not hold: W_YTD is the sum of D_YTD"),
        "{why}"
    );
    let report = place.run_to_end(&["report", "--format", "json"]);
    assert_eq!(report.status.code(), Some(3));
    let result: Value = serde_json::from_slice(&report.stdout).unwrap();
    let cells = result["cells"].as_array().unwrap();
    assert!(cells.iter().any(|cell| cell["verdict"] == "failed"), "{cells:#?}");
    let text = place.run_to_end(&["report"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("consistency condition 1 does not hold"), "{text}");
    assert!(place.run_to_end(&["server", "stop", word("name")]).status.success());
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let place = Place::bare();
    for (args, message) in [
        (&["--", "--warehouses", "3"][..], "`--suite tpcc`"),
        (&["--suite", "tpcc", "--rows", "5000"], "the number of warehouses decides"),
        (&["--suite", "tpcc", "--check"], "are checked in any case"),
        (&["--suite", "tpcc", "--tests", "scan"], "of suite tpcc"),
    ] {
        let systems = ["compare", "mariadb@10.11", "mysql@8.0", "--offline"];
        let output = place.run_to_end(&[&systems[..], args].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(message), "{args:?}: {stderr}");
    }
}

/// On any machine, a limit of nine tenths of the rate is kept or undecided.
#[test]
fn gates_work_with_it() {
    let place = Place::with("mariadb@10.11");
    let suite = ["--suite", "tpcc", "--offline", "--format", "json"];
    let gate = ["gate", "mariadb@10.11", "mariadb@10.11", "--max-slowdown", "90%"];
    let short = ["--preset", "smoke", "--key", "blocks=1"];
    let output = place.run_to_end(&[&gate[..], &suite, &short, &TIME].concat());
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdict = &result["gate"]["cells"][0]["verdict"];
    match verdict.as_str().unwrap() {
        "passed" => assert_eq!(output.status.code(), Some(0), "{result:#}"),
        "undecided" => assert_eq!(output.status.code(), Some(3), "{result:#}"),
        other => panic!("{other}: {result:#}"),
    }
    assert_eq!(result["cells"][0]["test"], "tpcc");
    place.assert_nothing_left();
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn its_instructions_are_counted() {
    let place = Place::with("mariadb@10.11");
    let count = ["count", "mariadb@10.11", "mariadb@10.11", "--suite", "tpcc"];
    let counted =
        json(&place.run_to_end(&[&count[..], &["--offline", "--format", "json"]].concat()));
    for cell in counted["cells"].as_array().unwrap() {
        let instructions = cell["count"]["instructions"]["value"].as_f64();
        assert!(instructions.is_some_and(|it| it > 10_000.0), "{cell:#}");
    }
    place.assert_nothing_left();
}
