//! Hardware per operation in the terms of published metric files: a table for each test, absolute and relative to the
//! base.

use assay_verdict::CellJudgement;

use super::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::number::NONE;
use crate::ratio::{narrow, short};

/// The metrics, with the decimals of their published values.
const METRICS: [(&str, usize); 6] =
    [("cpu/o", 6), ("cs/o", 3), ("r/o", 3), ("rKB/o", 3), ("wKB/o", 3), ("o/s", 0)];

/// What the metrics mean, and how they differ from published ones.
pub(crate) const NOTE: &str = "Metrics: cpu/o is CPU time of server and clients in percent of all CPUs, divided by \
    QPS; cs/o: their context switches per operation; r/o, rKB/o, wKB/o: reads, KiB read and KiB written by the block \
    device per operation; o/s: QPS. Published values of cpu/o and cs/o cover the whole machine and are about 4.5% low";

/// The metrics of every test; nothing if none was measured or published.
pub(crate) fn tables(study: &JudgedStudy) -> Vec<ShadedTable> {
    let others = study.compared.iter().copied().filter(|&system| !study.is_twin(system));
    let systems: Vec<usize> = std::iter::once(study.base).chain(others).collect();
    let of_base = study.judgement.cells.iter().filter(|cell| cell.system == study.base);
    of_base.filter_map(|base| table(study, base, &systems)).collect()
}

fn table(study: &JudgedStudy, base: &CellJudgement, systems: &[usize]) -> Option<ShadedTable> {
    let of = |&system: &usize| {
        let cell = study.cell(base.cell, system)?;
        Some((study.label(system), values(study, cell)))
    };
    let all: Vec<(&str, [Option<f64>; 6])> = systems.iter().map(of).collect::<Option<_>>()?;
    // QPS alone is in other tables.
    let has_metrics = all.iter().any(|(_, values)| values.iter().take(5).any(Option::is_some));
    let (_, first) = all.first().filter(|_| has_metrics)?;
    let absolute = all.iter().map(|(name, values)| {
        let text = |(value, (_, decimals)): (&Option<f64>, &(&str, usize))| {
            value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.decimals$}"))
        };
        row((*name).to_owned(), values.iter().zip(&METRICS).map(text))
    });
    let relative =
        all.iter().skip(1).zip(systems.iter().skip(1)).map(|((name, values), system)| {
            let quotients =
                values.iter().zip(first).zip(&METRICS).map(|((value, base), metric)| {
                    let quotient =
                        value.zip(*base).and_then(|(value, base)| quotient(value, base, metric.1));
                    quotient.map_or_else(|| NONE.to_owned(), short)
                });
            // Relative QPS comes from pairs, and is that of the tables above.
            let rqps = study.cell(base.cell, *system).and_then(|cell| cell.rqps);
            let rqps = rqps.map_or_else(|| NONE.to_owned(), narrow);
            row(format!("{name} / base"), quotients.take(METRICS.len() - 1).chain([rqps]))
        });
    Some(ShadedTable {
        title: study.cell_name(base.cell),
        note: "absolute, and divided by that of the base".to_owned(),
        corner: "system",
        columns: METRICS.map(|(name, _)| name.to_owned()).to_vec(),
        rows: absolute.chain(relative).collect(),
    })
}

fn row(name: String, texts: impl Iterator<Item = String>) -> ShadedRow {
    let cells = texts.map(|text| ShadedCell { text, shade: Shade::None });
    ShadedRow { name, cells: cells.collect() }
}

/// The quotient of two metrics with so many decimals; `None` if the base shows none of it.
fn quotient(value: f64, base: f64, decimals: usize) -> Option<f64> {
    let least = 0.5 * 10_f64.powi(-(decimals as i32));
    (base >= least).then(|| value / base)
}

/// The metrics of a cell, in the order of [`METRICS`].
fn values(study: &JudgedStudy, cell: &CellJudgement) -> [Option<f64>; 6] {
    let qps = cell.qps.map(|qps| qps.value);
    if study.record.is_reported() {
        let published =
            |name: &str| cell.published.iter().find(|(it, _)| it == name).map(|(_, value)| *value);
        let [cpu, cs, reads, read_kb, write_kb] =
            ["cpu/o", "cs/o", "r/o", "rKB/o", "wKB/o"].map(published);
        return [cpu, cs, reads, read_kb, write_kb, qps];
    }
    let Some(per_op) = cell.per_op else { return [None, None, None, None, None, qps] };
    let cpus = f64::from(study.record.host().cpus);
    let cpu = || {
        let server = per_op.server?;
        let cpu_us = per_op.client_cpu_us? + server.cpu_us + server.background_cpu_us;
        (cpus > 0.0).then(|| 100.0 * cpu_us / 1e6 / cpus)
    };
    let cs = || Some(per_op.client_cs? + per_op.server?.cs);
    [cpu(), cs(), per_op.reads, per_op.device_read_kb, per_op.device_write_kb, qps]
}
