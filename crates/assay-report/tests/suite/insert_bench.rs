//! The tables and charts of the Insert Benchmark.

use assay_model::*;
use assay_report::{Format, TextOptions, render, report};
use assay_verdict::judge;

use crate::common::ibench::benchmark;

fn rendered(format: Format) -> String {
    let record = benchmark();
    render(
        &record,
        &judge(&record),
        format,
        &TextOptions { width: 120, color: false, verbose: true },
    )
}

#[test]
fn the_tables_are_those_of_the_published_reports() {
    let text = rendered(Format::TEXT);
    let from = text.find("rates: ").unwrap();
    let to = text.find(" rQPS by group").unwrap();
    insta::assert_snapshot!(&text[from..to]);
}

fn class_of(html: &str, text: &str) -> String {
    let end = format!("\">{text}</td>");
    let at = html.find(&end).unwrap_or_else(|| panic!("no {text}"));
    html[..at].rsplit('"').next().unwrap().trim_start_matches('n').trim().to_owned()
}

#[test]
fn what_is_undecided_has_no_colour() {
    let html = rendered(Format::HTML);
    assert!(html.contains("undecided"), "{html}");
    for text in ["25000 ±2%", "10000 ±2%", "5000", "1.25", "0.50", "0.94"] {
        assert_eq!(class_of(&html, text), "", "{text}");
    }
    assert_eq!(class_of(&html, "9000 ✗"), "gray");
    assert!(html.contains("below its target") && !html.contains("5% better"), "{html}");
}

#[test]
fn cells_have_the_published_colours() {
    let record = benchmark();
    let mut judgement = judge(&record);
    for cell in &mut judgement.cells {
        let is_called = cell.verdict == Verdict::Undecided;
        cell.verdict = if is_called { Verdict::Slower } else { cell.verdict };
    }
    let options = TextOptions { width: 120, color: false, verbose: true };
    let html = render(&record, &judgement, Format::HTML, &options);
    let legend = "<i class=\"better\"></i>more than 5% better than the base";
    assert!(html.contains(legend), "{html}");
    let cell = |text: &str| class_of(&html, text);
    // l.i1: 10,000 to 25,000, so a quarter is 3750.
    assert_eq!(cell("25000 ±2%"), "high");
    assert_eq!(cell("10000 ±2%"), "low");
    assert_eq!(cell("20000 ±2%"), "");
    // qr100: the lowest is above 80% of the highest that met the SLA, so nothing is red.
    assert_eq!(cell("9000 ✗"), "gray");
    assert_eq!(cell("5000"), "high");
    assert_eq!([cell("1.25"), cell("0.50"), cell("0.94")], ["better", "worse", "worse"]);
    // Half of the target of 100.
    assert_eq!(cell("50"), "low");
    assert!(html.contains("<td class=\"n gray\">100</td>"), "the target is not gray");
    // 95% of the inserts took up to 1 ms.
    assert_eq!(cell("95.000"), "share19");
    assert!(html.contains("l.i1: insert response times"));
    // Four seconds, of which the second is a stall.
    assert!(html.contains("L90 60.0L"), "no stall is drawn");
    assert!(html.contains("longest insert, ms, 0 to 2.4"), "no chart of response times");
}

#[test]
fn a_missed_sla_is_told_and_compared_with_nothing() {
    let json: serde_json::Value = serde_json::from_str(&rendered(Format::JSON)).unwrap();
    let cells = json["cells"].as_array().unwrap();
    let cell =
        cells.iter().find(|cell| cell["test"] == "qr100" && cell["system"] == "mariadb@11.8");
    let cell = cell.unwrap();
    assert_eq!((&cell["verdict"], &cell["rqps"]), (&"failed".into(), &serde_json::Value::Null));
    let step = &cell["step"];
    assert_eq!((&step["sla_met"], &step["failed"]), (&false.into(), &true.into()));
    assert_eq!((step["ips"].as_f64(), step["target_ips"].as_f64()), (Some(50.0), Some(100.0)));
    assert_eq!((step["qps"].as_f64(), step["seconds"].as_f64()), (Some(9000.0), Some(20.0)));
    let why = cell["why"].as_str().unwrap();
    assert!(why.contains("50% of the background rate of 100 from second 3 on"), "{why}");
    let markdown = rendered(Format::MARKDOWN);
    assert!(markdown.contains("| mariadb@11.8 | 0.50 | – |"), "{markdown}");
}

#[test]
fn rates_and_seconds_are_charts() {
    let record = benchmark();
    let charts = report(&record, &judge(&record)).with_charts("svg").0;
    let chart = |name: &str| &charts.iter().find(|it| it.name == name).unwrap().svg;
    let rates = chart("insert-bench-rates");
    assert!(rates.contains("qr100, queries/s") && rates.contains(">4700<"), "{rates}");
    let seconds = roxmltree::Document::parse(chart("insert-bench-qr100")).unwrap();
    let drawn = seconds.descendants().filter(|it| it.has_tag_name("path")).count();
    let quantities =
        seconds.descendants().filter(|it| it.attribute("class") == Some("frame")).count();
    assert!(quantities > 0 && drawn == 3 * quantities, "{drawn} lines in {quantities} charts");
}
