//! Answers of the map as pages. Pure: no I/O, no clock.

use std::collections::{BTreeMap, BTreeSet};

use assay_map_data::{
    FunctionMove, MapCell, MapChange, MapStep, instructions, ratio_of, version_order,
};
use assay_model::{CountVerdict, Estimate, counted};
use assay_report::blocks::{
    Block, Column, Heading, JsonValue, NONE, PageContent, PageDocument, Quotient, Row,
    SequenceChart, SequencePoint, Table, Wish, fields_csv, thousands, versioned,
};

/// The changes of all tests between two releases.
#[derive(Debug)]
pub struct ReleasePair<'a> {
    /// The base and the other release.
    pub names: [String; 2],
    /// The largest change first, with the functions that moved most.
    pub rows: Vec<(&'a MapChange<'a>, Vec<FunctionMove<'a>>)>,
    /// Whether a terminal shows the details of all tests.
    pub is_whole: bool,
}

/// The changes of all tests over releases.
#[derive(Debug)]
pub(crate) struct ReleaseHistory<'a> {
    /// The first and the last release.
    pub(crate) ends: [String; 2],
    /// In order.
    pub(crate) releases: Vec<&'a str>,
    /// The largest change first, with the cells of its line.
    pub(crate) rows: Vec<(MapChange<'a>, Vec<&'a MapCell>)>,
}

/// A test that was counted here.
#[derive(Debug)]
pub(crate) struct CheckedCell<'a> {
    pub(crate) cell: &'a MapCell,
    /// Instructions per operation here; `None` if they could not be counted.
    pub(crate) here: Option<Estimate>,
    pub(crate) agrees: bool,
}

#[derive(Debug)]
pub(crate) struct CheckedCells<'a> {
    pub(crate) cells: Vec<CheckedCell<'a>>,
}

/// Tests whose details a terminal shows, unless it shows all.
const DETAILED: usize = 3;

/// Steps in the row of a test: of a pair, whose details list all, and of a history.
const PAIR_STEPS: usize = 1;
const HISTORY_STEPS: usize = 3;

const COUNTED: &str = "instructions per operation of the thread that serves the client, counted with one client; \
    the kernel, caches and waiting are not among them, so a time may change otherwise";

const STEPS: &str = "a step is a change between releases that follow each other in the map, beyond 0.5% and beyond \
    chance; the steps and the rest multiply up to the whole change";

const COUNTED_OTHERWISE: &str = "‡: the builds of the two releases come from different sources, or their servers saw \
    different instruction sets, which may be the reason of the step";

const UNLISTED: &str =
    "a dash in place of a function's instructions: it is not among the 60 with most";

impl PageContent for &ReleasePair<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let mut blocks =
            vec![Block::Answer(self.answer()), test_table(&self.names, self.changes(), PAIR_STEPS)];
        let is_short = wish.is_terminal() && !self.is_whole;
        let most = if is_short { DETAILED } else { usize::MAX };
        let detailed = self.rows.iter().filter(|(change, _)| has_details(change));
        let more = detailed.clone().count().saturating_sub(most);
        for (change, moves) in detailed.take(most) {
            blocks.extend(Block::section(change.test, details(change, moves)));
        }
        let more = (more > 0).then(|| {
            format!("{} more with steps or functions: `--verbose`", counted(more as u64, "test"))
        });
        let mut moves = self.rows.iter().flat_map(|(_, moves)| moves);
        let has_unlisted = moves.any(|found| found.counts.contains(&None));
        let unlisted = has_unlisted.then(|| UNLISTED.to_owned());
        blocks.extend(Block::notes(more.into_iter().chain(notes(self.changes())).chain(unlisted)));
        then(&page_between(&self.names, "(base) against", blocks));
    }

    fn json(&self) -> Option<String> {
        let [base, other] = &self.names;
        let tests = self.rows.iter().map(|(change, moves)| {
            let mut fields = change_fields(change);
            fields.push(("functions", moves.iter().map(move_json).collect()));
            JsonValue::Fields(fields)
        });
        Some(versioned(JsonValue::object([
            ("base", base.as_str().into()),
            ("other", other.as_str().into()),
            ("tests", tests.collect()),
        ])))
    }

    fn csv(&self) -> Option<String> {
        Some(changes_csv(self.changes()))
    }
}

