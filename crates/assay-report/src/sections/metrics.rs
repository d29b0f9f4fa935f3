//! Hardware per operation in the terms of published metric files: a table for each test, absolute and relative to the
//! base.

use assay_verdict::{CellJudgement, METRICS};

use super::shades::{ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::number::NONE;
use crate::ratio::{narrow, short};

const RATE: &str = "o/s";

/// In the order of [`METRICS`].
type MetricValues = [Option<f64>; METRICS.len()];

pub(super) const NOTE: &str = "Metrics: cpu/o is CPU time of server and clients in percent of all CPUs, divided by \
    QPS; cs/o: their context switches per operation; r/o, rKB/o, wKB/o: reads, KiB read and KiB written by the block \
    device per operation; o/s: QPS. Published values of cpu/o and cs/o cover the whole machine and are about 4.5% low";

/// Empty if nothing was measured or published.
pub(super) fn tables(study: &JudgedStudy) -> Vec<ShadedTable> {
    let systems: Vec<usize> = std::iter::once(study.base).chain(study.others()).collect();
    let of_base = study.judgement.cells.iter().filter(|cell| cell.system == study.base);
    of_base.filter_map(|base| table(study, base, &systems)).collect()
}

fn table(study: &JudgedStudy, base: &CellJudgement, systems: &[usize]) -> Option<ShadedTable> {
    let metrics_of_system = |&system: &usize| {
        let cell = study.cell(base.cell, system)?;
        Some((study.label(system), values(study, cell), cell.qps.map(|qps| qps.value)))
    };
    let all: Vec<(&str, MetricValues, Option<f64>)> =
        systems.iter().map(metrics_of_system).collect::<Option<_>>()?;
    // QPS alone is in other tables.
    let has_metrics = all.iter().any(|(_, values, _)| values.iter().any(Option::is_some));
    let (_, first, _) = all.first().filter(|_| has_metrics)?;
    let text = |value: Option<f64>, decimals: usize| {
        value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.decimals$}"))
    };
    let absolute = all.iter().map(|(name, values, qps)| {
        let texts = values.iter().zip(&METRICS).map(|(value, it)| text(*value, it.decimals));
        ShadedRow::plain(*name, texts.chain([text(*qps, 0)]))
    });
    let relative = all.iter().zip(systems).skip(1).map(|((name, values, _), system)| {
        let quotients = values.iter().zip(first).zip(&METRICS).map(|((value, base), metric)| {
            let pair = value.zip(*base);
            let quotient = pair.and_then(|(value, base)| quotient(value, base, metric.decimals));
            quotient.map_or_else(|| NONE.to_owned(), short)
        });
        // Relative QPS comes from pairs, and is that of the tables above.
        let rqps = study.cell(base.cell, *system).and_then(|cell| cell.rqps);
        let rqps = rqps.map_or_else(|| NONE.to_owned(), narrow);
        ShadedRow::plain(format!("{name} / base"), quotients.chain([rqps]))
    });
    Some(ShadedTable {
        title: study.cell_name(base.cell),
        note: "absolute, and divided by that of the base".to_owned(),
        corner: "system",
        columns: METRICS.iter().map(|it| it.name).chain([RATE]).map(str::to_owned).collect(),
        rows: absolute.chain(relative).collect(),
    })
}

/// `None` if it would be relative to zero.
fn quotient(value: f64, base: f64, decimals: usize) -> Option<f64> {
    let least = 0.5 * 10_f64.powi(-(decimals as i32));
    (base >= least).then(|| value / base)
}

fn values(study: &JudgedStudy, cell: &CellJudgement) -> MetricValues {
    METRICS.map(|metric| metric.value(cell, study.record))
}
