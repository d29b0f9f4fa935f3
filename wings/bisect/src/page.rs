//! The search for the version that made a change: `assay bisect`.

use std::collections::BTreeSet;

use assay_model::{COUNT_THRESHOLD, Estimate, NamedVersion, SearchMeasure, Setup, counted};
use assay_report::blocks::{
    Block, Column, Heading, Interval, NONE, Number, PageContent, PageDocument, Quotient, Row,
    SequenceChart, SequencePoint, Table, Wish, capital, change_in_words, confidence, duration,
    stem, thousands, versioned,
};
use assay_report::{ChartFile, Page};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq)]
pub struct Bisection<'a> {
    pub id: &'a str,
    /// As named by the user.
    pub range: &'a str,
    pub test: &'a str,
    pub setup: Setup,
    pub measure: SearchMeasure,
    pub is_of_commits: bool,
    /// One after the other, each within the one before.
    pub ranges: Vec<SearchedRange>,
    pub comparisons: u32,
    pub builds: u32,
    pub elapsed_s: f64,
    /// Functions that changed most at the answer; `None` if nothing was counted or profiled.
    pub functions: Option<ChangedFunctions>,
    /// Plans before and after the change, if they differ.
    pub plan: Option<[String; 2]>,
    /// Commands that show or repeat the measurement, each with its purpose.
    pub commands: Vec<(&'static str, String)>,
}

