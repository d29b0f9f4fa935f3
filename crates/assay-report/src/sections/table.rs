//! The tables of tests: in a terminal as many columns as fit, on a page all of them (`details.rs`).

use std::ops::Range;

use assay_model::{Group, Setup, Verdict};
use assay_verdict::CellJudgement;

use super::cpu;
use super::details;
use super::figure::{self, TestFigure, same_within};
use super::matrix::{Matrix, MatrixRow};
use super::study::{JudgedStudy, TestGroup, TestRow};
use crate::charts::Place;
use crate::document::{Block, Column, Row, RowGroup, Table, Wish};
use crate::number::{NONE, Rate, confidence, share, within};
use crate::ratio::{Quotient, Ratio};
use crate::words::{capital, sentence, title};

/// Figures that fit a narrow table, the most important first.
const FIGURES: [TestFigure; 5] = [
    TestFigure::Qps,
    TestFigure::CpuRatio,
    TestFigure::SERVER_CPU,
    TestFigure::CLIENT_CPU,
    TestFigure::CONTEXT_SWITCHES,
];

pub(super) fn blocks<'r>(study: &'r JudgedStudy<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    if wish.is_page() {
        return details::blocks(study);
    }
    let tables = TestTables::new(study);
    if wish.is_post() {
        return tables.post(wish);
    }
    let is_verbose = wish.is_verbose;
    let choices = tables.choices(is_verbose);
    vec![Block::Fitted(Box::new(move |number| {
        Some(tables.terminal(choices.get(number)?, is_verbose))
    }))]
}

const LEGEND_OF_MANY: &str = "rQPS: QPS divided by that of the base. ▲ faster, ▼ slower, = same, ≠ uneven, \
    ? undecided, ✗ failed. ±: half the width of the widest 95% interval in the row; `--format csv` has all \
    intervals.";

const LEGEND: &str = "rQPS: QPS divided by that of the base, with its 95% interval and its change. \
    Same ±1%: a change by more than 1% is ruled out.";

enum Choice {
    /// Columns for each system, and tables for other figures below them.
    Columns(Columns),
    /// A column for each system, spread over several tables.
    Matrix { tables: usize, has_base: bool },
}

struct Columns {
    /// The compared systems of each table.
    systems: Vec<Range<usize>>,
    /// Number of figures beside the verdicts, and of others in a table below.
    beside: usize,
    below: usize,
    /// Whether verdicts have their word next to their symbol.
    words: bool,
}

struct TestTables<'r> {
    study: &'r JudgedStudy<'r>,
    tests: Vec<TestGroup<TestRow<'r>>>,
    matrix: Matrix<'r>,
    figures: Vec<TestFigure>,
    /// Figures in which no test differs by more than the threshold.
    alike: Vec<TestFigure>,
}

impl<'r> TestTables<'r> {
    fn new(study: &'r JudgedStudy<'r>) -> Self {
        let cells = &study.judgement.cells;
        let is_measured = |figure: &TestFigure| cells.iter().any(|cell| has(*figure, cell));
        let (figures, alike) =
            FIGURES.into_iter().filter(is_measured).partition(|figure| differs(*figure, study));
        Self { study, tests: study.tests(), matrix: Matrix::new(study), figures, alike }
    }

