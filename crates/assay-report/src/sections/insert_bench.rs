//! The Insert Benchmark: tables and charts, with the columns and the colours of Mark Callaghan's reports.

use assay_model::{RESPONSE_BOUNDS_US, SLA, Series, Statements, Verdict};
use assay_verdict::{CellJudgement, StepSummary};

use super::shades::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::step_metrics;
use super::step_repeat::StepRepeat;
use super::study::JudgedStudy;
use crate::charts::drawing::{self, Chart, Values};
use crate::charts::{Place, marks};
use crate::document::{Block, Column, Fold, Frame, Row, Section, Table, Wish};
use crate::number::figure;
use crate::ratio::short;
use crate::text::{Text, drawing as drawn};

pub(crate) struct InsertBenchTables<'a> {
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

/// The rates of all steps and the longest response times. Details of steps need wider pages.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let mut blocks = vec![Block::Images(wish.images.at(&Place::InsertBench))];
    let Some(bench) = InsertBenchTables::new(study) else { return blocks };
    let open = bench.summaries.iter().chain(&bench.longest);
    if wish.is_page() {
        let mut on_page = tables(open);
        on_page.extend(Block::folded(
            "Average rates of every step",
            Fold::Open,
            drawn_bars(&bench),
        ));
        on_page.extend(seconds(&bench));
        for (heading, tables) in [
            ("Metrics of every step", &bench.metrics),
            ("Response times of every step", &bench.responses),
        ] {
            on_page.extend(Block::folded(heading, Fold::Closed, self::tables(tables)));
        }
        blocks.extend(Block::place("insert-bench", "", "Insert Benchmark", on_page));
        return blocks;
    }
    blocks.extend(open.map(|shown| shown.block(wish)));
    if wish.is_post() {
        blocks.extend(folded("Metrics", &bench.metrics));
        blocks.extend(folded("Response times", &bench.responses));
    }
    blocks
}

fn tables<'t>(tables: impl IntoIterator<Item = &'t ShadedTable>) -> Vec<Block<'static>> {
    tables.into_iter().map(|shown| Block::Table(shown.table())).collect()
}

fn drawn_bars(bench: &InsertBenchTables) -> Vec<Block<'static>> {
    let table = |step: &StepBars| {
        let columns = vec![Column::words(""), Column::numbers(""), Column::words("")];
        let rows = step.bars.iter().map(|bar| {
            let drawing = drawn(marks::bar(bar.system, bar.share));
            Row::new([bar.name.as_str().into(), bar.text.as_str().into(), Text::from(drawing)])
        });
        Block::Table(Table::new(columns, rows).small("rates", step.title.as_str()))
    };
    Block::part(Frame::Plain, "charts", bench.bars.iter().map(table).collect())
}

/// The charts of each step second by second; those of queries are open.
fn seconds(bench: &InsertBenchTables) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    for step in &bench.charts {
        let fold = if step.step.starts_with('q') { Fold::Open } else { Fold::Closed };
        let figures = step.charts.iter().map(marks::small).collect();
        blocks.push(Block::Section(Section {
            class: "seconds",
            blocks: vec![Block::Figures("charts", figures)],
            ..Section::new(step.step, fold)
        }));
    }
    if !blocks.is_empty() {
        blocks.insert(0, Block::key(&bench.systems));
    }
    Block::section("Second by second", blocks)
}

/// Tables with the same note, behind a title.
fn folded(title: &str, tables: &[ShadedTable]) -> Vec<Block<'static>> {
    let mut blocks = Block::notes(tables.first().map(|first| first.note.clone()));
    blocks.extend(tables.iter().map(|shown| {
        let mut table = shown.table();
        table.caption.iter_mut().for_each(|caption| caption.note.clear());
        Block::Table(table)
    }));
    Block::folded(title, Fold::Closed, blocks)
}

struct BenchStep<'a> {
    name: &'a str,
    has_queries: bool,
    cells: Vec<&'a CellJudgement>,
}

