//! Tests of the page of a watch.

use assay_model::{Estimate, NamedVersion, SearchMeasure, Setup};
use assay_report::{FORMATS, TextOptions};

use super::*;

fn estimate(value: f64) -> Estimate {
    Estimate { value, low: value - 0.002, high: value + 0.002 }
}

fn versions() -> Vec<NamedVersion> {
    let version = |(name, title): (&str, &str)| NamedVersion {
        words: format!("postgres@git:/pg#{name}"),
        name: name.to_owned(),
        title: Some(title.to_owned()),
    };
    [("a1", "2026-11-01 Begin"), ("b2", "2026-11-02 <Slow>"), ("c3", "2026-11-03 More")]
        .map(version)
        .to_vec()
}

fn watch(versions: &[NamedVersion], changes: Vec<WatchedChange>) -> WatchResult<'_> {
    let value = |version, ratio| WatchedValue { version, ratio: estimate(ratio), studies: 1 };
    let line = |measure, changes| WatchedLine {
        test: "point-query".to_owned(),
        setup: Setup { clients: 1, tables: 1, rows: 10_000 },
        measure,
        values: vec![value(1, 0.97), value(2, 0.969)],
        changes,
        suspected: Vec::new(),
    };
    WatchResult {
        range: "postgres@git:/pg a1..master".to_owned(),
        is_of_commits: true,
        versions,
        new: vec![2],
        lines: vec![
            line(SearchMeasure::Instructions, changes),
            line(SearchMeasure::Qps, Vec::new()),
        ],
        notes: vec!["d4 could not be measured: it does not build".to_owned()],
    }
}

fn change(is_new: bool) -> WatchedChange {
    let step = VersionStep { after: 0, at: 1, probability: 0.99, ratio: estimate(0.97) };
    WatchedChange { after: 0, at: 1, step, search: "bisect-1".to_owned(), is_new }
}

#[test]
fn the_answer_has_what_is_new_first() {
    let versions = versions();
    assert_eq!(answer(&watch(&versions, Vec::new())), "new: c3; no change was found since a1");
    let found = answer(&watch(&versions, vec![change(true)]));
    assert!(found.contains("c3; instructions/op of point-query changed at b2: "), "{found}");
    let found = answer(&watch(&versions, vec![change(false)]));
    assert!(found.ends_with("1 change found before since a1"), "{found}");
}

#[test]
fn every_format_shows_the_change_and_escapes_its_title() {
    let versions = versions();
    let watch = watch(&versions, vec![change(true)]);
    let page = watched(&watch);
    let options = TextOptions { width: 120, color: false, verbose: true };
    for format in FORMATS {
        let Some(text) = page.render(format, &options) else { continue };
        assert!(text.contains("b2") && text.contains("point-query"), "{}: {text}", format.word);
        if format.word == "html" {
            assert!(text.contains("&#60;Slow") && !text.contains("<Slow"));
        }
    }
    assert_eq!((&watch).charts().len(), 2);
}

#[test]
fn what_is_suspected_is_said_everywhere() {
    let versions = versions();
    let mut watch = watch(&versions, Vec::new());
    watch.lines[0].suspected.push(WatchedSuspicion {
        after: 0,
        at: 1,
        ratio: estimate(1.013),
        probability: 0.93,
        search: "bisect-1".to_owned(),
    });
    let page = watched(&watch);
    let options = TextOptions { width: 200, color: false, verbose: true };
    for word in ["text", "html", "markdown"] {
        let Some(format) = FORMATS.into_iter().find(|it| it.word == word) else { continue };
        let text = page.render(format, &options).unwrap_or_default();
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["1 change suspected but not certain", "between a1 and b2: +1.3%", "bisect-1"] {
            assert!(flat.contains(part), "{word}: {part} in {text}");
        }
    }
    let json: serde_json::Value =
        serde_json::from_str(&(&watch).json().unwrap_or_default()).unwrap_or_default();
    let row = &json["suspected"][0];
    assert_eq!(row["between"], serde_json::json!(["a1", "b2"]));
    assert_eq!((&row["probability"], &row["search"]), (&0.93.into(), &"bisect-1".into()));
}

#[test]
fn scripts_get_numbers() {
    let versions = versions();
    let watch = watch(&versions, vec![change(true)]);
    let json: serde_json::Value =
        serde_json::from_str(&(&watch).json().unwrap_or_default()).unwrap_or_default();
    assert_eq!(json["baseline"], "a1");
    assert_eq!(json["measured"][0], "c3");
    assert_eq!(json["changes"][0]["commit"], "b2");
    assert_eq!(json["changes"][0]["is_new"], true);
    assert_eq!(json["tests"][1]["versions"][1]["version"], "c3");
}

#[test]
fn a_quotient_has_the_errors_of_both() {
    let quotient = quotient(estimate(0.5), estimate(0.5));
    assert!((quotient.value - 1.0).abs() < 1e-9);
    assert!(quotient.high - 1.0 > 0.004 * 2.0_f64.sqrt() * 0.99, "{quotient:?}");
}
