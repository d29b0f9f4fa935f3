//! Feeds: documented formats, no invented values, and hostile names.

use assay_model::{SliceOutcome, StudyRecord};
use assay_report::{FEEDS, FeedRender, FeedText, feed_table};
use assay_verdict::judge;
use serde_json::Value;

use crate::common::{self, record};

const EVIL: &str = "=cmd|' /C calc'!A0, \"x\"\r\n# EOF\\n}\u{202e}";

fn fed(word: &str, record: &StudyRecord) -> FeedText {
    let feed = FEEDS.into_iter().find(|feed| feed.word == word).unwrap();
    let judgement = judge(record);
    match feed.render {
        FeedRender::Study(render) => render(record, &judgement),
        FeedRender::History(render) => render(&[(record, &judgement)], &record.study.id),
    }
}

/// One test failed on a system, and two have hostile names.
fn failed() -> StudyRecord {
    let mut record = record(&["11.8"]);
    let insert = record.study.cells[4].id;
    for slice in &mut record.slices {
        if slice.system == 1 && slice.cell == insert {
            slice.outcome = SliceOutcome::Failed("the server \"ended\"".to_owned());
        }
    }
    record
}

/// Bencher's schema: benchmarks, measures, a number each and, if known, the ends of its interval.
#[track_caller]
fn benchmarks(text: &str) -> Vec<(String, Value)> {
    let document: Value = serde_json::from_str(text).unwrap();
    for (name, measures) in document.as_object().unwrap() {
        assert!((1..=1024).contains(&name.len()), "{name}");
        for (measure, metric) in measures.as_object().unwrap() {
            let is_slug = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(measure.len() <= 64 && measure.chars().all(is_slug), "{measure}");
            let metric = metric.as_object().unwrap();
            assert!(metric.contains_key("value"));
            for (key, number) in metric {
                assert!(["value", "lower_value", "upper_value"].contains(&key.as_str()), "{key}");
                assert!(number.is_number(), "{key} of {name}: {number}");
            }
        }
    }
    document.as_object().unwrap().clone().into_iter().collect()
}

