//! Where tests changed in a line of versions, step by step.

use assay_model::{CellId, Estimate, Verdict};
use assay_verdict::{LineStep, LineSummary};

use super::caveats::is_same_maker;
use super::study::JudgedStudy;
use crate::document::{Block, Caption, Column, Look, Row, Table, TableCell, Wish, and_more};
use crate::number::{NONE, confidence, share};
use crate::ratio::change_in_words;
use crate::text::{Text, hidden, link, symbol, words};
use crate::words::{STEPS_LEGEND, Symbol, sentence};

const CHANGES_SHORT: usize = 8;

/// Sentences omit shares of a change and confidences from this value on.
const NEARLY_ALL: f64 = 0.95;

struct StepTable<'a> {
    /// Earliest version first.
    versions: Vec<usize>,
    /// One row per cell, in the order in which they run.
    rows: Vec<CellSteps<'a>>,
}

struct CellSteps<'a> {
    cell: CellId,
    steps: &'a [LineStep],
    change: Option<TestChange>,
}

struct TestChange {
    verdict: Verdict,
    name: String,
    /// `slower from mariadb@11.4 on (−4.1% [−5.0%, −3.2%] at that step)`.
    sentence: String,
    /// Absolute logarithm of the largest change.
    size: f64,
}

/// The changes, the largest first, or, on a page, every step.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let tables = tables(study);
    if wish.is_page() {
        let tables = tables.iter().map(|steps| Block::Table(table(study, steps)));
        return Block::place("steps", "Steps", "Steps", tables.collect());
    }
    let rows = tables.into_iter().flat_map(|table| table.rows);
    let mut changes: Vec<TestChange> = rows.filter_map(|row| row.change).collect();
    changes.sort_by(|one, other| other.size.total_cmp(&one.size));
    let most = wish.at_most(CHANGES_SHORT);
    let more = and_more(changes.len().saturating_sub(most));
    let lines = changes.iter().take(most).map(TestChange::line).chain(more);
    let heading = wish.heading("where it changed, the largest changes first");
    Block::section(heading, Block::explained(lines.collect(), STEPS_LEGEND))
}

fn table(study: &JudgedStudy, table: &StepTable) -> Table {
    let note = format!(
        "QPS of each version, from {} on, relative to the version before it, with 95% interval. The last column says \
         where a test changed, and the confidence of a step, in its title, is that its change exceeds {}. {}",
        study.label(table.versions[0]),
        share(study.threshold()),
        sentence(STEPS_LEGEND)
    );
    let later = table.versions[1..].iter().map(|system| study.label(*system));
    let columns = std::iter::once("Test").chain(later).map(Column::words);
    let columns = columns.chain([Column::words("Where it changed").class("change")]).collect();
    let step = |step: &LineStep| {
        let word = step.verdict.word();
        let ratio = step.ratio.filter(|_| step.verdict != Verdict::Failed);
        let change = ratio.and_then(change_in_words).unwrap_or_else(|| NONE.to_owned());
        let text = Text::from_iter([
            symbol(step.verdict.symbol()),
            words(format!(" {change}")),
            hidden(format!(" {word}")),
        ]);
        // That the change exceeds the threshold.
        let certain = step.beyond_threshold.map_or_else(|| NONE.to_owned(), confidence);
        let title = format!("confidence: {certain}");
        TableCell::from(text).class(format!("nowrap v {word}")).titled(title)
    };
    let rows = table.rows.iter().map(|row| {
        let CellId { test, setup } = row.cell;
        let to = format!("#test-{}", study.number_of(row.cell));
        let name = Text::from(link(to, test.name())).with_setup(study.setup_if_several(setup));
        let change = row.change.as_ref().map_or("", |change| change.sentence.as_str());
        let steps = row.steps.iter().map(step);
        Row::new(std::iter::once(TableCell::from(name)).chain(steps).chain([change.into()]))
    });
    let class = if study.is_large() { "plain" } else { "stack" }.to_owned();
    let look = Look { class, scroll: "steps", label: "Steps", ..Look::default() };
    let caption = Some(Caption { note, ..Caption::default() });
    Table { caption, ..Table::new(columns, rows).look(look) }
}

fn tables<'a>(study: &JudgedStudy<'a>) -> Vec<StepTable<'a>> {
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

/// `None` if neither a step nor the whole line changed.
fn change(
    study: &JudgedStudy,
    steps: &[LineStep],
    line: Option<&LineSummary>,
) -> Option<TestChange> {
    let named: Vec<&LineStep> = steps.iter().filter(|step| step.is_change).collect();
    let size = |ratio: Option<Estimate>| ratio.map_or(0.0, |it| it.value.ln().abs());
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
    Some(steps?.join(", then ") + &main_step(study, line))
}

/// Share of the largest step in the whole change; empty if it is nearly all of it and certainly the largest.
fn main_step(study: &JudgedStudy, line: Option<&LineSummary>) -> String {
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
    fn line(&self) -> String {
        format!("{} {}: {}", self.verdict.symbol(), self.name, self.sentence)
    }
}
