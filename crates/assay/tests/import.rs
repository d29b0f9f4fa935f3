//! Results that other tools have published become studies.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod common;

use std::process::Output;

use common::Place;
use serde_json::Value;

const TABLE: &str = "col-1 : x.ma101116_rel.z12a_c8r32.pk1\r\ncol-2 : x.ma110806_rel.z12b_c8r32.pk1\r\n\r\n\
    col-1\tcol-2\r\n1000\t1100\thot-points_range=100\r\n2000\t1900\tpoint-query_range=100\r\n\
    500\tNA\tscan_range=100\r\n1\t1\tscan.warm_range=100\r\nbroken\r\n";

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_published_table_is_a_study_without_verdicts() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("qps.abs.mine.tsv");
    fs_err::write(&file, TABLE).unwrap();
    let folder = folder.path().to_str().unwrap();
    let import = ["import", "mytools", folder, "--rows", "50M", "--clients", "4"];
    let output = place.run_to_end(&[&import[..], &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stderr(&output);
    assert!(told.contains("qps.abs.mine.tsv:9: neither tabs nor commas"), "{told}");
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = study["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3 * 2, "{study:#}");
    let cell = |test: &str, system: &str| {
        cells.iter().find(|it| it["test"] == test && it["system"] == system).unwrap()
    };
    let point = cell("point-query", "mariadb@11.8.6");
    assert_eq!((&point["clients"], &point["rows"]), (&4.into(), &50_000_000.into()));
    assert_eq!((&point["qps"]["value"], &point["rqps"]["value"]), (&1900.into(), &0.95.into()));
    assert_eq!(point["verdict"], "undecided");
    for unknown in ["tps", "latency_us", "cpu_ratio"] {
        assert!(point[unknown].is_null(), "{unknown}: {point:#}");
    }
    assert!(point["rqps"]["low"].is_null(), "{point:#}");
    assert!(cell("scan", "mariadb@11.8.6")["qps"].is_null());
    let text = place.run_to_end(&["report"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("host: unknown") && text.contains("has no interval, and so no"),
        "{text}"
    );
    assert!(!text.contains(folder), "a path of this machine: {text}");

    // The same results are the same study.
    assert!(place.run_to_end(&import).status.success());
    let studies = place.run_to_end(&["studies", "--format", "json"]);
    assert_eq!(String::from_utf8_lossy(&studies.stdout).matches("imported-").count(), 1);
}

#[test]
fn what_is_no_table_of_rates_is_refused() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    for (content, why) in [
        ("Relative to: a\ncol-1 : b\n1.0\tinsert\n", "its numbers are ratios"),
        ("insert,1,2\n", "it has no names of servers"),
        ("col-1 : a\n", "it has no rows"),
        ("", "it has no names of servers"),
    ] {
        let file = folder.path().join("table");
        fs_err::write(&file, content).unwrap();
        let output = place.run_to_end(&["import", "mytools", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
    let empty = place.run_to_end(&["import", "mytools", folder.path().to_str().unwrap()]);
    assert!(stderr(&empty).contains("there is no table"), "{}", stderr(&empty));
    let pipe = place.run_to_end(&["import", "mytools", "/dev/zero"]);
    assert!(stderr(&pipe).contains("not a regular file"), "{}", stderr(&pipe));
}
