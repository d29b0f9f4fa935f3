//! The output for people and scripts, for a small study.

use assay_model::{
    BuildFlag, CpuLists, Origin, Priority, RealtimeAccess, SliceOutcome, StudyRecord, TestSet,
    Trouble, printable,
};
use assay_report::{Format, TextOptions, render};
use assay_verdict::{LATENCIES, PER_OP, judge};
use serde_json::Value;

use crate::common::studies::{FOUR, ONE, study};
use crate::common::{event_of, prefix_of, record, run, suspicious};

fn text(record: &StudyRecord, width: usize, color: bool) -> String {
    render(record, &judge(record), Format::TEXT, &TextOptions { width, color, verbose: true })
}

fn json(record: &StudyRecord) -> Value {
    let options = TextOptions { width: 80, color: false, verbose: true };
    serde_json::from_str(&render(record, &judge(record), Format::JSON, &options)).unwrap()
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
    render(record, &judge(record), format, &TextOptions { width: 120, color: false, verbose: true })
}

#[test]
fn markdown_of_two_systems() {
    insta::assert_snapshot!(in_format(&record(&["11.8"]), Format::MARKDOWN));
}

#[test]
fn a_study_from_elsewhere_says_so_in_its_conditions() {
    let own = record(&["11.8"]);
    let foreign = StudyRecord { foreign: true, ..own.clone() };
    let what = "not started here by you";
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        assert!(in_format(&foreign, format).contains(what));
        assert!(!in_format(&own, format).contains(what));
    }
    assert_eq!(json(&foreign)["study"]["foreign"], true);
}

fn csv_lines(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let fields = |line: csv::StringRecord| line.iter().map(str::to_owned).collect();
    reader.records().map(|line| fields(line.unwrap())).collect()
}

fn json_path(column: &str) -> String {
    let interval = |name: &str| match name.rsplit_once('_') {
        Some((name, end @ ("low" | "high"))) => format!("/{name}/{end}"),
        _ => format!("/{name}/value"),
    };
    match column {
        "qps" | "qps_low" | "qps_high" | "rqps" | "rqps_low" | "rqps_high" | "cpu_ratio"
        | "cpu_ratio_low" | "cpu_ratio_high" => interval(column),
        latency if LATENCIES.iter().any(|figure| figure.key == latency) => {
            let name = latency.trim_start_matches("latency_").trim_end_matches("_us");
            format!("/latency_us/{name}")
        }
        figure if PER_OP.iter().any(|known| known.key == figure) => format!("/per_op/{figure}"),
        change if change.starts_with("change_") => {
            let (name, end) = change.strip_prefix("change_").unwrap().split_once("_us").unwrap();
            let end = end.strip_prefix('_').unwrap_or("value");
            format!("/change_us/{name}/{end}")
        }
        "serving_cpu_verdict" => "/cpu/verdict".into(),
        _ if column.starts_with("serving_cpu_ratio") => {
            interval(&column.replacen("serving_cpu_ratio", "cpu/ratio", 1))
        }
        "p99_verdict" | "dispersion_verdict" => format!("/{}", column.replacen('_', "/", 1)),
        _ if ["p99_ratio", "dispersion_ratio"].iter().any(|name| column.starts_with(name)) => {
            interval(&column.replacen('_', "/", 1))
        }
        "reconnects" | "target_tps" => format!("/published/{column}"),
        "instructions_verdict" => "/count/verdict".into(),
        _ if column.starts_with("instructions") => {
            let end = ["low", "high"].into_iter().find(|end| column.ends_with(end));
            let what = if column.contains("ratio") { "ratio" } else { "instructions" };
            format!("/count/{what}/{}", end.unwrap_or("value"))
        }
        "published_cpu_o" => "/published/cpu~1o".into(),
        "published_cs_o" => "/published/cs~1o".into(),
        "published_r_o" => "/published/r~1o".into(),
        "published_rkb_o" => "/published/rKB~1o".into(),
        "published_wkb_o" => "/published/wKB~1o".into(),
        "troubled_steal"
        | "troubled_other_process"
        | "troubled_clock_jump"
        | "troubled_throttled" => {
            column.replacen('_', "_by/", 1).replacen("troubled", "/troubled", 1)
        }
        _ => format!("/{column}"),
    }
}

const OF_STATEMENTS: [&str; 7] = [
    "fingerprint",
    "calls",
    "share",
    "plan_changed",
    "answers_differ",
    "new_errors",
    "new_warnings",
];

