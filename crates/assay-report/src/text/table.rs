//! The tables of tests and groups.

use assay_model::{CellId, Group, Setup, StudyRecord, Verdict};
use assay_verdict::{CellJudgement, Judgement, PerOp};
use comfy_table::{Cell, CellAlignment, Table, presets};

use crate::headline::compared;
use crate::number::{NONE, median, quantity, rate, ratio};
use crate::words::{base_index, causes, symbol, system_name};

/// What may be left out of the table of tests to fit the width, the first to go last in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extra {
    Qps,
    ServerCpu,
    ContextSwitches,
    ClientCpu,
    CpuRatio,
}

const EXTRAS: [Extra; 5] =
    [Extra::Qps, Extra::ServerCpu, Extra::ContextSwitches, Extra::ClientCpu, Extra::CpuRatio];

/// Which columns a table has.
#[derive(Debug, Clone, Copy)]
struct Columns<'a> {
    others: &'a [usize],
    /// Whether the relative QPS of the others is among them.
    verdicts: bool,
    extras: &'a [Extra],
    verdict_words: bool,
}

/// Every test by group, as wide as the terminal allows.
pub(crate) fn tests(record: &StudyRecord, judgement: &Judgement, width: usize) -> Vec<String> {
    let others = compared(record);
    let mut lines = match fitting(record, judgement, &others, width) {
        Some(lines) => lines,
        // Not even the least fits: one table for each of the others.
        None => others
            .iter()
            .flat_map(|other| {
                let one = std::slice::from_ref(other);
                let mut lines = fitting(record, judgement, one, width).unwrap_or_else(|| {
                    let least =
                        Columns { others: one, verdicts: true, extras: &[], verdict_words: false };
                    laid_out(record, judgement, least)
                });
                lines.push(String::new());
                lines
            })
            .collect(),
    };
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.push(String::new());
    let legend = legend(&lines);
    lines.extend(legend);
    lines
}

fn fitting(
    record: &StudyRecord,
    judgement: &Judgement,
    others: &[usize],
    width: usize,
) -> Option<Vec<String>> {
    let with_words = (0..=EXTRAS.len()).rev().map(|kept| (kept, true));
    let choices = with_words.chain(std::iter::once((0, false)));
    choices.into_iter().find_map(|(kept, verdict_words)| {
        let (extras, left_out) = EXTRAS.split_at(kept);
        let columns = Columns { others, verdicts: true, extras, verdict_words };
        let mut lines = laid_out(record, judgement, columns);
        if !fits(&lines, width) {
            return None;
        }
        // What does not fit beside the verdicts stands in a table of its own.
        let below = (1..=left_out.len()).rev().find_map(|count| {
            let columns =
                Columns { others, verdicts: false, extras: &left_out[..count], verdict_words };
            Some(laid_out(record, judgement, columns)).filter(|lines| fits(lines, width))
        });
        if let Some(below) = below {
            lines.push(String::new());
            lines.extend(below);
        }
        Some(lines)
    })
}

fn fits(lines: &[String], width: usize) -> bool {
    lines.iter().all(|line| line.chars().count() <= width)
}

/// The table as lines, group headings between the rows.
fn laid_out(record: &StudyRecord, judgement: &Judgement, columns: Columns) -> Vec<String> {
    let mut cells: Vec<(Setup, Group, CellId)> = Vec::new();
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
    let mut rows = table.lines().map(|line| line.trim_end().to_owned());
    let mut lines: Vec<String> = rows.by_ref().take(1).collect();
    let mut heading = None;
    for ((setup, group, _), row) in cells.iter().zip(rows) {
        if heading != Some((setup, group)) {
            heading = Some((setup, group));
            lines.push(String::new());
            lines.push(group_heading(record, *setup, *group));
        }
        lines.push(row);
    }
    lines
}

fn group_heading(record: &StudyRecord, setup: Setup, group: Group) -> String {
    let title = match group {
        Group::Writes => group.word().to_owned(),
        _ => format!("{}: {}", group.word(), group.title()),
    };
    let several = record.study.cells.iter().any(|cell| cell.id.setup != setup);
    let of = if several { format!(", {setup} (clients × tables × rows)") } else { String::new() };
    format!("{title}{of}")
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

fn left(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Left)
}

fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn header(record: &StudyRecord, columns: Columns) -> Vec<Cell> {
    let mut cells = vec![left("test")];
    if columns.extras.contains(&Extra::Qps) {
        cells.push(right("base QPS"));
    }
    for &other in columns.others.iter().filter(|_| columns.verdicts) {
        cells.push(left(format!("{} rQPS", system_name(record, other))));
    }
    for extra in columns.extras {
        match extra {
            Extra::Qps => {}
            Extra::ServerCpu => cells.push(right("server µs/op")),
            Extra::ContextSwitches => cells.push(right("cs/op")),
            Extra::ClientCpu => cells.push(right("client µs/op")),
            Extra::CpuRatio => cells.push(right("server CPU ratio")),
        }
    }
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
            Extra::ServerCpu => cells.push(right(arrows(&all, |p| p.server.map(|s| s.cpu_us)))),
            Extra::ContextSwitches => cells.push(right(arrows(&all, |p| p.server.map(|s| s.cs)))),
            Extra::ClientCpu => cells.push(right(arrows(&all, |p| p.client_cpu_us))),
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

fn legend(lines: &[String]) -> Vec<String> {
    let shows = |header: &str| lines.iter().any(|line| line.contains(header));
    let mut legend = vec![
        "rQPS: QPS divided by that of the base, with 95 % interval; ▲ faster, ▼ slower, = same, \
         ? undecided"
            .to_owned(),
        "undecided can be a change whose interval leaves out 1: the risk of error is shared by all \
         tests and blocks"
            .to_owned(),
    ];
    if shows("µs/op") {
        legend.push(
            "µs/op: CPU time per operation; figures with → are means, base → other, without interval"
                .to_owned(),
        );
    }
    if shows("cs/op") {
        legend.push("cs/op: context switches of the server per operation".to_owned());
    }
    legend
}

/// The sentence on the cause, where there is one.
pub(crate) fn reasons(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let mut lines: Vec<String> = causes(record, judgement)
        .map(|(judged, name, why)| format!("  {} {name}: {why}", symbol(judged.verdict)))
        .collect();
    if !lines.is_empty() {
        lines.insert(0, "why".into());
    }
    lines
}

/// The published statistics of relative QPS by group.
pub(crate) fn groups(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let systems = compared(record);
    let shown = || judgement.groups.iter().filter(|summary| systems.contains(&summary.system));
    if shown().next().is_none() {
        return Vec::new();
    }
    let several_setups = record.study.setups.len() > 1;
    let mut table = plain_table();
    let mut header = vec![left("rQPS by group")];
    header.extend((several_setups).then(|| left("clients × tables × rows")));
    header.extend((systems.len() > 1).then(|| left("system")));
    header.extend(["n", "min", "max", "avg"].map(right));
    header.extend([left("median [95 %]"), right("stddev")]);
    table.set_header(header);
    for summary in shown() {
        let mut row = vec![left(format!("  {}", summary.group.word()))];
        row.extend((several_setups).then(|| left(summary.setup)));
        row.extend((systems.len() > 1).then(|| left(system_name(record, summary.system))));
        row.push(right(summary.n));
        row.extend([summary.min, summary.max, summary.avg].map(|v| right(format!("{v:.2}"))));
        row.push(left(median(summary)));
        row.push(right(summary.stddev.map_or_else(|| NONE.to_owned(), |s| format!("{s:.3}"))));
        table.add_row(row);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}
