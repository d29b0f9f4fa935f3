//! The tables of tests.

use assay_model::{CellId, Group, Setup, StudyRecord, Verdict};
use assay_verdict::{CellJudgement, Judgement, PerOp, threshold};
use comfy_table::{Cell, CellAlignment, Table, presets};

use crate::headline::compared;
use crate::label::label;
use crate::number::{NONE, quantity, rate, ratio, share};
use crate::words::{base_index, symbol};

/// What is left out of the table of tests to fit the width, the last first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extra {
    Qps,
    CpuRatio,
    ServerCpu,
    ClientCpu,
    ContextSwitches,
}

impl Extra {
    const ALL: [Self; 5] =
        [Self::Qps, Self::CpuRatio, Self::ServerCpu, Self::ClientCpu, Self::ContextSwitches];

    fn header(self) -> &'static str {
        match self {
            Self::Qps => "base QPS",
            Self::CpuRatio => "server CPU ratio",
            Self::ServerCpu => "server µs/op",
            Self::ClientCpu => "client µs/op",
            Self::ContextSwitches => "cs/op",
        }
    }

    /// What it shows of a system, where the column compares systems.
    fn figure(self, per_op: PerOp) -> Option<f64> {
        match self {
            Self::Qps | Self::CpuRatio => None,
            Self::ServerCpu => per_op.server.map(|server| server.cpu_us),
            Self::ClientCpu => per_op.client_cpu_us,
            Self::ContextSwitches => per_op.server.map(|server| server.cs),
        }
    }

    /// Whether some test differs in it by more than what counts. A column in which nothing does says nothing.
    fn differs(self, record: &StudyRecord, judgement: &Judgement, others: &[usize]) -> bool {
        if matches!(self, Self::Qps | Self::CpuRatio) {
            return true;
        }
        let figure = |judged: &CellJudgement| judged.per_op.and_then(|it| self.figure(it));
        let least = threshold(&record.study).ln_1p();
        let of_others = judgement.cells.iter().filter(|judged| others.contains(&judged.system));
        of_others.into_iter().any(|other| {
            let base = judgement.cell(other.cell, base_index(record)).and_then(figure);
            base.zip(figure(other)).is_none_or(|(base, other)| {
                base.min(other) <= 0.0 && base != other || (other / base).ln().abs() > least
            })
        })
    }

    /// Whether it was measured in the cell.
    fn is_in(self, judged: &CellJudgement) -> bool {
        let server = judged.per_op.and_then(|it| it.server);
        match self {
            Self::Qps => judged.qps.is_some(),
            Self::CpuRatio => judged.cpu_ratio.is_some(),
            Self::ClientCpu => judged.per_op.is_some_and(|it| it.client_cpu_us.is_some()),
            Self::ServerCpu | Self::ContextSwitches => server.is_some(),
        }
    }
}

/// Which columns a table has.
#[derive(Debug, Clone, Copy)]
struct Columns<'a> {
    others: &'a [usize],
    /// Whether the relative QPS of the others is among them.
    verdicts: bool,
    extras: &'a [Extra],
    verdict_words: bool,
}

/// The tables of tests, and what their columns are.
pub(crate) struct Tests {
    /// Laid out to fit the width.
    pub(crate) lines: Vec<String>,
    /// In words.
    pub(crate) legend: Vec<String>,
}

/// Every test by group, as wide as the terminal allows.
pub(crate) fn tests(record: &StudyRecord, judgement: &Judgement, width: usize) -> Tests {
    let others = compared(record);
    // A column in which nothing was measured says nothing.
    let measured = |extra: &Extra| judgement.cells.iter().any(|judged| extra.is_in(judged));
    let (extras, equal): (Vec<Extra>, Vec<Extra>) = Extra::ALL
        .into_iter()
        .filter(measured)
        .partition(|extra| extra.differs(record, judgement, &others));
    let fitting = |others: &[usize]| fitting(record, judgement, others, &extras, width);
    let layouts = match fitting(&others) {
        Some(layout) => vec![layout],
        // Not even the least fits: one table for each of the others.
        None => others
            .iter()
            .map(|other| {
                let others = std::slice::from_ref(other);
                fitting(others).unwrap_or_else(|| {
                    let least =
                        Columns { others, verdicts: true, extras: &[], verdict_words: false };
                    Layout {
                        lines: laid_out(record, judgement, least),
                        verdict_words: false,
                        left_out: extras.clone(),
                    }
                })
            })
            .collect(),
    };
    let legend = legend(record, judgement, &extras, &equal, &layouts);
    let tables: Vec<Vec<String>> = layouts.into_iter().map(|layout| layout.lines).collect();
    Tests { lines: tables.join(&String::new()), legend }
}