#[test]
fn csv_has_the_fields_and_the_numbers_of_json() {
    let mut study = study(&["11.8"], TestSet::Set32, &[ONE], true);
    study.systems[1].name = "mariadb@11.8+a=\"b,\r\nc\"".into();
    let csv = csv_lines(&in_format(&study, Format::CSV));
    let (header, lines) = csv.split_first().unwrap();
    let document = json(&study);
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(lines.len(), cells.len());
    // These columns belong to the study and the system. All others belong to the cell.
    let elsewhere = ["study", "started", "is_base", "is_twin", "workload_version", "terms"];
    let mut message = 0;
    for (line, cell) in lines.iter().zip(cells) {
        assert_eq!(line.len(), header.len());
        for (column, field) in header.iter().zip(line) {
            if elsewhere.contains(&column.as_str()) {
                continue;
            }
            let is_base = cell["system"] == document["systems"][0]["name"];
            if is_base && column == "verdict" {
                assert_eq!(field, "", "the base is compared with nothing");
                continue;
            }
            let path = json_path(column);
            let expected = match cell.pointer(&path) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) => String::new(),
                Some(other) => other.to_string(),
                // Only published results have these.
                None if path.starts_with("/published/") => String::new(),
                // Only tests of statements from a log have these.
                None if OF_STATEMENTS.contains(&column.as_str()) => String::new(),
                // A whole object may be null.
                None => {
                    let mut whole =
                        path.match_indices('/').filter_map(|(at, _)| cell.pointer(&path[..at]));
                    assert_eq!(whole.next_back(), Some(&Value::Null), "{path}");
                    String::new()
                }
            };
            // A line end in a name does not end the line of the file.
            assert_eq!(*field, printable(&expected), "{column}");
            message += usize::from(!field.is_empty());
        }
    }
    assert!(message > 30 * cells.len(), "{message}");
}

#[test]
fn names_cannot_inject_markdown() {
    let mut study = record(&["11.8"]);
    study.systems[1].name = "a|b`c`*d*<script>_e_[f](g) @h#1".into();
    study.events[0].what = event_of("has no `sql_mode`, ``, ` alone");
    let markdown = in_format(&study, Format::MARKDOWN);
    assert!(!markdown.contains("<script>"), "{markdown}");
    assert!(markdown.contains("has no `sql_mode`, \\`\\`, \\` alone"), "{markdown}");
    assert!(!markdown.contains("@h") && !markdown.contains("[f]("), "{markdown}");
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let table: Vec<usize> =
        markdown.lines().filter(|line| line.starts_with('|')).map(columns).collect();
    assert!(table.chunk_by(|a, b| a == b).count() <= 2, "{table:?}");
}

/// A single pair, as in preset published.
#[test]
fn a_single_pair_is_marked_as_having_no_interval() {
    let mut study = record(&["11.8"]);
    study.slices.retain(|slice| slice.block == 0 && slice.round == 0);
    study.study.experiment = assay_model::Experiment::Sequential;
    study.study.blocks = 1;
    let cell = json(&study)["cells"][1].clone();
    assert!(cell["rqps"]["value"].as_f64().unwrap() > 0.5, "{cell}");
    assert!(cell["rqps"]["low"].is_null() && cell["rqps"]["high"].is_null(), "{cell}");
    assert_eq!(cell["verdict"], "undecided");
    assert!(in_format(&study, Format::TEXT).contains("(no interval)"));
    assert!(in_format(&study, Format::MARKDOWN).contains("(no interval)"));
    assert!(!in_format(&study, Format::HTML).contains("NaN"));
    assert!(!in_format(&study, Format::CSV).contains("NaN"));
}

#[test]
fn named_cpus_and_nodes_are_conditions() {
    let mut study = record(&["11.8"]);
    study.study.cpus = CpuLists { servers: (0..12).collect(), clients: vec![11, 12] };
    study.runs[0].host.server_nodes = vec![0];
    study.systems[0].options.push("--loose-innodb-numa-interleave=off".to_owned());
    let expected = "servers on CPUs 0-11, clients on CPUs 11-12, both on CPU 11, the servers' memory bound to NUMA \
                    node 0";
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        let text = in_format(&study, format).replace("&#39;", "'").replace("&#x27;", "'");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{format:?}: {text}");
    }
}

