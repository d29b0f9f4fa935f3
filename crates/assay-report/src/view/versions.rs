//! Tests over a line of versions: the relative QPS of each version, and the steps between neighbours.

use std::collections::BTreeSet;

use assay_model::{CellId, Estimate, Verdict, versions};
use assay_verdict::{CellJudgement, LineStep};

use super::study::{JudgedStudy, TestGroup};
use crate::number::confidence;
use crate::ratio::change_in_words;
use crate::words::Symbol;

pub(crate) struct VersionLine<'a> {
    /// Earliest version first.
    pub(crate) labels: Vec<&'a str>,
    pub(crate) short: Vec<String>,
    pub(crate) sections: Vec<VersionSection<'a>>,
}

pub(crate) type VersionSection<'a> = TestGroup<VersionTest<'a>>;

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
    let mut lines: Vec<(&[usize], BTreeSet<CellId>)> = Vec::new();
    for summary in &study.judgement.lines {
        match lines.iter_mut().find(|(systems, _)| *systems == summary.systems) {
            Some((_, cells)) => _ = cells.insert(summary.cell),
            None => lines.push((&summary.systems, BTreeSet::from([summary.cell]))),
        }
    }
    let line = |(systems, cells): (&[usize], BTreeSet<CellId>)| {
        let labels: Vec<&str> = systems.iter().map(|&system| study.label(system)).collect();
        let test = |base: &CellJudgement| {
            cells.contains(&base.cell).then(|| test(study, base.cell, systems))
        };
        VersionLine { short: versions(&labels), labels, sections: study.grouped(test) }
    };
    lines.into_iter().map(line).collect()
}

fn test<'a>(study: &'a JudgedStudy<'a>, cell: CellId, systems: &[usize]) -> VersionTest<'a> {
    let steps = study.judgement.steps.iter().filter(|step| step.cell == cell);
    let steps: Vec<&LineStep> = steps.collect();
    let point = |&system: &usize| VersionPoint {
        ratio: study.ratio(cell, system),
        step: steps.iter().find(|step| step.to == system).map(|step| mark(step)),
    };
    VersionTest { test: cell.test.name(), points: systems.iter().map(point).collect() }
}

fn mark(step: &LineStep) -> StepMark {
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
        self.sections.iter().flat_map(|section| &section.rows).any(VersionTest::has_intervals)
    }
}

impl VersionTest<'_> {
    pub(crate) fn has_intervals(&self) -> bool {
        self.points.iter().filter_map(|point| point.ratio).any(|ratio| ratio.has_interval())
    }
}
