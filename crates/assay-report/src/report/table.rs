//! The tables of tests: in a terminal as many columns as fit, on a page all of them (`details.rs`).

use std::ops::Range;

use assay_model::{Group, Setup};

use super::{details, matrix};
use crate::charts::Place;
use crate::document::{Block, Column, Medium, Row, RowGroup, Table, Wish};
use crate::number::NONE;
use crate::view::Report;
use crate::view::figure::TestFigure;
use crate::view::matrix::MatrixRow;
use crate::view::measured::{Measured, MeasuredTests, TestRow, TestSection};
use crate::words::{sentence, title};

pub(super) fn blocks<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    match wish.medium {
        Medium::Page => return details::blocks(report),
        Medium::Post => return post(report, wish),
        Medium::Terminal => {}
    }
    let is_verbose = wish.is_verbose;
    let choices = choices(report, is_verbose);
    vec![Block::Fitted(Box::new(move |number| {
        Some(terminal(report, choices.get(number)?, is_verbose))
    }))]
}

const LEGEND_OF_MANY: &str = "rQPS: QPS divided by that of the base. ▲ faster, ▼ slower, = same, ≠ uneven, \
    ? undecided, ✗ failed. ±: half the width of the widest 95% interval in the row; `--format csv` has all \
    intervals.";

const LEGEND: &str = "rQPS: QPS divided by that of the base, with its 95% interval. \
    Same ±1%: a change by more than 1% is ruled out. \
    Server CPU ratio: server CPU per operation divided by that of the base.";

fn post<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    let matrix = &report.matrix;
    let is_matrix = matrix.has_many_systems();
    let of = |setup: Setup, group: &Group, rows: Vec<Row>| {
        let study = &report.study.record.study;
        let setups = report.several_setups.then(|| match study.has_known_tables() {
            true => format!("{setup} (clients × tables × rows)"),
            false => report.plain_setup(setup),
        });
        let place = Place::Tests(setup, group.word.clone());
        let heading = std::iter::once(title(group)).chain(setups).collect::<Vec<_>>().join(", ");
        RowGroup {
            heading: heading.into(),
            images: wish.images.at(&place),
            rows,
            ..RowGroup::default()
        }
    };
    let table = if is_matrix {
        let systems = 1..matrix.labels.len();
        let mut columns = matrix::columns(report, true, &systems);
        columns.iter_mut().skip(1).for_each(|column| column.is_number = true);
        let row = |row: &MatrixRow| matrix::row(report, row, true, &systems);
        let sections = matrix.sections.iter();
        let groups = sections.map(|it| of(it.setup, it.group, it.rows.iter().map(row).collect()));
        Table { columns, groups: groups.collect(), ..Table::default() }
    } else {
        let sections = report.tests.sections.iter();
        let groups = sections.map(|it| of(it.setup, it.group, it.rows.iter().map(row).collect()));
        Table { columns: columns(&report.tests), groups: groups.collect(), ..Table::default() }
    };
    let legend = match (is_matrix, matrix.has_intervals()) {
        (true, true) => LEGEND_OF_MANY,
        (true, false) => "rQPS: QPS divided by that of the base, without intervals.",
        (false, _) => LEGEND,
    };
    let certainty = report.tests.certainty.iter().map(|it| sentence(it));
    let legend = std::iter::once(legend.to_owned()).chain(certainty);
    vec![Block::Table(table), Block::Lines(vec![legend.collect::<Vec<_>>().join(" ")])]
}

fn columns(tests: &MeasuredTests) -> Vec<Column> {
    let mut columns = vec![Column::words("test"), Column::numbers("base QPS")];
    for system in &tests.systems {
        columns.extend([
            Column::numbers(format!("{} rQPS [95%]", system.label)),
            Column::words("verdict"),
            Column::numbers(format!("confidence > {}", tests.threshold)),
            Column::numbers("server CPU ratio"),
        ]);
    }
    columns
}

fn row(test: &TestRow) -> Row {
    let mut cells = vec![test.test.to_owned(), test.base.qps.to_string()];
    for other in &test.others {
        cells.push(other.rqps.to_string());
        cells.push(verdict(other));
        cells.push(other.beyond_threshold.clone().unwrap_or_else(|| NONE.to_owned()));
        cells.push(other.cpu_ratio.to_string());
    }
    Row::new(cells)
}