impl<'a> ReleasePair<'a> {
    fn changes(&self) -> impl Iterator<Item = &'a MapChange<'a>> {
        self.rows.iter().map(|(change, _)| *change)
    }

    /// `mysql@9.7.1 executes more instructions than mysql@5.7.44 in 28 of 32 tests; fewer in 2; ...`.
    fn answer(&self) -> Vec<String> {
        let [base, other] = &self.names;
        let verdicts: Vec<CountVerdict> =
            self.rows.iter().map(|(change, _)| change.verdict).collect();
        let number =
            |wanted: CountVerdict| verdicts.iter().filter(|verdict| **verdict == wanted).count();
        let [more, fewer] = [CountVerdict::More, CountVerdict::Fewer].map(number);
        let [same, open] = [CountVerdict::Same, CountVerdict::Undecided].map(number);
        let tests = counted(verdicts.len() as u64, "test");
        let open = if open > 0 { format!("; {open} undecided") } else { String::new() };
        let mut lines = vec![format!(
            "{other} executes more instructions per operation than {base} in {more} of {tests}, fewer in {fewer}, as \
             many in {same}{open}"
        )];
        // The steps that most tests share.
        let releases = releases(self.changes());
        let most = releases.iter().max_by_key(|release| release.steps.len());
        lines.extend(most.filter(|release| release.steps.len() > 1).map(|release| {
            let tests = counted(release.steps.len() as u64, "test");
            format!("with {}, {tests} changed: {}", release.to, release.largest())
        }));
        lines
    }
}

impl PageContent for &ReleaseHistory<'_> {
    fn document(&self, _: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let [first, last] = &self.ends;
        let releases = releases(self.changes());
        let all = counted(self.releases.len() as u64, "release");
        let with_steps = self.changes().filter(|change| !change.steps.is_empty()).count();
        let mut blocks = vec![Block::Answer(vec![format!(
            "{first} to {last}, {all}: {with_steps} of {} changed, with {}",
            counted(self.rows.len() as u64, "test"),
            counted(releases.len() as u64, "release"),
        )])];
        if let [(change, line)] = self.rows.as_slice() {
            blocks.extend(chart(change, line).inline());
        }
        let columns = vec![
            Column::words("release"),
            Column::words("after"),
            Column::numbers("tests that changed"),
            Column::words("largest change"),
        ];
        let rows = releases.iter().map(|release| {
            let tests = release.steps.len().to_string();
            Row::new([release.to.to_owned(), release.from.to_owned(), tests, release.largest()])
        });
        let table = vec![Block::Table(Table::new(columns, rows).flush())];
        blocks.extend(Block::section("releases with steps", table));
        blocks.extend(Block::section(
            "tests",
            vec![test_table(&self.ends, self.changes(), HISTORY_STEPS)],
        ));
        blocks.extend(Block::notes(notes(self.changes())));
        then(&page_between(&self.ends, "to", blocks));
    }

    fn json(&self) -> Option<String> {
        let [first, last] = &self.ends;
        let level = |cell: &&MapCell| {
            JsonValue::object([
                ("version", cell.version.as_str().into()),
                ("source", cell.source.as_str().into()),
                ("instructions", instructions(cell).into()),
                ("background", cell.background.into()),
            ])
        };
        let tests = self.rows.iter().map(|(change, line)| {
            let mut fields = change_fields(change);
            fields.push(("levels", line.iter().map(level).collect()));
            JsonValue::Fields(fields)
        });
        Some(versioned(JsonValue::object([
            ("first", first.as_str().into()),
            ("last", last.as_str().into()),
            ("releases", self.releases.iter().copied().collect()),
            ("tests", tests.collect()),
        ])))
    }

    fn csv(&self) -> Option<String> {
        Some(changes_csv(self.changes()))
    }
}

