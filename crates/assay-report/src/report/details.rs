//! The table of tests of a page: sortable, filterable, and with all figures of a test below it.

use assay_model::{AuditClass, Verdict};

use super::profiles::changes;
use crate::charts::marks::small;
use crate::document::{
    Block, Caption, Column, Fold, FormField, Look, PageForm, Row, RowGroup, Section, Table,
    TableCell,
};
use crate::scale::RatioScale;
use crate::text::{Text, bold, code, interval, link, of_class, symbol, within, words};
use crate::view::Report;
use crate::view::figure::TestFigure;
use crate::view::measured::{Measured, TestRow, TestSection};
use crate::words::{Symbol as _, sentence};

/// Empty in a large study, which has only a matrix.
pub(super) fn blocks(report: &Report) -> Vec<Block<'static>> {
    if report.is_large {
        return Vec::new();
    }
    let shared = DetailsTable::new(report);
    let blocks = vec![
        Block::Form(filter(report)),
        Block::Table(shared.table()),
        Block::Section(legend(report)),
    ];
    Block::place("tests", "Tests", "Tests", blocks)
}

struct DetailsTable<'r> {
    report: &'r Report<'r>,
    scale: RatioScale,
    /// Figures with columns, if only one system is compared with the base.
    changes: Vec<TestFigure>,
    /// Without the twin, which has a separate line.
    systems: Vec<&'r str>,
}

impl<'r> DetailsTable<'r> {
    fn new(report: &'r Report<'r>) -> Self {
        let systems = report.compared();
        let rows = || report.tests.sections.iter().flat_map(|section| &section.rows);
        let is_known = |figure: &TestFigure| rows().any(|row| !row.change(figure).is_empty());
        let figures =
            [TestFigure::SERVER_CPU, TestFigure::CLIENT_CPU, TestFigure::CONTEXT_SWITCHES];
        let is_pair = systems.len() == 1;
        let changes = figures.into_iter().filter(|figure| is_pair && is_known(figure)).collect();
        let scale = RatioScale::fitting(&report.ratios, report.threshold);
        Self { report, scale, changes, systems }
    }

    fn table(&self) -> Table {
        let base = self.report.base;
        let note = format!(
            "Relative QPS (rQPS): QPS divided by that of {base}, with 95% interval. The band marks changes below the \
             threshold, the line marks 1.00, and an arrow marks a value beyond the scale. CPU ×: server CPU per \
             operation relative to {base}. Open a test for its other figures."
        );
        let class = if self.systems.len() < 2 { "tests one" } else { "tests" }.to_owned();
        let scroll = if self.systems.len() <= 2 { "tall few" } else { "tall" };
        let look = Look { class, scroll, label: "Tests", sorted: "table", is_small: false };
        Table {
            caption: Some(Caption { note, ..Caption::default() }),
            columns: self.columns(),
            groups: self.report.tests.sections.iter().map(|section| self.group(section)).collect(),
            look,
            ..Table::default()
        }
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::words("Test"), Column::numbers("Base QPS").class("qps")];
        for system in &self.systems {
            let ratio = Column { scale: self.scale.axis(25.0), ..Column::words("rQPS") };
            let of_system = [
                ratio.class("first ratio"),
                Column::words("Verdict"),
                Column::numbers("CPU ×").class("cpu"),
            ];
            columns.extend(of_system.map(|column| column.above(*system, "system")));
        }
        columns.extend(self.changes.iter().map(|figure| {
            let column = Column::numbers(figure.heading()).class("change");
            let above = format!("per operation, base → {}", self.systems[0]);
            column.titled(figure.explanation()).above(above, "change first")
        }));
        columns
    }

    fn group(&self, section: &TestSection) -> RowGroup {
        let group = section.group;
        let title = (group.word != group.title).then(|| crate::text::small(&group.title));
        let title = title.into_iter().flat_map(|title| [words(" "), title]);
        RowGroup {
            heading: Text::from(group.word.as_str()).and(title).of(self.setup(section)),
            rows: section.rows.iter().map(|row| self.row(section, row)).collect(),
            ..RowGroup::default()
        }
    }

    fn setup(&self, section: &TestSection) -> Option<String> {
        self.report.several_setups.then(|| self.report.setup(section.setup))
    }

    fn row(&self, section: &TestSection, row: &TestRow) -> Row {
        let name = TableCell::from(Text::from(row.test).of(self.setup(section))).key(row.test);
        let qps = row.base.qps;
        let base = Text::from(qps.value()).and(interval(qps.spread()));
        let mut cells = vec![name, TableCell::from(base).key(qps.key())];
        cells
            .extend(row.others.iter().filter(|other| !other.is_twin).flat_map(|it| self.cells(it)));
        let change = |figure| TableCell::from(row.change(figure)).key(row.change_key(figure));
        cells.extend(self.changes.iter().map(change));
        Row {
            id: format!("test-{}", row.cell),
            data: vec![
                ("group", section.group.word.clone()),
                ("setup", self.report.setup(section.setup)),
                ("verdict", verdict_words(row)),
            ],
            more: details(self.report, row),
            ..Row::new(cells)
        }
    }

    fn cells(&self, measured: &Measured) -> [TableCell; 3] {
        let ratio = measured.rqps_unless_failed();
        let value = Text::from(bold(ratio.value())).and(interval(ratio.interval()));
        let class = if ratio.is_far() { "value far" } else { "value" };
        let drawing = crate::text::drawing(self.scale.test(measured));
        let drawn = Text::from_iter([drawing, words(" "), within(class, value)]);
        let word = Text::from(symbol(measured.symbol()))
            .and([words(format!(" {}", measured.word()))])
            .and(interval(measured.bound.as_deref()));
        let title = measured.beyond_threshold.as_ref().map(|confidence| {
            let threshold = &self.report.tests.threshold;
            format!("confidence that the change exceeds {threshold}: {confidence}")
        });
        let verdict = TableCell::from(word).class(format!("v {}", measured.verdict.word()));
        let cpu = measured.cpu_ratio;
        let cpu_class = measured.cpu_change.map_or("", |verdict| verdict.word());
        [
            TableCell::from(drawn).key(ratio.key()),
            verdict.key(rank(measured.verdict).to_string()).titled(title.unwrap_or_default()),
            TableCell::from(cpu.value()).class(cpu_class).key(cpu.key()),
        ]
    }
}

