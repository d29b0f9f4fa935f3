//! A test over versions and time, as text and as a page.

use assay_model::Estimate;
use assay_report::{Format, TextOptions};

use super::*;

fn line(base: &str, values: &[(&str, f64)]) -> TrendLine {
    let point = |(number, (version, value)): (usize, &(&str, f64))| ComparablePoint {
        is_reported: false,
        study: format!("study-{number}"),
        started_ms: 1_795_000_000_000 + number as i64 * 86_400_000,
        system: format!("mariadb@{version}"),
        version: (*version).to_owned(),
        rqps: Estimate { value: *value, low: value - 0.01, high: value + 0.01 },
        qps: Some(Estimate::without_interval(10_000.0 * value)),
        verdict: Verdict::Same,
        is_disturbed: false,
    };
    let setup = Setup { clients: 4, tables: 1, rows: 100_000 };
    let [family, machine, work] = ["mariadb/innodb", "two CPUs", "as ever"].map(str::to_owned);
    TrendLine {
        terms: ComparableTerms { family, setup, machine, work, base: base.to_owned() },
        points: values.iter().enumerate().map(point).collect(),
        bounds: Vec::new(),
        shifts: Some(Vec::new()),
    }
}

fn shown(lines: &[TrendLine], format: Format) -> String {
    let options = TextOptions { width: 120, color: false, verbose: true };
    trend(&TrendResult { test: "point-query", lines, studies: 4 })
        .render(format, &options)
        .unwrap_or_default()
}

#[test]
fn changes_are_marked_in_every_format() {
    let mut changed = line(
        "mariadb@10.6",
        &[("10.11.1", 1.0), ("10.11.2", 1.0), ("11.4.1", 0.9), ("11.8.1", 0.9)],
    );
    let ratio = Estimate { value: 0.9, low: 0.89, high: 0.91 };
    changed.shifts = Some(vec![Shift { at: 2, ratio, confidence: 0.999, placed: 0.98 }]);
    let mut unknown = line("mariadb@10.5", &[("10.11.1", 1.0)]);
    unknown.shifts = None;
    let lines = [changed, unknown];
    insta::assert_snapshot!(shown(&lines, Format::TEXT));
    let json: serde_json::Value = serde_json::from_str(&shown(&lines, Format::JSON)).unwrap();
    assert_eq!(json["lines"][0]["changes"][0]["at"], 2);
    assert!(json["lines"][1]["changes"].is_null());
    let csv = shown(&lines, Format::CSV);
    assert_eq!((csv.lines().count(), csv.matches(",true").count()), (6, 1), "{csv}");
    let markdown = shown(&lines, Format::MARKDOWN);
    assert!(markdown.contains("| ◆ |") && markdown.contains("### mariadb/innodb"), "{markdown}");
    let result = TrendResult { test: "point-query", lines: &lines, studies: 4 };
    let (charts, markdown) = trend(&result).with_charts("svg");
    let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    assert_eq!(names, ["trend-point-query-1"]);
    assert!(markdown.contains("](trend-point-query-1.svg)"), "{markdown}");
    let page = shown(&lines, Format::HTML);
    assert_eq!(page.matches("<circle").count(), 3, "{page}");
    assert!(page.contains("l7-7 7 7-7 7z") && page.contains("changed at 11.4.1"), "{page}");
}

#[test]
fn a_system_that_did_not_answer_is_a_bound_in_every_format() {
    let mut with_bound = line("mariadb@10.6", &[("10.11.1", 1.0), ("10.11.2", 1.0)]);
    let silent = line("mariadb@10.6", &[("11.8.9", 0.004)]).points.remove(0);
    let rqps = Estimate { value: 0.004, low: f64::NEG_INFINITY, high: 0.004 };
    with_bound.bounds.push(ComparablePoint { rqps, verdict: Verdict::Slower, qps: None, ..silent });
    let only = TrendLine { points: Vec::new(), ..with_bound.clone() };
    let lines = [with_bound, only];
    let text = shown(&lines, Format::TEXT);
    assert!(text.contains("11.8.9 ") && text.contains("only a bound"), "{text}");
    assert!(text.contains("at least 250 times slower"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&shown(&lines, Format::JSON)).unwrap();
    assert_eq!(json["lines"][0]["bounds"][0]["version"], "11.8.9");
    assert!(json["lines"][0]["bounds"][0]["rqps"]["low"].is_null());
    assert_eq!(json["lines"][0]["points"].as_array().unwrap().len(), 2);
    let csv = shown(&lines, Format::CSV);
    assert_eq!(csv.matches("11.8.9").count(), 4, "{csv}");
    for format in [Format::MARKDOWN, Format::HTML] {
        let shown = shown(&lines, format);
        assert!(shown.contains("11.8.9") && shown.contains("nly a bound"), "{shown}");
    }
}

#[test]
fn names_are_text_on_the_page() {
    let evil = "<script>alert(1)</script>\u{1b}[31m\u{202e}";
    let mut line = line(evil, &[(evil, 1.0), (evil, 1.1)]);
    line.terms.machine = evil.to_owned();
    for format in [Format::HTML, Format::TEXT, Format::MARKDOWN, Format::CSV] {
        let text = shown(std::slice::from_ref(&line), format);
        assert!(!text.contains("\u{1b}") && !text.contains('\u{202e}'), "{text}");
        let is_markup = [Format::HTML, Format::MARKDOWN].contains(&format);
        assert!(!is_markup || !text.contains("<script"), "{text}");
    }
}

#[test]
fn values_in_doubt_are_marked_and_explained() {
    let mut line = line("mariadb@10.6", &[("10.11.1", 1.0), ("10.11.2", 1.0)]);
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        assert!(!shown(std::slice::from_ref(&line), format).contains("times its error"));
    }
    line.points[0].verdict = Verdict::Undecided;
    line.points[1].is_disturbed = true;
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        let text = shown(std::slice::from_ref(&line), format);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("undecided") && text.contains("same, disturbed"), "{text}");
        assert!(text.contains("counts with 2 times its error"), "{text}");
    }
    let csv = shown(std::slice::from_ref(&line), Format::CSV);
    assert!(csv.contains(",undecided,false,") && csv.contains(",same,true,"), "{csv}");
}
