//! Changes of tests in a line of versions, step by step.

use assay_model::{Setup, Verdict};
use assay_verdict::{LineSummary, Step};

use super::caveats::is_same_maker;
use super::study::JudgedStudy;
use crate::number::{NONE, confidence};
use crate::ratio::change_in_words;
use crate::words::Symbol;

/// Sentences omit shares of a change and confidences from this value on.
const NEARLY_ALL: f64 = 0.95;

pub(crate) struct StepTable<'a> {
    /// Labels, earliest version first.
    pub(crate) versions: Vec<&'a str>,
    /// One row per cell, in the order in which they run.
    pub(crate) rows: Vec<StepRow<'a>>,
}

impl StepTable<'_> {
    pub(crate) fn first(&self) -> &str {
        self.versions.first().copied().unwrap_or_default()
    }

    pub(crate) fn later(&self) -> &[&str] {
        self.versions.get(1..).unwrap_or_default()
    }
}

pub(crate) struct StepRow<'a> {
    pub(crate) cell: usize,
    pub(crate) test: &'a str,
    pub(crate) setup: Setup,
    pub(crate) steps: Vec<StepFigure>,
    pub(crate) change: Option<TestChange>,
}

pub(crate) struct StepFigure {
    pub(crate) verdict: Verdict,
    pub(crate) change: String,
    /// Confidence that the change exceeds the threshold.
    pub(crate) confidence: String,
}

pub(crate) struct TestChange {
    pub(crate) verdict: Verdict,
    pub(crate) name: String,
    /// `slower from mariadb@11.4 on (−4.1% [−5.0%, −3.2%] at that step)`.
    pub(crate) sentence: String,
    /// Absolute logarithm of the largest change.
    size: f64,
}

pub(crate) fn tables<'a>(study: &'a JudgedStudy<'a>) -> Vec<StepTable<'a>> {
    let mut tables: Vec<(Vec<usize>, StepTable)> = Vec::new();
    let is_same_line = |one: &Step, next: &Step| (one.cell, one.to) == (next.cell, next.from);
    for steps in study.judgement.steps.chunk_by(is_same_line) {
        let versions: Vec<usize> =
            steps.iter().take(1).map(|it| it.from).chain(steps.iter().map(|it| it.to)).collect();
        let found = row(study, &versions, steps);
        match tables.iter_mut().find(|(of, _)| *of == versions) {
            Some((_, table)) => table.rows.extend(found),
            None => {
                let labels = versions.iter().map(|&system| study.label(system)).collect();
                let rows = found.into_iter().collect();
                tables.push((versions, StepTable { versions: labels, rows }));
            }
        }
    }
    tables.into_iter().map(|(_, table)| table).collect()
}

/// Largest change first.
pub(crate) fn changes<'t>(tables: &'t [StepTable]) -> Vec<&'t TestChange> {
    let rows = tables.iter().flat_map(|table| &table.rows);
    let mut changes: Vec<&TestChange> = rows.filter_map(|row| row.change.as_ref()).collect();
    changes.sort_by(|one, other| other.size.total_cmp(&one.size));
    changes
}

fn row<'a>(
    study: &'a JudgedStudy<'a>,
    versions: &[usize],
    steps: &'a [Step],
) -> Option<StepRow<'a>> {
    let cell = steps.first()?.cell;
    let mut lines = study.judgement.lines.iter();
    let line = lines.find(|line| line.cell == cell && line.systems == versions);
    Some(StepRow {
        cell: study.number_of(cell),
        test: &cell.test.definition().name,
        setup: cell.setup,
        steps: steps.iter().map(figure).collect(),
        change: change(study, steps, line),
    })
}

fn figure(step: &Step) -> StepFigure {
    let change = step.ratio.filter(|_| step.verdict != Verdict::Failed).and_then(change_in_words);
    StepFigure {
        verdict: step.verdict,
        change: change.unwrap_or_else(|| NONE.to_owned()),
        confidence: step.beyond_threshold.map_or_else(|| NONE.to_owned(), confidence),
    }
}

/// `None` if neither a step nor the whole line changed.
fn change(study: &JudgedStudy, steps: &[Step], line: Option<&LineSummary>) -> Option<TestChange> {
    let named: Vec<&Step> = steps.iter().filter(|step| step.is_change).collect();
    let size = |ratio: Option<assay_model::Estimate>| ratio.map_or(0.0, |it| it.value.ln().abs());
    let (verdict, sentence, size) = match (&named[..], line) {
        ([], Some(line)) => (line.verdict, without_a_step(study, line)?, size(line.ratio)),
        ([], None) => return None,
        ([first, ..], line) => {
            let largest = named.iter().map(|step| size(step.ratio)).fold(0.0, f64::max);
            (first.verdict, with_steps(study, &named, line)?, largest)
        }
    };
    let name = study.cell_name(steps.first()?.cell);
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

fn with_steps(study: &JudgedStudy, named: &[&Step], line: Option<&LineSummary>) -> Option<String> {
    let step = |step: &&Step| {
        let (word, to) = (step.verdict.word(), study.label(step.to));
        let change = change_in_words(step.ratio?)?;
        let makers = [step.from, step.to].map(|it| study.record.systems.get(it));
        let is_same = matches!(makers, [Some(from), Some(to)] if is_same_maker(from, to));
        let also = if is_same { "" } else { ", to another maker's build" };
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