    fn post(&self, wish: &Wish<'_>) -> Vec<Block<'static>> {
        let (study, matrix) = (self.study, &self.matrix);
        let is_matrix = matrix.has_many_systems();
        let group = |setup: Setup, group: &Group, rows: Vec<Row>| {
            let setups =
                study.several_setups().then(|| match study.record.study.has_known_tables() {
                    true => format!("{setup} (clients × tables × rows)"),
                    false => study.plain_setup(setup),
                });
            let place = Place::Tests(setup, group.word.clone());
            let heading = std::iter::once(title(group)).chain(setups);
            RowGroup {
                heading: heading.collect::<Vec<_>>().join(", ").into(),
                images: wish.images.at(&place),
                rows,
                ..RowGroup::default()
            }
        };
        let table = if is_matrix {
            let systems = 1..matrix.labels.len();
            let mut columns = matrix.columns(true, &systems);
            columns.iter_mut().skip(1).for_each(|column| column.is_number = true);
            let row = |row: &MatrixRow| matrix.row(row, true, &systems);
            let groups = matrix.sections.iter();
            let groups =
                groups.map(|it| group(it.setup, it.group, it.rows.iter().map(row).collect()));
            Table { columns, groups: groups.collect(), ..Table::default() }
        } else {
            let row = |row: &TestRow| post_row(study, row);
            let groups = self.tests.iter();
            let groups =
                groups.map(|it| group(it.setup, it.group, it.rows.iter().map(row).collect()));
            let columns = post_columns(study);
            Table { columns, groups: groups.collect(), ..Table::default() }
        };
        let legend = match (is_matrix, matrix.has_intervals) {
            (true, true) => LEGEND_OF_MANY.to_owned(),
            (true, false) => "rQPS: QPS divided by that of the base, without intervals.".to_owned(),
            (false, _) => {
                let owner = study.cpu_owner();
                let ratio = format!("{owner} CPU per operation divided by that of the base.");
                format!("{LEGEND} {} CPU ratio: {ratio}", capital(owner))
            }
        };
        let cpu = cpu::key(study).filter(|_| !is_matrix).map(sentence);
        let certainty = figure::of_changes(study).map(|it| sentence(&it));
        let legend = std::iter::once(legend).chain(cpu).chain(certainty);
        vec![Block::Table(table), Block::Lines(vec![legend.collect::<Vec<_>>().join(" ")])]
    }

    /// Widest first. If the last one does not fit, none does.
    fn choices(&self, is_verbose: bool) -> Vec<Choice> {
        let (figures, count) = (self.figures.len(), self.study.compared.len());
        let laid_out = |systems: &[Range<usize>]| -> Vec<Choice> {
            let beside = (0..=figures).rev().map(|beside| (beside, true)).chain([(0, false)]);
            let each = beside.flat_map(|(beside, words)| {
                let most = if is_verbose { figures - beside } else { 0 };
                (0..=most).rev().map(move |below| (beside, below, words))
            });
            let each = each.map(|(beside, below, words)| {
                Choice::Columns(Columns { systems: systems.to_vec(), beside, below, words })
            });
            each.collect()
        };
        let all: Range<usize> = 0..count;
        let mut choices = laid_out(std::slice::from_ref(&all));
        if self.matrix.has_many_systems() {
            let parts = numbers_of_tables(self.matrix.labels.len() - 1).into_iter();
            let parts = parts.flat_map(|tables| [(tables, tables == 1), (tables, false)]);
            choices.extend(parts.map(|(tables, has_base)| Choice::Matrix { tables, has_base }));
        } else {
            let each: Vec<Range<usize>> = (0..count).map(|system| system..system + 1).collect();
            choices.extend(laid_out(&each));
        }
        choices
    }

    fn terminal(&self, choice: &Choice, is_verbose: bool) -> Vec<Block<'static>> {
        let (mut blocks, mut notes) = match choice {
            Choice::Columns(columns) => (self.figure_tables(columns), self.key(columns.words)),
            Choice::Matrix { tables, has_base } => {
                (self.matrix_tables(*tables, *has_base), self.matrix_key())
            }
        };
        if is_verbose {
            notes.extend(figure::of_changes(self.study));
            if let Choice::Columns(columns) = choice {
                notes.extend(self.legend(columns.beside + columns.below));
            }
        }
        blocks.extend(Block::notes(notes));
        blocks
    }

