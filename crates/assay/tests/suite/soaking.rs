//! Longer looks at changed tests, on real servers.

use std::process::Stdio;

use assay_ledger::Ledger;
use assay_soak::Soak;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

/// The general log in a table makes every statement so much slower that a short study detects it.
const SYSTEMS: [&str; 3] =
    ["compare", "mariadb@11.8", "mariadb@11.8+general_log=ON+log_output=TABLE"];

fn soaks(result: &Value) -> [&Value; 2] {
    [0, 1].map(|cell| &result["cells"][cell]["soak"])
}

fn turns(place: &Place) -> Vec<usize> {
    let Ok(ledger) = Ledger::open_read_only(&place.ledger()) else { return Vec::new() };
    let studies = ledger.studies().unwrap_or_default();
    let documents = studies.first().map(|study| ledger.documents(&study.id).unwrap());
    let soaks = documents.into_iter().flat_map(|it| it.read_all::<Soak>().unwrap());
    soaks.map(|(_, _, soak)| soak.turns.len()).collect()
}

/// An interruption keeps whole turns, and the study goes on with fresh instances.
#[test]
fn a_longer_look_goes_on_after_an_interruption() {
    let place = Place::new();
    let file = place.run().join("report.json");
    let rest = ["--preset", "smoke", "--budget", "15s", "--tests", "point-query", "--soak", "8s"];
    let mut command = place.command(&[&SYSTEMS[..], &rest].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_while_measuring(&mut child, "a round", || turns(&place).iter().any(|it| *it > 0));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let kept = turns(&place);
    assert!(kept.len() == 2 && kept[0] == kept[1] && (1..4).contains(&kept[0]), "{kept:?}");
    let output = place.run_to_end(&["resume", "latest", "-o", file.to_str().unwrap()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("a longer look at 1 test"), "{stderr}");
    let result: Value = serde_json::from_slice(&fs_err::read(&file).unwrap()).unwrap();
    for soak in soaks(&result) {
        assert_eq!((&soak["turns"], &soak["turns_planned"]), (&4.into(), &4.into()), "{soak:#}");
        assert_eq!(soak["instances"], 2, "{soak:#}");
        let series = soak["series"].as_array().unwrap();
        assert!((7..=8).contains(&series.len()), "{soak:#}");
        assert!(
            soak["events"].as_u64().unwrap() > 0 && soak["qps"]["value"].as_f64().unwrap() > 0.0
        );
    }
    let [base, other] = soaks(&result);
    assert!(base["ratio"].is_null() && other["ratio"]["value"].is_number(), "{result:#}");
    let text = place.run_to_end(&["report", "latest", "--verbose"]);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(text.contains("a longer look") && text.contains("fresh instances went on"), "{text}");
    place.assert_nothing_left();
}

/// Turns of less than a second would have no series.
#[test]
fn a_longer_look_that_would_take_no_time_is_refused() {
    let place = Place::new();
    let words = ["compare", "mariadb@11.8", "mariadb@11.8", "--soak", "2s"];
    let output = place.run_to_end(&words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("--soak"), "{stderr}");
}

/// No shard knows which tests of the whole study changed.
#[test]
fn a_longer_look_on_shards_is_refused() {
    let place = Place::new();
    let file = place.run().join("study.toml");
    let study = "compare = [\"mariadb@11.8\", \"mariadb@11.8+innodb_purge_threads=1\"]\n\
                 budget = \"10m\"\nsoak = \"10m\"\n";
    fs_err::write(&file, study).unwrap();
    let file = file.to_str().unwrap();
    for words in [
        &["run", file, "--shard", "1/2"][..],
        &["submit", file, "--slurm", "--nodes", "2", "--dry-run"],
    ] {
        let output = place.run_to_end(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("`--soak` does not work with shards"), "{stderr}");
    }
}

/// Rows that every event updates, with an index on the changed column, leave dead rows behind until a vacuum removes
/// them, and the second statement reads past them. So a server without vacuum becomes slower and slower, which a few
/// events do not show.
const GROWING: &str = r#"
[table.counter]
rows = 100
create = "CREATE TABLE counter (id INT NOT NULL PRIMARY KEY, v INT NOT NULL)"
after = ["CREATE INDEX counter_v ON counter (v)"]

[table.counter.columns]
id = { sequence = 1 }
v = { uniform = [1, 1000] }

[test.tally]
let.by = { uniform = [1, 9] }
steps = [
  "UPDATE counter SET v = v + :by",
  """SELECT sum(t.c) FROM generate_series(1, 300) AS g,
     LATERAL (SELECT count(*) + g AS c FROM counter WHERE v > g - 400) AS t""",
]
"#;

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_server_that_becomes_slower_in_time_is_seen() {
    let place = Place::with("postgres@15");
    let folder = tempfile::tempdir().unwrap();
    let workload = folder.path().join("growing.toml");
    fs_err::write(&workload, GROWING).unwrap();
    let file = folder.path().join("report.json");
    let systems = [
        "compare",
        "postgres@15+autovacuum=on+autovacuum_naptime=1s",
        "postgres@15+autovacuum=off",
        "--offline",
    ];
    let rest = ["--preset", "smoke", "--budget", "20m", "--key", "blocks=1", "--soak", "48s"];
    let files = ["--workload", workload.to_str().unwrap(), "-o", file.to_str().unwrap()];
    let output = place.run_to_end(&[&systems[..], &rest, &files].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let result: Value = serde_json::from_slice(&fs_err::read(&file).unwrap()).unwrap();
    let [base, other] = soaks(&result);
    assert_eq!((&base["turns"], &other["turns"]), (&12.into(), &12.into()), "{result:#}");
    let value = |key: &str| other[key]["value"].as_f64().unwrap();
    assert!(value("decay_ratio") < 0.8 && value("ratio") < 0.8, "{result:#}");
    let text = place.run_to_end(&["report", "latest", "--verbose"]);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(text.contains("decay against the base"), "{text}");
    // If the short turns were undisturbed, they contradict it, which comes first.
    if other["agrees"] == false {
        assert!(text.starts_with("the longer look contradicts the short turns"), "{text}");
    }
    place.assert_nothing_left();
}
