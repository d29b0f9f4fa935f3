//! The tables of tests: as many columns as the terminal has room for.

use assay_model::{Group, Setup};
use comfy_table::Cell;

use super::matrix;
use super::table::{fits, left, plain_table, right, trimmed};
use crate::view::Report;
use crate::view::figure::Figure;
use crate::view::tests::{ComparedSystem, Measured, TestRow, Tests};
use crate::words::title;

/// The heading of a figure's column.
fn heading(figure: Figure) -> &'static str {
    match figure {
        Figure::Qps => "base QPS",
        Figure::CpuRatio => "server CPU ratio",
        Figure::ServerCpu => "server µs/op",
        Figure::ClientCpu => "client µs/op",
        Figure::ContextSwitches => "cs/op",
        other => other.heading(),
    }
}

/// The columns of a table.
#[derive(Debug, Clone, Copy)]
struct Columns<'a> {
    /// The first and the last of the compared systems that it shows.
    systems: (usize, usize),
    /// Whether the relative QPS of these systems is among the columns.
    verdicts: bool,
    figures: &'a [Figure],
    /// Whether verdicts have their word next to their symbol.
    verdict_words: bool,
}

/// A table, or two below each other, that fit.
struct Layout {
    lines: Vec<String>,
    verdict_words: bool,
    /// The figures that there was no room for.
    left_out: Vec<Figure>,
}

/// The tables, and the legend of their columns, in words.
pub(crate) struct TestTables {
    /// The lines, laid out to fit the width.
    pub(crate) lines: Vec<String>,
    /// What no reader can do without.
    pub(crate) key: Vec<String>,
    pub(crate) legend: Vec<String>,
}

/// How many lines a report may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// One table for each set of systems.
    Short,
    /// Figures that do not fit beside the verdicts stand below them.
    Ample,
}

/// Lays out the tests for a terminal.
pub(crate) fn tables(report: &Report, width: usize, room: Room) -> TestTables {
    let tests = &report.tests;
    let terminal = Terminal { tests, several_setups: report.several_setups, width, room };
    let count = tests.systems.len();
    let layouts = match terminal.fitting((0, count)) {
        Some(layout) => vec![layout],
        None if report.matrix.has_many_systems() => {
            let lines = matrix::lines(&report.matrix, report.several_setups, width);
            let key = matrix::legend(&report.matrix);
            let legend = tests.certainty.iter().map(|certainty| format!("  {certainty}"));
            return TestTables { lines, key, legend: legend.collect() };
        }
        // Not even the narrowest table fits: each system gets one of its own.
        None => (0..count).map(|system| terminal.narrowest((system, system + 1))).collect(),
    };
    let key = key(tests, report.conditions.study.setups, &layouts);
    let legend = legend(tests, &layouts);
    let tables: Vec<Vec<String>> = layouts.into_iter().map(|layout| layout.lines).collect();
    TestTables { lines: tables.join(&String::new()), key, legend }
}

/// The tests, and the room for them.
struct Terminal<'a> {
    tests: &'a Tests<'a>,
    several_setups: bool,
    width: usize,
    room: Room,
}

impl Terminal<'_> {
    fn fitting(&self, systems: (usize, usize)) -> Option<Layout> {
        let figures = &self.tests.figures;
        let with_words = (0..=figures.len()).rev().map(|kept| (kept, true));
        let mut choices = with_words.chain(std::iter::once((0, false)));
        choices.find_map(|(kept, verdict_words)| {
            let (figures, rest) = figures.split_at(kept);
            let columns = Columns { systems, verdicts: true, figures, verdict_words };
            let mut lines = self.lines(columns);
            if !fits(&lines, self.width) {
                return None;
            }
            // Figures that do not fit next to the verdicts get a table of their own.
            let most = if self.room == Room::Ample { rest.len() } else { 0 };
            let below = (1..=most).rev().find_map(|count| {
                let columns = Columns { verdicts: false, figures: &rest[..count], ..columns };
                let lines = self.lines(columns);
                fits(&lines, self.width).then_some((lines, count))
            });
            let (below, shown) = below.unwrap_or_default();
            if shown > 0 {
                lines.push(String::new());
                lines.extend(below);
            }
            Some(Layout { lines, verdict_words, left_out: rest[shown..].to_vec() })
        })
    }

    /// The best layout that fits, else the narrowest.
    fn narrowest(&self, systems: (usize, usize)) -> Layout {
        self.fitting(systems).unwrap_or_else(|| {
            let columns = Columns { systems, verdicts: true, figures: &[], verdict_words: false };
            let left_out = self.tests.figures.clone();
            Layout { lines: self.lines(columns), verdict_words: false, left_out }
        })
    }

    /// The table as lines. Headings between the rows name the group where there are verdicts, and the setup.
    fn lines(&self, columns: Columns) -> Vec<String> {
        let sections = &self.tests.sections;
        let mut table = plain_table();
        table.set_header(self.header(columns));
        let rows = || sections.iter().flat_map(|it| it.rows.iter().map(move |row| (it, row)));
        for (_, test) in rows() {
            table.add_row(row(test, columns));
        }
        let mut laid = trimmed(&table).into_iter();
        let mut lines: Vec<String> = laid.by_ref().take(1).collect();
        let mut above = String::new();
        for ((section, _), line) in rows().zip(laid) {
            let heading = self.section(section.setup, columns.verdicts.then_some(section.group));
            if heading != above {
                lines.push(String::new());
                lines.push(heading.clone());
                above = heading;
            }
            lines.push(line);
        }
        lines
    }

    /// The heading of a section; empty where there is only one.
    fn section(&self, setup: Setup, group: Option<&Group>) -> String {
        let setup = self.several_setups.then(|| setup.to_string());
        [group.map(title), setup].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn header(&self, columns: Columns) -> Vec<Cell> {
        let mut cells = vec![left("test")];
        if columns.figures.contains(&Figure::Qps) {
            cells.push(right(heading(Figure::Qps)));
        }
        let systems = shown(&self.tests.systems, columns.systems);
        for ComparedSystem { label, .. } in systems.iter().filter(|_| columns.verdicts) {
            cells.push(left(format!("{label} rQPS")));
        }
        let beside = columns.figures.iter().filter(|figure| **figure != Figure::Qps);
        cells.extend(beside.map(|figure| right(heading(*figure))));
        cells
    }
}