    /// Each table of systems is followed by the figures that do not fit beside it.
    fn figure_tables(&self, columns: &Columns) -> Vec<Block<'static>> {
        let (beside, rest) = self.figures.split_at(columns.beside);
        let below = &rest[..columns.below];
        let tables = columns.systems.iter().flat_map(|systems| {
            let first = self.figure_table(systems, Some(columns.words), beside);
            let second = (!below.is_empty()).then(|| self.figure_table(systems, None, below));
            std::iter::once(first).chain(second).map(Block::Table)
        });
        tables.collect()
    }

    fn figure_table(
        &self,
        systems: &Range<usize>,
        verdicts: Option<bool>,
        figures: &[TestFigure],
    ) -> Table {
        let study = self.study;
        let mut columns = vec![Column::words("test")];
        let (base, beside): (Vec<TestFigure>, _) =
            figures.iter().partition(|it| **it == TestFigure::Qps);
        columns.extend(base.iter().map(|it| Column::numbers(heading(study, *it))));
        let shown = study.compared[systems.clone()].iter().filter(|_| verdicts.is_some());
        let shown = shown.map(|system| Column::words(format!("{} rQPS", study.label(*system))));
        columns.extend(shown);
        columns.extend(beside.iter().map(|it: &TestFigure| Column::numbers(heading(study, *it))));
        let row = |test: &TestRow| {
            let others = &test.others[systems.clone()];
            let mut cells = vec![test.base.cell.test.name().to_owned()];
            cells.extend(base.iter().map(|_| Rate(test.base.qps).to_string()));
            if let Some(has_words) = verdicts {
                cells.extend(others.iter().map(|it| ratio(study, *it, has_words)));
            }
            cells.extend(beside.iter().map(|it| figure_of(test, others, it)));
            Row::new(cells)
        };
        let group = |section: &TestGroup<TestRow>| RowGroup {
            heading: self.heading(section.setup, verdicts.map(|_| section.group)).into(),
            rows: section.rows.iter().map(row).collect(),
            ..RowGroup::default()
        };
        let groups = self.tests.iter().map(group).collect();
        Table { columns, groups, ..Table::default() }
    }

    /// Empty if there is only one group.
    fn heading(&self, setup: Setup, group: Option<&Group>) -> String {
        let study = self.study;
        let setup = study.several_setups().then(|| study.plain_setup(setup));
        [group.map(title), setup].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The essential part: relative QPS and verdicts.
    fn key(&self, has_words: bool) -> Vec<String> {
        let mut key =
            vec!["rQPS: QPS divided by that of the base [95% interval] and its change".to_owned()];
        if !has_words {
            key.push("▲ faster, ▼ slower, = same, ? undecided, ✗ failed".to_owned());
        }
        let mut rows = self.tests.iter().flat_map(|section| &section.rows);
        let is_same = |cell: &&CellJudgement| same_within(cell).is_some();
        if rows.any(|row| row.others.iter().flatten().any(is_same)) {
            key.push("same ±1%: a change by more than 1% is ruled out".to_owned());
        }
        key.extend(cpu::key(self.study).filter(|_| has_words).map(str::to_owned));
        let study = &self.study.record.study;
        if let [setup, _, ..] = study.setups.as_slice()
            && study.has_known_tables()
        {
            key.push(format!("{setup}: clients × tables × rows"));
        }
        key
    }

    /// The other columns: the first are shown, the rest left out for lack of room.
    fn legend(&self, shown: usize) -> Vec<String> {
        let (shown, left_out) = self.figures.split_at(shown);
        let mut legend = Vec::new();
        if self.study.judgement.cells.iter().any(is_undecided_beyond_one) {
            legend.push(
                "some tests are undecided although their interval excludes 1: verdicts are corrected for multiple \
                 tests and interim looks"
                    .to_owned(),
            );
        }
        let has = |figure| shown.contains(&figure);
        let switches = has(TestFigure::CONTEXT_SWITCHES);
        if switches || has(TestFigure::SERVER_CPU) || has(TestFigure::CLIENT_CPU) {
            let (columns, what) =
                if switches { ("µs/op, cs/op", " and context switches") } else { ("µs/op", "") };
            legend.push(format!("{columns}: CPU time{what} per operation, means, base → other"));
            if has(TestFigure::SERVER_CPU) {
                legend.push(
                    "server µs/op, server CPU ratio: all threads of the server, those in the background too"
                        .to_owned(),
                );
            }
        }
        let headings = |figures: &[TestFigure]| {
            figures.iter().map(|it| heading(self.study, *it)).collect::<Vec<_>>().join(", ")
        };
        if !self.alike.is_empty() {
            let (least, alike) = (share(self.study.threshold()), headings(&self.alike));
            legend.push(format!("omitted because no test differs by {least}: {alike}"));
        }
        if !left_out.is_empty() {
            legend.push(format!(
                "omitted for lack of space: {} (use a wider terminal or `--format html`)",
                headings(left_out)
            ));
        }
        legend
    }

    fn matrix_key(&self) -> Vec<String> {
        let interval = match self.matrix.has_intervals {
            true => "; ±: half the width of the widest 95% interval of a row",
            false => ", without intervals",
        };
        vec![
            format!("rQPS: QPS divided by that of {}{interval}", self.study.base_label()),
            "▲ faster, ▼ slower, = same, ≠ uneven, ? undecided, ✗ failed".to_owned(),
            "every interval, CPU and latency: `--format html` or `--format csv`".to_owned(),
        ]
    }

    fn matrix_tables(&self, tables: usize, has_base: bool) -> Vec<Block<'static>> {
        let matrix = &self.matrix;
        let others = matrix.labels.len() - 1;
        let size = others.div_ceil(tables).max(1);
        let part = |from: usize| {
            let systems = from..(from + size).min(others + 1);
            let mut columns = matrix.columns(has_base, &systems);
            columns[0].heading = "rQPS".to_owned();
            // The symbol of a verdict precedes each value.
            let values = columns.iter_mut().filter(|column| !column.is_number).skip(1);
            values.for_each(|column| column.heading = format!(" {}", column.heading));
            let groups = matrix.sections.iter().map(|section| RowGroup {
                heading: self.heading(section.setup, Some(section.group)).into(),
                rows: section.rows.iter().map(|row| matrix.row(row, has_base, &systems)).collect(),
                ..RowGroup::default()
            });
            Block::Table(Table { columns, groups: groups.collect(), ..Table::default() })
        };
        (1..=others).step_by(size).map(part).collect()
    }
}

