//! What people and scripts see of a small study.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own result has failed")]

mod common;

use assay_model::StudyRecord;
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;
use common::{record, suspicious};
use serde_json::Value;

fn text(record: &StudyRecord, width: usize, color: bool) -> String {
    render(record, &judge(record), Format::Text, &TextOptions { width, color })
}

fn json(record: &StudyRecord) -> Value {
    let options = TextOptions { width: 80, color: false };
    serde_json::from_str(&render(record, &judge(record), Format::Json, &options)).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn two_systems_in_80_columns() {
    insta::assert_snapshot!(text(&record(&["11.8"]), 80, false));
}

#[test]
fn two_systems_in_160_columns() {
    insta::assert_snapshot!(text(&record(&["11.8"]), 160, false));
}

#[test]
fn three_systems_in_120_columns_with_suspicious_audit() {
    insta::assert_snapshot!(text(&suspicious(record(&["11.4", "11.8"])), 120, false));
}

#[test]
fn nothing_measured_yet() {
    let mut empty = record(&["11.8"]);
    empty.slices.clear();
    empty.finished = false;
    insta::assert_snapshot!(text(&empty, 80, false));
}

fn in_format(record: &StudyRecord, format: Format) -> String {
    render(record, &judge(record), format, &TextOptions { width: 120, color: false })
}

#[test]
fn markdown_of_two_systems() {
    insta::assert_snapshot!(in_format(&record(&["11.8"]), Format::Markdown));
}

#[test]
fn csv_has_the_fields_and_the_numbers_of_json() {
    let mut study = record(&["11.8"]);
    study.systems[1].name = "mariadb@11.8+a=\"b,c\"".into();
    let csv = in_format(&study, Format::Csv);
    let mut lines = csv.split("\r\n");
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let cells = json(&study)["cells"].as_array().unwrap().clone();
    assert_eq!(lines.clone().filter(|line| !line.is_empty()).count(), cells.len());
    let column = |name: &str| header.iter().position(|it| *it == name).unwrap();
    let line = lines.nth(1).unwrap();
    assert!(line.contains("\"mariadb@11.8+a=\"\"b,c\"\"\""), "{line}");
    // Without the only field that holds a separator, fields are what stands between commas.
    let fields: Vec<String> =
        line.replace("\"mariadb@11.8+a=\"\"b,c\"\"\"", "x").split(',').map(str::to_owned).collect();
    let cell = &cells[1];
    for (name, value) in [
        ("test", &cell["test"]),
        ("rqps", &cell["rqps"]["value"]),
        ("rqps_low", &cell["rqps"]["low"]),
        ("ops", &cell["ops"]),
        ("server_cpu_us", &cell["per_op"]["server_cpu_us"]),
        ("latency_p95_us", &cell["latency_us"]["p95"]),
        ("cpu_ratio_high", &cell["cpu_ratio"]["high"]),
        ("disk_wait_us", &cell["per_op"]["disk_wait_us"]),
    ] {
        let expected = match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        assert_eq!(fields[column(name)], expected, "{name}");
    }
}

#[test]
fn markdown_lets_no_name_be_markup() {
    let mut study = record(&["11.8"]);
    study.systems[1].name = "a|b`c`*d*<script>_e_[f](g) @h#1".into();
    let markdown = in_format(&study, Format::Markdown);
    assert!(!markdown.contains("<script>") && !markdown.contains("`c`"), "{markdown}");
    assert!(!markdown.contains("@h") && !markdown.contains("[f]("), "{markdown}");
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let table: Vec<usize> =
        markdown.lines().filter(|line| line.starts_with('|')).map(columns).collect();
    assert!(table.chunk_by(|a, b| a == b).count() <= 2, "{table:?}");
}

/// One pair only, as in preset published: a value, and that nothing is known of its uncertainty.
#[test]
fn a_single_pair_has_no_interval_and_says_so() {
    let mut study = record(&["11.8"]);
    study.slices.retain(|slice| slice.block == 0 && slice.round == 0);
    study.study.experiment = assay_model::Experiment::Sequential;
    study.study.blocks = 1;
    let cell = json(&study)["cells"][1].clone();
    assert!(cell["rqps"]["value"].as_f64().unwrap() > 0.5, "{cell}");
    assert!(cell["rqps"]["low"].is_null() && cell["rqps"]["high"].is_null(), "{cell}");
    assert_eq!(cell["verdict"], "undecided");
    assert!(in_format(&study, Format::Text).contains("(no interval)"));
    assert!(in_format(&study, Format::Markdown).contains("(no interval)"));
    assert!(!in_format(&study, Format::Html).contains("NaN"));
    assert!(!in_format(&study, Format::Csv).contains("NaN"));
}

/// The twin counts false alarms; it is no column.
#[test]
fn a_twin_is_a_line() {
    let mut study = record(&["11.8", "10.11"]);
    let name = "mariadb@10.11 (twin)";
    study.systems[2].name = name.into();
    study.systems[2].is_twin = true;
    for slice in study.slices.iter_mut().filter(|slice| slice.system == 2) {
        slice.work.elapsed_ns = 50_000_000;
    }
    let text = in_format(&study, Format::Text);
    assert!(text.contains("A/A twin:"), "{text}");
    assert!(text.contains("smallest change this study could have seen"), "{text}");
    for format in [Format::Text, Format::Markdown] {
        assert!(!in_format(&study, format).contains("(twin)"));
    }
    assert_eq!(json(&study)["systems"][2]["is_twin"], true);
}

#[test]
fn studies_are_listed_newest_first_in_every_format() {
    let study = |id: &str, finished| assay_model::StudySummary {
        id: id.into(),
        started_ms: 1_795_000_000_000,
        preset: assay_model::Preset::Quick,
        set: assay_model::TestSet::Set32,
        systems: vec!["mariadb@10.11".into(), "mariadb@11.8+a=b,c".into()],
        cells: 32,
        slices: 6320,
        finished,
        elapsed_s: 586.25,
    };
    let list = [study("old", true), study("new", false)];
    let options = TextOptions { width: 120, color: false };
    let all = |format| assay_report::studies(&list, format, &options);
    insta::assert_snapshot!(all(Format::Text));
    insta::assert_snapshot!(all(Format::Csv));
    insta::assert_snapshot!(all(Format::Markdown));
    let json: Value = serde_json::from_str(&all(Format::Json)).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["studies"][0]["id"], "new");
    let none = assay_report::studies(&[], Format::Text, &options);
    assert!(none.contains("no study yet"));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [80, 100, 120, 200] {
        for others in [&["11.8"][..], &["11.4", "11.8"], &["10.5", "11.4", "11.8"]] {
            let text = text(&record(others), width, false);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{widest} > {width}:\n{text}");
        }
    }
}