/// Largest change first.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedFunctions {
    pub unit: FunctionUnit,
    /// Change per operation of each function, or of several shown together. Counts have no interval.
    pub changes: Vec<(String, Estimate)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionUnit {
    Instructions,
    CpuMicroseconds,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SearchedRange {
    pub end: RangeEnd,
    pub versions: Vec<SearchedVersion>,
    /// The certain changes, in order.
    pub steps: Vec<VersionStep>,
    /// Other places of a change, the most probable first.
    pub runners_up: Vec<VersionStep>,
    /// The last version divided by the first.
    pub ends: Estimate,
    /// Probability that nothing changed.
    pub no_step: f64,
    pub several: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// All changes are certain.
    Found,
    NoStep,
    /// Further comparisons would not locate the change.
    Unsure,
    /// Comparisons on this machine are too noisy to locate it within the budget.
    TooNoisy,
    Budget,
    /// Fewer than two versions are usable.
    Nothing,
    Interrupted,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SearchedVersion {
    pub version: NamedVersion,
    /// Such as `10.11`; empty for commits.
    pub series: String,
    /// Relative to the first version, for which it is 1; `None` if it was not compared.
    pub ratio: Option<Estimate>,
    pub comparisons: u32,
    pub probability: f64,
    pub unusable: Option<String>,
    /// Source of its build, or the compiler of a commit if commits differ in it. `None` if not compared.
    pub source: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VersionStep {
    /// Index of the last version before the change.
    pub after: usize,
    /// Index of the first version with the change.
    pub at: usize,
    pub probability: f64,
    /// After divided by before.
    pub ratio: Estimate,
}

impl Bisection<'_> {
    /// The range with the answer.
    fn last(&self) -> Option<&SearchedRange> {
        self.ranges.last()
    }

    /// The largest change of the last range, if all of its changes are certain.
    pub fn found(&self) -> Option<(&SearchedVersion, VersionStep)> {
        let range = self.last().filter(|range| range.end == RangeEnd::Found)?;
        let step = range.largest()?;
        Some((range.versions.get(step.at)?, step))
    }
}

impl SearchedRange {
    pub fn largest(&self) -> Option<VersionStep> {
        let size = |step: &&VersionStep| step.ratio.value.ln().abs();
        self.steps.iter().max_by(|a, b| size(a).total_cmp(&size(b))).copied()
    }

    /// Whether the search ended without certainty although a change is more probable than none.
    pub fn is_suspicious(&self) -> bool {
        (self.end == RangeEnd::NoStep || self.is_open()) && self.no_step < 0.5
    }

    /// Whether the search ended without an answer.
    fn is_open(&self) -> bool {
        matches!(self.end, RangeEnd::Unsure | RangeEnd::TooNoisy | RangeEnd::Budget)
    }

    fn sources(&self) -> Option<BTreeSet<&str>> {
        let sources: BTreeSet<&str> =
            self.versions.iter().filter_map(|it| it.source.as_deref()).collect();
        (sources.len() > 1).then_some(sources)
    }

    fn name(&self, version: usize) -> &str {
        self.versions.get(version).map_or(NONE, |it| &it.version.name)
    }
}

pub fn bisection<'a>(search: &'a Bisection<'a>) -> Page<'a> {
    Page::new(search)
}

impl PageContent for &Bisection<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let mut blocks = vec![Block::Answer(vec![answer(self)])];
        blocks.extend(Block::notes(notes(self)));
        blocks.push(wish.charts());
        for range in self.ranges.iter().rev() {
            blocks.extend(section(self, range));
        }
        let plan = self.plan.as_ref();
        let plan = plan.map(|[before, now]| format!("the plan changed there: {before} → {now}"));
        blocks.extend(Block::notes(plan));
        blocks.extend(functions(self));
        blocks.extend(Block::notes([cost(self)]));
        let command =
            |(before, command): &(&str, String)| Block::command(format!("{before}: "), command, "");
        blocks.extend(self.commands.iter().map(command));
        then(&PageDocument {
            title: format!("{} from version to version: {}", self.test, self.range),
            heading: Heading {
                before: self.range.to_owned(),
                small: "which version changed",
                after: self.test.to_owned(),
            },
            blocks,
            ..PageDocument::default()
        });
    }

    fn json(&self) -> Option<String> {
        Some(versioned(document(self)))
    }

    fn charts(&self) -> Vec<ChartFile> {
        let files = self.ranges.iter().zip(1..).filter_map(|(range, number)| {
            let name = stem("bisect", [Some(self.test.to_owned()), Some(number.to_string())]);
            let chart = chart(self, range);
            let values = chart.points.iter();
            let values = values.map(|it| format!("{}: {}", it.version, Quotient(Some(it.rqps))));
            chart.file(name, answer(self), Vec::new(), &values.collect::<Vec<_>>())
        });
        files.collect()
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
            ratio(search.measure, it.ratio),
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
        Column::numbers(ratio_heading(search.measure)),
        Column::numbers("changed here"),
        Column::numbers("comparisons"),
        Column::words(if is_mixed { "source" } else { "" }),
    ];
    let mut blocks: Vec<Block<'_>> = chart(search, range).inline().into_iter().collect();
    blocks.push(Block::Table(Table::new(columns, rows).flush()));
    let left = range.versions.len() - range.versions.iter().filter(|it| is_told(it)).count();
    let other = format!("other {}", if search.is_of_commits { "commit" } else { "version" });
    let why = match range.end {
        RangeEnd::Found | RangeEnd::NoStep => "not needed",
        _ => "not compared",
    };
    let untried = (left > 0).then(|| format!("{why}: {}", counted(left as u64, &other)));
    blocks.extend(Block::notes(untried.into_iter().chain(runners_up(range))));
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

fn note(search: &Bisection<'_>) -> String {
    format!(
        "{} of the versions that were compared, in their order; the axis does not start at 0. Bars are 95% intervals. \
         A diamond marks the first version after a change.",
        capital(ratio_heading(search.measure))
    )
}

/// The compared versions of a range.
fn chart<'r>(search: &Bisection<'_>, range: &'r SearchedRange) -> SequenceChart<'r> {
    let compared = range.versions.iter().enumerate();
    let compared: Vec<_> = compared.filter_map(|(at, it)| Some((at, it, it.ratio?))).collect();
    let is_step = |at: usize| range.steps.iter().any(|step| step.at == at);
    let changes = compared.iter().zip(0..).filter(|((at, ..), _)| is_step(*at));
    let values = compared.iter().map(|(_, it, ratio)| (it.version.name.as_str(), *ratio));
    SequenceChart {
        points: values.map(SequencePoint::from).collect(),
        changes: changes.map(|(_, number)| number).collect(),
        note: note(search),
    }
}

/// Probability of no change from which on the ends count as equal.
const PROBABLE: f64 = 0.8;

/// Probability of no change up to which a change is certain.
const IMPROBABLE: f64 = 0.05;

fn measured(measure: SearchMeasure) -> &'static str {
    match measure {
        SearchMeasure::Qps => "QPS",
        SearchMeasure::Cpu => "CPU time per operation of the serving threads",
        SearchMeasure::Instructions => "instructions per operation of the serving thread",
    }
}