fn has(figure: TestFigure, cell: &CellJudgement) -> bool {
    match figure {
        TestFigure::CpuRatio => cell.cpu_ratio.is_some(),
        _ => figure.quantity(cell).is_some(),
    }
}

/// Whether some test differs in the figure by more than the threshold. Otherwise its column would be pointless.
fn differs(figure: TestFigure, study: &JudgedStudy) -> bool {
    if matches!(figure, TestFigure::Qps | TestFigure::CpuRatio) {
        return true;
    }
    let least = study.threshold().ln_1p();
    let cells = study.judgement.cells.iter();
    cells.filter(|cell| study.compared.contains(&cell.system)).any(|other| {
        let base = study.cell(other.cell, study.base);
        let base = base.and_then(|base| figure.quantity(base));
        base.zip(figure.quantity(other)).is_none_or(|(base, other)| {
            base.min(other) <= 0.0 && base != other || (other / base).ln().abs() > least
        })
    })
}

/// Readers would take an interval that excludes 1 for a verdict.
fn is_undecided_beyond_one(cell: &CellJudgement) -> bool {
    let excludes_one = cell.rqps.is_some_and(|rqps| rqps.low > 1.0 || rqps.high < 1.0);
    cell.verdict == Verdict::Undecided && excludes_one
}