#[test]
fn a_twin_is_a_line() {
    let mut study = record(&["11.8", "10.11"]);
    let name = "mariadb@10.11 (twin)";
    study.systems[2].name = name.into();
    study.systems[2].is_twin = true;
    for slice in study.slices.iter_mut().filter(|slice| slice.system == 2) {
        slice.work.elapsed_ns = 50_000_000;
    }
    let text = in_format(&study, Format::TEXT);
    assert!(text.contains("A/A twin:"), "{text}");
    assert!(text.contains("minimum detectable effect"), "{text}");
    for format in [Format::TEXT, Format::MARKDOWN] {
        assert!(!in_format(&study, format).contains("(twin)"));
    }
    let document = json(&study);
    assert_eq!(document["systems"][2]["is_twin"], true);
    let twin = &document["twin"];
    assert_eq!(
        keys(twin),
        ["cells", "detectable_max", "detectable_median", "false_calls", "system"]
    );
    assert_eq!(twin["system"], name);
    let message =
        format!("A/A twin: {} false calls in {} tests", twin["false_calls"], twin["cells"]);
    assert!(text.contains(&message), "{message}:\n{text}");
    assert!(twin["detectable_max"].as_f64() >= twin["detectable_median"].as_f64());
}

#[test]
fn machine_trouble_is_reported_by_kind() {
    let mut study = record(&["11.8"]);
    for (number, slice) in study.slices.iter_mut().enumerate() {
        slice.outcome = SliceOutcome::Troubled;
        slice.trouble = match number % 5 {
            0 | 1 => vec![Trouble::OtherProcess],
            2 => vec![Trouble::Steal, Trouble::OtherProcess],
            _ => vec![Trouble::Steal],
        };
    }
    let busy =
        "other processes used the CPU in 60% of the slices: stop other programs on this machine";
    let steal = "the hypervisor stole CPU time in 60% of the slices";
    let counts = "other processes 240, CPU steal 240";
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        let unbroken = in_format(&study, format).replace("\n  ", " ");
        let text = unbroken.replace("Other", "other").replace("The hyper", "the hyper");
        for message in [busy, steal, counts, "so disturbed ones are judged too"] {
            assert!(text.contains(message), "no `{message}` in {format:?}:\n{text}");
        }
    }
    let cell = &json(&study)["cells"][0];
    assert_eq!(cell["troubled"], 40);
    assert!(cell["troubled_by"]["steal"].as_u64() > Some(0), "{cell}");
    assert_eq!(keys(&cell["troubled_by"]), ["clock_jump", "other_process", "steal", "throttled"]);
    assert!(!in_format(&record(&["11.8"]), Format::TEXT).contains("warning: the hypervisor"));
}

/// Only differences that do not come with an upgrade of one maker's packages call for caution.
#[test]
fn builds_of_several_makers_are_a_warning_and_releases_of_one_a_note() {
    let mut study = record(&["11.8"]);
    let text = in_format(&study, Format::TEXT);
    assert!(text.contains("note: the builds differ"), "{text}");
    assert!(!text.contains("warning:"), "{text}");
    prefix_of(&mut study.systems[1]).build.source = "maven".into();
    let text = in_format(&study, Format::TEXT);
    assert!(text.contains("warning: the builds differ"), "{text}");
    assert!(!text.contains("note: the builds differ"), "{text}");
}

#[test]
fn flags_of_builds_are_a_note_and_beside_other_sources_a_warning() {
    let mut study = record(&["11.8"]);
    for system in &mut study.systems {
        system.spec.origin = Origin::Git("../x#v1".to_owned());
    }
    assert!(!in_format(&study, Format::TEXT).contains("flags of the builds"));
    study.systems[1].spec.build.insert(BuildFlag::Cxx, "clang".to_owned());
    let text = in_format(&study, Format::TEXT);
    assert!(text.contains("note: the flags of the builds differ"), "{text}");
    assert!(text.contains("build.cxx=clang"), "{text}");
    study.systems[1].spec.origin = Origin::Git("../x#v2".to_owned());
    let text = in_format(&study, Format::TEXT);
    assert!(text.contains("warning: the flags of the builds differ"), "{text}");
}

#[test]
fn few_blocks_give_no_median_and_an_unfinished_study_is_resumed() {
    let message = |study: &_| in_format(study, Format::TEXT).replace("\n   ", "");
    let mut study = record(&["11.8"]);
    study.slices.retain(|slice| slice.block < 2);
    // The second block is slower by a quarter.
    for slice in study.slices.iter_mut().filter(|it| (it.system, it.block) == (1, 1)) {
        slice.work.elapsed_ns = slice.work.elapsed_ns / 4 * 5;
    }
    let group = &json(&study)["groups"][0];
    assert!(group["median_low"].is_null() && group["median_high"].is_null(), "{group}");
    let text = message(&study);
    assert!(!text.contains("median over tests"), "{text}");
    assert!(text.contains("(no interval)"), "{text}");
    assert!(text.contains("`assay resume 20261118-0a1b --more TIME`"), "{text}");
    study.finished = false;
    assert!(message(&study).contains("`assay resume 20261118-0a1b`"));
    study.running = true;
    assert!(message(&study).contains("still running"));
}