/// A table, or two below each other, that fit.
struct Layout {
    lines: Vec<String>,
    verdict_words: bool,
    /// For these there was no room.
    left_out: Vec<Extra>,
}

fn fitting(
    record: &StudyRecord,
    judgement: &Judgement,
    others: &[usize],
    extras: &[Extra],
    width: usize,
) -> Option<Layout> {
    let with_words = (0..=extras.len()).rev().map(|kept| (kept, true));
    let choices = with_words.chain(std::iter::once((0, false)));
    choices.into_iter().find_map(|(kept, verdict_words)| {
        let (extras, rest) = extras.split_at(kept);
        let columns = Columns { others, verdicts: true, extras, verdict_words };
        let mut lines = laid_out(record, judgement, columns);
        if !fits(&lines, width) {
            return None;
        }
        // What does not fit beside the verdicts stands in a table of its own.
        let below = (1..=rest.len()).rev().find_map(|count| {
            let columns =
                Columns { others, verdicts: false, extras: &rest[..count], verdict_words };
            let lines = laid_out(record, judgement, columns);
            fits(&lines, width).then_some((lines, count))
        });
        let (below, told) = below.unwrap_or_default();
        if told > 0 {
            lines.push(String::new());
            lines.extend(below);
        }
        Some(Layout { lines, verdict_words, left_out: rest[told..].to_vec() })
    })
}

pub(crate) fn fits(lines: &[String], width: usize) -> bool {
    lines.iter().all(|line| line.chars().count() <= width)
}

