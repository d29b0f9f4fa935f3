//! Changes between the versions of a watched product: `assay watch`.

use assay_bisect::page::{self, VersionStep};
use assay_model::{Estimate, NamedVersion, SearchMeasure, Setup, counted};
use assay_report::blocks::{
    Block, Column, Heading, Interval, NONE, Number, PageContent, PageDocument, Quotient, Row,
    SequenceChart, SequencePoint, Table, Wish, capital, confidence, stem, versioned,
};
use assay_report::{ChartFile, Page};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct WatchResult<'a> {
    /// As named by the user.
    pub(super) range: String,
    pub(super) is_of_commits: bool,
    /// All existing versions, in order. The first one is the baseline.
    pub(super) versions: &'a [NamedVersion],
    pub(super) new: Vec<usize>,
    pub(super) lines: Vec<WatchedLine>,
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct WatchedLine {
    pub(super) test: String,
    pub(super) setup: Setup,
    pub(super) measure: SearchMeasure,
    /// In order of version.
    pub(super) values: Vec<WatchedValue>,
    /// In the order in which they were searched for.
    pub(super) changes: Vec<WatchedChange>,
    /// Suspected but uncertain changes.
    pub(super) suspected: Vec<WatchedSuspicion>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WatchedValue {
    pub(super) version: usize,
    pub(super) ratio: Estimate,
    pub(super) studies: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct WatchedChange {
    /// The last version without the change.
    pub(super) after: usize,
    /// The first version with the change.
    pub(super) at: usize,
    /// Size and probability; the versions of the step are those of the search.
    pub(super) step: VersionStep,
    pub(super) search: String,
    pub(super) is_new: bool,
}

/// A change that a search suspects between its ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WatchedSuspicion {
    /// The last version without the change.
    pub(super) after: usize,
    /// A version with the change.
    pub(super) at: usize,
    pub(super) ratio: Estimate,
    pub(super) probability: f64,
    pub(super) search: String,
}

impl WatchResult<'_> {
    fn name(&self, version: usize) -> &str {
        self.versions.get(version).map_or(NONE, |it| &it.name)
    }

    fn suspected(&self) -> impl Iterator<Item = (&WatchedLine, &WatchedSuspicion)> {
        self.lines.iter().flat_map(|line| line.suspected.iter().map(move |it| (line, it)))
    }

    /// With their lines, the newest version first.
    fn changes(&self) -> Vec<(&WatchedLine, &WatchedChange)> {
        let mut all = Vec::new();
        for line in &self.lines {
            all.extend(line.changes.iter().map(|change| (line, change)));
        }
        all.sort_by_key(|(_, change)| std::cmp::Reverse(change.at));
        all
    }
}

pub(super) fn watched<'a>(watch: &'a WatchResult<'a>) -> Page<'a> {
    Page::new(watch)
}

impl PageContent for &WatchResult<'_> {
    fn document(&self, _: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let mut blocks = vec![Block::Answer(vec![answer(self)])];
        blocks.extend(Block::notes(self.suspected().map(|it| suspicion(self, it))));
        blocks.extend(Block::notes(self.notes.clone()));
        blocks.extend(changes(self));
        blocks.push(newest(self));
        blocks.extend(self.lines.iter().flat_map(|line| curve(self, line)));
        then(&PageDocument {
            title: format!("{}: what changed", self.range),
            heading: Heading {
                before: self.range.clone(),
                small: "what changed",
                ..Heading::default()
            },
            blocks,
            ..PageDocument::default()
        });
    }

    fn json(&self) -> Option<String> {
        Some(versioned(document(self)))
    }

    fn charts(&self) -> Vec<ChartFile> {
        let files = self.lines.iter().filter_map(|line| {
            let name = [line.test.clone(), line.measure.word().to_owned()].map(Some);
            let chart = chart(self, line);
            let values = chart.points.iter();
            let values = values.map(|it| format!("{}: {}", it.version, Quotient(Some(it.rqps))));
            let values: Vec<String> = values.collect();
            chart.file(stem("watch", name), title(line), Vec::new(), &values)
        });
        files.collect()
    }
}

