//! Tests from version to version: small charts, the steps, and where tests changed.

use assay_model::{CellId, Verdict};
use assay_verdict::LineStep;

use super::answer::and_more;
use crate::charts::versions::{VersionPanels, measured, note, told_changes};
use crate::document::{
    Block, Caption, Column, Figure, Fold, Look, Row, Section, Table, TableCell, Wish,
};
use crate::number::{NONE, confidence};
use crate::ratio::change_in_words;
use crate::text::{Text, hidden, link, symbol, words};
use crate::view::Report;
use crate::view::steps::{StepTable, TestChange};
use crate::view::versions::{VersionLine, VersionSection, VersionTest};
use crate::words::{STEPS_LEGEND, Symbol as _, sentence};

pub(super) fn panels(report: &Report) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    for (line, number) in report.versions.iter().zip(1..) {
        blocks.extend(Block::prose("", [note(report, line.has_intervals())]));
        for (section, part) in line.sections.iter().zip(1..) {
            let setup = report.several_setups.then(|| report.setup(section.setup));
            let figures = figures(report, line, section, &format!("ground-{number}-{part}"));
            blocks.push(Block::Section(Section {
                class: "versions",
                blocks: vec![Block::Figures("panels", figures)],
                ..Section::new(Text::from(section.group.word.as_str()).of(setup), Fold::Open)
            }));
        }
    }
    Block::place("versions", "Versions", "From version to version", blocks)
}

/// A chart for each test of a group. `ground` is the name of their common part.
fn figures(
    report: &Report,
    line: &VersionLine,
    section: &VersionSection,
    ground: &str,
) -> Vec<Figure> {
    let tests: Vec<&VersionTest> = measured(section).collect();
    let Some(panels) = VersionPanels::new(report, line, &tests) else { return Vec::new() };
    let drawing = |(number, test): (usize, &VersionTest)| {
        let (paper, height) = panels.alone(test, ground, number == 0);
        Figure { svg: paper.inline(height, &told_changes(line, test)), ..Figure::default() }
    };
    tests.into_iter().enumerate().map(drawing).collect()
}

/// Changes in a line of versions: at most `most`, or, on a page, every step.
pub(super) fn changes(report: &Report, most: usize, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if wish.is_page() {
        let tables = report.steps.iter().map(|table| Block::Table(steps(report, table)));
        return Block::place("steps", "Steps", "Steps", tables.collect());
    }
    let changes = report.changes();
    let more = and_more(changes.len().saturating_sub(most));
    let lines = changes.into_iter().take(most).map(TestChange::line).chain(more);
    let heading = wish.heading("where it changed, the largest changes first");
    Block::section(heading, Block::explained(lines.collect(), STEPS_LEGEND))
}

fn steps(report: &Report, table: &StepTable) -> Table {
    let note = format!(
        "QPS of each version, from {} on, relative to the version before it, with 95% interval. The last column says \
         where a test changed, and the confidence of a step, in its title, is that its change exceeds {}. {}",
        report.study.label(table.versions[0]),
        report.tests.threshold,
        sentence(STEPS_LEGEND)
    );
    let later = table.versions[1..].iter().map(|system| report.study.label(*system));
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
        let setup = report.several_setups.then(|| report.setup(setup));
        let to = format!("#test-{}", report.study.number_of(row.cell));
        let name = Text::from(link(to, test.name())).of(setup);
        let change = row.change.as_ref().map_or("", |change| change.sentence.as_str());
        let steps = row.steps.iter().map(step);
        Row::new(std::iter::once(TableCell::from(name)).chain(steps).chain([change.into()]))
    });
    let class = if report.is_large { "plain" } else { "stack" }.to_owned();
    let look = Look { class, scroll: "steps", label: "Steps", ..Look::default() };
    let caption = Some(Caption { note, ..Caption::default() });
    Table { caption, ..Table::new(columns, rows).look(look) }
}