#[test]
fn colours_add_escapes_and_nothing_else() {
    let record = record(&["11.8"]);
    let colored = text(&record, 120, true);
    assert!(colored.contains("\u{1b}[31m▼ slower\u{1b}[0m"));
    let mut plain = String::new();
    let mut rest = colored.as_str();
    while let Some((before, escape)) = rest.split_once('\u{1b}') {
        plain += before;
        rest = escape.split_once('m').unwrap().1;
    }
    assert_eq!(plain + rest, text(&record, 120, false));
}

#[test]
fn json_has_the_shape_of_schema_1() {
    let document = json(&record(&["11.8"]));
    assert_eq!(
        keys(&document),
        [
            "audit",
            "cells",
            "events",
            "groups",
            "host",
            "schema",
            "study",
            "systems",
            "workload_version"
        ]
    );
    assert_eq!(document["schema"], 1);
    let study = &document["study"];
    for (key, value) in [
        ("id", Value::from("20261118-0a1b")),
        ("started", "2026-11-18T11:06:40Z".into()),
        ("preset", "quick".into()),
        ("seed", 7.into()),
        ("threshold", 0.02.into()),
        ("budget_s", 600.into()),
        ("elapsed_s", 543.into()),
    ] {
        assert_eq!(study[key], value, "{key}");
    }
    let base = &document["systems"][0];
    assert_eq!(
        keys(base),
        ["build", "engine", "is_base", "is_twin", "name", "product", "sha256", "source", "version"]
    );
    assert_eq!(base["source"], "apt bookworm-security");
    assert_eq!(keys(&document["audit"][0]), ["class", "setting", "values", "why"]);
    assert_eq!(document["audit"][0]["values"]["mariadb@11.8"], "O_DIRECT");
    assert_eq!(keys(&document["events"][0]), ["system", "what", "when"]);
}