fn changes(watch: &WatchResult<'_>) -> Vec<Block<'static>> {
    let all = watch.changes();
    if all.is_empty() {
        return Vec::new();
    }
    let rows = all.iter().map(|(line, change)| {
        let title = watch.versions.get(change.at).and_then(|it| it.title.clone());
        Row::new([
            if change.is_new { "new".to_owned() } else { String::new() },
            watch.name(change.at).to_owned(),
            line.test.clone(),
            measured(line.measure).to_owned(),
            page::change(change.step.ratio),
            watch.name(change.after).to_owned(),
            confidence(change.step.probability),
            title.unwrap_or_default(),
        ])
    });
    let columns = vec![
        Column::words(""),
        Column::words(if watch.is_of_commits { "commit" } else { "version" }),
        Column::words("test"),
        Column::words("measure"),
        Column::numbers("change"),
        Column::words("relative to"),
        Column::numbers("probability"),
        Column::words(""),
    ];
    let mut blocks = vec![Block::Table(Table::new(columns, rows).flush())];
    blocks.extend(all.first().map(|(_, change)| {
        let command = format!("assay resume {}", change.search);
        Block::command("how the newest one was found: ", command, "")
    }));
    Block::section("changes that were found", blocks)
}

fn newest(watch: &WatchResult<'_>) -> Block<'static> {
    let rows = watch.lines.iter().filter_map(|line| {
        let last = line.values.last()?;
        let before = line.values.iter().rev().nth(1).filter(|it| it.version > 0);
        let quotient = before.map(|before| quotient(last.ratio, before.ratio));
        Some(Row::new([
            line.test.clone(),
            line.setup.to_string(),
            measured(line.measure).to_owned(),
            watch.name(last.version).to_owned(),
            page::ratio(line.measure, Some(last.ratio)),
            before.map(|it| watch.name(it.version).to_owned()).unwrap_or_default(),
            page::ratio(line.measure, quotient),
        ]))
    });
    let baseline = watch.name(0);
    let columns = vec![
        Column::words("test"),
        Column::words("clients × tables × rows"),
        Column::words("measure"),
        Column::words("newest"),
        Column::numbers(format!("relative to {baseline}")),
        Column::words("before"),
        Column::numbers("relative to that"),
    ];
    Block::Table(Table::new(columns, rows).flush())
}

fn curve(watch: &WatchResult<'_>, line: &WatchedLine) -> Vec<Block<'static>> {
    Block::section(title(line), chart(watch, line).inline().into_iter().collect())
}

fn chart<'w>(watch: &'w WatchResult<'_>, line: &WatchedLine) -> SequenceChart<'w> {
    let note = format!(
        "{} of the versions that were measured, in their order; the axis does not start at 0. Bars are 95% intervals. \
         A diamond marks the first measured version after a change.",
        capital(page::ratio_heading(line.measure))
    );
    let changes = (0..line.values.len()).filter(|number| is_change(line, *number)).collect();
    let values = line.values.iter().map(|it| (watch.name(it.version), it.ratio));
    SequenceChart { points: values.map(SequencePoint::from).collect(), changes, note }
}

fn is_change(line: &WatchedLine, number: usize) -> bool {
    let version = line.values[number].version;
    let before = number.checked_sub(1).map_or(0, |before| line.values[before].version);
    line.changes.iter().any(|it| before < it.at && it.at <= version)
}

fn measured(measure: SearchMeasure) -> &'static str {
    match measure {
        SearchMeasure::Qps => "QPS",
        SearchMeasure::Cpu => "CPU/op",
        SearchMeasure::Instructions => "instructions/op",
    }
}

fn title(line: &WatchedLine) -> String {
    format!("{}, {}", line.test, measured(line.measure))
}

/// Assumes independent errors.
fn quotient(one: Estimate, other: Estimate) -> Estimate {
    let half = |it: Estimate| if it.has_interval() { (it.high / it.low).ln() / 2.0 } else { 0.0 };
    let log = |it: Estimate| (it.value.ln(), half(it));
    let ((one, of_one), (other, of_other)) = (log(one), log(other));
    let (mean, half) = (one - other, of_one.hypot(of_other));
    Estimate { value: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() }
}

fn suspicion(watch: &WatchResult<'_>, (line, it): (&WatchedLine, &WatchedSuspicion)) -> String {
    format!(
        "{} of {}: a change is suspected between {} and {}: {}, not certain; `assay resume {}` shows the search",
        measured(line.measure),
        line.test,
        watch.name(it.after),
        watch.name(it.at),
        page::change(it.ratio),
        it.search
    )
}

/// At most two sentences.
fn answer(watch: &WatchResult<'_>) -> String {
    let names: Vec<&str> = watch.new.iter().map(|it| watch.name(*it)).collect();
    let measured = match names.as_slice() {
        [] => "nothing new was measured".to_owned(),
        [name] => format!("new: {name}"),
        names => format!("new: {}", names.join(", ")),
    };
    let all = watch.changes();
    let new: Vec<String> = (all.iter().filter(|(_, change)| change.is_new))
        .map(|(line, it)| {
            format!(
                "{} of {} changed at {}: {} relative to {}",
                self::measured(line.measure),
                line.test,
                watch.name(it.at),
                page::change(it.step.ratio),
                watch.name(it.after)
            )
        })
        .collect();
    let since = watch.name(0);
    let so_far = match all.len() - new.len() {
        0 if new.is_empty() => format!("no change was found since {since}"),
        0 => String::new(),
        before => format!("{} found before since {since}", counted(before as u64, "change")),
    };
    let suspected = match watch.suspected().count() {
        0 => String::new(),
        all => format!("{} suspected but not certain", counted(all as u64, "change")),
    };
    let parts = [measured, new.join("; "), so_far, suspected];
    parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ")
}

#[derive(Serialize)]
struct WatchDocument<'a> {
    range: &'a str,
    /// All values are relative to this version.
    baseline: &'a str,
    newest: &'a str,
    measured: Vec<&'a str>,
    /// Newest version first.
    changes: Vec<WatchedChangeRow<'a>>,
    /// Suspected but uncertain changes.
    suspected: Vec<WatchedSuspicionRow<'a>>,
    tests: Vec<WatchedTestRow<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct WatchedLineRow<'a> {
    test: &'a str,
    #[serde(flatten)]
    setup: Setup,
    measure: &'static str,
}

fn line_row(line: &WatchedLine) -> WatchedLineRow<'_> {
    WatchedLineRow { test: &line.test, setup: line.setup, measure: line.measure.word() }
}

