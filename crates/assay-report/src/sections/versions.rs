//! Tests over a line of versions: small charts of the relative QPS of each version, with the steps between neighbours.

use std::collections::BTreeSet;

use assay_model::{CellId, versions};
use assay_verdict::{CellJudgement, LineStep};

use super::study::JudgedStudy;
use crate::charts::Place;
use crate::charts::versions::{
    StepMark, VersionLine, VersionPanels, VersionPoint, VersionSection, VersionTest, measured,
    note, told_changes,
};
use crate::document::{Block, Figure, Fold, Section, Wish};
use crate::number::confidence;
use crate::ratio::change_in_words;
use crate::text::Text;
use crate::words::Symbol;

/// Only a page has them.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if !wish.is_page() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    for (line, number) in lines(study).iter().zip(1..) {
        let mut tests = line.sections.iter().flat_map(|section| &section.rows);
        blocks.extend(Block::prose("", [note(study, tests.any(VersionTest::has_intervals))]));
        for (section, part) in line.sections.iter().zip(1..) {
            let setup = study.setup_if_several(section.setup);
            let figures = figures(study, line, section, &format!("ground-{number}-{part}"));
            blocks.push(Block::Section(Section {
                class: "versions",
                blocks: vec![Block::Figures("panels", figures)],
                ..Section::new(
                    Text::from(section.group.word.as_str()).with_setup(setup),
                    Fold::Open,
                )
            }));
        }
    }
    Block::place("versions", "Versions", "From version to version", blocks)
}

pub(super) fn images(_: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    vec![Block::Images(wish.images.at(&Place::Versions))]
}

/// A chart for each test of a group. `ground` is the name of their common part.
fn figures(
    study: &JudgedStudy,
    line: &VersionLine,
    section: &VersionSection,
    ground: &str,
) -> Vec<Figure> {
    let tests: Vec<&VersionTest> = measured(section).collect();
    let Some(panels) = VersionPanels::new(study, line, &tests) else { return Vec::new() };
    let drawing = |(number, test): (usize, &VersionTest)| {
        let (paper, height) = panels.alone(test, ground, number == 0);
        Figure { svg: paper.inline(height, &told_changes(line, test)), ..Figure::default() }
    };
    tests.into_iter().enumerate().map(drawing).collect()
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