fn details(report: &Report, row: &TestRow) -> Vec<Block<'static>> {
    let measured = || row.measured().filter(|measured| !measured.is_twin);
    let notes = measured().flat_map(|it| {
        let class = format!("v {}", it.verdict.word());
        let mark = of_class(class, format!("{} {}", it.verdict.symbol(), it.system));
        it.notes.iter().map(move |note| Text::from_iter([mark.clone(), words(format!(" {note}"))]))
    });
    let mut blocks = Block::prose("", notes);
    blocks.push(Block::Table(figures(report, row)));
    for other in row.others.iter().filter(|other| !other.is_twin) {
        blocks.extend(parts(report, other).into_iter().map(Block::Table));
    }
    if row.has_profile() {
        let words = "Profiles: functions, waits and calls";
        blocks.extend(Block::prose("", [link(format!("#profile-{}", row.cell), words)]));
    }
    for difference in &row.plans {
        let class = match difference.class {
            AuditClass::Suspicious => "v failed",
            AuditClass::Expected | AuditClass::Harmless => "v",
        };
        let why = words(format!(" {}", difference.why));
        let why = Text::from_iter([of_class(class, "Plans differ."), why]);
        blocks.extend(Block::prose("", [why]));
        let plan = |(systems, plan): &(String, &str)| {
            Text::from_iter([words(format!("{systems}: ")), code(*plan)])
        };
        blocks.extend(Block::list_of("plans", difference.plans.iter().map(plan)));
    }
    blocks.extend(row.rounds.iter().map(|chart| Block::Figures("rounds", vec![small(chart)])));
    blocks
}

fn figures(report: &Report, row: &TestRow) -> Table {
    let figures = &report.tests.details;
    let headings = figures.iter().map(|figure| figure.heading());
    let columns = std::iter::once("").chain(headings).map(Column::words).collect();
    let measured = row.measured().filter(|measured| !measured.is_twin).enumerate();
    let rows = measured.map(|(number, measured)| {
        let line = row.rounds.as_ref().map(|_| format!("line{}", number % 6));
        let name = TableCell::from(measured.system).class(line.unwrap_or_default());
        let texts = figures.iter().map(|figure| measured.figure(figure).into());
        Row::new(std::iter::once(name).chain(texts))
    });
    Table::new(columns, rows).small("figures", "")
}