#[derive(Serialize)]
struct WatchedChangeRow<'a> {
    #[serde(flatten)]
    line: WatchedLineRow<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    after: &'a str,
    ratio: Interval,
    probability: Number,
    search: &'a str,
    is_new: bool,
}

#[derive(Serialize)]
struct WatchedSuspicionRow<'a> {
    #[serde(flatten)]
    line: WatchedLineRow<'a>,
    /// The last version without the change, and one with it.
    between: [&'a str; 2],
    ratio: Interval,
    /// Probability that anything changed.
    probability: Number,
    search: &'a str,
}

#[derive(Serialize)]
struct WatchedTestRow<'a> {
    #[serde(flatten)]
    line: WatchedLineRow<'a>,
    versions: Vec<WatchedVersionRow<'a>>,
}

#[derive(Serialize)]
struct WatchedVersionRow<'a> {
    version: &'a str,
    ratio: Interval,
    studies: usize,
}

fn document<'a>(watch: &'a WatchResult<'a>) -> WatchDocument<'a> {
    let change = |(line, change): (&'a WatchedLine, &'a WatchedChange)| WatchedChangeRow {
        line: line_row(line),
        version: Some(watch.name(change.at)).filter(|_| !watch.is_of_commits),
        commit: Some(watch.name(change.at)).filter(|_| watch.is_of_commits),
        title: watch.versions.get(change.at).and_then(|it| it.title.as_deref()),
        after: watch.name(change.after),
        ratio: change.step.ratio.into(),
        probability: change.step.probability.into(),
        search: &change.search,
        is_new: change.is_new,
    };
    let suspicion = |(line, it): (&'a WatchedLine, &'a WatchedSuspicion)| WatchedSuspicionRow {
        line: line_row(line),
        between: [watch.name(it.after), watch.name(it.at)],
        ratio: it.ratio.into(),
        probability: it.probability.into(),
        search: &it.search,
    };
    let test = |line: &'a WatchedLine| WatchedTestRow {
        line: line_row(line),
        versions: (line.values.iter())
            .map(|it| WatchedVersionRow {
                version: watch.name(it.version),
                ratio: it.ratio.into(),
                studies: it.studies,
            })
            .collect(),
    };
    WatchDocument {
        range: &watch.range,
        baseline: watch.name(0),
        newest: watch.name(watch.versions.len().saturating_sub(1)),
        measured: watch.new.iter().map(|it| watch.name(*it)).collect(),
        changes: watch.changes().into_iter().map(change).collect(),
        suspected: watch.suspected().map(suspicion).collect(),
        tests: watch.lines.iter().map(test).collect(),
        notes: &watch.notes,
    }
}

#[cfg(test)]
mod tests;
