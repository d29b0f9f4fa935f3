//! Formats of other programs, read by these programs: Apache Otava and the client of Prometheus, which pip installs
//! into the user's cache.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output};

use assay_ledger::Ledger;
use assay_model::StudyRecord;
use assay_testkit::python;
use serde_json::Value;

const STUDY: &str = include_str!("../../../assay-ledger/tests/recorded/study.id");
const DAY_MS: i64 = 86_400_000;

/// Parses metrics as OpenMetrics and in the older format, and prints the families of both as JSON.
const PARSE: &str = r#"
import json, sys
from prometheus_client import openmetrics, parser
import prometheus_client.openmetrics.parser
text = open(sys.argv[1]).read()
families = lambda module: [
    [it.name, it.type, it.unit, it.documentation, [[sample.labels, sample.value] for sample in it.samples]]
    for it in module.text_string_to_metric_families(text)
]
print(json.dumps([families(openmetrics.parser), families(parser)]))
"#;

fn assay(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(words)
        .current_dir(folder)
        .env("ASSAY_LEDGER", folder.join("ledger.db"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .output()
        .unwrap()
}

#[track_caller]
fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn recorded(folder: &Path) -> (Ledger, StudyRecord) {
    let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/../assay-ledger/tests/recorded/study.db.gz");
    let mut bytes = Vec::new();
    let packed = fs_err::File::open(packed).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let path = folder.join("ledger.db");
    fs_err::write(&path, bytes).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    let record = ledger.read(STUDY).unwrap();
    (ledger, record)
}

/// A ledger with this many studies, a day apart. From number `slow` on, point queries of the later version take 15%
/// more time.
fn history(folder: &Path, count: usize, slow: usize) {
    let (ledger, record) = recorded(folder);
    drop(ledger);
    fs_err::remove_file(folder.join("ledger.db")).unwrap();
    let mut ledger = Ledger::open(&folder.join("ledger.db")).unwrap();
    for number in 0..count {
        let mut record = record.clone();
        record.study.id = format!("night-{number:03}");
        let earlier = (count - number) as i64 * DAY_MS;
        record.study.started_ms -= earlier;
        for run in &mut record.runs {
            run.started_ms -= earlier;
            run.updated_ms -= earlier;
        }
        // A fixed zigzag instead of noise.
        let zigzag = 0.004 * (((number * 7) % 5) as f64 - 2.0);
        let factor = 1.0 + zigzag + if number < slow { 0.0 } else { 0.15 };
        for slice in &mut record.slices {
            slice.started_ms -= earlier;
            if slice.system == 1 && slice.cell.test.name() == "point-query" {
                slice.work.elapsed_ns = (slice.work.elapsed_ns as f64 * factor) as u64;
            }
        }
        record.events.clear();
        ledger.add_record(&record).unwrap();
    }
}

fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/send-results.md");
    fs_err::read_to_string(page).unwrap()
}

#[test]
fn otava_finds_a_planted_change_with_the_documented_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    history(folder, 24, 12);
    let written = assay(folder, &["report", "-o", "history.otava.csv"]);
    assert_eq!(done(&written), "");
    let page = page();
    let blocks = page.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next());
    let config = blocks.filter(|it| it.contains("type: csv")).collect::<String>();
    // The recorded study is of preset smoke.
    fs_err::write(folder.join("assay.yaml"), config.replace("rows=100000", "rows=10000")).unwrap();
    let output = python(&["apache-otava==0.8.0"])
        .args(["-m", "otava.main", "analyze", "assay", "--config-file", "assay.yaml"])
        .args(["--output", "json", "--since", "2000-01-01", "--until", "2100-01-01"])
        .current_dir(folder)
        .output()
        .unwrap();
    let found: Value = serde_json::from_str(&done(&output)).unwrap();
    let changes = found["assay"].as_array().unwrap();
    let [change] = changes.as_slice() else { panic!("one change was planted: {found:#}") };
    assert_eq!(change["attributes"]["study"], "night-012", "{found:#}");
    let change = &change["changes"][0];
    assert_eq!(change["metric"], "point-query", "{found:#}");
    let percent: f64 =
        change["forward_change_percent"].to_string().trim_matches('"').parse().unwrap();
    assert!((-16.0..-10.0).contains(&percent), "15% more time is 13% less QPS: {found:#}");
}

