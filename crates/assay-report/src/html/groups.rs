//! Relative QPS by group, as in the published tables.

use assay_model::{Estimate, StudyRecord};
use assay_verdict::{GroupSummary, Judgement};

use super::chart::{Scale, Strip};
use super::figure::{Ratio, setup_words};
use crate::label::label;
use crate::number::NONE;

/// One group, setup and system.
pub(crate) struct GroupRow {
    pub(crate) group: &'static str,
    pub(crate) title: &'static str,
    pub(crate) setup: String,
    pub(crate) system: String,
    pub(crate) n: u32,
    pub(crate) min: String,
    pub(crate) max: String,
    pub(crate) avg: String,
    pub(crate) stddev: String,
    pub(crate) median: Ratio,
    pub(crate) strip: Strip,
}

/// All groups of all systems but the twin.
pub(crate) fn rows(record: &StudyRecord, judgement: &Judgement, scale: Scale) -> Vec<GroupRow> {
    let is_twin =
        |summary: &GroupSummary| record.systems.get(summary.system).is_some_and(|s| s.is_twin);
    judgement
        .groups
        .iter()
        .filter(|summary| !is_twin(summary))
        .map(|summary| row(record, summary, scale))
        .collect()
}

fn row(record: &StudyRecord, summary: &GroupSummary, scale: Scale) -> GroupRow {
    let median =
        summary.median_interval.unwrap_or_else(|| Estimate::without_interval(summary.median));
    GroupRow {
        group: summary.group.word.as_str(),
        title: summary.group.title.as_str(),
        setup: setup_words(summary.setup),
        system: label(record, summary.system),
        n: summary.n,
        min: format!("{:.2}", summary.min),
        max: format!("{:.2}", summary.max),
        avg: format!("{:.2}", summary.avg),
        stddev: summary.stddev.map_or_else(|| NONE.to_owned(), |s| format!("{s:.3}")),
        median: Ratio::new(Some(median)),
        strip: Strip {
            scale,
            estimate: Some(median),
            span: Some((summary.min, summary.max)),
            class: side(median),
        },
    }
}

/// On which side of 1 the whole interval lies.
fn side(median: Estimate) -> &'static str {
    if median.high < 1.0 {
        "slower"
    } else if median.low > 1.0 {
        "faster"
    } else {
        "same"
    }
}
