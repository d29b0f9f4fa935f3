//! The table of tests of a page: sortable, filterable, and with all figures of a test below it.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{AuditClass, AuditFinding, CellId, Slice, SliceOutcome, Verdict, counted};
use assay_verdict::CellJudgement;

use super::figure::{self, TestFigure, beyond_threshold, same_within};
use super::study::{JudgedStudy, TestGroup, TestRow};
use super::{account, cpu, doubts, profiles, trouble};
use crate::charts::drawing::{self, Chart, Values};
use crate::charts::marks::small;
use crate::document::{
    Block, Caption, Column, Fold, FormField, Look, PageForm, Row, RowGroup, Section, Table,
    TableCell,
};
use crate::number::{NONE, Rate, confidence, figure as number, share, within as bound};
use crate::ratio::Quotient;
use crate::scale::RatioScale;
use crate::text::{Text, bold, code, interval, link, of_class, symbol, within, words};
use crate::words::{Symbol as _, sentence};

/// Empty in a large study, which has only a matrix.
pub(super) fn blocks(study: &JudgedStudy) -> Vec<Block<'static>> {
    if study.is_large() {
        return Vec::new();
    }
    let details = DetailsTable::new(study);
    let blocks = vec![
        Block::Form(details.filter()),
        Block::Table(details.table()),
        Block::Section(details.legend()),
    ];
    Block::place("tests", "Tests", "Tests", blocks)
}

struct DetailsTable<'r> {
    study: &'r JudgedStudy<'r>,
    tests: Vec<TestGroup<TestRow<'r>>>,
    scale: RatioScale,
    /// Figures below a test.
    figures: Vec<TestFigure>,
    /// Figures with columns, if only one system is compared with the base.
    changes: Vec<TestFigure>,
    /// Labels without the twin, which has a separate line.
    systems: Vec<&'r str>,
    /// QPS round by round; none without rounds.
    rounds: BTreeMap<CellId, Chart>,
}

impl<'r> DetailsTable<'r> {
    fn new(study: &'r JudgedStudy<'r>) -> Self {
        let (tests, systems) = (study.tests(), study.others().map(|it| study.label(it)));
        let systems: Vec<&str> = systems.collect();
        let rows = || tests.iter().flat_map(|section| &section.rows);
        let is_known =
            |figure: &TestFigure| rows().any(|row| quotient(study, row, *figure).is_some());
        let figures =
            [TestFigure::SERVER_CPU, TestFigure::CLIENT_CPU, TestFigure::CONTEXT_SWITCHES];
        let is_pair = systems.len() == 1;
        let changes = figures.into_iter().filter(|figure| is_pair && is_known(figure)).collect();
        let (scale, figures) = (study.scale(), TestFigure::for_study(study));
        Self { study, scale, figures, changes, systems, rounds: round_charts(study), tests }
    }

