//! github-action-benchmark, tool `customBiggerIsBetter`: an array of values with unit, range and further text.

use assay_model::{Estimate, StudyRecord, printable};
use assay_verdict::Judgement;
use serde::Serialize;

use super::feed::{Feed, FeedCell, FeedRender, FeedText, QPS, RQPS, cells, finite, value};
use crate::data::json;
use crate::data::number::Number;
use crate::number::Digits;
use crate::sections::study::JudgedStudy;
use crate::words::rfc3339;

pub(super) static FEED: Feed = Feed {
    word: "github",
    about: "For github-action-benchmark, as customBiggerIsBetter: QPS and relative QPS",
    reader: "[github-action-benchmark](https://github.com/benchmark-action/github-action-benchmark), tool \
             `customBiggerIsBetter`",
    endings: &[".github.json"],
    undecided: "the estimate, with its interval in `range`; verdict and reason in `extra`",
    failed: "left out",
    render: FeedRender::Study(render),
};

#[derive(Serialize)]
struct BenchmarkEntry {
    name: String,
    unit: &'static str,
    value: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

fn render(record: &StudyRecord, judgement: &Judgement) -> FeedText {
    let (mut entries, mut left_out) = (Vec::new(), Vec::new());
    for cell in cells(&JudgedStudy::new(record, judgement)) {
        let before = entries.len();
        for (figure, unit) in [(QPS, "ops/s"), (RQPS, "ratio")] {
            entries.extend(entry(&cell, figure.place, unit, cell.estimate(&figure)));
        }
        if entries.len() == before {
            left_out.push(cell.left_out());
        }
    }
    FeedText { text: json::text(entries), left_out }
}

fn entry(
    cell: &FeedCell<'_>,
    figure: &str,
    unit: &'static str,
    estimate: Option<Estimate>,
) -> Option<BenchmarkEntry> {
    Some(BenchmarkEntry {
        name: format!("{}/{figure}", cell.path()),
        unit,
        value: value(estimate)?.into(),
        range: range(estimate?),
        extra: extra(cell),
    })
}

/// The interval, which need not be symmetric.
fn range(estimate: Estimate) -> Option<String> {
    let ends = [estimate.low, estimate.high].map(finite);
    let [Some(low), Some(high)] = ends.map(|end| Digits::from_value(end?)) else { return None };
    Some(format!("95% interval: {low} to {high}"))
}

fn extra(cell: &FeedCell<'_>) -> String {
    let verdict = cell.verdict().map(|verdict| match cell.why() {
        Some(why) => format!("verdict: {} ({why})", verdict.word()),
        None => format!("verdict: {}", verdict.word()),
    });
    let record = cell.study.record;
    let base = record.systems.iter().find(|it| it.is_base).filter(|_| !cell.system.is_base);
    let base = base.map(|it| format!("base: {} {}", it.name, it.artifact.version()));
    let lines = [
        verdict,
        Some(format!("version: {}", cell.system.artifact.version())),
        base,
        Some(format!("study: {}", record.study.id)),
        record.began_ms().and_then(rfc3339).map(|it| format!("started: {it}")),
    ];
    let lines = lines.into_iter().flatten().map(|line| printable(&line).into_owned());
    lines.collect::<Vec<_>>().join("\n")
}
