//! Tests over a line of versions: the relative QPS of each version, and the steps between neighbours.

use assay_model::{CellId, Estimate, Group, Setup, Verdict};
use assay_verdict::{LineSummary, Step};

use super::study::JudgedStudy;
use crate::number::confidence;
use crate::ratio::change_in_words;
use crate::words::Symbol;
use assay_model::versions;

pub(crate) struct VersionLine<'a> {
    /// Earliest version first.
    pub(crate) labels: Vec<&'a str>,
    pub(crate) short: Vec<String>,
    pub(crate) sections: Vec<VersionSection<'a>>,
}

pub(crate) struct VersionSection<'a> {
    pub(crate) setup: Setup,
    pub(crate) group: &'static Group,
    pub(crate) tests: Vec<VersionTest<'a>>,
}

pub(crate) struct VersionTest<'a> {
    pub(crate) test: &'a str,
    pub(crate) points: Vec<VersionPoint>,
}

pub(crate) struct VersionPoint {
    /// Relative to the base; 1 for the base.
    pub(crate) ratio: Option<Estimate>,
    /// The step from the previous version; `None` for the first.
    pub(crate) step: Option<StepMark>,
}

pub(crate) struct StepMark {
    pub(crate) verdict: Verdict,
    /// Size and confidence, if reports name the step.
    pub(crate) change: Option<String>,
}

pub(crate) fn lines<'a>(study: &'a JudgedStudy<'a>) -> Vec<VersionLine<'a>> {
    let mut lines: Vec<(&[usize], Vec<&LineSummary>)> = Vec::new();
    for summary in &study.judgement.lines {
        match lines.iter_mut().find(|(systems, _)| *systems == summary.systems) {
            Some((_, summaries)) => summaries.push(summary),
            None => lines.push((&summary.systems, vec![summary])),
        }
    }
    lines.into_iter().map(|(systems, summaries)| line(study, systems, summaries)).collect()
}

fn line<'a>(
    study: &'a JudgedStudy<'a>,
    systems: &[usize],
    summaries: Vec<&'a LineSummary>,
) -> VersionLine<'a> {
    let group = |cell: CellId| study.cell(cell, study.base).map(|judged| judged.group);
    let mut cells: Vec<(CellId, &'static Group)> =
        summaries.iter().filter_map(|it| Some((it.cell, group(it.cell)?))).collect();
    // A stable sort keeps the tests of a group in the order in which they run.
    cells.sort_by_key(|(cell, group)| (cell.setup, *group));
    let sections = cells.chunk_by(|(a, one), (b, next)| (a.setup, one) == (b.setup, next));
    let section = |cells: &[(CellId, &'static Group)]| {
        let (first, group) = *cells.first()?;
        let tests = cells.iter().map(|(cell, _)| test(study, *cell, systems)).collect();
        Some(VersionSection { setup: first.setup, group, tests })
    };
    let labels: Vec<&str> = systems.iter().map(|&system| study.label(system)).collect();
    VersionLine {
        short: versions(&labels),
        labels,
        sections: sections.filter_map(section).collect(),
    }
}

fn test<'a>(study: &'a JudgedStudy<'a>, cell: CellId, systems: &[usize]) -> VersionTest<'a> {
    let steps = study.judgement.steps.iter().filter(|step| step.cell == cell);
    let steps: Vec<&Step> = steps.collect();
    let point = |&system: &usize| VersionPoint {
        ratio: match study.cell(cell, system) {
            Some(judged) if system == study.base => {
                judged.qps.map(|_| Estimate::without_interval(1.0))
            }
            judged => judged.filter(|it| it.verdict != Verdict::Failed).and_then(|it| it.rqps),
        },
        step: steps.iter().find(|step| step.to == system).map(|step| mark(step)),
    };
    VersionTest { test: cell.test.name(), points: systems.iter().map(point).collect() }
}

fn mark(step: &Step) -> StepMark {
    let change = || {
        let size = change_in_words(step.ratio?)?;
        let certain = step.beyond_threshold.map(confidence);
        let certain = certain.map_or_else(String::new, |certain| format!(", {certain}"));
        Some(format!("{} {size}{certain}", step.verdict.symbol()))
    };
    StepMark { verdict: step.verdict, change: if step.is_change { change() } else { None } }
}

impl VersionLine<'_> {
    pub(crate) fn has_intervals(&self) -> bool {
        self.sections.iter().flat_map(|section| &section.tests).any(VersionTest::has_intervals)
    }
}

impl VersionTest<'_> {
    pub(crate) fn has_intervals(&self) -> bool {
        self.points.iter().filter_map(|point| point.ratio).any(|ratio| ratio.has_interval())
    }
}
