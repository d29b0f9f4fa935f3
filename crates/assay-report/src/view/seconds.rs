//! Charts of a step of the Insert Benchmark, second by second.

use assay_model::{CellId, Series, Slice, SliceOutcome};

use super::study::JudgedStudy;
use crate::number::figure;

/// Columns of a chart. Where there are more seconds, a column stands for several, from the least to the most.
const COLUMNS: usize = 240;

/// Height of a chart, in the units of its drawing.
pub(crate) const HEIGHT: f64 = 60.0;

/// The charts of one step.
pub(crate) struct StepCharts<'a> {
    pub(crate) step: &'a str,
    pub(crate) charts: Vec<Chart>,
}

/// A quantity over time, a line for each system.
pub(crate) struct Chart {
    /// The quantity and its unit.
    pub(crate) title: String,
    /// The number at the upper end, as text. The lower end is 0.
    pub(crate) top: String,
    /// Duration, seconds.
    pub(crate) seconds: usize,
    pub(crate) lines: Vec<Line>,
}

/// A system in a chart.
pub(crate) struct Line {
    /// Number of the system, from 0.
    pub(crate) system: usize,
    /// The drawing: one vertical stroke for each column, as the `d` of an SVG path.
    pub(crate) path: String,
}

/// A quantity of a chart: the beginning of its series' names, its title, and how clients and the seconds of a column
/// add up.
type Quantity = (&'static str, &'static str, fn(u64, u64) -> u64, f64);

const QUANTITIES: [Quantity; 6] = [
    ("query.", "queries/s", u64::saturating_add, 1.0),
    ("query-longest-us.", "longest query, ms", std::cmp::max, 1000.0),
    ("insert.", "inserted rows/s", u64::saturating_add, 1.0),
    ("insert-longest-us.", "longest insert, ms", std::cmp::max, 1000.0),
    ("delete.", "deleted rows/s", u64::saturating_add, 1.0),
    ("delete-longest-us.", "longest delete, ms", std::cmp::max, 1000.0),
];

/// The charts of all steps whose series are known: those of the first repeat.
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
        let first = slices.filter(is_wanted).min_by_key(|slice| (slice.block, slice.round))?.id();
        let series = study.record.series.iter().filter(|(slice, _)| *slice == first);
        let series = series.filter(|(_, series)| series.name.starts_with(prefix));
        let all = series.fold(Vec::new(), |all, (_, series)| joined(all, series, join));
        (all.len() > 2).then_some(all)
    };
    let all: Vec<(usize, Vec<u64>)> = (0..study.record.systems.len())
        .filter_map(|system| Some((system, counts(system)?)))
        .collect();
    let most = all.iter().flat_map(|(_, counts)| counts).copied().max().filter(|most| *most > 0)?;
    let seconds = all.iter().map(|(_, counts)| counts.len()).max()?;
    let line = |(system, counts): &(usize, Vec<u64>)| Line {
        system: *system,
        path: path(counts, seconds, 1.2 * most as f64),
    };
    Some(Chart {
        title: title.to_owned(),
        top: figure(Some(1.2 * most as f64 / divisor)),
        seconds,
        lines: all.iter().map(line).collect(),
    })
}

/// The counts of several clients, second by second.
fn joined(all: Vec<u64>, series: &Series, join: fn(u64, u64) -> u64) -> Vec<u64> {
    let length = all.len().max(series.counts.len());
    let at = |counts: &[u64], second: usize| counts.get(second).copied().unwrap_or(0);
    (0..length).map(|second| join(at(&all, second), at(&series.counts, second))).collect()
}

fn path(counts: &[u64], seconds: usize, top: f64) -> String {
    let of_column = seconds.div_ceil(COLUMNS).max(1);
    let width = COLUMNS as f64 / seconds.div_ceil(of_column) as f64;
    let y = |count: u64| HEIGHT * (1.0 - count as f64 / top);
    let stroke = |(column, counts): (usize, &[u64])| {
        let (least, most) = (counts.iter().min()?, counts.iter().max()?);
        let x = (column as f64 + 0.5) * width;
        // A stroke without length would not be drawn.
        Some(format!("M{x:.1} {:.1}V{:.1}", y(*least) + 0.4, y(*most) - 0.4))
    };
    counts.chunks(of_column).enumerate().filter_map(stroke).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_seen_however_long_the_step() {
        let mut counts = vec![100; 2400];
        counts[1234] = 0;
        let path = path(&counts, counts.len(), 120.0);
        assert_eq!(path.matches('M').count(), 240);
        assert!(path.contains("M123.5 60.4V9.6"), "{path}");
        assert!(path.starts_with("M0.5 10.4V9.6"), "{path}");
    }

    #[test]
    fn clients_are_joined_second_by_second() {
        let series = |counts| Series { name: String::new(), step_ms: 1000, counts };
        let sum = joined(vec![1, 2], &series(vec![10, 20, 30]), u64::saturating_add);
        assert_eq!(sum, [11, 22, 30]);
        assert_eq!(joined(vec![9, 2], &series(vec![3]), std::cmp::max), [9, 2]);
    }
}