#[test]
fn prometheus_reads_the_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut ledger, mut record) = recorded(folder);
    // The name of the latest study attempts to break out of a label. Ledgers refuse line breaks.
    let name = "a\\b \"c\",d}\\n# EOF =e";
    record.systems[1].name = name.to_owned();
    record.study.id = "later".to_owned();
    record.study.started_ms += DAY_MS;
    ledger.add_record(&record).unwrap();
    done(&assay(folder, &["report", "-o", "assay.prom"]));
    let output = python(&["prometheus_client==0.26.0"])
        .args(["-c", PARSE, "assay.prom"])
        .current_dir(folder)
        .output()
        .unwrap();
    let both: Vec<Vec<Value>> = serde_json::from_str(&done(&output)).unwrap();
    let metric_family = |families: &[Value], name: &str| -> Value {
        families.iter().find(|family| family[0] == name).cloned().unwrap()
    };
    let json = done(&assay(folder, &["report", "--format", "json"]));
    let json: Value = serde_json::from_str(&json).unwrap();
    let cells = json["cells"].as_array().unwrap();
    for families in &both {
        let qps = metric_family(families, "assay_throughput_operations_per_second");
        assert_eq!(qps[1], "gauge");
        let samples = qps[4].as_array().unwrap();
        assert_eq!(samples.len(), cells.len());
        for (sample, cell) in samples.iter().zip(cells) {
            assert_eq!(sample[1].as_f64(), cell["qps"]["value"].as_f64());
            assert_eq!(sample[0]["test"], cell["test"]);
        }
        assert_eq!(samples[1][0]["system"], name);
        let info = metric_family(families, "assay_study_info");
        assert_eq!(info[4][0][0]["study"], "later");
        let undecided = metric_family(families, "assay_verdict");
        let undecided = undecided[4].as_array().unwrap().iter().filter(|it| it[1] == 1.0);
        assert!(undecided.clone().all(|it| it[0]["verdict"] == "undecided"));
        assert_eq!(undecided.count(), 8, "4 tests in 2 systems other than the base");
    }
    let [openmetrics, _] = both.as_slice() else { panic!("two formats") };
    for family in openmetrics {
        let (name, unit) = (family[0].as_str().unwrap(), family[2].as_str().unwrap());
        assert!(unit.is_empty() || name.ends_with(&format!("_{unit}")), "{name}: {unit}");
        assert_ne!(family[3], "", "{name} has a description");
    }
}

#[test]
fn formats_follow_words_and_endings_and_stdout_is_the_result_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    history(folder, 3, 9);
    let formats = [
        ("bmf", "r.bmf.json"),
        ("github", "r.github.json"),
        ("otava", "r.otava.csv"),
        ("openmetrics", "r.prom"),
    ];
    for (word, file) in formats {
        let shown = done(&assay(folder, &["report", "--format", word]));
        done(&assay(folder, &["report", "-o", file]));
        assert_eq!(shown, fs_err::read_to_string(folder.join(file)).unwrap(), "{word}");
    }
    let history = done(&assay(folder, &["report", "--format", "otava"]));
    assert_eq!(history.lines().count(), 4, "{history}");
    let earlier = done(&assay(folder, &["report", "night-001", "--format", "otava"]));
    assert_eq!(earlier, history, "both are in the same history");
    // Against the other system of the study.
    let other = done(&assay(folder, &["report", "--format", "otava", "--base", "mariadb@11.8"]));
    assert!(other.lines().count() == 4 && other.contains("mariadb@11.8 11.8"), "{other}");

    // A history is no result of one study, and a trend is no study: both are refused before anything else happens.
    let output = assay(folder, &["compare", "mariadb@10.11", "mariadb@11.8", "--format", "otava"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output)
            .contains("hint: the study stays in the ledger: `assay report --format otava`")
    );
    let output = assay(folder, &["trend", "point-query", "-o", "t.prom"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("holds the results of a study"), "{}", said(&output));
    assert!(!folder.join("t.prom").exists());

    // Published results have no time of measurement.
    let table = "col-1 : =a\ncol-2 : b\n100\t110\tpoint-query\n0\t190\tscan\n";
    fs_err::write(folder.join("qps.abs.x.tsv"), table).unwrap();
    done(&assay(folder, &["import", "mytools", "qps.abs.x.tsv"]));
    let output = assay(folder, &["report", "--format", "otava"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("published results have no time"), "{}", said(&output));
    let github = done(&assay(folder, &["report", "--format", "github"]));
    assert!(github.contains("\"=a/point-query/"), "{github}");
    assert!(!github.contains("started") && !github.contains("\"range\""), "{github}");
}