impl<'a> ReleaseHistory<'a> {
    fn changes(&self) -> impl Iterator<Item = &MapChange<'a>> {
        self.rows.iter().map(|(change, _)| change)
    }
}

impl PageContent for &CheckedCells<'_> {
    fn document(&self, _: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let agree = self.cells.iter().filter(|checked| checked.agrees).count();
        let all = counted(self.cells.len() as u64, "count");
        let answer = format!("{agree} of {all} agree with the map");
        let columns = vec![
            Column::words("system"),
            Column::words("test"),
            Column::numbers("map"),
            Column::numbers("here"),
            Column::numbers("difference"),
            Column::words(""),
        ];
        let rows = self.cells.iter().map(|CheckedCell { cell, here, agrees }| {
            let difference = here.map(|here| percent(here.value / cell.instructions));
            let word = match (agrees, here) {
                (true, _) => "= agrees",
                (false, Some(_)) => "≠ differs",
                (false, None) => "not counted",
            };
            Row::new([
                cell.system(),
                cell.test.clone(),
                thousands(cell.instructions),
                here.map_or_else(|| NONE.to_owned(), |here| thousands(here.value)),
                difference.unwrap_or_else(|| NONE.to_owned()),
                word.to_owned(),
            ])
        });
        let mut blocks = vec![Block::Answer(vec![answer])];
        blocks.push(Block::Table(Table::new(columns, rows).flush()));
        let agreement =
            "a count agrees if it differs by less than 0.5%, or by less than chance makes"
                .to_owned();
        let counters = counters(self.cells.iter().map(|checked| checked.cell));
        blocks.extend(Block::notes([agreement].into_iter().chain(counters)));
        let heading =
            Heading { before: "rows of the map, counted again".to_owned(), ..Heading::default() };
        then(&PageDocument { title: heading.line(), heading, blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        let tests = self.cells.iter().map(|CheckedCell { cell, here, agrees }| {
            JsonValue::object([
                ("system", cell.system().into()),
                ("test", cell.test.as_str().into()),
                ("map", instructions(cell).into()),
                ("here", (*here).into()),
                ("agrees", (*agrees).into()),
            ])
        });
        let systems: BTreeSet<String> =
            self.cells.iter().map(|checked| checked.cell.system()).collect();
        let only = systems.first().filter(|_| systems.len() == 1).cloned();
        Some(versioned(JsonValue::object([("system", only.into()), ("tests", tests.collect())])))
    }
}

/// A row for each test.
fn test_table<'a>(
    ends: &[String; 2],
    changes: impl Iterator<Item = &'a MapChange<'a>>,
    most: usize,
) -> Block<'static> {
    let [first, last] = ends.each_ref().map(|end| Column::numbers(end.as_str()));
    let (change, steps) = (Column::numbers("change"), Column::words("largest steps"));
    let columns = vec![Column::words("test"), first, last, change, Column::words("verdict"), steps];
    let rows = changes.map(|change| {
        let [first, last] = change.cells;
        let mut of_first = thousands(first.instructions);
        // The map may lack the test of the first releases of a history.
        if !ends[0].ends_with(&format!("@{}", first.version)) {
            of_first = format!("{}: {of_first}", first.version);
        }
        let steps: Vec<String> = change.largest_steps(most).into_iter().map(step_at).collect();
        Row::new([
            change.test.to_owned(),
            of_first,
            thousands(last.instructions),
            change_with_interval(change.ratio),
            change.verdict.word().to_owned(),
            if steps.is_empty() { NONE.to_owned() } else { steps.join(", ") },
        ])
    });
    Block::Table(Table::new(columns, rows).flush())
}

