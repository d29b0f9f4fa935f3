//! Changes of tests in a line of versions, step by step.

use assay_model::{CellId, Verdict};
use assay_verdict::{LineStep, LineSummary};

use super::caveats::is_same_maker;
use super::study::JudgedStudy;
use crate::number::confidence;
use crate::ratio::change_in_words;
use crate::words::Symbol;

/// Sentences omit shares of a change and confidences from this value on.
const NEARLY_ALL: f64 = 0.95;

pub(crate) struct StepTable<'a> {
    /// Earliest version first.
    pub(crate) versions: Vec<usize>,
    /// One row per cell, in the order in which they run.
    pub(crate) rows: Vec<CellSteps<'a>>,
}

pub(crate) struct CellSteps<'a> {
    pub(crate) cell: CellId,
    pub(crate) steps: &'a [LineStep],
    pub(crate) change: Option<TestChange>,
}

pub(crate) struct TestChange {
    pub(crate) verdict: Verdict,
    pub(crate) name: String,
    /// `slower from mariadb@11.4 on (−4.1% [−5.0%, −3.2%] at that step)`.
    pub(crate) sentence: String,
    /// Absolute logarithm of the largest change.
    size: f64,
}

pub(crate) fn tables<'a>(study: &JudgedStudy<'a>) -> Vec<StepTable<'a>> {
    let mut tables: Vec<StepTable> = Vec::new();
    let is_same_line =
        |one: &LineStep, next: &LineStep| (one.cell, one.to) == (next.cell, next.from);
    for steps in study.judgement.steps.chunk_by(is_same_line) {
        let cell = steps[0].cell;
        let versions: Vec<usize> =
            std::iter::once(steps[0].from).chain(steps.iter().map(|step| step.to)).collect();
        let mut lines = study.judgement.lines.iter();
        let line = lines.find(|line| line.cell == cell && line.systems == versions);
        let row = CellSteps { cell, steps, change: change(study, steps, line) };
        match tables.iter_mut().find(|table| table.versions == versions) {
            Some(table) => table.rows.push(row),
            None => tables.push(StepTable { versions, rows: vec![row] }),
        }
    }
    tables
}

/// Largest change first.
pub(crate) fn changes<'t>(tables: &'t [StepTable]) -> Vec<&'t TestChange> {
    let rows = tables.iter().flat_map(|table| &table.rows);
    let mut changes: Vec<&TestChange> = rows.filter_map(|row| row.change.as_ref()).collect();
    changes.sort_by(|one, other| other.size.total_cmp(&one.size));
    changes
}

/// `None` if neither a step nor the whole line changed.
fn change(
    study: &JudgedStudy,
    steps: &[LineStep],
    line: Option<&LineSummary>,
) -> Option<TestChange> {
    let named: Vec<&LineStep> = steps.iter().filter(|step| step.is_change).collect();
    let size = |ratio: Option<assay_model::Estimate>| ratio.map_or(0.0, |it| it.value.ln().abs());
    let (verdict, sentence, size) = match (&named[..], line) {
        ([], Some(line)) => (line.verdict, without_a_step(study, line)?, size(line.ratio)),
        ([], None) => return None,
        ([first, ..], line) => {
            let largest = named.iter().map(|step| size(step.ratio)).fold(0.0, f64::max);
            (first.verdict, with_steps(study, &named, line)?, largest)
        }
    };
    let name = study.cell_name(steps[0].cell);
    Some(TestChange { verdict, name, sentence, size })
}

/// A change of the whole line that no single step explains.
fn without_a_step(study: &JudgedStudy, line: &LineSummary) -> Option<String> {
    let is_called = matches!(line.verdict, Verdict::Faster | Verdict::Slower);
    let (first, last) = (line.systems.first()?, line.systems.last()?);
    let change = line.ratio.filter(|_| is_called).and_then(change_in_words)?;
    Some(format!(
        "{} from {} to {} ({change}), but at no single step for certain",
        line.verdict.word(),
        study.label(*first),
        study.label(*last)
    ))
}

fn with_steps(
    study: &JudgedStudy,
    named: &[&LineStep],
    line: Option<&LineSummary>,
) -> Option<String> {
    let step = |step: &&LineStep| {
        let (word, to) = (step.verdict.word(), study.label(step.to));
        let change = change_in_words(step.ratio?)?;
        let [before, after] = [step.from, step.to].map(|system| &study.record.systems[system]);
        let also = if is_same_maker(before, after) { "" } else { ", to another maker's build" };
        Some(match line {
            Some(_) => format!("{word} from {to} on ({change} at that step{also})"),
            None => format!("{to} {word} than {} ({change})", study.label(step.from)),
        })
    };
    let steps: Option<Vec<String>> = named.iter().map(step).collect();
    Some(steps?.join(", then ") + &share(study, line))
}

/// Share of the largest step in the whole change; empty if it is nearly all of it and certainly the largest.
fn share(study: &JudgedStudy, line: Option<&LineSummary>) -> String {
    let Some(main) = line.and_then(|line| line.main) else { return String::new() };
    let part = (main.share < NEARLY_ALL)
        .then(|| format!("makes up about {:.0}% of the whole change", 100.0 * main.share));
    let largest = (main.confidence < NEARLY_ALL)
        .then(|| format!("is the largest with {} confidence", confidence(main.confidence)));
    match [part, largest].into_iter().flatten().collect::<Vec<_>>().join(" and ") {
        nothing if nothing.is_empty() => nothing,
        what => format!("; the step to {} {what}", study.label(main.to)),
    }
}

impl TestChange {
    /// `▼ point-query: slower from mariadb@11.4 on (...)`.
    pub(crate) fn line(&self) -> String {
        format!("{} {}: {}", self.verdict.symbol(), self.name, self.sentence)
    }
}
