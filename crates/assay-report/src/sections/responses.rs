//! Response times and errors of published results, which do not fit the tables of verdicts.

use std::collections::BTreeSet;

use assay_verdict::CellJudgement;

use super::shades::{ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::document::{Block, Wish};
use crate::number::{NONE, figure, thousands};

/// Prefix and suffix of the name of a published percentile, such as `latency_p95_us`.
const PERCENTILE: (&str, &str) = ("latency_p", "_us");

/// A short report has no table with more rows.
const SHORT: usize = 24;

pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let table = table(study).filter(|table| table.rows.len() <= wish.at_most(SHORT));
    let blocks: Vec<Block> = table.iter().map(|table| table.block(wish)).collect();
    if wish.is_page() {
        return Block::place("responses", "", "Response times and errors", blocks);
    }
    blocks
}

/// A row for each test and system: mean, percentiles and longest response time, transactions, errors, lost connections.
/// `None` unless response times or errors were published.
fn table(study: &JudgedStudy) -> Option<ShadedTable> {
    let cells = || study.judgement.cells.iter().filter(|cell| cell.qps.is_some());
    let is_told = |cell: &CellJudgement| cell.latency.is_some() || !percentiles(cell).is_empty();
    let is_wanted = study.record.is_reported() && cells().any(is_told);
    if !is_wanted || study.is_large() {
        return None;
    }
    let mut at: Vec<&str> =
        cells().flat_map(percentiles).collect::<BTreeSet<_>>().into_iter().collect();
    at.sort_by(|one, other| number(one).total_cmp(&number(other)));
    let mut columns = vec!["mean ms".to_owned()];
    columns.extend(at.iter().map(|it| format!("{it}th percentile ms")));
    columns
        .extend(["longest ms", "transactions", "errors", "errors/transaction"].map(str::to_owned));
    let has_lost = cells().any(|cell| cell.published("reconnects").is_some());
    columns.extend(has_lost.then(|| "reconnects".to_owned()));
    let row = |cell: &CellJudgement| {
        let ms = |us: Option<f64>| figure(us.map(|us| us / 1000.0));
        let mut texts = vec![ms(cell.latency.and_then(|it| it.mean))];
        let name = |it: &&str| format!("{}{it}{}", PERCENTILE.0, PERCENTILE.1);
        texts.extend(at.iter().map(|it| ms(cell.published(&name(it)))));
        texts.push(ms(cell.latency.and_then(|it| it.max)));
        texts.extend(errors(study, cell));
        let lost = cell.published("reconnects");
        texts.extend(has_lost.then(|| lost.map_or_else(|| "0".to_owned(), thousands)));
        let name = format!("{}, {}", study.cell_name(cell.cell), study.label(cell.system));
        ShadedRow::plain(name, texts)
    };
    Some(ShadedTable {
        title: "response times and errors".to_owned(),
        note: "as published, of transactions".to_owned(),
        corner: "test, system",
        columns,
        rows: cells().map(row).collect(),
    })
}

fn errors(study: &JudgedStudy, cell: &CellJudgement) -> [String; 3] {
    if !cell.is_counted(study.record) {
        return [NONE; 3].map(str::to_owned);
    }
    let slices = study.record.slices.iter();
    let mine = slices.filter(|it| it.cell == cell.cell && it.system == cell.system);
    let events: f64 = mine.map(|it| it.work.events as f64).sum();
    let given_up = cell.published("given_up").unwrap_or(0.0);
    let errors = cell.errors as f64 + given_up;
    let each = match events {
        0.0 => NONE.to_owned(),
        _ if errors == 0.0 => "0".to_owned(),
        events => figure(Some(errors / events)),
    };
    [thousands(events), thousands(errors), each]
}

/// The published percentiles, as written: `95`.
fn percentiles(cell: &CellJudgement) -> Vec<&str> {
    let number_range = |name: &'_ str| -> Option<(usize, usize)> {
        let at = name.strip_prefix(PERCENTILE.0)?.strip_suffix(PERCENTILE.1)?;
        at.parse::<f64>().ok().map(|_| (PERCENTILE.0.len(), at.len()))
    };
    let found = cell.published.iter().filter_map(|(name, _)| {
        let (from, length) = number_range(name)?;
        name.get(from..from + length)
    });
    found.collect()
}

fn number(percentile: &str) -> f64 {
    percentile.parse().unwrap_or(0.0)
}