    fn rows(&self) -> impl Iterator<Item = &TestRow<'r>> {
        self.tests.iter().flat_map(|section| &section.rows)
    }

    fn table(&self) -> Table {
        let (base, owner) = (self.study.base_label(), self.study.cpu_owner());
        let is_open = |cell: &CellJudgement| doubts::beyond_band(self.study, cell).is_some();
        let open = match self.rows().any(|row| self.study.without_twin(row).any(is_open)) {
            true => format!(" {CORRECTED}"),
            false => String::new(),
        };
        let note = format!(
            "Relative QPS (rQPS): QPS divided by that of {base}, with 95% interval. The band marks changes below the \
             threshold, the line marks 1.00, and an arrow marks a value beyond the scale. CPU ×: {owner} CPU per \
             operation relative to {base}. Open a test for its other figures, and for why it is undecided.{open}"
        );
        let class = if self.systems.len() < 2 { "tests one" } else { "tests" }.to_owned();
        let scroll = if self.systems.len() <= 2 { "tall few" } else { "tall" };
        let look = Look { class, scroll, label: "Tests", sorted: "table", is_small: false };
        Table {
            caption: Some(Caption { note, ..Caption::default() }),
            columns: self.columns(),
            groups: self.tests.iter().map(|section| self.group(section)).collect(),
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

    fn group(&self, section: &TestGroup<TestRow<'r>>) -> RowGroup {
        let group = section.group;
        let title = (group.word != group.title).then(|| crate::text::small(&group.title));
        let title = title.into_iter().flat_map(|title| [words(" "), title]);
        let setup = self.study.setup_if_several(section.setup);
        RowGroup {
            heading: Text::from(group.word.as_str()).and(title).with_setup(setup),
            rows: section.rows.iter().map(|row| self.row(section, row)).collect(),
            ..RowGroup::default()
        }
    }

    fn row(&self, section: &TestGroup<TestRow<'r>>, row: &TestRow<'r>) -> Row {
        let study = self.study;
        let (test, qps) = (row.base.cell.test.name(), Rate(row.base.qps));
        let name = Text::from(test).with_setup(study.setup_if_several(section.setup));
        let base = Text::from(qps.value()).and(interval(qps.spread()));
        let mut cells = vec![TableCell::from(name).key(test), TableCell::from(base).key(qps.key())];
        let others = row.others.iter().zip(&study.compared);
        let others = others.filter(|(_, system)| !study.is_twin(**system));
        cells.extend(others.flat_map(|(other, _)| {
            let missing = || [NONE, "", NONE].map(TableCell::from);
            other.map_or_else(missing, |other| self.cells(other))
        }));
        cells.extend(self.changes.iter().map(|figure| {
            let quotient = quotient(study, row, *figure);
            let other = study.without_twin(row).next();
            let text = other.filter(|_| quotient.is_some()).map_or_else(String::new, |other| {
                format!("{} → {}", figure.text(row.base), figure.text(other))
            });
            TableCell::from(text).key(quotient.map_or_else(String::new, |it| format!("{it:.4}")))
        }));
        Row {
            id: format!("test-{}", study.number_of(row.base.cell)),
            data: vec![
                ("group", section.group.word.clone()),
                ("setup", study.setup(section.setup)),
                ("verdict", verdict_words(study, row)),
            ],
            more: self.details(row),
            ..Row::new(cells)
        }
    }

    fn cells(&self, cell: &CellJudgement) -> [TableCell; 3] {
        let study = self.study;
        let ratio = study.ratio_unless_failed(cell);
        let value = Text::from(bold(ratio.value()))
            .and(interval(ratio.interval()))
            .and(interval(ratio.percent()));
        let class = if ratio.is_far() { "value far" } else { "value" };
        let drawing = self.scale.strip(ratio.0, None, cell.verdict.word());
        let drawing = crate::text::drawing(drawing);
        let drawn = Text::from_iter([drawing, words(" "), within(class, value)]);
        let word = Text::from(symbol(study.symbol(cell.verdict)))
            .and([words(format!(" {}", study.word(cell.verdict)))])
            .and(interval(same_within(cell).map(bound)))
            .and(serving_cpu(study, cell).map(words))
            .and(doubts::beyond_band(study, cell).map(crate::text::small));
        let title = beyond_threshold(cell).map(confidence).map(|confidence| {
            let threshold = share(study.threshold());
            format!("confidence that the change exceeds {threshold}: {confidence}")
        });
        let verdict = TableCell::from(word).class(format!("v {}", cell.verdict.word()));
        let cpu = Quotient(cell.cpu_ratio);
        let cpu_class = cpu_change(cell).map_or("", |verdict| verdict.word());
        [
            TableCell::from(drawn).key(ratio.key()),
            verdict.key(rank(cell.verdict).to_string()).titled(title.unwrap_or_default()),
            TableCell::from(cpu.value()).class(cpu_class).key(cpu.key()),
        ]
    }

    fn details(&self, row: &TestRow<'r>) -> Vec<Block<'static>> {
        let (study, cell) = (self.study, row.base.cell);
        let mut blocks = Block::prose("", self.measured(row).flat_map(|it| notes(study, it)));
        blocks.push(Block::Table(self.figures(row)));
        for other in study.without_twin(row).filter(|other| has_changed(other)) {
            blocks.extend(parts(study, other).into_iter().map(Block::Table));
        }
        if profiles::is_profiled(study, cell) {
            let words = "Profiles: functions, waits and calls";
            let to = format!("#profile-{}", study.number_of(cell));
            blocks.extend(Block::prose("", [link(to, words)]));
        }
        blocks.extend(study.plans.for_cell(cell).flat_map(|finding| plans(study, finding)));
        let rounds = self.rounds.get(&cell);
        blocks.extend(rounds.map(|chart| Block::Figures("rounds", vec![small(chart)])));
        blocks
    }

    /// The results of the base and of the compared systems, without the twin.
    fn measured(&self, row: &TestRow<'r>) -> impl Iterator<Item = &'r CellJudgement> {
        std::iter::once(row.base).chain(self.study.without_twin(row))
    }

    fn figures(&self, row: &TestRow<'r>) -> Table {
        let headings = self.figures.iter().map(|figure| figure.heading());
        let columns = std::iter::once("").chain(headings).map(Column::words).collect();
        let has_rounds = self.rounds.contains_key(&row.base.cell);
        let rows = self.measured(row).enumerate().map(|(number, cell)| {
            let line = has_rounds.then(|| format!("line{}", number % 6));
            let name = TableCell::from(self.study.label(cell.system));
            let texts = self.figures.iter().map(|figure| figure.text(cell).into());
            Row::new(std::iter::once(name.class(line.unwrap_or_default())).chain(texts))
        });
        Table::new(columns, rows).small("figures", "")
    }

    fn legend(&self) -> Section<'static> {
        let figures = self.figures.iter();
        let facts = figures.map(|it| (it.heading().to_owned(), it.explanation().into())).collect();
        let more = [cpu::key(self.study).map(str::to_owned), figure::of_changes(self.study)];
        let more = more.into_iter().flatten().map(|line| format!(" {}", sentence(&line)));
        let message = format!("{LEGEND} {CORRECTED}{}", more.collect::<String>());
        let mut blocks = vec![Block::Facts(facts)];
        blocks.extend(Block::prose("", [message]));
        let heading = "What the figures of a test mean";
        Section { class: "legend", blocks, ..Section::new(heading, Fold::Closed) }
    }

    /// If a verdict is a change, [`CHANGED`] comes first.
    fn filter(&self) -> PageForm {
        let study = self.study;
        let groups: BTreeSet<String> = self.tests.iter().map(|it| it.group.word.clone()).collect();
        let mut setups: Vec<String> = self.tests.iter().map(|it| study.setup(it.setup)).collect();
        setups.dedup();
        let occurs = |verdict: &&Verdict| {
            self.rows().any(|row| study.without_twin(row).any(|it| it.verdict == **verdict))
        };
        let found = VERDICTS.iter().filter(occurs).map(|verdict| verdict.word());
        let changed = self.rows().any(|row| is_changed(study, row)).then_some(CHANGED);
        let verdicts = changed.into_iter().chain(found).map(str::to_owned).collect();
        let choice = |label, name, words| FormField {
            label,
            name,
            words: Some(words),
            all: Some("all"),
            ..FormField::default()
        };
        let find = FormField { label: "Find", name: "q", ..FormField::default() };
        let mut fields = vec![
            FormField { placeholder: "test name", ..find },
            choice("Group", "group", groups.into_iter().collect()),
            choice("Verdict", "verdict", verdicts),
        ];
        fields.extend((setups.len() > 1).then(|| choice("Setup", "setup", setups)));
        let button = Some("Reset");
        PageForm { id: "filter", fields, button, output: "shown" }
    }
}

/// The only other system divided by the base. `None` if either was not measured.
fn quotient(study: &JudgedStudy, row: &TestRow, figure: TestFigure) -> Option<f64> {
    let other = study.without_twin(row).next()?;
    let quotient = figure.quantity(other)? / figure.quantity(row.base)?;
    quotient.is_finite().then_some(quotient)
}

/// Why it failed, changed or is undecided, and its machine trouble.
fn notes(study: &JudgedStudy, cell: &CellJudgement) -> Vec<Text> {
    let (class, label) = (format!("v {}", cell.verdict.word()), study.label(cell.system));
    let mark = of_class(class, format!("{} {label}", cell.verdict.symbol()));
    let why = doubts::why(study.record, cell).map(|why| why.into_owned());
    let notes = why.into_iter().chain(trouble::of_cell(cell));
    notes.map(|note| Text::from_iter([mark.clone(), words(format!(" {note}"))])).collect()
}

/// What CPU says beside time: `, CPU more: 1.05 [1.03, 1.07]`.
fn serving_cpu(study: &JudgedStudy, cell: &CellJudgement) -> Option<String> {
    let (words, ratio) = cpu::beside(study, cell).zip(cell.cpu.map(|cpu| cpu.ratio))?;
    Some(format!(", {words}: {}", Quotient(Some(ratio)).value_with_interval()))
}

/// Whether it takes less or more CPU time per operation; `None` if neither was called.
fn cpu_change(cell: &CellJudgement) -> Option<Verdict> {
    cell.cpu_verdict.filter(|verdict| matches!(verdict, Verdict::Slower | Verdict::Faster))
}

fn has_changed(cell: &CellJudgement) -> bool {
    match cell.verdict {
        Verdict::Slower | Verdict::Faster | Verdict::Uneven => true,
        Verdict::Same | Verdict::Undecided => cpu_change(cell).is_some(),
        Verdict::Failed => false,
    }
}

/// Terms of its change against the base, and changed counters of the server's status.
fn parts(study: &JudgedStudy, other: &CellJudgement) -> Vec<Table> {
    let mut tables = Vec::new();
    let system = study.label(other.system);
    let account = account::rows(other);
    if !account.is_empty() {
        let caption = format!("{system}: change of time per operation by part, µs [95%]");
        tables.push(account::table(&account, [""; 3]).small("figures account", caption));
    }
    let counters = account::counters(other);
    if !counters.is_empty() {
        let caption = format!(
            "{system}: counters of the server's own status that changed, per operation or as their mean"
        );
        let columns = ["", study.base_label(), system, "ratio"].map(Column::words).to_vec();
        let rows = counters
            .iter()
            .map(|(name, [before, after, by])| Row::new([name.as_str(), before, after, by]));
        tables.push(Table::new(columns, rows).small("figures account", caption));
    }
    tables
}

/// Plans of a statement that differ between the systems, each with the systems that have it. None if they differ only
/// for the twin.
fn plans(study: &JudgedStudy, finding: &AuditFinding) -> Vec<Block<'static>> {
    let mut plans: Vec<(String, &str)> = Vec::new();
    for (system, plan) in finding.values.iter().enumerate() {
        let Some(plan) = plan.as_deref().filter(|_| !study.is_twin(system)) else { continue };
        let label = study.label(system);
        match plans.iter_mut().find(|(_, other)| *other == plan) {
            Some((systems, _)) => *systems += &format!(", {label}"),
            None => plans.push((label.to_owned(), plan)),
        }
    }
    if plans.len() < 2 {
        return Vec::new();
    }
    let class = match finding.class {
        AuditClass::Suspicious => "v failed",
        AuditClass::Expected | AuditClass::Harmless => "v",
    };
    let why = words(format!(" {}", finding.why));
    let why = Text::from_iter([of_class(class, "Plans differ."), why]);
    let mut blocks = Block::prose("", [why]);
    let plan = |(systems, plan): (String, &str)| {
        Text::from_iter([words(format!("{systems}: ")), code(plan)])
    };
    blocks.extend(Block::list_of("plans", plans.into_iter().map(plan)));
    blocks
}

const LEGEND: &str = "Figures per operation (/op) and latencies cover all slices that verdicts use and have no \
    interval. The parts of a change add up to it; those of which it is certain that they changed are bold and have \
    their share. Parts that never change are left out. Counters are those of the server's own status that changed, \
    per operation. Same ±1%: a change by more than 1% is ruled out.";

const CORRECTED: &str = "A test may be undecided although its interval excludes 1: verdicts are corrected for multiple \
    tests and interim looks.";

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

fn is_changed(study: &JudgedStudy, row: &TestRow) -> bool {
    let is_change =
        |verdict| matches!(verdict, Verdict::Slower | Verdict::Faster | Verdict::Uneven);
    study.without_twin(row).any(|cell| is_change(cell.verdict))
}

/// Filter words of a test, separated by spaces.
fn verdict_words(study: &JudgedStudy, row: &TestRow) -> String {
    let verdicts = study.without_twin(row).map(|cell| cell.verdict.word());
    let words = verdicts.chain(is_changed(study, row).then_some(CHANGED));
    words.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
}

fn rank(verdict: Verdict) -> usize {
    VERDICTS.iter().position(|it| *it == verdict).expect("every verdict has a rank")
}

/// Values of a line. With more rounds, a value is the mean of several.
const VALUES: usize = 40;

const ROUNDS_MIN: usize = 3;

type Rounds<'a> = BTreeMap<(u32, u32), BTreeMap<usize, &'a Slice>>;

/// QPS of the base and of the systems compared with it, in this order, in each cell with enough rounds. Includes
/// troubled rounds.
fn round_charts(study: &JudgedStudy) -> BTreeMap<CellId, Chart> {
    let mut cells: BTreeMap<CellId, Rounds> = BTreeMap::new();
    for slice in study.record.slices_that_count() {
        let has_ended = !matches!(slice.outcome, SliceOutcome::Failed(_));
        // A step of the Insert Benchmark has charts of its seconds.
        if has_ended && slice.step.is_none() {
            let rounds = cells.entry(slice.cell).or_default();
            rounds.entry((slice.block, slice.round)).or_default().insert(slice.system, slice);
        }
    }
    let chart = |(cell, rounds): (CellId, Rounds)| Some((cell, round_chart(study, &rounds)?));
    cells.into_iter().filter_map(chart).collect()
}

fn round_chart(study: &JudgedStudy, rounds: &Rounds) -> Option<Chart> {
    if rounds.len() < ROUNDS_MIN {
        return None;
    }
    let together = rounds.len().div_ceil(VALUES);
    let rounds_in_order: Vec<&BTreeMap<usize, &Slice>> = rounds.values().collect();
    let line = |(number, system): (usize, usize)| -> Values {
        let mean = |rounds: &[&BTreeMap<usize, &Slice>]| {
            let rate = |round: &&BTreeMap<usize, &Slice>| round.get(&system)?.ops_per_second();
            let known: Vec<f64> = rounds.iter().filter_map(rate).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        (number, rounds_in_order.chunks(together).map(mean).collect())
    };
    let shown = std::iter::once(study.base).chain(study.compared.iter().copied());
    let lines: Vec<Values> = shown.enumerate().map(line).collect();
    let blocks: BTreeSet<u32> = rounds.keys().map(|(block, _)| *block).collect();
    let mean = match together {
        1 => String::new(),
        _ => format!(", each value the mean of {together}"),
    };
    let of = counted(rounds.len() as u64, "round");
    let blocks = counted(blocks.len() as u64, "block");
    drawing::chart("QPS round by round", &lines, |top| {
        format!("0 to {}, {of} in {blocks}{mean}", number(Some(top)))
    })
}