pub fn ratio_heading(measure: SearchMeasure) -> &'static str {
    match measure {
        SearchMeasure::Qps => "relative QPS",
        SearchMeasure::Cpu => "relative CPU/op",
        SearchMeasure::Instructions => "relative instructions/op",
    }
}

/// Counts repeat so exactly that more digits are meaningful.
pub fn ratio(measure: SearchMeasure, ratio: Option<Estimate>) -> String {
    match ratio {
        Some(base) if !base.has_interval() && base.value == 1.0 => "base".to_owned(),
        Some(Estimate { value, low, high })
            if measure == SearchMeasure::Instructions && (0.1..10.0).contains(&value) =>
        {
            format!("{value:.4} [{low:.4}, {high:.4}]")
        }
        ratio => Quotient(ratio).to_string(),
    }
}

pub fn change(estimate: Estimate) -> String {
    change_in_words(estimate).unwrap_or_else(|| "by an unknown amount".to_owned())
}

/// `11.4.5: −9.6% [−10%, −9%] relative to 10.11.19, probability >99%`.
fn step(range: &SearchedRange, step: &VersionStep) -> String {
    format!(
        "{}: {} relative to {}, probability {}",
        range.name(step.at),
        change(step.ratio),
        range.name(step.after),
        confidence(step.probability)
    )
}

fn is_within(ratio: Estimate, most: f64) -> bool {
    ratio.low > 1.0 - most && ratio.high < 1.0 + most
}

/// Minimum probability for naming a place: a less probable one would read like an answer.
const NAMED: f64 = 0.5;

/// The most probable place of a change, if probable enough to be named.
fn named_place(range: &SearchedRange) -> Option<&VersionStep> {
    range.runners_up.first().filter(|it| it.probability >= NAMED)
}

fn most_probable(range: &SearchedRange) -> String {
    match (named_place(range), range.runners_up.first().filter(|it| it.probability > 0.0)) {
        (Some(place), _) => format!("the most probable place is {}", step(range, place)),
        (None, Some(first)) => format!(
            "no place is probable enough to be named, since the most probable one has {}{}",
            confidence(first.probability),
            region(range)
        ),
        (None, None) => "no place is more probable than others".to_owned(),
    }
}

const REGION: f64 = 0.9;

/// The shortest series of versions that has the change with a probability of at least [`REGION`], and the probability.
fn likely_versions(range: &SearchedRange) -> Option<(usize, usize, f64)> {
    let all: Vec<f64> = range.versions.iter().map(|it| it.probability).collect();
    let mut windows = (1..all.len()).flat_map(|length| {
        let sums = all.windows(length).map(|window| window.iter().sum::<f64>()).enumerate();
        sums.map(move |(from, sum)| (from, from + length - 1, sum)).collect::<Vec<_>>()
    });
    windows.find(|(_, _, sum)| *sum >= REGION)
}

/// Empty if they are nearly all versions, or if the probability is not reached.
fn region(range: &SearchedRange) -> String {
    match likely_versions(range) {
        Some((from, to, sum)) if to > from && 4 * (to - from + 1) <= 3 * range.versions.len() => {
            format!(
                "; it came with one of {} to {} with a probability of {}",
                range.name(from),
                range.name(to),
                confidence(sum)
            )
        }
        _ => String::new(),
    }
}