impl<'a> InsertBenchTables<'a> {
    /// `None` for other studies.
    pub(crate) fn new(study: &JudgedStudy<'a>) -> Option<Self> {
        if !study.record.study.is_insert_benchmark() || study.record.counts_only() {
            return None;
        }
        let systems: Vec<usize> = (0..study.record.systems.len()).collect();
        let steps = study.record.study.cells.iter().map(|planned| BenchStep {
            name: planned.id.test.name(),
            has_queries: planned.id.test.ibench().is_some_and(|step| step.queries.is_some()),
            cells: systems.iter().filter_map(|&it| study.cell(planned.id, it)).collect(),
        });
        let steps: Vec<BenchStep> = steps.collect();
        let names: Vec<String> = systems.iter().map(|&it| study.label(it).to_owned()).collect();
        let mut summaries = vec![absolute(study, &steps, &names), relative(study, &steps, &names)];
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

type StatementKind = (&'static str, fn(&StepSummary) -> &Statements);

const KINDS: [StatementKind; 3] = [
    ("insert", |step| &step.insert),
    ("delete", |step| &step.delete),
    ("query", |step| &step.query),
];

/// Inserts, indexed rows or queries per second of a whole step; `None` if not measured.
fn rate(cell: &CellJudgement) -> Option<f64> {
    let total = cell.step.as_ref().and_then(|step| step.total_rate);
    total.or_else(|| cell.qps.map(|qps| qps.value))
}

fn misses(cell: &CellJudgement) -> bool {
    cell.step.as_ref().is_some_and(|step| step.sla_met == Some(false))
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
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
            .map(|(_, cells)| cells.get(number).cloned().unwrap_or_else(ShadedCell::none))
            .collect(),
    };
    let rows = names.iter().enumerate().map(row).collect();
    let columns = columns.iter().map(|(name, _)| name.clone()).collect();
    ShadedTable { title: title.into(), note: note.into(), corner: "system", columns, rows }
}

/// Whether a difference gets a colour: it is called, or published rates have no verdicts.
fn is_called(study: &JudgedStudy, cell: &CellJudgement) -> bool {
    !study.has_verdicts() || matches!(cell.verdict, Verdict::Faster | Verdict::Slower)
}

fn absolute(study: &JudgedStudy, steps: &[BenchStep], names: &[String]) -> ShadedTable {
    let column = |step: &BenchStep| {
        let all: Vec<f64> = step.cells.iter().filter_map(|cell| rate(cell)).collect();
        let kept = step.cells.iter().filter(|cell| !misses(cell)).filter_map(|cell| rate(cell));
        let (low, high) = (least(&all), kept.fold(f64::NEG_INFINITY, f64::max));
        let quarter = ((high - low) / 4.0).floor();
        let is_called = step.cells.iter().any(|cell| self::is_called(study, cell));
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
            None => ShadedCell::none(),
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

fn relative(study: &JudgedStudy, steps: &[BenchStep], names: &[String]) -> ShadedTable {
    let column = |step: &BenchStep| {
        let of_base = step.cells.iter().find(|cell| cell.system == study.base && !misses(cell));
        let of_base = of_base.and_then(|cell| rate(cell));
        let shaded = |cell: &&CellJudgement| {
            let value = rate(cell).filter(|_| !misses(cell));
            let Some((value, of_base)) = value.zip(of_base) else { return ShadedCell::none() };
            let ratio = value / of_base;
            let shade = match (100.0 * ratio).round() {
                percent if percent > 105.0 && is_called(study, cell) => Shade::Better,
                percent if percent < 95.0 && is_called(study, cell) => Shade::Worse,
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
fn bars_of(step: &BenchStep, names: &[String]) -> Vec<StepBars> {
    let rate_bars = |unit: &str, rate: &dyn Fn(&CellJudgement) -> Option<f64>| {
        let rated = |cell: &&CellJudgement| {
            let (system, name) = (cell.system, names[cell.system].clone());
            Some(StepRate { system, name, rate: rate(cell)?, misses: misses(cell) })
        };
        let rates = step.cells.iter().filter_map(rated).collect();
        bars(format!("{}, {unit}", step.name), rates)
    };
    let inserts = |cell: &CellJudgement| cell.step.as_ref().map(|step| step.ips);
    let bars = match (step.has_queries, step.name) {
        (true, _) => [rate_bars("queries/s", &rate), rate_bars("inserted rows/s", &inserts)],
        (false, "l.x") => [rate_bars("indexed rows/s", &rate), None],
        (false, _) => [rate_bars("inserted rows/s", &rate), None],
    };
    bars.into_iter().flatten().collect()
}

/// Background rates of the query steps, with the target in the last row.
fn background(steps: &[BenchStep], names: &[String]) -> Option<ShadedTable> {
    let target =
        |step: &BenchStep| step.cells.iter().find_map(|cell| cell.step.as_ref()?.target_ips);
    let paced: Vec<(&BenchStep, f64)> =
        steps.iter().filter_map(|step| Some((step, target(step)?))).collect();
    if paced.is_empty() {
        return None;
    }
    let column = |(step, target): &(&BenchStep, f64)| {
        let shaded = |cell: &&CellJudgement| match &cell.step {
            None => ShadedCell::none(),
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
fn longest(kind: &StatementKind, steps: &[BenchStep], names: &[String]) -> Option<ShadedTable> {
    let (word, statements_of) = kind;
    let has = |step: &&BenchStep| {
        let is_headline = step.has_queries == (*word == "query");
        is_headline && step.cells.iter().any(|cell| has_any(cell, *statements_of))
    };
    let column = |step: &BenchStep| {
        let shaded = |cell: &&CellJudgement| match &cell.step {
            None => ShadedCell::none(),
            Some(done) => {
                ShadedCell::plain(format!("{:.3}", statements_of(done).longest_ns as f64 / 1e9))
            }
        };
        (step.name.to_owned(), step.cells.iter().map(shaded).collect())
    };
    let columns: Vec<_> = steps.iter().filter(has).map(column).collect();
    let title = format!("longest {word}, seconds");
    (!columns.is_empty()).then(|| table(title, "of all clients", names, columns))
}

/// Whether response times are known; they are not for a published rate.
fn has_any(cell: &CellJudgement, statements_of: fn(&StepSummary) -> &Statements) -> bool {
    cell.step.as_ref().is_some_and(|step| statements_of(step).longest_ns > 0)
}

/// Queries come first.
fn responses(step: &BenchStep, names: &[String]) -> Vec<ShadedTable> {
    let present = |(_, statements_of): &&StatementKind| {
        step.cells.iter().any(|cell| has_any(cell, *statements_of))
    };
    let kinds = KINDS.iter().rev().filter(present);
    kinds.map(|(word, statements_of)| responses_of(step, (word, *statements_of), names)).collect()
}

fn responses_of(
    step: &BenchStep,
    (word, statements_of): StatementKind,
    names: &[String],
) -> ShadedTable {
    let done: Vec<Option<&Statements>> =
        step.cells.iter().map(|cell| cell.step.as_ref().map(statements_of)).collect();
    let bucket = |index: usize| {
        let cell = |statements: &Option<&Statements>| {
            let Some(statements) = statements else { return ShadedCell::none() };
            let count = statements.buckets[index];
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
        let Some(statements) = statements else { return ShadedCell::none() };
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
        return ShadedCell::plain(String::new());
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

pub(crate) struct StepBars {
    pub(crate) title: String,
    pub(crate) bars: Vec<StepBar>,
}

pub(crate) struct StepBar {
    pub(crate) system: usize,
    pub(crate) name: String,
    pub(crate) text: String,
    /// Length relative to the longest.
    pub(crate) share: f64,
}

#[derive(Clone)]
struct StepRate {
    system: usize,
    name: String,
    rate: f64,
    misses: bool,
}

/// `None` without any rate above 0.
fn bars(title: String, rates: Vec<StepRate>) -> Option<StepBars> {
    let most = rates.iter().map(|it| it.rate).fold(0.0, f64::max);
    let bar = |StepRate { system, name, rate, misses }: StepRate| StepBar {
        system,
        name,
        text: format!("{rate:.0}{}", if misses { " ✗ missed its SLA" } else { "" }),
        share: rate / most,
    };
    (most > 0.0 && most.is_finite())
        .then(|| StepBars { title, bars: rates.into_iter().map(bar).collect() })
}

const SECOND_NS: u64 = 1_000_000_000;

pub(crate) struct StepCharts<'a> {
    pub(crate) step: &'a str,
    pub(crate) charts: Vec<Chart>,
}

/// Prefix of the names of its series, title, aggregation over clients and seconds, and divisor.
type SecondsQuantity = (&'static str, &'static str, fn(u64, u64) -> u64, f64);

const QUANTITIES: [SecondsQuantity; 6] = [
    ("query.", "queries/s", u64::saturating_add, 1.0),
    ("query-longest-us.", "longest query, ms", std::cmp::max, 1000.0),
    ("insert.", "inserted rows/s", u64::saturating_add, 1.0),
    ("insert-longest-us.", "longest insert, ms", std::cmp::max, 1000.0),
    ("delete.", "deleted rows/s", u64::saturating_add, 1.0),
    ("delete-longest-us.", "longest delete, ms", std::cmp::max, 1000.0),
];

/// For all steps with known series: those of the first repeat.
fn charts<'a>(study: &JudgedStudy<'a>) -> Vec<StepCharts<'a>> {
    let charts = study.record.study.cells.iter().map(|planned| {
        let repeat = |system| {
            let repeat = StepRepeat::new(study.record, planned.id, system)?;
            Some((system, repeat))
        };
        let repeats: Vec<_> = (0..study.record.systems.len()).filter_map(repeat).collect();
        StepCharts {
            step: planned.id.test.name(),
            charts: QUANTITIES.iter().filter_map(|it| seconds_chart(&repeats, it)).collect(),
        }
    });
    charts.filter(|step| !step.charts.is_empty()).collect()
}

fn seconds_chart(repeats: &[(usize, StepRepeat<'_>)], quantity: &SecondsQuantity) -> Option<Chart> {
    let (prefix, title, join, divisor) = *quantity;
    let counts = |(system, repeat): &(usize, StepRepeat<'_>)| -> Option<(usize, Vec<u64>)> {
        let series = repeat.series.iter().filter(|series| series.name.starts_with(prefix));
        let mut all = series.fold(Vec::new(), |all, series| joined(all, series, join));
        // A partial second at the end would look like a stall.
        all.truncate((repeat.slice.work.elapsed_ns / SECOND_NS) as usize);
        (all.len() > 2).then_some((*system, all))
    };
    let all: Vec<(usize, Vec<u64>)> = repeats.iter().filter_map(counts).collect();
    let seconds = all.iter().map(|(_, counts)| counts.len()).max()?;
    let values = |(system, counts): &(usize, Vec<u64>)| {
        (*system, counts.iter().map(|count| Some(*count as f64 / divisor)).collect())
    };
    let values: Vec<Values> = all.iter().map(values).collect();
    drawing::chart(title, &values, |top| format!("0 to {}, {seconds} s", figure(Some(top))))
}

fn joined(all: Vec<u64>, series: &Series, join: fn(u64, u64) -> u64) -> Vec<u64> {
    let length = all.len().max(series.counts.len());
    let at = |counts: &[u64], second: usize| counts.get(second).copied().unwrap_or(0);
    (0..length).map(|second| join(at(&all, second), at(&series.counts, second))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_is_that_of_the_highest_rate() {
        let rated =
            |(system, rate, misses)| StepRate { system, name: format!("s{system}"), rate, misses };
        let rates = [(0, 100.0, false), (2, 25.0, true)].map(rated).to_vec();
        let found = bars("qr100, queries/s".to_owned(), rates).unwrap();
        assert_eq!(found.bars[1].text, "25 ✗ missed its SLA");
        let message: Vec<_> = found.bars.iter().map(|it| (it.system, it.share)).collect();
        assert_eq!(message, [(0, 1.0), (2, 0.25)]);
        assert!(bars(String::new(), Vec::new()).is_none());
    }

    #[test]
    fn clients_are_joined_second_by_second() {
        let series = |counts| Series { name: String::new(), step_ms: 1000, counts };
        let sum = joined(vec![1, 2], &series(vec![10, 20, 30]), u64::saturating_add);
        assert_eq!(sum, [11, 22, 30]);
        assert_eq!(joined(vec![9, 2], &series(vec![3]), std::cmp::max), [9, 2]);
    }
}