#[test]
fn bencher_gets_values_with_their_intervals() {
    let fed = fed("bmf", &failed());
    let benchmarks = benchmarks(&fed.text);
    let find = |name: &str| benchmarks.iter().find(|(it, _)| it == name).map(|(_, it)| it);
    let point = find("mariadb@11.8/point-query/clients=1/tables=1/rows=100000").unwrap();
    let rqps = &point["relative-throughput-ratio"];
    let number = |key: &str| rqps[key].as_f64().unwrap();
    assert!((number("value") - 0.8).abs() < 0.01, "{rqps}");
    assert!(number("lower_value") < number("value") && number("value") < number("upper_value"));
    assert!(find("mariadb@10.11/insert/clients=1/tables=1/rows=100000").is_some());
    assert_eq!(find("mariadb@11.8/insert/clients=1/tables=1/rows=100000"), None);
    assert_eq!(fed.left_out.len(), 1);
    assert!(fed.left_out[0].contains("insert") && fed.left_out[0].contains("the server \"ended\""));
    let base = find("mariadb@10.11/point-query/clients=1/tables=1/rows=100000").unwrap();
    assert!(
        base["throughput"]["value"].is_number() && base.get("relative-throughput-ratio").is_none()
    );
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn a_cell_of_an_unknown_system_is_a_bug_and_not_left_out() {
    let record = record(&["11.8"]);
    let mut judgement = judge(&record);
    judgement.cells[0].system = 7;
    let FeedRender::Study(render) = FEEDS[0].render else { return };
    let _: FeedText = render(&record, &judgement);
}

#[test]
fn names_that_bencher_refuses_are_left_out_and_named() {
    let mut record = record(&["11.8"]);
    record.systems[1].name = "x".repeat(1100);
    let fed = fed("bmf", &record);
    assert_eq!(benchmarks(&fed.text).len(), 5);
    assert!(fed.left_out.len() == 5 && fed.left_out[0].contains("1024 bytes"), "{fed:?}");
}

#[test]
fn github_gets_an_array_in_which_bigger_is_better() {
    let fed = fed("github", &failed());
    let entries: Vec<Value> = serde_json::from_str(&fed.text).unwrap();
    for entry in &entries {
        for (key, value) in entry.as_object().unwrap() {
            assert!(["name", "unit", "value", "range", "extra"].contains(&key.as_str()), "{key}");
            assert_eq!(value.is_number(), key == "value", "{entry}");
        }
        assert!(["ops/s", "ratio"].contains(&entry["unit"].as_str().unwrap()));
    }
    let find = |name: &str| entries.iter().find(|entry| entry["name"] == name);
    let point = find("mariadb@11.8/point-query/clients=1/tables=1/rows=100000/rqps").unwrap();
    assert!(point["range"].as_str().unwrap().starts_with("95% interval: 0.7"), "{point}");
    let extra = point["extra"].as_str().unwrap();
    assert!(extra.starts_with("verdict: slower"), "{extra}");
    assert!(extra.contains("\nbase: mariadb@10.11 10.11.19\nstudy: "), "{extra}");
    assert!(find("mariadb@11.8/insert/clients=1/tables=1/rows=100000/qps").is_none());
    assert!(fed.left_out[0].contains("the server \"ended\""));
}

#[test]
fn metrics_have_units_and_failures_have_reasons() {
    let text = fed("openmetrics", &failed()).text;
    insta::assert_snapshot!(text);
    assert!(text.ends_with("\n# EOF\n"));
}

#[test]
fn a_single_pair_is_undecided_in_every_format() {
    let mut record = record(&["11.8"]);
    record.slices.retain(|slice| slice.block == 0 && slice.round == 0);
    let github: Vec<Value> = serde_json::from_str(&fed("github", &record).text).unwrap();
    let ratios = github.iter().filter(|entry| entry["unit"] == "ratio");
    let ratios: Vec<&str> = ratios.map(|entry| entry["extra"].as_str().unwrap()).collect();
    assert!(ratios.iter().all(|extra| extra.starts_with("verdict: undecided (")), "{ratios:?}");
    assert_eq!(ratios.len(), 5);
    let metrics = fed("openmetrics", &record).text;
    let undecided = metrics.lines().filter(|it| it.contains("verdict=\"undecided\"} 1"));
    assert_eq!(undecided.count(), 5, "{metrics}");
    let reasons = metrics.lines().filter(|it| it.starts_with("assay_reason_info{"));
    assert_eq!(reasons.count(), 5, "{metrics}");
    let history = fed("otava", &record);
    assert!(history.text.contains(",undecided"), "{history:?}");
}

#[test]
fn hostile_names_stay_names() {
    let mut record = failed();
    for system in &mut record.systems {
        system.name = format!("{EVIL}{}", system.is_base);
    }
    record.study.id = EVIL.to_owned();
    for feed in FEEDS {
        let FeedText { text, left_out } = fed(feed.word, &record);
        let is_harmful = |c: char| (c.is_control() && c != '\n' && c != '\r') || c == '\u{202e}';
        assert!(!text.contains(is_harmful), "{}: {text}", feed.word);
        assert!(!left_out.iter().any(|line| line.contains(char::is_control)), "{left_out:?}");
        assert!(text.lines().filter(|line| line.starts_with('=')).count() == 0, "{text}");
        match feed.word {
            "bmf" => assert_eq!(benchmarks(&text).len(), 9),
            "github" => assert_eq!(serde_json::from_str::<Vec<Value>>(&text).unwrap().len(), 13),
            "openmetrics" => assert_eq!(text.lines().filter(|line| *line == "# EOF").count(), 1),
            _ => {
                let mut rows = csv::Reader::from_reader(text.as_bytes());
                assert!(rows.headers().unwrap().iter().all(|name| !name.starts_with('=')));
                let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
                assert_eq!(rows.len(), 1);
                assert!(rows[0][1].starts_with("'=cmd"), "{rows:?}");
            }
        }
    }
}

/// A day apart.
fn history(count: usize) -> Vec<StudyRecord> {
    let mut records = vec![record(&["11.8"]); count];
    for (day, record) in records.iter_mut().enumerate() {
        record.study.id = format!("day-{day}");
        record.study.started_ms += day as i64 * 86_400_000;
    }
    records
}

fn otava(records: &[StudyRecord]) -> (Vec<String>, Vec<csv::StringRecord>, Vec<String>) {
    let Some(FeedRender::History(render)) =
        FEEDS.iter().find(|feed| feed.word == "otava").map(|it| it.render)
    else {
        panic!("a history is made from studies")
    };
    let judgements: Vec<_> = records.iter().map(judge).collect();
    let all: Vec<_> = records.iter().zip(&judgements).collect();
    let fed = render(&all, &records.last().unwrap().study.id);
    let mut rows = csv::Reader::from_reader(fed.text.as_bytes());
    let names = rows.headers().unwrap().iter().map(str::to_owned).collect();
    (names, rows.records().map(Result::unwrap).collect(), fed.left_out)
}

#[test]
fn a_history_has_comparable_studies_without_gaps() {
    let mut records = history(12);
    records[1].runs[0].host.cpu = "Other CPU".to_owned();
    common::prefix_of(&mut records[2].systems[0]).sha256 = "f".repeat(64);
    let (names, rows, left_out) = otava(&records);
    assert_eq!(names[..4], ["time", "study", "version", "base"]);
    assert_eq!(names[4], "mariadb/innodb/point-query/clients=1/tables=1/rows=100000/rqps");
    assert_eq!(names.len(), 4 + 5 * 4);
    let studies: Vec<&str> = rows.iter().map(|row| &row[1]).collect();
    assert_eq!(studies[..3], ["day-0", "day-3", "day-4"]);
    assert_eq!((studies.len(), left_out), (10, Vec::new()));
    assert!(rows.iter().all(|row| &row[2] == "11.8.4"), "{rows:?}");

    // Dropping one study loses less than dropping one test from all studies, and vice versa.
    let insert = records[0].study.cells[4].id;
    records[3].slices.retain(|slice| slice.cell != insert);
    let (names, rows, left_out) = otava(&records);
    assert_eq!((names.len(), rows.len()), (24, 9), "{left_out:?}");
    assert_eq!(left_out, ["study day-3: 1 of 5 values are missing"]);
    for record in &mut records[..11] {
        record.slices.retain(|slice| slice.cell != insert);
    }
    let (names, rows, left_out) = otava(&records);
    assert_eq!((names.len(), rows.len()), (20, 10), "{left_out:?}");
    assert_eq!(left_out.len(), 1);
    assert!(
        left_out[0].contains("/insert/")
            && left_out[0].ends_with(": 9 of 10 studies have no value")
    );
    assert!(rows.iter().all(|row| row.iter().all(|field| !field.is_empty())), "{rows:?}");
}

#[test]
fn systems_of_one_family_have_columns_of_their_own() {
    let mut records = history(2);
    records[1] = StudyRecord { study: records[1].study.clone(), ..record(&["11.4", "11.8"]) };
    records[0] = StudyRecord { study: records[0].study.clone(), ..record(&["11.4", "11.8"]) };
    let (names, rows, _) = otava(&records);
    assert_eq!((names.len(), rows.len()), (4 + 10 * 4, 2), "{names:?}");
    assert!(names.contains(&"mariadb@11.4/insert/clients=1/tables=1/rows=100000/rqps".to_owned()));
    assert_eq!(&rows[0][2], "11.4.4 11.8.4");
}

#[test]
fn every_format_is_in_the_table() {
    let table = feed_table();
    assert!(FEEDS.iter().all(|feed| table.contains(&format!("| `{}` |", feed.word))), "{table}");
}