fn of_equal_ends(search: &Bisection<'_>, range: &SearchedRange, between: &str) -> String {
    const WIDE: f64 = 0.05;
    let by = change(range.ends);
    let is_counted = search.measure == SearchMeasure::Instructions;
    let is_probable = range.no_step >= PROBABLE;
    let is_equal = match is_counted {
        true => is_within(range.ends, COUNT_THRESHOLD / 2.0),
        false => is_probable && is_within(range.ends, WIDE),
    };
    let more = match search.measure {
        SearchMeasure::Qps => "; a quieter machine tells more, and `--count` needs none",
        SearchMeasure::Cpu => {
            "; `--count` tells more on any machine, and `--by qps` searches for changes of waiting too"
        }
        SearchMeasure::Instructions => {
            "; `--by qps` searches for changes of waiting and caches too"
        }
    };
    match (is_equal, is_probable) {
        (true, _) if search.measure == SearchMeasure::Qps => {
            format!("did not change {between} ({by}), so there is nothing to search")
        }
        (true, _) => format!("did not change {between} ({by}){more}"),
        (_, true) => {
            format!("no change was found {between} ({by}), but small ones are not excluded{more}")
        }
        _ => format!("whether it changed {between} is not certain ({by}){more}"),
    }
}

fn answer(search: &Bisection<'_>) -> String {
    let of = format!("{} of {}", measured(search.measure), search.test);
    let Some(range) = search.last() else { return format!("{of}: nothing was compared yet") };
    let ends = [0, range.versions.len().saturating_sub(1)].map(|end| range.name(end));
    let between = format!("between {} and {}", ends[0], ends[1]);
    let most_probable = || most_probable(range);
    let found = || {
        let steps: Vec<String> = range.steps.iter().map(|it| step(range, it)).collect();
        steps.join("; and at ")
    };
    match range.end {
        RangeEnd::Found => format!("{of} changed at {}", found()),
        _ if range.is_open() && !range.steps.is_empty() => format!(
            "{of} changed at {}; whether it changed elsewhere too is not certain: {}",
            found(),
            most_probable()
        ),
        _ if range.is_open() && range.no_step <= IMPROBABLE => {
            format!("{of} changed {between}, but where is not certain: {}", most_probable())
        }
        RangeEnd::Unsure | RangeEnd::TooNoisy | RangeEnd::Budget => format!(
            "{of}: whether it changed {between} is not certain ({}): {}",
            change(range.ends),
            most_probable()
        ),
        RangeEnd::NoStep => format!("{of}: {}", of_equal_ends(search, range, &between)),
        RangeEnd::Nothing => format!("{of}: fewer than two of these versions can be used"),
        RangeEnd::Interrupted => {
            let so_far = match (search.comparisons, range.steps.is_empty()) {
                (0, _) => String::new(),
                (_, true) => format!(": so far, {}", most_probable()),
                (_, false) => format!(": so far, it changed at {}", found()),
            };
            format!("{of}: the search was interrupted{so_far}")
        }
    }
}

fn notes(search: &Bisection<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(range) = search.last() else { return notes };
    for it in &range.steps {
        let between: Vec<&str> = (it.after + 1..it.at).map(|version| range.name(version)).collect();
        if !between.is_empty() {
            notes.push(format!(
                "{} cannot be used, so the change may have come with any of {} to {}",
                between.join(", "),
                between.first().copied().unwrap_or_default(),
                range.name(it.at)
            ));
        }
        let series = |version: usize| range.versions.get(version).map_or("", |it| &it.series);
        let (before, since) = (series(it.after), series(it.at));
        if before != since {
            notes.push(format!(
                "{before} and {since} are branches with a common ancestor, and {} is the first release of {since} that \
                 was searched: the change was made on the way there after {before} branched off, unless {before} alone \
                 changed since then",
                range.name(it.at)
            ));
        }
    }
    notes.extend(sources(range));
    if range.end == RangeEnd::Budget {
        notes.push(format!(
            "the budget allowed {}, and they are used up; the same command with a larger `--budget` begins a longer \
             search",
            counted(u64::from(search.comparisons), "comparison")
        ));
    }
    if range.end == RangeEnd::TooNoisy {
        notes.push(too_noisy(search, range));
    }
    if search.measure == SearchMeasure::Instructions && !range.versions.is_empty() {
        notes.push(
            "counts of instructions repeat almost exactly, so one comparison decides about a version, and the search \
             halves the range each time"
                .to_owned(),
        );
    }
    notes
}

