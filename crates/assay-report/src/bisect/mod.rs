//! Which version made a change: `assay bisect`.

mod drawn;
mod rows;
mod words;

use assay_model::{BisectMeasure, BisectVersion, Estimate, Setup};

use crate::charts::{ChartFile, Place};
use crate::data::json;
use crate::document::{Block, Column, Document, Heading, Row, Table, Wish};
use crate::number::{NONE, confidence};
use crate::page::{Content, Page};
use crate::ratio::Quotient;
use words::{answer, cost, notes};

/// A search, so far or at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection<'a> {
    /// Its id.
    pub id: &'a str,
    /// What was searched, as the user named it.
    pub range: &'a str,
    /// The test.
    pub test: &'a str,
    /// Clients, tables, rows.
    pub setup: Setup,
    /// What versions were compared by.
    pub measure: BisectMeasure,
    /// Whether the versions are commits.
    pub is_of_commits: bool,
    /// The ranges that were searched, one after the other, each within the one before.
    pub ranges: Vec<SearchedRange>,
    /// The number of comparisons.
    pub comparisons: u32,
    /// The number of commits that were built.
    pub builds: u32,
    /// Seconds that it took.
    pub elapsed_s: f64,
    /// The functions that changed most at the version that was found, and by how many instructions per operation; empty
    /// if nothing was counted.
    pub functions: Vec<(String, f64)>,
    /// Commands that show or measure it again, and what they are for.
    pub commands: Vec<(&'static str, String)>,
}

/// A range that was searched.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchedRange {
    /// Why the search ended, or that it goes on.
    pub end: RangeEnd,
    /// The versions, in order.
    pub versions: Vec<SearchedVersion>,
    /// The changes that are certain, in order.
    pub steps: Vec<VersionStep>,
    /// Other places of a change, the most probable one first.
    pub runners_up: Vec<VersionStep>,
    /// The last version divided by the first one.
    pub ends: Estimate,
    /// The probability that nothing changed.
    pub no_step: f64,
    /// The probability of several changes.
    pub several: f64,
}

/// Why a search of a range ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// All changes are known with certainty.
    Found,
    /// The ends do not differ with certainty.
    NoStep,
    /// The comparisons that were planned do not tell the place.
    Unsure,
    /// Fewer than two versions can be used.
    Nothing,
    /// It was interrupted.
    Interrupted,
}

/// A version of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchedVersion {
    /// Its name.
    pub version: BisectVersion,
    /// Its series, such as `10.11`; empty for commits.
    pub series: String,
    /// Its value divided by that of the first version; `None` if it was not compared. 1 for the first version.
    pub ratio: Option<Estimate>,
    /// How often it was compared.
    pub comparisons: u32,
    /// The probability that it made a change.
    pub probability: f64,
    /// Why it cannot be used.
    pub unusable: Option<String>,
}

/// A change between two versions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VersionStep {
    /// Index of the last version before the change.
    pub after: usize,
    /// Index of the first version that has it.
    pub at: usize,
    /// The probability that it is here.
    pub probability: f64,
    /// The ratio of what is after the change to what is before it.
    pub ratio: Estimate,
}

impl Bisection<'_> {
    /// The last range, in which the answer is.
    pub(crate) fn last(&self) -> Option<&SearchedRange> {
        self.ranges.last()
    }

    /// The largest change of the last range, if all of its changes are certain.
    #[must_use]
    pub fn found(&self) -> Option<(&SearchedVersion, VersionStep)> {
        let range = self.last().filter(|range| range.end == RangeEnd::Found)?;
        let step = range.largest()?;
        Some((range.versions.get(step.at)?, step))
    }
}

impl SearchedRange {
    /// The largest change that is certain.
    #[must_use]
    pub fn largest(&self) -> Option<VersionStep> {
        let size = |step: &&VersionStep| step.ratio.value.ln().abs();
        self.steps.iter().max_by(|a, b| size(a).total_cmp(&size(b))).copied()
    }

    pub(crate) fn name(&self, version: usize) -> &str {
        self.versions.get(version).map_or(NONE, |it| &it.version.name)
    }
}

/// The page of a search.
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

/// A range: its versions as a curve and as a table.
fn section(search: &Bisection<'_>, range: &SearchedRange) -> Vec<Block<'static>> {
    let is_step = |at: usize| range.steps.iter().any(|step| step.at == at);
    let is_told = |it: &SearchedVersion| it.ratio.is_some() || it.unusable.is_some();
    let told = range.versions.iter().enumerate().filter(|(_, it)| is_told(it));
    let rows = told.map(|(at, it)| {
        let probability = match it.probability {
            none if at == 0 || it.unusable.is_some() || none < 0.005 => String::new(),
            some => confidence(some),
        };
        let note = it.unusable.as_ref().map(|why| format!("skipped: {why}"));
        Row::new([
            if is_step(at) { "◆".to_owned() } else { String::new() },
            it.version.name.clone(),
            if at == 0 && it.ratio.is_some() {
                "base".into()
            } else {
                Quotient(it.ratio).to_string()
            },
            probability,
            if it.comparisons == 0 { String::new() } else { it.comparisons.to_string() },
            note.or_else(|| it.version.title.clone()).unwrap_or_default(),
        ])
    });
    let columns = vec![
        Column::words(""),
        Column::words(if search.is_of_commits { "commit" } else { "version" }),
        Column::numbers(words::ratio_heading(search.measure)),
        Column::numbers("changed here"),
        Column::numbers("comparisons"),
        Column::words(""),
    ];
    let mut blocks: Vec<Block<'_>> = drawn::inline(search, range).into_iter().collect();
    blocks.push(Block::Table(Table::new(columns, rows).flush()));
    let left = range.versions.len() - range.versions.iter().filter(|it| is_told(it)).count();
    let untried = (left > 0).then(|| format!("{left} other versions were not needed"));
    blocks.extend(Block::notes(untried.into_iter().chain(words::runners_up(range))));
    let ends = [0, range.versions.len().saturating_sub(1)].map(|end| range.name(end));
    Block::section(format!("{} to {}", ends[0], ends[1]), blocks)
}

/// The functions that changed.
fn functions(search: &Bisection<'_>) -> Vec<Block<'static>> {
    if search.functions.is_empty() {
        return Vec::new();
    }
    let columns =
        vec![Column::words("function"), Column::numbers("change, instructions per operation")];
    let rows = search.functions.iter().map(|(name, by)| {
        let sign = if *by > 0.0 { "+" } else { "" };
        Row::new([name.clone(), format!("{sign}{}", crate::number::thousands(*by))])
    });
    Block::section("functions that changed", vec![Block::Table(Table::new(columns, rows).flush())])
}

#[cfg(test)]
mod tests;