/// What the numbers of these changes mean, and by what they were counted.
pub fn notes<'a>(changes: impl Iterator<Item = &'a MapChange<'a>>) -> Vec<String> {
    let changes: Vec<&MapChange<'_>> = changes.collect();
    let mut notes = vec![COUNTED.to_owned(), STEPS.to_owned()];
    if changes.iter().flat_map(|change| &change.steps).any(|step| !step.is_counted_alike()) {
        notes.push(COUNTED_OTHERWISE.to_owned());
    }
    notes.extend(counters(changes.iter().flat_map(|change| change.cells)));
    notes
}

fn page_between<'b>(
    ends: &[String; 2],
    small: &'static str,
    blocks: Vec<Block<'b>>,
) -> PageDocument<'b> {
    let [before, after] = ends.clone();
    PageDocument::new(Heading { before, small, after }, blocks)
}

/// Tests that changed with a release.
pub struct ChangedRelease<'a> {
    pub from: &'a str,
    pub to: &'a str,
    /// Tests with their steps.
    pub steps: Vec<(&'a str, &'a MapStep<'a>)>,
}

impl<'a> ChangedRelease<'a> {
    /// The test that changed most, with its step.
    pub fn largest_step(&self) -> Option<&(&'a str, &'a MapStep<'a>)> {
        self.steps.iter().max_by(|one, other| one.1.size().total_cmp(&other.1.size()))
    }

    /// `scan +25.0%`.
    fn largest(&self) -> String {
        self.largest_step().map_or_else(String::new, |(test, step)| {
            format!("{test} {}", percent(step.ratio.value))
        })
    }
}

/// The releases with steps, in the order in which they follow each other.
pub fn releases<'a>(changes: impl Iterator<Item = &'a MapChange<'a>>) -> Vec<ChangedRelease<'a>> {
    let mut releases: BTreeMap<[&str; 2], ChangedRelease<'a>> = BTreeMap::new();
    for change in changes {
        for step in &change.steps {
            let (from, to) = (step.from.version.as_str(), step.to.version.as_str());
            let new = ChangedRelease { from, to, steps: Vec::new() };
            let release = releases.entry([from, to]).or_insert(new);
            release.steps.push((change.test, step));
        }
    }
    let mut releases: Vec<ChangedRelease<'a>> = releases.into_values().collect();
    releases.sort_by(|one, other| {
        let order = version_order(one.to, other.to);
        order.then_with(|| version_order(one.from, other.from))
    });
    releases
}

fn has_details(change: &MapChange<'_>) -> bool {
    !change.steps.is_empty() || change.verdict != CountVerdict::Same
}

fn details(change: &MapChange<'_>, moves: &[FunctionMove<'_>]) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    let step = |step: &MapStep<'_>| {
        let [from, to] = [&step.from.version, &step.to.version];
        format!("{from} → {to}: {}{}", change_with_interval(step.ratio), mark(step))
    };
    let mut steps: Vec<String> = change.steps.iter().map(step).collect();
    if !steps.is_empty() {
        steps.push(format!("the rest: {}", percent(change.rest)));
    }
    blocks.extend(Block::list(steps));
    if !moves.is_empty() {
        let columns = vec![
            Column::words("function"),
            Column::words("module"),
            Column::numbers("base"),
            Column::numbers("other"),
            Column::numbers("change"),
        ];
        let rows = moves.iter().map(|found| {
            let [base, other] =
                found.counts.map(|count| count.map_or_else(|| NONE.to_owned(), thousands));
            let change = signed(found.change());
            Row::new([found.name.to_owned(), found.module.to_owned(), base, other, change])
        });
        blocks.push(Block::Table(Table::new(columns, rows)));
    }
    blocks
}

/// A test over releases.
pub fn chart<'a>(change: &MapChange<'_>, line: &'a [&'a MapCell]) -> SequenceChart<'a> {
    let ratios = line.iter().map(|cell| (cell.version.as_str(), ratio_of(line[0], cell)));
    let points = ratios.map(SequencePoint::from).collect();
    let is_step = |cell: &MapCell| change.steps.iter().any(|step| step.to.version == cell.version);
    let places = line.iter().enumerate().filter(|(_, cell)| is_step(cell));
    let changes = places.map(|(place, _)| place).collect();
    let note = "Instructions per operation relative to those of the first release; the axis does not start at 0. Bars \
                are 95% intervals. A diamond marks the release of a step.";
    SequenceChart { points, changes, note: note.to_owned() }
}