/// Why the search stopped early, what it learned, and what to do.
fn too_noisy(search: &Bisection<'_>, range: &SearchedRange) -> String {
    let ends = [0, range.versions.len().saturating_sub(1)];
    let [first, last] = ends.map(|end| range.name(end));
    let left = match likely_versions(range) {
        Some((from, to, probability)) if [from, to] != ends => {
            let [from, to] = [from, to].map(|at| range.name(at));
            let place = if from == to { from.to_owned() } else { format!("one of {from} to {to}") };
            format!(
                "the change came with {place} with a probability of {}",
                confidence(probability)
            )
        }
        _ => format!("a change may be anywhere between {first} and {last}"),
    };
    format!(
        "the search stopped after {}, because on a machine as noisy as this one, the rest of the budget would not \
         find the version; {left}; with `--count`, one comparison decides about a version on any machine; comparisons \
         of {} need a quieter machine or a larger `--budget`",
        counted(u64::from(search.comparisons), "comparison"),
        measured(search.measure)
    )
}

/// Comparisons and changes between builds from different sources, and their meaning.
fn sources(range: &SearchedRange) -> Vec<String> {
    let Some(sources) = range.sources() else { return Vec::new() };
    let source = |it: &SearchedVersion| it.source.clone().unwrap_or_default();
    let compared = || range.versions.iter().filter(|it| it.source.is_some());
    let Some(base) = compared().next() else { return Vec::new() };
    let others: Vec<String> = (compared().filter(|it| it.source != base.source))
        .map(|it| format!("{} ({})", it.version.name, source(it)))
        .collect();
    let mut notes = vec![format!(
        "the builds come from {} sources: {} is from {}, but {} not; compilers and options of sources differ, so such \
         a ratio may be off by some percent, and the search trusts it less",
        sources.len(),
        base.version.name,
        source(base),
        match others.as_slice() {
            [one] => format!("{one} is"),
            all => format!("{} are", all.join(", ")),
        }
    )];
    for it in &range.steps {
        let ends = [it.after, it.at].map(|at| range.versions.get(at));
        let [Some(after), Some(at)] = ends else { continue };
        if after.source != at.source {
            notes.push(format!(
                "{} is from {} and {} from {}: a part of the change between them may be one of the builds rather than \
                 of the version",
                after.version.name,
                source(after),
                at.version.name,
                source(at)
            ));
        }
    }
    notes
}

/// Places of a change that the answer does not name.
fn runners_up(range: &SearchedRange) -> Option<String> {
    let is_compared = range.versions.iter().any(|it| it.comparisons > 0);
    let may_name = match range.end {
        RangeEnd::Interrupted => range.steps.is_empty(),
        _ => range.is_open(),
    };
    let named = usize::from(may_name && named_place(range).is_some());
    let others = range.runners_up.iter().skip(named);
    let likely = others.filter(|it| is_compared && it.probability >= 0.005);
    let message: Vec<String> = likely.map(|it| step(range, it)).collect();
    let which = if may_name && named == 0 { "possible" } else { "other" };
    (!message.is_empty()).then(|| format!("{which} places: {}", message.join("; ")))
}

fn cost(search: &Bisection<'_>) -> String {
    let builds = match search.builds {
        0 => "nothing built".to_owned(),
        builds => counted(u64::from(builds), "build"),
    };
    format!(
        "{}, {builds}, {}; ratios are relative to the first version that can be used, with 95% intervals",
        counted(u64::from(search.comparisons), "comparison"),
        duration(search.elapsed_s)
    )
}