fn parts(report: &Report, other: &Measured) -> Vec<Table> {
    let mut tables = Vec::new();
    let account = other.account();
    if !account.is_empty() {
        let caption = format!("{}: change of time per operation by part, µs [95%]", other.system);
        tables.push(changes(&account, [""; 3]).small("figures account", caption));
    }
    let counters = other.counters();
    if !counters.is_empty() {
        let caption = format!(
            "{}: counters of the server's own status that changed, per operation or as their mean",
            other.system
        );
        let columns = ["", report.base, other.system, "ratio"].map(Column::words).to_vec();
        let rows = counters
            .iter()
            .map(|(name, [before, after, by])| Row::new([name.as_str(), before, after, by]));
        tables.push(Table::new(columns, rows).small("figures account", caption));
    }
    tables
}

fn legend(report: &Report) -> Section<'static> {
    let figures = report.tests.details.iter();
    let facts = figures.map(|it| (it.heading().to_owned(), it.explanation().into())).collect();
    let certainty = report.tests.certainty.iter().map(|it| format!(" {}", sentence(it)));
    let message = format!("{LEGEND}{}", certainty.collect::<String>());
    let mut blocks = vec![Block::Facts(facts)];
    blocks.extend(Block::prose("", [message]));
    let heading = "What the figures of a test mean";
    Section { class: "legend", blocks, ..Section::new(heading, Fold::Closed) }
}

const LEGEND: &str = "Figures per operation (/op) and latencies cover all slices that verdicts use and have no \
    interval. The parts of a change add up to it; those of which it is certain that they changed are bold and have \
    their share. Parts that never change are left out. Counters are those of the server's own status that changed, \
    per operation. A test may be undecided although its interval excludes 1: verdicts are corrected for multiple \
    tests and interim looks. Same ±1%: a change by more than 1% is ruled out.";

/// Filter word for tests with any change.
const CHANGED: &str = "changed";

const VERDICTS: [Verdict; 6] = [
    Verdict::Slower,
    Verdict::Faster,
    Verdict::Uneven,
    Verdict::Same,
    Verdict::Undecided,
    Verdict::Failed,
];

/// If a verdict is a change, [`CHANGED`] comes first.
fn filter(report: &Report) -> PageForm {
    let sections = &report.tests.sections;
    let mut groups: Vec<String> = sections.iter().map(|it| it.group.word.clone()).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut setups: Vec<String> = sections.iter().map(|it| report.setup(it.setup)).collect();
    setups.dedup();
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let occurs = |verdict: &&Verdict| rows().any(|row| verdicts(row).any(|it| it == **verdict));
    let found = VERDICTS.iter().filter(occurs).map(|verdict| verdict.word());
    let changed = rows().any(has_changed).then_some(CHANGED);
    let verdicts = changed.into_iter().chain(found).map(str::to_owned).collect();
    let choice = |label, name, words| FormField {
        label,
        name,
        words: Some(words),
        all: Some("all"),
        ..FormField::default()
    };
    let mut fields = vec![
        FormField { label: "Find", name: "q", placeholder: "test name", ..FormField::default() },
        choice("Group", "group", groups),
        choice("Verdict", "verdict", verdicts),
    ];
    fields.extend((setups.len() > 1).then(|| choice("Setup", "setup", setups)));
    let button = Some("Reset");
    PageForm { id: "filter", fields, button, output: "shown" }
}

fn verdicts(row: &TestRow) -> impl Iterator<Item = Verdict> {
    row.others.iter().filter(|other| !other.is_twin).map(|other| other.verdict)
}

fn has_changed(row: &TestRow) -> bool {
    let is_change =
        |verdict| matches!(verdict, Verdict::Slower | Verdict::Faster | Verdict::Uneven);
    verdicts(row).any(is_change)
}

/// Filter words of a test, separated by spaces.
fn verdict_words(row: &TestRow) -> String {
    let mut words: Vec<&str> = verdicts(row).map(Verdict::word).collect();
    words.extend(has_changed(row).then_some(CHANGED));
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

fn rank(verdict: Verdict) -> usize {
    VERDICTS.iter().position(|it| *it == verdict).expect("every verdict has a rank")
}