#[test]
fn json_cells_carry_every_field() {
    let document = json(&record(&["11.8"]));
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 10);
    let (base, other) = (&cells[0], &cells[1]);
    for key in [
        "test",
        "group",
        "clients",
        "tables",
        "rows",
        "system",
        "qps",
        "rqps",
        "verdict",
        "slices",
        "blocks",
        "ops",
        "errors",
        "latency_us",
        "per_op",
        "cpu_ratio",
        "why",
    ] {
        assert!(other.get(key).is_some(), "{key}");
    }
    assert_eq!(base["rqps"], Value::Null);
    assert_eq!(base["cpu_ratio"], Value::Null);
    assert_eq!(other["test"], "point-query");
    assert_eq!(other["group"], "point");
    assert_eq!(other["verdict"], "slower");
    assert_eq!(keys(&other["rqps"]), ["high", "low", "value"]);
    let rqps = other["rqps"]["value"].as_f64().unwrap();
    assert!((rqps - 0.80).abs() < 0.01, "{rqps}");
    assert_eq!(other["latency_us"], Value::Null, "no histogram was kept");
    assert_eq!(
        keys(&other["per_op"]),
        [
            "background_cpu_us",
            "client_cpu_us",
            "cs",
            "disk_wait_us",
            "other_wait_us",
            "read_kb",
            "reads",
            "runq_us",
            "server_cpu_us",
            "server_sys_us",
            "server_user_us",
            "time_us",
            "write_kb"
        ]
    );
}

#[test]
fn json_counts_are_exact() {
    const READ: u64 = 12_345_678_901;
    let mut long = record(&["11.8"]);
    for slice in &mut long.slices {
        slice.work.read = READ;
    }
    let cell = &json(&long)["cells"][1];
    assert_eq!(cell["ops"].as_u64(), Some(cell["slices"].as_u64().unwrap() * READ));
}

#[test]
fn json_groups_carry_every_field() {
    let document = json(&record(&["11.8"]));
    let group = &document["groups"][0];
    assert_eq!(
        keys(group),
        [
            "avg",
            "clients",
            "group",
            "max",
            "median",
            "median_high",
            "median_low",
            "min",
            "n",
            "rows",
            "stddev",
            "system",
            "tables"
        ]
    );
}

#[test]
fn what_was_never_measured_is_null() {
    let mut unprobed = record(&["11.8"]);
    for slice in &mut unprobed.slices {
        slice.server = Default::default();
        slice.client = Default::default();
    }
    let document = json(&unprobed);
    let cell = &document["cells"][1];
    assert_eq!(cell["per_op"]["server_cpu_us"], Value::Null);
    assert_eq!(cell["per_op"]["client_cpu_us"], Value::Null);
    assert_eq!(cell["cpu_ratio"], Value::Null);
    unprobed.slices.clear();
    let document = json(&unprobed);
    assert_eq!(document["cells"][1]["qps"], Value::Null);
    assert_eq!(document["cells"][1]["verdict"], "undecided");
}