/// `= same ±1.2%`.
fn verdict(measured: &Measured) -> String {
    let bound = measured.bound.iter().map(|bound| format!(" {bound}")).collect::<String>();
    format!("{} {}{bound}", measured.symbol(), measured.word()).trim().to_owned()
}

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

/// Widest first. If the last one does not fit, none does.
fn choices(report: &Report, is_verbose: bool) -> Vec<Choice> {
    let (figures, count) = (report.tests.figures.len(), report.tests.systems.len());
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
    if report.matrix.has_many_systems() {
        let others = report.matrix.labels.len().saturating_sub(1);
        let parts = numbers_of_tables(others).into_iter();
        let parts = parts.flat_map(|tables| [(tables, tables == 1), (tables, false)]);
        choices.extend(parts.map(|(tables, has_base)| Choice::Matrix { tables, has_base }));
    } else {
        let each: Vec<Range<usize>> = (0..count).map(|system| system..system + 1).collect();
        choices.extend(laid_out(&each));
    }
    choices
}

/// Numbers of tables to try. Every layout tried must be rendered, so there are few of them.
fn numbers_of_tables(systems: usize) -> Vec<usize> {
    let next = |tables: &usize| Some((tables + 1).max(tables * 4 / 3));
    let tables = std::iter::successors(Some(1), next).take_while(|it| *it < systems);
    tables.chain([systems]).collect()
}

fn terminal(report: &Report, choice: &Choice, is_verbose: bool) -> Vec<Block<'static>> {
    let (mut blocks, mut notes) = match choice {
        Choice::Columns(columns) => (figure_tables(report, columns), key(report, columns.words)),
        Choice::Matrix { tables, has_base } => {
            (matrix_tables(report, *tables, *has_base), matrix_key(report))
        }
    };
    if is_verbose {
        notes.extend(report.tests.certainty.clone());
        if let Choice::Columns(columns) = choice {
            let shown = columns.beside + columns.below;
            notes.extend(legend(&report.tests, report.tests.figures.split_at(shown)));
        }
    }
    blocks.extend(Block::notes(notes));
    blocks
}

/// Each table of systems is followed by the figures that do not fit beside it.
fn figure_tables(report: &Report, columns: &Columns) -> Vec<Block<'static>> {
    let (beside, rest) = report.tests.figures.split_at(columns.beside);
    let below = &rest[..columns.below];
    let tables = columns.systems.iter().flat_map(|systems| {
        let words = Some(columns.words);
        let first = figure_table(report, systems, words, beside);
        let second = (!below.is_empty()).then(|| figure_table(report, systems, None, below));
        std::iter::once(first).chain(second).map(Block::Table)
    });
    tables.collect()
}

fn figure_table(
    report: &Report,
    systems: &Range<usize>,
    verdicts: Option<bool>,
    figures: &[TestFigure],
) -> Table {
    let compared = &report.tests.systems[systems.clone()];
    let mut columns = vec![Column::words("test")];
    let (base, beside): (Vec<TestFigure>, _) =
        figures.iter().partition(|it| **it == TestFigure::Qps);
    columns.extend(base.iter().map(|it| Column::numbers(heading(*it))));
    let shown = compared.iter().filter(|_| verdicts.is_some());
    columns.extend(shown.map(|system| Column::words(format!("{} rQPS", system.label))));
    columns.extend(beside.iter().map(|it: &TestFigure| Column::numbers(heading(*it))));
    let row = |test: &TestRow| {
        let others = test.others.get(systems.clone()).unwrap_or_default();
        let mut cells = vec![test.test.to_owned()];
        cells.extend(base.iter().map(|_| test.base.qps.to_string()));
        cells.extend(verdicts.iter().flat_map(|words| others.iter().map(|it| ratio(it, *words))));
        cells.extend(beside.iter().map(|it| figure_of(test, others, it)));
        Row::new(cells)
    };
    let group = |section: &TestSection| RowGroup {
        heading: heading_of(report, section.setup, verdicts.map(|_| section.group)).into(),
        rows: section.rows.iter().map(row).collect(),
        ..RowGroup::default()
    };
    let groups = report.tests.sections.iter().map(group).collect();
    Table { columns, groups, ..Table::default() }
}