fn post_columns(study: &JudgedStudy) -> Vec<Column> {
    let mut columns = vec![Column::words("test"), Column::numbers("base QPS")];
    for system in &study.compared {
        columns.extend([
            Column::numbers(format!("{} rQPS [95%]", study.label(*system))),
            Column::words("verdict"),
            Column::numbers(format!("confidence > {}", share(study.threshold()))),
            Column::numbers(heading(study, TestFigure::CpuRatio)),
        ]);
    }
    columns
}

fn post_row(study: &JudgedStudy, test: &TestRow) -> Row {
    let name = test.base.cell.test.name();
    let mut cells = vec![name.to_owned(), Rate(test.base.qps).to_string()];
    for other in &test.others {
        cells.extend(match other {
            Some(other) => [
                Ratio(other.rqps).to_string(),
                verdict(study, other),
                figure::beyond_threshold(other).map_or_else(|| NONE.to_owned(), confidence),
                Quotient(other.cpu_ratio).to_string(),
            ],
            None => [NONE, "", NONE, NONE].map(str::to_owned),
        });
    }
    Row::new(cells)
}

/// `= same ±1.2%`.
fn verdict(study: &JudgedStudy, cell: &CellJudgement) -> String {
    let bound = same_within(cell).map_or_else(String::new, |it| format!(" {}", within(it)));
    let (symbol, word) = (study.symbol(cell.verdict), study.word(cell.verdict));
    let cpu = cpu::beside(study, cell).map_or_else(String::new, |words| format!(", {words}"));
    format!("{symbol} {word}{bound}{cpu}").trim().to_owned()
}

/// Numbers of tables to try. Every layout tried must be rendered, so there are few of them.
fn numbers_of_tables(systems: usize) -> Vec<usize> {
    let next = |tables: &usize| Some((tables + 1).max(tables * 4 / 3));
    let tables = std::iter::successors(Some(1), next).take_while(|it| *it < systems);
    tables.chain([systems]).collect()
}

fn heading(study: &JudgedStudy, figure: TestFigure) -> &'static str {
    match figure {
        TestFigure::Qps => "base QPS",
        TestFigure::CpuRatio if study.record.is_reported() => "machine CPU ratio",
        TestFigure::CpuRatio => "server CPU ratio",
        other => other.heading(),
    }
}

fn ratio(study: &JudgedStudy, other: Option<&CellJudgement>, has_words: bool) -> String {
    let Some(other) = other else { return NONE.to_owned() };
    let word = match same_within(other) {
        _ if !has_words => String::new(),
        Some(bound) => format!("{} {}", study.word(other.verdict), within(bound)),
        None => study.word(other.verdict).to_owned(),
    };
    let cpu = cpu::beside(study, other).filter(|_| has_words);
    let cpu = cpu.map_or_else(String::new, |words| format!(", {words}"));
    format!("{:<24}  {} {word}{cpu}", Ratio(other.rqps).to_string(), study.symbol(other.verdict))
}

fn figure_of(test: &TestRow, others: &[Option<&CellJudgement>], figure: &TestFigure) -> String {
    let text = |show: &dyn Fn(&CellJudgement) -> String| -> Vec<String> {
        others.iter().map(|it| it.map_or_else(|| NONE.to_owned(), show)).collect()
    };
    match figure {
        TestFigure::CpuRatio => text(&|other| Quotient(other.cpu_ratio).to_string()).join("  "),
        figure => {
            let others = text(&|other| figure.text(other));
            [vec![figure.text(test.base)], others].concat().join(" → ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_layouts_of_many_systems_are_tried() {
        assert_eq!(numbers_of_tables(5), [1, 2, 3, 4, 5]);
        for systems in [4, 20, 200, 5000] {
            let tried = numbers_of_tables(systems);
            assert!(tried.is_sorted_by(|one, next| one < next), "{tried:?}");
            assert_eq!((tried.first(), tried.last()), (Some(&1), Some(&systems)));
            // Each has at most a third more tables than the one before it.
            let most = 4 + (systems as f64).log(4.0 / 3.0).ceil() as usize;
            assert!(tried.len() <= most, "{systems}: {tried:?}");
        }
    }
}