/// `8.0.12 +25.0%`.
pub fn step_at(step: &MapStep<'_>) -> String {
    format!("{} {}{}", step.to.version, percent(step.ratio.value), mark(step))
}

/// Marks a step between builds that were not counted alike.
pub fn mark(step: &MapStep<'_>) -> &'static str {
    if step.is_counted_alike() { "" } else { " ‡" }
}

/// The counters, and the instruction sets that they showed to servers.
fn counters<'a>(cells: impl Iterator<Item = &'a MapCell>) -> Option<String> {
    let mut all: Vec<String> =
        cells.map(|cell| format!("{} ({})", cell.counter, cell.shown)).collect();
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then(|| {
        format!("counted by {}, which showed these instruction sets to servers", all.join("; "))
    })
}

/// `+31.2% [+31.0%, +31.4%]`, or factors.
pub fn change_with_interval(ratio: Estimate) -> String {
    if !is_near(ratio.value) {
        return format!("{} times", Quotient(Some(ratio)).value_with_interval());
    }
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(percent);
    format!("{value} [{low}, {high}]")
}

/// Ratios within these are shown as percentages.
fn is_near(ratio: f64) -> bool {
    (0.1..10.0).contains(&ratio)
}

/// `+31.2%`, or a factor.
pub fn percent(ratio: f64) -> String {
    if !is_near(ratio) {
        let alone = Quotient(Some(Estimate::without_interval(ratio)));
        return format!("{} times", alone.value_with_interval());
    }
    match format!("{:+.1}%", 100.0 * (ratio - 1.0)) {
        none if none == "+0.0%" || none == "-0.0%" => "0.0%".to_owned(),
        change => change.replace('-', "−"),
    }
}

fn signed(count: f64) -> String {
    let sign = if count < 0.0 { "−" } else { "+" };
    format!("{sign}{}", thousands(count.abs()))
}

fn change_fields(change: &MapChange<'_>) -> Vec<(&'static str, JsonValue)> {
    let [base, other] = change.cells;
    let largest = change.largest_step().map(|step| step.to.version.as_str());
    vec![
        ("test", change.test.into()),
        ("base", instructions(base).into()),
        ("other", instructions(other).into()),
        ("ratio", change.ratio.into()),
        ("verdict", change.verdict.word().into()),
        ("largest_step", largest.into()),
        ("steps", change.steps.iter().map(step_json).collect()),
        ("rest", change.rest.into()),
        ("sources", [base, other].map(|cell| cell.source.as_str()).into_iter().collect()),
        ("terms", base.terms.as_str().into()),
    ]
}

fn step_json(step: &MapStep<'_>) -> JsonValue {
    JsonValue::object([
        ("from", step.from.version.as_str().into()),
        ("to", step.to.version.as_str().into()),
        ("ratio", step.ratio.into()),
        ("is_counted_alike", step.is_counted_alike().into()),
    ])
}

fn move_json(found: &FunctionMove<'_>) -> JsonValue {
    let [base, other] = found.counts;
    JsonValue::object([
        ("name", found.name.into()),
        ("object", found.module.into()),
        ("base", base.into()),
        ("other", other.into()),
        ("change", found.change().into()),
    ])
}

const FIELDS: &str = "test base base_low base_high other other_low other_high ratio ratio_low ratio_high verdict \
    largest_step rest terms";

fn changes_csv<'a>(changes: impl Iterator<Item = &'a MapChange<'a>>) -> String {
    fields_csv(FIELDS, changes.map(|change| JsonValue::Fields(change_fields(change))))
}

#[cfg(test)]
mod tests;