/// Empty if there is only one group.
fn heading_of(report: &Report, setup: Setup, group: Option<&Group>) -> String {
    let setup = report.several_setups.then(|| report.plain_setup(setup));
    [group.map(title), setup].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn heading(figure: TestFigure) -> &'static str {
    match figure {
        TestFigure::Qps => "base QPS",
        TestFigure::CpuRatio => "server CPU ratio",
        other => other.heading(),
    }
}

fn ratio(other: &Measured, with_words: bool) -> String {
    let word = match &other.bound {
        _ if !with_words => String::new(),
        Some(bound) => format!("{} {bound}", other.word()),
        None => other.word().to_owned(),
    };
    format!("{:<17}  {} {word}", other.rqps.to_string(), other.symbol())
}

fn figure_of(test: &TestRow, others: &[Measured], figure: &TestFigure) -> String {
    match figure {
        TestFigure::CpuRatio => {
            let ratios = others.iter().map(|other| other.cpu_ratio.to_string());
            ratios.collect::<Vec<_>>().join("  ")
        }
        figure => {
            let all = std::iter::once(&test.base).chain(others);
            all.map(|measured| measured.figure(figure)).collect::<Vec<_>>().join(" → ")
        }
    }
}

/// The essential part: relative QPS and verdicts.
fn key(report: &Report, has_words: bool) -> Vec<String> {
    let tests = &report.tests;
    let mut key = vec!["rQPS: QPS divided by that of the base [95% interval]".to_owned()];
    if !has_words {
        key.push("▲ faster, ▼ slower, = same, ? undecided, ✗ failed".to_owned());
    }
    let is_same = |row: &TestRow| row.others.iter().any(|other| other.bound.is_some());
    if tests.sections.iter().flat_map(|section| &section.rows).any(is_same) {
        key.push("same ±1%: a change by more than 1% is ruled out".to_owned());
    }
    let study = &report.study.record.study;
    if let [setup, _, ..] = study.setups.as_slice()
        && study.has_known_tables()
    {
        key.push(format!("{setup}: clients × tables × rows"));
    }
    key
}

/// The other columns, shown or left out for lack of room.
fn legend(tests: &MeasuredTests, (shown, left_out): (&[TestFigure], &[TestFigure])) -> Vec<String> {
    let mut legend = Vec::new();
    if tests.has_undecided_beyond_one {
        legend.push(
            "some tests are undecided although their interval excludes 1: verdicts are corrected for multiple tests \
             and interim looks"
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
        figures.iter().map(|figure| heading(*figure)).collect::<Vec<_>>().join(", ")
    };
    if !tests.alike.is_empty() {
        let alike = headings(&tests.alike);
        legend.push(format!("omitted because no test differs by {}: {alike}", tests.threshold));
    }
    if !left_out.is_empty() {
        legend.push(format!(
            "omitted for lack of space: {} (use a wider terminal or `--format html`)",
            headings(left_out)
        ));
    }
    legend
}

fn matrix_key(report: &Report) -> Vec<String> {
    let interval = match report.matrix.has_intervals() {
        true => "; ±: half the width of the widest 95% interval of a row",
        false => ", without intervals",
    };
    vec![
        format!("rQPS: QPS divided by that of {}{interval}", report.base),
        "▲ faster, ▼ slower, = same, ≠ uneven, ? undecided, ✗ failed".to_owned(),
        "every interval, CPU and latency: `--format html` or `--format csv`".to_owned(),
    ]
}

fn matrix_tables(report: &Report, tables: usize, has_base: bool) -> Vec<Block<'static>> {
    let others = report.matrix.labels.len().saturating_sub(1);
    let size = others.div_ceil(tables).max(1);
    let part = |from: usize| {
        let systems = from..(from + size).min(others + 1);
        let mut columns = matrix::columns(report, has_base, &systems);
        columns[0].heading = "rQPS".to_owned();
        // The symbol of a verdict precedes each value.
        let values = columns.iter_mut().filter(|column| !column.is_number).skip(1);
        values.for_each(|column| column.heading = format!(" {}", column.heading));
        let groups = report.matrix.sections.iter().map(|section| RowGroup {
            heading: heading_of(report, section.setup, Some(section.group)).into(),
            rows: section
                .rows
                .iter()
                .map(|row| matrix::row(report, row, has_base, &systems))
                .collect(),
            ..RowGroup::default()
        });
        Block::Table(Table { columns, groups: groups.collect(), ..Table::default() })
    };
    (1..=others).step_by(size).map(part).collect()
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
