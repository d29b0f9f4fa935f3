//! The tables of the Insert Benchmark, with the columns and the colours of Mark Callaghan's reports.

use assay_model::{RESPONSE_BOUNDS_US, SLA, Statements, Verdict};
use assay_verdict::{CellJudgement, StepSummary};

use super::seconds::{StepCharts, charts};
use super::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::step_bars::{self, Rated, StepBars};
use super::step_metrics;
use super::study::JudgedStudy;
use crate::number::NONE;
use crate::ratio::short;

pub(crate) struct InsertBench<'a> {
    pub(crate) systems: Vec<String>,
    /// Rates of all steps: absolute, relative, and those of the background.
    pub(crate) summaries: Vec<ShadedTable>,
    pub(crate) longest: Vec<ShadedTable>,
    pub(crate) responses: Vec<ShadedTable>,
    pub(crate) bars: Vec<StepBars>,
    pub(crate) metrics: Vec<ShadedTable>,
    /// Charts of each step; none if its series were not read.
    pub(crate) charts: Vec<StepCharts<'a>>,
}

struct Step<'a> {
    name: &'a str,
    has_queries: bool,
    cells: Vec<&'a CellJudgement>,
}

impl<'a> InsertBench<'a> {
    /// `None` for other studies.
    pub(crate) fn new(study: &JudgedStudy<'a>) -> Option<Self> {
        if !study.record.study.is_insert_benchmark() {
            return None;
        }
        let systems: Vec<usize> = (0..study.record.systems.len()).collect();
        let steps = study.record.study.cells.iter().map(|planned| Step {
            name: planned.id.test.name(),
            has_queries: planned.id.test.ibench().is_some_and(|step| step.queries.is_some()),
            cells: systems.iter().filter_map(|&it| study.cell(planned.id, it)).collect(),
        });
        let steps: Vec<Step> = steps.collect();
        let names: Vec<String> = systems.iter().map(|&it| study.label(it).to_owned()).collect();
        let called = Called { has_verdicts: study.has_verdicts() };
        let mut summaries =
            vec![absolute(&steps, &names, called), relative(&steps, &names, (study.base, called))];
        summaries.extend(background(&steps, &names));
        Some(Self {
            summaries,
            longest: KINDS.iter().filter_map(|kind| longest(kind, &steps, &names)).collect(),
            responses: steps.iter().flat_map(|step| responses(step, &names)).collect(),
            bars: steps.iter().flat_map(|step| bars_of(step, &names)).collect(),
            metrics: step_metrics::tables(study),
            charts: charts(study),
            systems: names,
        })
    }
}

