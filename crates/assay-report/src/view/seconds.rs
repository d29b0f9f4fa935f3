//! Charts of a step of the Insert Benchmark, second by second.

use assay_model::{CellId, Series, Slice, SliceOutcome};

use super::drawing::{self, Chart, Values};
use super::study::JudgedStudy;
use crate::number::figure;

const SECOND_NS: u64 = 1_000_000_000;

pub(crate) struct StepCharts<'a> {
    pub(crate) step: &'a str,
    pub(crate) charts: Vec<Chart>,
}

/// Prefix of the names of its series, title, aggregation over clients and seconds, and divisor.
type Quantity = (&'static str, &'static str, fn(u64, u64) -> u64, f64);

const QUANTITIES: [Quantity; 6] = [
    ("query.", "queries/s", u64::saturating_add, 1.0),
    ("query-longest-us.", "longest query, ms", std::cmp::max, 1000.0),
    ("insert.", "inserted rows/s", u64::saturating_add, 1.0),
    ("insert-longest-us.", "longest insert, ms", std::cmp::max, 1000.0),
    ("delete.", "deleted rows/s", u64::saturating_add, 1.0),
    ("delete-longest-us.", "longest delete, ms", std::cmp::max, 1000.0),
];

/// For all steps with known series: those of the first repeat.
pub(crate) fn charts<'a>(study: &JudgedStudy<'a>) -> Vec<StepCharts<'a>> {
    let cells = study.record.study.cells.iter();
    let charts = cells.map(|planned| StepCharts {
        step: planned.id.test.name(),
        charts: QUANTITIES.iter().filter_map(|it| chart(study, planned.id, it)).collect(),
    });
    charts.filter(|step| !step.charts.is_empty()).collect()
}

fn chart(study: &JudgedStudy, cell: CellId, quantity: &Quantity) -> Option<Chart> {
    let (prefix, title, join, divisor) = *quantity;
    let counts = |system| -> Option<Vec<u64>> {
        let slices = study.record.slices.iter();
        let is_wanted = |slice: &&Slice| {
            (slice.system, slice.cell) == (system, cell)
                && !matches!(slice.outcome, SliceOutcome::Failed(_))
        };
        let slice = slices.filter(is_wanted).min_by_key(|slice| (slice.block, slice.round))?;
        let first = slice.id();
        let series = study.record.series.iter().filter(|(slice, _)| *slice == first);
        let series = series.filter(|(_, series)| series.name.starts_with(prefix));
        let mut all = series.fold(Vec::new(), |all, (_, series)| joined(all, series, join));
        // A partial second at the end would look like a stall.
        all.truncate((slice.work.elapsed_ns / SECOND_NS) as usize);
        (all.len() > 2).then_some(all)
    };
    let all: Vec<(usize, Vec<u64>)> = (0..study.record.systems.len())
        .filter_map(|system| Some((system, counts(system)?)))
        .collect();
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
    fn clients_are_joined_second_by_second() {
        let series = |counts| Series { name: String::new(), step_ms: 1000, counts };
        let sum = joined(vec![1, 2], &series(vec![10, 20, 30]), u64::saturating_add);
        assert_eq!(sum, [11, 22, 30]);
        assert_eq!(joined(vec![9, 2], &series(vec![3]), std::cmp::max), [9, 2]);
    }
}
