//! sysbench's scripts in studies and in `bench`, with checked answers.

use std::process::Output;

use assay_wire::{ConnectOptions, Connection};
use assay_workloads::OLTP_SCRIPTS;
use serde_json::Value;

use crate::common::Place;

#[track_caller]
fn json(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_sweep_is_measured_checked_rendered_and_resumed() {
    let place = Place::new();
    let systems = ["compare", "mariadb@10.11", "mariadb@11.8", "--offline", "--format", "json"];
    let sweep = ["--suite", "oltp", "--preset", "smoke", "--clients", "1,2,3", "--check"];
    let few = ["--tests", "oltp_read_write,select_random_points"];
    // More than a busy machine needs for its two blocks.
    let last = ["--budget", "10m", "--", "--range-size", "10"];
    let result = json(&place.run_to_end(&[&systems[..], &sweep, &few, &last].concat()));
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * 3 * 2);
    for cell in cells {
        assert!(cell["tps"].as_f64().unwrap() > 0.0, "{cell:#}");
        assert!(cell["latency_us"]["avg"].as_f64().unwrap() > 0.0, "{cell:#}");
        let factor = if cell["test"] == "oltp_read_write" { 20.0 } else { 1.0 };
        let ratio = cell["qps"]["value"].as_f64().unwrap() / cell["tps"].as_f64().unwrap();
        // The QPS is a geometric mean over slices, of which some stall on a busy machine, and deadlocks leave queries
        // without an event. Twenty queries still differ clearly from one.
        assert!((0.25..4.0).contains(&(ratio / factor)), "{cell:#}");
    }
    assert_eq!(result["seconds"].as_array().unwrap().len(), cells.len());
    for (args, message) in [
        (&["text", "--verbose"][..], "scalability: transactions per second divided by"),
        (&["markdown"], "<summary>Scalability</summary>"),
        (&["html"], "<h2>By number of clients</h2>"),
    ] {
        let report = place.run_to_end(&[&["report", "--format"], args].concat());
        let text = String::from_utf8_lossy(&report.stdout);
        assert!(text.contains(message), "{args:?}: {text}");
    }
    let slices = place.slices();
    place.measure_more("another slice", || place.slices() > slices);
    place.assert_nothing_left();
}

#[test]
fn every_script_runs_in_bench_with_the_options_of_sysbench() {
    let place = Place::with("postgres@16");
    let start = ["server", "start", "postgres@16", "--offline", "--format", "json"];
    let server = json(&place.run_to_end(&start));
    let (url, name) = (server["url"].as_str().unwrap(), server["name"].as_str().unwrap());
    json(&place.run_to_end(&["load", url, "--tables", "2", "--rows", "2000", "--format", "json"]));
    for script in OLTP_SCRIPTS {
        let test = format!("{}.lua", script.replace('_', "-"));
        let bench = ["bench", url, "--test", &test, "--threads", "2", "--events", "20"];
        let options = ["--range_size=10", "--rand-type", "special", "--check"];
        let mut args = [&bench[..], &options, &["--time", "10m", "--format", "json"]].concat();
        if !["oltp_point_select", "oltp_read_only"].contains(&script) {
            // The writes before have changed the rows.
            args.retain(|word| *word != "--check");
        }
        let done = json(&place.run_to_end(&args));
        assert_eq!((&done["test"], &done["events"]), (&script.into(), &20.into()), "{done:#}");
    }
    let bench = ["bench", url, "--test", "oltp_read_only", "--time", "1", "--skip_trx=on"];
    let options = ["--reconnect", "10", "--report-interval", "0.4", "--format", "json"];
    let output = place.run_to_end(&[&bench[..], &options].concat());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("lat (ms,95%): ") && message.contains("reconn/s: "), "{message}");
    let done = json(&output);
    assert_eq!((&done["other"], &done["queries"]), (&0.into(), &done["read"]));
    let load = ["load", url, "--rows", "500", "--auto_inc=off", "--create_secondary=off"];
    json(&place.run_to_end(&[&load[..], &["--format", "json"]].concat()));
    let bench = ["bench", url, "--test", "oltp_insert", "--events", "20", "--auto_inc=off"];
    let numbered = place.run_to_end(&bench[..bench.len() - 1]);
    let stderr = String::from_utf8_lossy(&numbered.stderr);
    assert_eq!(numbered.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("does not number those of `sbtest1`"), "{stderr}");
    for _ in 0..2 {
        let done = json(&place.run_to_end(&[&bench[..], &["--format", "json"]].concat()));
        assert_eq!((&done["events"], &done["ignored_errors"]), (&20.into(), &0.into()));
    }
    assert!(done["reconnects"].as_u64().unwrap() > 0, "{done:#}");
    let refused = place.run_to_end(&["bench", url, "--test", "scan", "--range-size", "10"]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("apply only to sysbench's scripts, and `scan` is not one"), "{stderr}");
    assert!(place.run_to_end(&["server", "stop", name]).status.success());
}

#[test]
fn a_study_has_the_tables_of_its_options() {
    let place = Place::with("postgres@16");
    let systems = ["compare", "postgres@16", "postgres@16+work_mem=8MB", "--offline"];
    let few = ["--suite", "oltp", "--tests", "oltp_insert,oltp_read_write", "--preset", "smoke"];
    let options = ["--budget", "5m", "--clients", "2", "--format", "json", "--"];
    let form = ["--auto_inc=off", "--create_secondary=off"];
    let text = ["--create_table_options", "WITH (fillfactor=70)"];
    let result = json(&place.run_to_end(&[&systems[..], &few, &options, &form, &text].concat()));
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * 2);
    assert!(cells.iter().all(|cell| cell["tps"].as_f64().unwrap() > 0.0), "{cells:#?}");
    assert_eq!(result["study"]["table_form"]["auto_inc"], false);
    let report = place.run_to_end(&["report", "--verbose"]);
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("ids from the client, no index on k, the options"), "{report}");
    assert!(report.contains("--create-table-options 'WITH (fillfactor=70)'"), "{report}");
    let slices = place.slices();
    place.measure_more("another slice", || place.slices() > slices);
    place.assert_nothing_left();
}

#[test]
fn one_corrupted_row_makes_a_run_fail() {
    let place = Place::new();
    let start = ["server", "start", "mariadb@11.8", "--offline", "--format", "json"];
    let server = json(&place.run_to_end(&start));
    let word = |name: &str| server[name].as_str().unwrap();
    let url = word("url");
    json(&place.run_to_end(&["load", url, "--rows", "2000", "--format", "json"]));
    let bench = ["bench", url, "--test", "oltp_point_select", "--time", "0.2", "--check"];
    json(&place.run_to_end(&[&bench[..], &["--format", "json"]].concat()));
    let database = Some("sbtest".to_owned());
    let options = ConnectOptions { database, ..ConnectOptions::unix(word("socket"), "root") };
    let mut control = Connection::connect(&options).unwrap();
    control.query("UPDATE sbtest1 SET pad = REVERSE(pad) WHERE id = 1234").unwrap();
    let failed = place.run_to_end(&bench);
    let stderr = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the tables do not hold what was loaded"), "{stderr}");
    assert!(place.run_to_end(&["server", "stop", word("name")]).status.success());
}