/// The compared systems that a table shows.
fn shown<T>(all: &[T], (first, end): (usize, usize)) -> &[T] {
    all.get(first..end).unwrap_or_default()
}

fn row(test: &TestRow, columns: Columns) -> Vec<Cell> {
    let others = shown(&test.others, columns.systems);
    let mut cells = vec![left(format!("  {}", test.test))];
    if columns.figures.contains(&Figure::Qps) {
        cells.push(right(test.base.qps));
    }
    for other in others.iter().filter(|_| columns.verdicts) {
        let word = match &other.bound {
            _ if !columns.verdict_words => String::new(),
            Some(bound) => format!("{} {bound}", other.word()),
            None => other.word().to_owned(),
        };
        let (numbers, symbol) = (other.rqps.to_string(), other.symbol());
        cells.push(left(format!("{numbers:<17}  {symbol} {word}")));
    }
    let joined = |texts: Vec<String>, separator: &str| right(texts.join(separator));
    for figure in columns.figures {
        match figure {
            Figure::Qps => {}
            Figure::CpuRatio => {
                let ratios = others.iter().map(|other| other.cpu_ratio.to_string());
                cells.push(joined(ratios.collect(), "  "));
            }
            figure => {
                let all = std::iter::once(&test.base).chain(others);
                let figures = all.map(|measured: &Measured| measured.figure(figure));
                cells.push(joined(figures.collect(), " → "));
            }
        }
    }
    cells
}

/// Explains relative QPS and verdicts, indented to stand apart from the tables.
fn key(tests: &Tests, setups: &[Setup], layouts: &[Layout]) -> Vec<String> {
    let mut legend = vec!["  rQPS: QPS divided by that of the base [95% interval]".to_owned()];
    if layouts.iter().any(|layout| !layout.verdict_words) {
        legend.push("  ▲ faster, ▼ slower, = same, ? undecided, ✗ failed".to_owned());
    }
    let is_same = |row: &TestRow| row.others.iter().any(|other| other.bound.is_some());
    if tests.sections.iter().flat_map(|section| &section.rows).any(is_same) {
        legend.push("  same ±1%: a change by more than 1% is ruled out".to_owned());
    }
    if let [setup, _, ..] = setups {
        legend.push(format!("  {setup}: clients × tables × rows"));
    }
    legend
}

/// Explains the other columns.
fn legend(tests: &Tests, layouts: &[Layout]) -> Vec<String> {
    let is_left_out =
        |figure: &Figure| layouts.iter().any(|layout| layout.left_out.contains(figure));
    let shown = |figure| tests.figures.contains(&figure) && !is_left_out(&figure);
    let mut legend: Vec<String> =
        tests.certainty.iter().map(|certainty| format!("  {certainty}")).collect();
    if tests.has_undecided_beyond_one {
        legend.push(
            "  some tests are undecided although their interval excludes 1: verdicts are corrected for multiple tests \
             and interim looks"
                .to_owned(),
        );
    }
    let switches = shown(Figure::ContextSwitches);
    if switches || shown(Figure::ServerCpu) || shown(Figure::ClientCpu) {
        let (columns, what) =
            if switches { ("µs/op, cs/op", " and context switches") } else { ("µs/op", "") };
        legend.push(format!("  {columns}: CPU time{what} per operation, means, base → other"));
        if shown(Figure::ServerCpu) {
            legend.push(
                "  server µs/op, server CPU ratio: all threads of the server, those in the background too"
                    .to_owned(),
            );
        }
    }
    let headings = |figures: Vec<&Figure>| {
        figures.into_iter().map(|figure| heading(*figure)).collect::<Vec<_>>().join(", ")
    };
    if !tests.alike.is_empty() {
        let alike = headings(tests.alike.iter().collect());
        legend.push(format!("  omitted because no test differs by {}: {alike}", tests.threshold));
    }
    let left_out: Vec<&Figure> = tests.figures.iter().filter(|it| is_left_out(it)).collect();
    if !left_out.is_empty() {
        let left_out = headings(left_out);
        legend.push(format!(
            "  omitted for lack of space: {left_out} (use a wider terminal or `--format html`)"
        ));
    }
    legend
}
