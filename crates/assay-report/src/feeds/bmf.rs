//! Bencher's metric format: benchmarks, their measures, and the value of each with the ends of its interval.
//!
//! Bencher knows the units of `throughput` (operations per second) and `latency` (nanoseconds). The names of the other
//! measures contain theirs.

use std::collections::BTreeMap;

use assay_model::{Estimate, StudyRecord};
use assay_verdict::Judgement;
use serde::Serialize;

use super::feed::{
    FEED_FIGURES, Feed, FeedCell, FeedFigure, FeedRender, FeedText, cells, finite, value,
};
use crate::data::json;
use crate::data::number::Number;
use crate::sections::study::JudgedStudy;

pub(super) static FEED: Feed = Feed {
    word: "bmf",
    about: "For Bencher: benchmarks and their measures, with intervals",
    reader: "[Bencher](https://bencher.dev), adapter `json`",
    endings: &[".bmf.json", ".bmf"],
    undecided: "the estimate, with its interval as `lower_value` and `upper_value`; the format has no verdicts",
    failed: "left out",
    render: FeedRender::Study(render),
};

/// Bencher's limit for the name of a benchmark, bytes.
const NAME_MAX: usize = 1024;

#[derive(Serialize)]
struct BencherMetric {
    value: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<Number>,
}

fn render(record: &StudyRecord, judgement: &Judgement) -> FeedText {
    let (mut benchmarks, mut left_out) = (BTreeMap::new(), Vec::new());
    for cell in cells(&JudgedStudy::new(record, judgement)) {
        let (name, measures) = (cell.path(), measures(&cell));
        if measures.is_empty() {
            left_out.push(cell.left_out());
        } else if name.len() > NAME_MAX {
            left_out.push(format!(
                "{name}: the name is longer than the {NAME_MAX} bytes that Bencher takes"
            ));
        } else {
            benchmarks.insert(name, measures);
        }
    }
    FeedText { text: json::text(benchmarks), left_out }
}

fn measures(cell: &FeedCell<'_>) -> BTreeMap<&'static str, BencherMetric> {
    let measure = |figure: &FeedFigure| {
        let estimate = cell.estimate(figure)?;
        let estimate = match figure.is_time() {
            true => Estimate::without_interval(estimate.value * 1e3),
            false => estimate,
        };
        Some((figure.bencher, BencherMetric::new(estimate)?))
    };
    FEED_FIGURES.iter().filter(|it| !it.bencher.is_empty()).filter_map(measure).collect()
}

impl BencherMetric {
    fn new(estimate: Estimate) -> Option<Self> {
        let end = |end| finite(end).map(Number::from);
        Some(Self {
            value: value(Some(estimate))?.into(),
            lower_value: end(estimate.low),
            upper_value: end(estimate.high),
        })
    }
}
