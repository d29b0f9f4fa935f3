//! The search for the version that made a change: `assay bisect`.

mod drawn;
mod found;
mod rows;
mod words;

use crate::charts::{ChartFile, Place};
use crate::data::json;
use crate::document::{Block, Column, Document, Heading, Row, Table, Wish};
use crate::number::{confidence, thousands};
use crate::page::{Content, Page};
use words::{answer, cost, notes};

pub(crate) use words::{ratio as ratio_of, ratio_heading};

pub use found::{
    Bisection, ChangedFunctions, FunctionUnit, RangeEnd, SearchedRange, SearchedVersion,
    VersionStep,
};

#[must_use]
pub fn bisection<'a>(search: &'a Bisection<'a>) -> Page<'a> {
    Page::new(search)
}

impl Content for &Bisection<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        let mut blocks = vec![Block::Answer(vec![answer(self)])];
        blocks.extend(Block::notes(notes(self)));
        blocks.push(Block::Images(wish.images.at(&Place::Elsewhere)));
        for range in self.ranges.iter().rev() {
            blocks.extend(section(self, range));
        }
        let plan = self.plan.as_ref();
        let plan = plan.map(|[before, now]| format!("the plan changed there: {before} → {now}"));
        blocks.extend(Block::notes(plan));
        blocks.extend(functions(self));
        blocks.extend(Block::notes([cost(self)]));
        let command = |(before, command): &(&str, String)| Block::Command {
            before: format!("{before}: "),
            command: command.clone(),
            after: String::new(),
        };
        blocks.extend(self.commands.iter().map(command));
        then(&Document {
            title: format!("{} from version to version: {}", self.test, self.range),
            heading: Heading {
                before: self.range.to_owned(),
                small: "which version changed",
                after: self.test.to_owned(),
            },
            blocks,
            ..Document::default()
        });
    }

    fn json(&self) -> Option<String> {
        Some(json::text(&rows::document(self)))
    }

    fn charts(&self) -> Vec<ChartFile> {
        drawn::charts(self)
    }
}

fn section(search: &Bisection<'_>, range: &SearchedRange) -> Vec<Block<'static>> {
    let is_step = |at: usize| range.steps.iter().any(|step| step.at == at);
    let is_mixed = range.sources().is_some();
    let is_told = |it: &SearchedVersion| it.ratio.is_some() || it.unusable.is_some();
    let message = range.versions.iter().enumerate().filter(|(_, it)| is_told(it));
    let rows = message.map(|(at, it)| {
        let probability = match it.probability {
            none if at == 0 || it.unusable.is_some() || none < 0.005 => String::new(),
            some => confidence(some),
        };
        let note = it.unusable.as_ref().map(|why| format!("skipped: {why}"));
        Row::new([
            if is_step(at) { "◆".to_owned() } else { String::new() },
            it.version.name.clone(),
            words::ratio(search.measure, it.ratio),
            probability,
            if it.comparisons == 0 { String::new() } else { it.comparisons.to_string() },
            note.or_else(|| it.version.title.clone())
                .or_else(|| it.source.clone().filter(|_| is_mixed))
                .unwrap_or_default(),
        ])
    });
    let columns = vec![
        Column::words(""),
        Column::words(if search.is_of_commits { "commit" } else { "version" }),
        Column::numbers(words::ratio_heading(search.measure)),
        Column::numbers("changed here"),
        Column::numbers("comparisons"),
        Column::words(if is_mixed { "source" } else { "" }),
    ];
    let mut blocks: Vec<Block<'_>> = drawn::inline(search, range).into_iter().collect();
    blocks.push(Block::Table(Table::new(columns, rows).flush()));
    let left = range.versions.len() - range.versions.iter().filter(|it| is_told(it)).count();
    let other = format!("other {}", if search.is_of_commits { "commit" } else { "version" });
    let why = match range.end {
        RangeEnd::Found | RangeEnd::NoStep => "not needed",
        _ => "not compared",
    };
    let untried =
        (left > 0).then(|| format!("{why}: {}", assay_model::counted(left as u64, &other)));
    blocks.extend(Block::notes(untried.into_iter().chain(words::runners_up(range))));
    let ends = [0, range.versions.len().saturating_sub(1)].map(|end| range.name(end));
    Block::section(format!("{} to {}", ends[0], ends[1]), blocks)
}

fn functions(search: &Bisection<'_>) -> Vec<Block<'static>> {
    let Some(functions) = &search.functions else { return Vec::new() };
    let (heading, number): (_, fn(f64) -> String) = match functions.unit {
        FunctionUnit::Instructions => ("change, instructions per operation", thousands),
        FunctionUnit::CpuMicroseconds => {
            ("change, µs of CPU time per operation", |it| format!("{it:.2}").replace('-', "−"))
        }
    };
    let signed = |it: f64| format!("{}{}", if it > 0.0 { "+" } else { "" }, number(it));
    let columns = vec![Column::words("function"), Column::numbers(heading)];
    let rows = functions.changes.iter().map(|(name, by)| {
        let interval =
            by.has_interval().then(|| format!(" [{}, {}]", signed(by.low), signed(by.high)));
        Row::new([name.clone(), signed(by.value) + &interval.unwrap_or_default()])
    });
    Block::section("functions that changed", vec![Block::Table(Table::new(columns, rows).flush())])
}

#[cfg(test)]
mod tests;
