//! The tables and charts of the Insert Benchmark.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use assay_model::*;
use assay_report::{Format, TextOptions, charts, render};
use assay_verdict::judge;
use assay_workloads::{QueueSizes, queue_steps};

/// Rows per second of a step whose queries run at this rate, by system.
type Rates = [f64; 3];

/// l.i1 and qr100 of three systems. The third one misses its SLA.
fn benchmark() -> StudyRecord {
    let tables =
        QueueTables { is_shared: false, indexes: 3, partitions: None, exceed_cache: false };
    let sizes = QueueSizes {
        tables,
        rows: [10_000, 40_000, 5000],
        query_s: 10,
        maintain_s: 0,
        indexed_at_start: false,
        is_prepared: true,
        transaction_s: None,
    };
    let mut record = common::record(&["11.4", "11.8"]);
    let setup = Setup { clients: 1, tables: 1, rows: 10_000 };
    let template = record.study.cells[0].clone();
    let steps = queue_steps(&sizes).into_iter();
    let steps = steps.filter(|test| ["l.i1", "qr100"].contains(&test.name()));
    let planned = |test| PlannedCell { id: CellId { test, setup }, ..template.clone() };
    record.study.cells = steps.map(planned).collect();
    record.study.setups = vec![setup];
    record.study.experiment = Experiment::Stepwise;
    let like = record.slices[0].clone();
    let rates: [Rates; 2] = [[20_000.0, 25_000.0, 10_000.0], [5000.0, 4700.0, 9000.0]];
    record.slices = Vec::new();
    for (planned, rates) in record.study.cells.iter().zip(rates) {
        for (system, rate) in rates.into_iter().enumerate() {
            let mut slice = slice(planned.id, rate, system == 2, &like);
            slice.system = system;
            record.series.extend(series(&slice));
            record.slices.push(slice);
        }
    }
    record
}

fn slice(cell: CellId, rate: f64, is_slow: bool, like: &Slice) -> Slice {
    let has_queries = cell.test.queue().unwrap().queries.is_some();
    let seconds = if is_slow && has_queries { 20.0 } else { 10.0 };
    let units = (rate * seconds) as u64;
    let mut insert = Statements::default();
    let inserted = if has_queries { 1000 } else { units };
    for statement in 0..20 {
        let us = if statement == 19 { 2_000_000 } else { 300 };
        insert.count(us * 1000, inserted / 20);
    }
    let mut query = Statements::default();
    if has_queries {
        (0..units).for_each(|_| query.count(200_000, 10));
    }
    let broke =
        (is_slow && has_queries).then_some(Broke { second: 3, insert_us: 2_000_000, delete_us: 0 });
    let step = StepWork {
        insert,
        query,
        relative_error: (!has_queries).then_some(0.01),
        broke,
        ..StepWork::default()
    };
    Slice {
        cell,
        block: 0,
        round: 0,
        work: WorkCounters {
            events: units,
            read: if has_queries { units } else { 0 },
            elapsed_ns: (seconds * 1e9) as u64,
            ..WorkCounters::default()
        },
        step: Some(Box::new(step)),
        ..like.clone()
    }
}

fn series(slice: &Slice) -> [(SliceId, Series); 2] {
    let of = |name: &str, counts| {
        let name = name.to_owned();
        (slice.id(), Series { name, step_ms: 1000, counts })
    };
    [of("insert.1", vec![100, 0, 200, 100]), of("insert-longest-us.1", vec![1000, 0, 2000, 500])]
}

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
    let text = rendered(Format::Text);
    let from = text.find("rates: ").unwrap();
    let to = text.find(" rQPS by group").unwrap();
    insta::assert_snapshot!(&text[from..to]);
}

#[test]
fn cells_have_the_published_colours() {
    let html = rendered(Format::Html);
    let cell = |text: &str| {
        let end = format!("\">{text}</td>");
        let at = html.find(&end).unwrap_or_else(|| panic!("no {text}"));
        html[..at].rsplit('"').next().unwrap().trim_start_matches("n ").trim().to_owned()
    };
    // l.i1: 10,000 to 25,000, so a quarter is 3750.
    assert_eq!(cell("25000 ±2 %"), "high");
    assert_eq!(cell("10000 ±2 %"), "low");
    assert_eq!(cell("20000 ±2 %"), "");
    // qr100: the lowest is above 80 % of the highest that met the SLA, so nothing is red.
    assert_eq!(cell("9000 ✗"), "gray");
    assert_eq!(cell("5000"), "high");
    assert_eq!([cell("1.25"), cell("0.50"), cell("0.94")], ["better", "worse", "worse"]);
    // Half of the target of 100.
    assert_eq!(cell("50"), "low");
    assert!(html.contains("<td class=\"n gray\">100</td>"), "the target is not gray");
    // Response times: 95 % of the inserts took up to 1 ms.
    assert_eq!(cell("95.000"), "share19");
    assert!(html.contains("l.i1: insert response times"));
    // Four seconds, of which the second is a stall.
    assert!(html.contains("L90 60.0L"), "no stall is drawn");
    assert!(html.contains("longest insert, ms, 0 to 2.4"), "no chart of response times");
}

#[test]
fn a_missed_sla_is_told_and_compared_with_nothing() {
    let json: serde_json::Value = serde_json::from_str(&rendered(Format::Json)).unwrap();
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
    assert!(why.contains("50 % of the background rate of 100 from second 3 on"), "{why}");
    let markdown = rendered(Format::Markdown);
    assert!(markdown.contains("| mariadb@11.8 | 0.50 | – |"), "{markdown}");
}

#[test]
fn rates_and_seconds_are_charts() {
    let record = benchmark();
    let charts = charts(&record, &judge(&record));
    let chart = |name: &str| &charts.iter().find(|it| it.name == name).unwrap().svg;
    let rates = chart("insert-bench-rates");
    assert!(rates.contains("qr100, queries/s") && rates.contains(">4700<"), "{rates}");
    let seconds = roxmltree::Document::parse(chart("insert-bench-qr100")).unwrap();
    let drawn = seconds.descendants().filter(|it| it.has_tag_name("path")).count();
    let quantities =
        seconds.descendants().filter(|it| it.attribute("class") == Some("frame")).count();
    assert!(quantities > 0 && drawn == 3 * quantities, "{drawn} lines in {quantities} charts");
}
