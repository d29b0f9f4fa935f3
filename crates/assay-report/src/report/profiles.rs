//! The profiles of the sampled tests.

use crate::document::{Block, Column, Figure, Fold, Frame, Row, Section, Table};
use crate::text::{Text, of_class, words};
use crate::view::Report;
use crate::view::account::AccountRow;
use crate::view::measured::{Measured, TestRow};
use crate::view::profile::Calls;

pub(super) fn blocks(report: &Report) -> Vec<Block<'static>> {
    if !report.has_profiles() {
        return Vec::new();
    }
    let intro = "What the servers spend CPU time on and what their threads wait for, in the tests that were sampled.";
    let mut blocks = Block::prose("", [intro]);
    for section in &report.tests.sections {
        let rows = section.rows.iter().filter(|row| row.has_profile());
        blocks.extend(rows.enumerate().map(|(number, row)| {
            let setup = report.several_setups.then(|| report.setup(section.setup));
            let fold = if number == 0 { Fold::Open } else { Fold::Closed };
            Block::Section(Section {
                id: format!("profile-{}", row.cell),
                class: "profile",
                blocks: Block::part(Frame::Plain, "sampled", of_test(report, row)),
                ..Section::new(Text::from(row.test).of(setup), fold)
            })
        }));
    }
    Block::place("profiles", "Profiles", "Profiles", blocks)
}

fn of_test(report: &Report, row: &TestRow) -> Vec<Block<'static>> {
    let others = row.others.iter().filter(|other| !other.is_twin);
    let mut blocks: Vec<Block> = others.flat_map(|other| tables(report, other)).collect();
    for measured in row.measured() {
        blocks.extend(measured.calls.as_ref().map(|it| {
            let heading = format!("Calls of {} by CPU time", measured.system);
            calls(report, it, &heading, ["longer", "less time"])
        }));
        let limits = measured.profile_limits.iter().map(|limit| {
            let whose = format!("Profile of {}:", measured.system);
            Text::from_iter([of_class("v", whose), words(format!(" {limit}."))])
        });
        blocks.extend(Block::prose("", limits));
    }
    blocks
}

/// A drawing of calls, with the meanings of amber and of blue boxes.
pub(super) fn calls(
    report: &Report,
    calls: &Calls,
    heading: &str,
    [more, less]: [&str; 2],
) -> Block<'static> {
    let colours = match calls.is_compared {
        true => format!(": amber boxes take {more} than in {}, blue ones {less}", report.base),
        false => String::new(),
    };
    let figure = Figure { svg: calls.drawing.clone(), ..Figure::default() };
    Block::Section(Section {
        class: "calls",
        blocks: vec![Block::Figures("", vec![figure])],
        ..Section::new(format!("{heading}{colours}"), Fold::Closed)
    })
}

fn tables(report: &Report, measured: &Measured) -> Vec<Block<'static>> {
    let Some(profile) = measured.profile() else { return Vec::new() };
    let system = measured.system;
    let mut tables: Vec<Table> = Vec::new();
    for (title, lines) in &profile.tables {
        let caption = format!(
            "{system}: change of the CPU time per operation of {title}, µs [95% of sampling], by function, without \
             what it calls"
        );
        tables.push(changes(lines, PARTS).small("figures account functions", caption));
    }
    if !profile.processor.is_empty() {
        let caption = format!("{system}: instructions and cycles of serving threads [95%]");
        tables.push(changes(&profile.processor, PARTS).small("figures account", caption));
    }
    if !profile.waits.is_empty() {
        let caption = format!(
            "{system}: what serving threads wait for, µs per operation while they were sampled; without intervals. \
             Waiting for a CPU includes the time in which the client runs on it."
        );
        let columns = ["", report.base, system].map(Column::words).to_vec();
        let rows = profile
            .waits
            .iter()
            .map(|(name, [before, after])| Row::new([name, before.as_str(), after]));
        tables.push(Table::new(columns, rows).small("figures account", caption));
    }
    tables.into_iter().map(Block::Table).collect()
}

const PARTS: [&str; 3] = ["", "change", "base → system"];

/// Changes by part; certain ones stand out.
pub(super) fn changes(lines: &[AccountRow], headings: [&str; 3]) -> Table {
    let row = |line: &AccountRow| Row {
        class: if line.is_certain { "y" } else { "" },
        ..Row::new([line.name.as_ref(), line.by.as_str(), line.share.as_str()])
    };
    Table::new(headings.map(Column::words).to_vec(), lines.iter().map(row))
}