#[test]
fn smoke_suggests_preset_quick() {
    let mut study = record(&["11.8"]);
    study.study.preset = assay_model::Preset::Smoke;
    let text = in_format(&study, Format::TEXT).replace("\n   ", "");
    assert!(text.contains("preset smoke calls no changes below 10%"), "{text}");
}

#[test]
fn one_row_is_singular() {
    let mut study = record(&["11.8"]);
    let data = study.study.setups[0].data();
    study.data = [(0, 1), (1, 2)]
        .map(|(system, rows)| assay_model::DataContent {
            system,
            data,
            start_from: assay_model::StartFrom::Fresh,
            rows,
            checksum: "c".into(),
        })
        .into();
    let text = in_format(&study, Format::TEXT).replace("\n   ", "");
    assert!(text.contains("has 1 row, checksum") && text.contains("has 2 rows,"), "{text}");
}

#[test]
fn the_detectable_effect_of_one_test_is_shown_once() {
    let mut study = record(&["11.8"]);
    study.study.cells.truncate(1);
    let text = in_format(&study, Format::TEXT).replace("\n  ", " ");
    assert!(text.contains("minimum detectable effect "), "{text}");
    assert!(!text.contains("in half of the tests"), "{text}");
}

#[test]
fn undecided_tests_have_a_remedy() {
    let mut study = record(&["11.8"]);
    for (number, slice) in study.slices.iter_mut().enumerate() {
        slice.work.elapsed_ns += (number as u64 * 7919 % 97) * 400_000;
    }
    let text = in_format(&study, Format::TEXT).replace("\n   ", "");
    assert!(text.contains("undecided, and what would help"), "{text}");
    assert!(text.contains(" times as long"), "{text}");
    let document = json(&study);
    for cell in document["cells"].as_array().unwrap() {
        if cell["verdict"] == "undecided" {
            assert!(cell["why"].as_str().unwrap().contains("the interval is too wide"), "{cell}");
        }
    }
    assert!(in_format(&study, Format::MARKDOWN).contains("Undecided, and what would help"));
    for slice in &mut study.slices {
        slice.outcome = SliceOutcome::Troubled;
        slice.trouble = vec![Trouble::OtherProcess];
    }
    let text = in_format(&study, Format::TEXT).replace("\n   ", "");
    assert!(
        text.contains("the main noise is other programs, which used the CPU in 100% of"),
        "{text}"
    );
    assert!(!text.contains("real-time"), "{text}");
    study.runs[0].host.realtime = Some(RealtimeAccess::Limit);
    let text = in_format(&study, Format::TEXT).replace("\n   ", "");
    assert!(text.contains("real-time priority: `sudo prlimit --pid $$ --rtprio=2`"), "{text}");
    study.study.cells.iter_mut().for_each(|cell| cell.priority = Priority::Realtime);
    assert!(!in_format(&study, Format::TEXT).contains("prlimit"), "{text}");
    let document = json(&study);
    assert_eq!(document["study"]["priority"], "realtime");
    assert_eq!(
        (&document["cells"][0]["priority"], &document["host"]["realtime"]),
        (&"realtime".into(), &"limit".into())
    );
    study.study.cells[0].priority = Priority::Normal;
    assert_eq!(json(&study)["study"]["priority"], "mixed");
}

/// The whole URL once, among the systems; scripts find it everywhere.
#[test]
fn urls_are_short_in_tables() {
    let url =
        "mysql://root@/sbtest?socket=/home/me/.local/state/assay/servers/box/assay/5e5c70d2f93d/s";
    let mut study = record(&["11.8", "10.11"]);
    study.systems[1].name = url.into();
    study.systems[2].name = url.replace("mysql:", "postgres:");
    for format in [Format::TEXT, Format::HTML, Format::MARKDOWN] {
        let text = in_format(&study, format);
        assert_eq!(text.matches("mysql://root@").count(), 1, "{text}");
        assert!(text.contains("mysql://…/5e5c70d2f93d/s"), "{text}");
        assert!(text.contains("postgres://…/5e5c70d2f93d/s"), "{text}");
    }
    assert_eq!(json(&study)["systems"][1]["name"], url);
    assert_eq!(json(&study)["cells"][1]["system"], url);
    assert!(in_format(&study, Format::CSV).contains(url));
}