/// The table as lines, headings between the rows: of groups where there are verdicts, else of setups only.
fn laid_out(record: &StudyRecord, judgement: &Judgement, columns: Columns) -> Vec<String> {
    let mut cells: Vec<(Setup, &'static Group, CellId)> = Vec::new();
    for judged in judgement.cells.iter().filter(|judged| judged.system == base_index(record)) {
        cells.push((judged.cell.setup, judged.group, judged.cell));
    }
    // Stable: within a group the tests stay in the order in which they run.
    cells.sort_by_key(|(setup, group, _)| (*setup, *group));
    let mut table = plain_table();
    table.set_header(header(record, columns));
    for (_, _, cell) in &cells {
        table.add_row(row(record, judgement, *cell, columns));
    }
    let mut rows = trimmed(&table).into_iter();
    let mut lines: Vec<String> = rows.by_ref().take(1).collect();
    let mut above = String::new();
    for ((setup, group, _), row) in cells.iter().zip(rows) {
        let heading = heading(record, *setup, columns.verdicts.then_some(*group));
        if heading != above {
            lines.push(String::new());
            lines.push(heading.clone());
            above = heading;
        }
        lines.push(row);
    }
    lines
}

/// What the rows below it have in common; nothing where all have it.
fn heading(record: &StudyRecord, setup: Setup, group: Option<&Group>) -> String {
    let title = group.map(|group| match group {
        Group { word, title, .. } if word == title => word.clone(),
        Group { word, title, .. } => format!("{word}: {title}"),
    });
    let several = record.study.setups.len() > 1;
    let setup = several.then(|| setup.to_string());
    [title, setup].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(crate) fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// The lines of a table without the spaces at their ends.
pub(crate) fn trimmed(table: &Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

pub(crate) fn left(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Left)
}

pub(crate) fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn header(record: &StudyRecord, columns: Columns) -> Vec<Cell> {
    let mut cells = vec![left("test")];
    if columns.extras.contains(&Extra::Qps) {
        cells.push(right(Extra::Qps.header()));
    }
    for &other in columns.others.iter().filter(|_| columns.verdicts) {
        cells.push(left(format!("{} rQPS", label(record, other))));
    }
    let beside = columns.extras.iter().filter(|extra| **extra != Extra::Qps);
    cells.extend(beside.map(|extra| right(extra.header())));
    cells
}

fn row(record: &StudyRecord, judgement: &Judgement, id: CellId, columns: Columns) -> Vec<Cell> {
    let of = |system| judgement.cell(id, system);
    let base = of(base_index(record));
    let others: Vec<Option<&CellJudgement>> = columns.others.iter().map(|&o| of(o)).collect();
    let mut cells = vec![left(format!("  {}", id.test))];
    if columns.extras.contains(&Extra::Qps) {
        cells.push(right(rate(base.and_then(|base| base.qps))));
    }
    for other in others.iter().filter(|_| columns.verdicts) {
        let verdict = other.map_or(Verdict::Undecided, |other| other.verdict);
        let word = if columns.verdict_words { verdict.word() } else { "" };
        let numbers = ratio(other.and_then(|other| other.rqps));
        cells.push(left(format!("{numbers:<17}  {} {word}", symbol(verdict))));
    }
    let all: Vec<Option<&CellJudgement>> = std::iter::once(base).chain(others.clone()).collect();
    for extra in columns.extras {
        match extra {
            Extra::Qps => {}
            Extra::ServerCpu | Extra::ContextSwitches | Extra::ClientCpu => {
                cells.push(right(arrows(&all, |per_op| extra.figure(per_op))));
            }
            Extra::CpuRatio => {
                let ratios: Vec<String> =
                    others.iter().map(|o| ratio(o.and_then(|o| o.cpu_ratio))).collect();
                cells.push(right(ratios.join("  ")));
            }
        }
    }
    cells
}

/// A figure of every system: `52.1 → 60.3`.
fn arrows(all: &[Option<&CellJudgement>], of: impl Fn(PerOp) -> Option<f64>) -> String {
    let figures: Vec<String> = all
        .iter()
        .map(|judged| judged.and_then(|judged| judged.per_op).and_then(&of))
        .map(|figure| figure.map_or_else(|| NONE.to_owned(), quantity))
        .collect();
    figures.join(" → ")
}

/// What the columns that are shown are, indented to stand apart from the tables.
fn legend(
    record: &StudyRecord,
    judgement: &Judgement,
    extras: &[Extra],
    equal: &[Extra],
    layouts: &[Layout],
) -> Vec<String> {
    let is_left_out = |extra: &Extra| layouts.iter().any(|layout| layout.left_out.contains(extra));
    let shown = |extra| extras.contains(&extra) && !is_left_out(&extra);
    let mut legend = vec!["  rQPS: QPS divided by that of the base [95 % interval]".to_owned()];
    if layouts.iter().any(|layout| !layout.verdict_words) {
        legend.push("  ▲ faster, ▼ slower, = same, ? undecided, ✗ failed".to_owned());
    }
    if let [setup, _, ..] = record.study.setups[..] {
        legend.push(format!("  {setup}: clients × tables × rows"));
    }
    // A reader would take such an interval for a verdict.
    if judgement.cells.iter().any(leaves_out_one_undecided) {
        legend.push(
            "  some intervals exclude 1 yet are undecided: verdicts are corrected for multiple tests and interim looks"
                .to_owned(),
        );
    }
    let switches = shown(Extra::ContextSwitches);
    if switches || shown(Extra::ServerCpu) || shown(Extra::ClientCpu) {
        let (columns, what) =
            if switches { ("µs/op, cs/op", " and context switches") } else { ("µs/op", "") };
        legend.push(format!("  {columns}: CPU time{what} per operation, means, base → other"));
        if shown(Extra::ServerCpu) {
            legend.push(
                "  server µs/op is that of the threads that serve connections; the ratio has the others' too"
                    .to_owned(),
            );
        }
    }
    if !equal.is_empty() {
        let headers: Vec<&str> = equal.iter().map(|extra| extra.header()).collect();
        let least = share(threshold(&record.study));
        legend.push(format!("  left out, as no test differs by {least}: {}", headers.join(", ")));
    }
    let left_out: Vec<&str> =
        extras.iter().filter(|extra| is_left_out(extra)).map(|extra| extra.header()).collect();
    if !left_out.is_empty() {
        legend.push(format!(
            "  no room for {}: shown in a wider terminal and by `--format html`",
            left_out.join(", ")
        ));
    }
    legend
}

fn leaves_out_one_undecided(judged: &CellJudgement) -> bool {
    judged.verdict == Verdict::Undecided
        && judged.rqps.is_some_and(|rqps| rqps.low > 1.0 || rqps.high < 1.0)
}
