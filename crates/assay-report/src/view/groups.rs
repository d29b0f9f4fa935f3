//! Relative QPS by group, as in the published tables.

use assay_model::{Estimate, Group, Setup};
use assay_verdict::GroupSummary;

use super::reasons;
use super::study::JudgedStudy;
use crate::number::NONE;
use crate::ratio::{Ratio, short};

pub(crate) struct GroupRow<'a> {
    pub(crate) group: &'static Group,
    pub(crate) setup: Setup,
    pub(crate) system_number: usize,
    pub(crate) system: &'a str,
    pub(crate) is_twin: bool,
    /// Tests with a relative QPS: `5`, or `5 of 6` if one was not answered.
    pub(crate) n: String,
    /// Smallest, largest and mean relative QPS.
    pub(crate) extent: [String; 3],
    pub(crate) stddev: String,
    pub(crate) median: Ratio,
    pub(crate) span: (f64, f64),
    /// Causes of its tests' changes; `None` if none changed.
    pub(crate) why: Option<String>,
}

pub(crate) fn rows<'a>(study: &'a JudgedStudy<'a>) -> Vec<GroupRow<'a>> {
    let groups = study.judgement.groups.iter();
    let compared = groups.filter(|summary| study.compared.contains(&summary.system));
    let row = |summary: &GroupSummary| GroupRow {
        group: summary.group,
        setup: summary.setup,
        system_number: summary.system,
        system: study.label(summary.system),
        is_twin: study.is_twin(summary.system),
        n: match summary.bounded {
            0 => summary.n.to_string(),
            bounded => format!("{} of {}", summary.n, summary.n + bounded),
        },
        extent: [summary.min, summary.max, summary.avg].map(short),
        stddev: summary.stddev.map_or_else(|| NONE.to_owned(), |it| format!("{it:.3}")),
        median: Ratio(Some(
            summary.median_interval.unwrap_or(Estimate::without_interval(summary.median)),
        )),
        span: (summary.min, summary.max),
        why: reasons::of_group(&study.judgement.cells, summary),
    };
    compared.map(row).collect()
}