#[test]
fn several_setups_in_80_columns() {
    let names = ["point-query", "insert"];
    let mut study = study(&["11.8"], TestSet::Set42, &FOUR, false);
    study.study.cells.retain(|cell| names.contains(&cell.id.test.name()));
    study.slices.retain(|slice| names.contains(&slice.cell.test.name()));
    study.runs = [1_795_000_000_000, 1_795_003_600_000].map(|at| run(at, at + 60_000)).to_vec();
    insta::assert_snapshot!(text(&study, 80, false));
}

#[test]
fn the_columns_after_a_missing_cell_keep_their_places() {
    let record = record(&["11.4", "11.8"]);
    let mut judgement = judge(&record);
    let insert = record.study.cells[4].id;
    judgement.cells.retain(|it| (it.cell, it.system) != (insert, 1));
    let options = TextOptions { width: 160, color: false, verbose: true };
    let rendered = |format| render(&record, &judgement, format, &options);
    let post = rendered(Format::MARKDOWN);
    let row = post.lines().find(|line| line.starts_with("| insert |")).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert_eq!(cells[3..7], ["–", "", "–", "–"], "{row}");
    assert!(cells[7].starts_with("1.00 ") && cells[8].starts_with("= same"), "{row}");
    let text = rendered(Format::TEXT);
    let row = text.lines().find(|line| line.starts_with("   insert ")).unwrap();
    assert!(row.find('–') < row.find("1.00 ["), "{row}");
    let page = rendered(Format::HTML);
    let columns = |test: usize| {
        let row = page.split(&format!("id=\"test-{test}\"")).nth(1).unwrap();
        row.split("</tr>").next().unwrap().matches("<td").count()
    };
    assert_eq!(columns(5), columns(4));
}

#[test]
fn columns_omitted_for_lack_of_space_are_named() {
    for width in [80, 100, 120, 160] {
        for others in [&["11.8"][..], &["11.4", "11.8"]] {
            let text = text(&study(others, TestSet::Set32, &[ONE], false), width, false);
            for column in ["base QPS", "server CPU ratio", "server µs/op", "client µs/op", "cs/op"]
            {
                assert!(text.contains(column), "{column} at {width}:\n{text}");
            }
        }
    }
}

#[test]
fn server_messages_cannot_control_the_terminal() {
    let mut study = record(&["11.8"]);
    study.events[0].what = event_of("\u{1b}[2J\u{7}gone\nsecond");
    let text = in_format(&study, Format::TEXT);
    assert!(text.contains("gone second"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [80, 100, 120, 200] {
        for others in [&["11.8"][..], &["11.4", "11.8"], &["10.5", "11.4", "11.8"]] {
            let text = text(&record(others), width, false);
            // Commands stay whole, so that they can be copied.
            let laid = text.lines().filter(|line| !line.starts_with("  assay "));
            let widest = laid.map(|line| line.chars().count()).max().unwrap();
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
            "crossovers",
            "events",
            "groups",
            "host",
            "lines",
            "schema",
            "steps",
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
        [
            "build", "engine", "is_base", "is_twin", "name", "product", "sha256", "source", "spec",
            "version"
        ]
    );
    assert_eq!(base["source"], "apt bookworm-security");
    assert_eq!(keys(&document["audit"][0]), ["class", "kind", "setting", "values", "why"]);
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
        "troubled",
        "troubled_by",
        "blocks",
        "ops",
        "errors",
        "latency_us",
        "per_op",
        "cpu_ratio",
        "beyond_threshold",
        "same_within",
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
    let per_op = keys(&other["per_op"]);
    let known = [
        "background_cpu_us",
        "client_cpu_us",
        "cs",
        "disk_wait_us",
        "other_wait_us",
        "overlap_us",
        "read_kb",
        "reads",
        "runq_us",
        "server_cpu_us",
        "server_sys_us",
        "server_user_us",
        "time_us",
        "write_kb",
    ];
    assert!(known.iter().all(|key| per_op.contains(key)), "{per_op:?}");
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
            "bounded",
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
            "tables",
            "why"
        ]
    );
}

#[test]
fn what_was_never_measured_is_null() {
    let mut unprobed = record(&["11.8"]);
    for slice in &mut unprobed.slices {
        slice.counters = Default::default();
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