type Kind = (&'static str, fn(&StepSummary) -> &Statements);

const KINDS: [Kind; 3] = [
    ("insert", |step| &step.insert),
    ("delete", |step| &step.delete),
    ("query", |step| &step.query),
];

/// Inserts, indexed rows or queries per second; `None` if not measured.
fn rate(cell: &CellJudgement) -> Option<f64> {
    cell.qps.map(|qps| qps.value)
}

fn misses(cell: &CellJudgement) -> bool {
    cell.step.as_ref().is_some_and(|step| step.sla_met == Some(false))
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn none() -> ShadedCell {
    ShadedCell { text: NONE.to_owned(), shade: Shade::None }
}

/// Differences with colours: those that are called, or all if published rates have no verdicts.
#[derive(Clone, Copy)]
struct Called {
    has_verdicts: bool,
}

impl Called {
    fn is(self, cell: &CellJudgement) -> bool {
        !self.has_verdicts || matches!(cell.verdict, Verdict::Faster | Verdict::Slower)
    }
}

/// A row for each system; `cells` returns them column by column.
fn table(
    title: impl Into<String>,
    note: impl Into<String>,
    names: &[String],
    columns: Vec<(String, Vec<ShadedCell>)>,
) -> ShadedTable {
    let row = |(number, name): (usize, &String)| ShadedRow {
        name: name.clone(),
        cells: columns
            .iter()
            .map(|(_, cells)| cells.get(number).cloned().unwrap_or_else(none))
            .collect(),
    };
    let rows = names.iter().enumerate().map(row).collect();
    let columns = columns.iter().map(|(name, _)| name.clone()).collect();
    ShadedTable { title: title.into(), note: note.into(), corner: "system", columns, rows }
}

fn absolute(steps: &[Step], names: &[String], called: Called) -> ShadedTable {
    let column = |step: &Step| {
        let all: Vec<f64> = step.cells.iter().filter_map(|cell| rate(cell)).collect();
        let kept = step.cells.iter().filter(|cell| !misses(cell)).filter_map(|cell| rate(cell));
        let (low, high) = (least(&all), kept.fold(f64::NEG_INFINITY, f64::max));
        let quarter = ((high - low) / 4.0).floor();
        let is_called = step.cells.iter().any(|cell| called.is(cell));
        let shade = |cell: &CellJudgement, value: f64| {
            if is_called && value <= low + quarter && low < 0.8 * high {
                Shade::Low
            } else if misses(cell) {
                Shade::Gray
            } else if is_called && value >= high - quarter {
                Shade::High
            } else {
                Shade::None
            }
        };
        let shaded = |cell: &&CellJudgement| match rate(cell) {
            None => none(),
            Some(value) => {
                let mark = if misses(cell) { " ✗" } else { "" };
                let within = cell.step.as_ref().and_then(|step| step.within);
                let within =
                    within.map_or_else(String::new, |part| format!(" ±{:.0}%", 100.0 * part));
                let text = format!("{}{within}{mark}", whole(value));
                ShadedCell { text, shade: shade(cell, value) }
            }
        };
        (step.name.to_owned(), step.cells.iter().map(shaded).collect())
    };
    table(
        "rates",
        "inserts/s in l.i0, l.i1 and l.i2, indexed rows/s in l.x, queries/s in the others; ±: 95% within the \
         step, on this one instance; ✗: missed its SLA",
        names,
        steps.iter().map(column).collect(),
    )
}

fn relative(steps: &[Step], names: &[String], (base, called): (usize, Called)) -> ShadedTable {
    let column = |step: &Step| {
        let of_base = step.cells.iter().find(|cell| cell.system == base && !misses(cell));
        let of_base = of_base.and_then(|cell| rate(cell));
        let shaded = |cell: &&CellJudgement| {
            let value = rate(cell).filter(|_| !misses(cell));
            let Some((value, of_base)) = value.zip(of_base) else { return none() };
            let ratio = value / of_base;
            let shade = match (100.0 * ratio).round() {
                percent if percent > 105.0 && called.is(cell) => Shade::Better,
                percent if percent < 95.0 && called.is(cell) => Shade::Worse,
                _ => Shade::None,
            };
            ShadedCell { text: short(ratio), shade }
        };
        (step.name.to_owned(), step.cells.iter().map(shaded).collect())
    };
    table(
        "relative rates",
        "divided by the rate of the base; steps that missed their SLA are not compared",
        names,
        steps.iter().map(column).collect(),
    )
}

/// Average rates of a step: queries and inserts, or inserts or indexed rows alone.
fn bars_of(step: &Step, names: &[String]) -> Vec<StepBars> {
    let of = |unit: &str, rate: &dyn Fn(&CellJudgement) -> Option<f64>| {
        let rated = |cell: &&CellJudgement| {
            let (system, name) = (cell.system, names.get(cell.system)?.clone());
            Some(Rated { system, name, rate: rate(cell)?, misses: misses(cell) })
        };
        let rates = step.cells.iter().filter_map(rated).collect();
        step_bars::bars(format!("{}, {unit}", step.name), rates)
    };
    let inserts = |cell: &CellJudgement| cell.step.as_ref().map(|step| step.ips);
    let bars = match (step.has_queries, step.name) {
        (true, _) => [of("queries/s", &rate), of("inserted rows/s", &inserts)],
        (false, "l.x") => [of("indexed rows/s", &rate), None],
        (false, _) => [of("inserted rows/s", &rate), None],
    };
    bars.into_iter().flatten().collect()
}

/// Background rates of the query steps, with the target in the last row.
fn background(steps: &[Step], names: &[String]) -> Option<ShadedTable> {
    let target = |step: &Step| step.cells.iter().find_map(|cell| cell.step.as_ref()?.target_ips);
    let paced: Vec<(&Step, f64)> =
        steps.iter().filter_map(|step| Some((step, target(step)?))).collect();
    if paced.is_empty() {
        return None;
    }
    let column = |(step, target): &(&Step, f64)| {
        let shaded = |cell: &&CellJudgement| match &cell.step {
            None => none(),
            Some(done) => {
                let is_low = done.ips < (SLA * target).round();
                let shade = if is_low { Shade::Low } else { Shade::None };
                ShadedCell { text: whole(done.ips), shade }
            }
        };
        let mut cells: Vec<ShadedCell> = step.cells.iter().map(shaded).collect();
        cells.push(ShadedCell { text: whole(*target), shade: Shade::Gray });
        (step.name.to_owned(), cells)
    };
    let names: Vec<String> = names.iter().cloned().chain(["target".to_owned()]).collect();
    let note = "rows per second; below 95% of the target, the step has missed its SLA";
    Some(table("background inserts", note, &names, paced.iter().map(column).collect()))
}

/// Longest response times of a kind of statements in all steps that have any.
fn longest(kind: &Kind, steps: &[Step], names: &[String]) -> Option<ShadedTable> {
    let (word, of) = kind;
    let has = |step: &&Step| {
        let is_headline = step.has_queries == (*word == "query");
        is_headline && step.cells.iter().any(|cell| has_any(cell, *of))
    };
    let column = |step: &Step| {
        let shaded = |cell: &&CellJudgement| match &cell.step {
            None => none(),
            Some(done) => {
                let text = format!("{:.3}", of(done).longest_ns as f64 / 1e9);
                ShadedCell { text, shade: Shade::None }
            }
        };
        (step.name.to_owned(), step.cells.iter().map(shaded).collect())
    };
    let columns: Vec<_> = steps.iter().filter(has).map(column).collect();
    let title = format!("longest {word}, seconds");
    (!columns.is_empty()).then(|| table(title, "of all clients", names, columns))
}

/// Whether response times are known; they are not for a published rate.
fn has_any(cell: &CellJudgement, of: fn(&StepSummary) -> &Statements) -> bool {
    cell.step.as_ref().is_some_and(|step| of(step).longest_ns > 0)
}

/// Queries come first.
fn responses(step: &Step, names: &[String]) -> Vec<ShadedTable> {
    let present = |(_, of): &&Kind| step.cells.iter().any(|cell| has_any(cell, *of));
    let kinds = KINDS.iter().rev().filter(present);
    kinds.map(|(word, of)| responses_of(step, (word, *of), names)).collect()
}

fn responses_of(step: &Step, (word, of): Kind, names: &[String]) -> ShadedTable {
    let done: Vec<Option<&Statements>> =
        step.cells.iter().map(|cell| cell.step.as_ref().map(of)).collect();
    let bucket = |index: usize| {
        let cell = |statements: &Option<&Statements>| {
            let Some(statements) = statements else { return none() };
            let count = statements.buckets.get(index).copied().unwrap_or(0);
            share(count, statements.statements)
        };
        (bucket_name(index), done.iter().map(cell).collect())
    };
    let mut columns: Vec<(String, Vec<ShadedCell>)> =
        (0..=RESPONSE_BOUNDS_US.len()).map(bucket).collect();
    let longest: Vec<f64> = done.iter().flatten().map(|it| it.longest_ns as f64 / 1e9).collect();
    let (low, high) = (least(&longest), longest.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let quarter = (high - low) / 4.0;
    let max = |statements: &Option<&Statements>| {
        let Some(statements) = statements else { return none() };
        let value = statements.longest_ns as f64 / 1e9;
        let shade = if value >= high - quarter && value > low {
            Shade::Low
        } else if value <= low + quarter && low < 0.8 * high {
            Shade::High
        } else {
            Shade::None
        };
        ShadedCell { text: format!("{value:.3}"), shade }
    };
    columns.push(("max s".to_owned(), done.iter().map(max).collect()));
    let note = "percent of statements up to each response time; `nonzero`: less than 0.0005%";
    table(format!("{}: {word} response times", step.name), note, names, columns)
}

/// Percent, as published.
fn share(count: u64, all: u64) -> ShadedCell {
    if count == 0 || all == 0 {
        return ShadedCell { text: String::new(), shade: Shade::None };
    }
    let percent = 100.0 * count as f64 / all as f64;
    let text = match format!("{percent:.3}") {
        zero if zero == "0.000" => "nonzero".to_owned(),
        text => text,
    };
    ShadedCell { text, shade: Shade::Share((percent / 5.0).round() as u8) }
}

fn bucket_name(index: usize) -> String {
    match RESPONSE_BOUNDS_US.get(index) {
        None => "more".to_owned(),
        Some(us) if *us < 1000 => format!("{us} µs"),
        Some(us) if *us < 1_000_000 => format!("{} ms", us / 1000),
        Some(us) => format!("{} s", us / 1_000_000),
    }
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}