#[derive(Serialize)]
struct BisectionDocument<'a> {
    id: &'a str,
    test: &'a str,
    measure: &'static str,
    /// Ends of the whole range.
    range: [&'a str; 2],
    /// The largest change; null without a certain one.
    answer: Option<FoundStepRow<'a>>,
    /// All changes of the last range, if there are several.
    several: Vec<FoundStepRow<'a>>,
    /// The versions of the last range.
    posterior: Vec<VersionProbability<'a>>,
    no_step: Number,
    /// Plans before and after the change; null if equal or unknown.
    plan: Option<&'a [String; 2]>,
    /// Functions that changed most at the answer; null if nothing was counted or profiled.
    functions: Option<Vec<ChangedFunctionRow<'a>>>,
    comparisons: u32,
    builds: u32,
    elapsed_s: Number,
}

#[derive(Serialize)]
struct FoundStepRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    after: &'a str,
    ratio: Interval,
    probability: Number,
}

#[derive(Serialize)]
struct ChangedFunctionRow<'a> {
    name: &'a str,
    /// Unit of the change per operation: `instructions` or `cpu_us`.
    unit: &'static str,
    /// Counts have no interval.
    change: Interval,
}

#[derive(Serialize)]
struct VersionProbability<'a> {
    version: &'a str,
    probability: Number,
    /// Relative to the first version; null if not compared.
    ratio: Option<Interval>,
    skipped: Option<&'a str>,
    /// Source of its build, or the compiler of a commit if commits differ in it; null if not compared.
    source: Option<&'a str>,
}

fn document<'a>(search: &'a Bisection<'a>) -> BisectionDocument<'a> {
    let last = search.last();
    let row = |range: &'a SearchedRange, step: &VersionStep| {
        let version = range.versions.get(step.at).map(|it| &it.version);
        FoundStepRow {
            version: Some(range.name(step.at)).filter(|_| !search.is_of_commits),
            commit: Some(range.name(step.at)).filter(|_| search.is_of_commits),
            title: version.and_then(|it| it.title.as_deref()),
            after: range.name(step.after),
            ratio: step.ratio.into(),
            probability: step.probability.into(),
        }
    };
    let found = search.found().zip(last);
    let steps = last.map_or(&[][..], |range| range.steps.as_slice());
    let versions = last.into_iter().flat_map(|range| &range.versions);
    let whole = search.ranges.first();
    let end = |at: usize| whole.map_or("", |range| range.name(at));
    BisectionDocument {
        id: search.id,
        test: search.test,
        measure: search.measure.word(),
        range: [end(0), end(whole.map_or(0, |it| it.versions.len().saturating_sub(1)))],
        answer: found.map(|((_, step), range)| row(range, &step)),
        several: match (steps, last) {
            ([_, _, ..], Some(range)) => steps.iter().map(|step| row(range, step)).collect(),
            _ => Vec::new(),
        },
        posterior: versions
            .map(|it| VersionProbability {
                version: &it.version.name,
                probability: it.probability.into(),
                ratio: it.ratio.map(Interval::from),
                skipped: it.unusable.as_deref(),
                source: it.source.as_deref(),
            })
            .collect(),
        no_step: last.map_or(1.0, |range| range.no_step).into(),
        plan: search.plan.as_ref(),
        functions: search.functions.as_ref().map(|functions| {
            let unit = match functions.unit {
                FunctionUnit::Instructions => "instructions",
                FunctionUnit::CpuMicroseconds => "cpu_us",
            };
            let row = |(name, by): &'a (String, Estimate)| ChangedFunctionRow {
                name,
                unit,
                change: (*by).into(),
            };
            functions.changes.iter().map(row).collect()
        }),
        comparisons: search.comparisons,
        builds: search.builds,
        elapsed_s: search.elapsed_s.into(),
    }
}

#[cfg(test)]
mod tests;
