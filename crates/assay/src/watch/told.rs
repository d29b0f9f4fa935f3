//! A watch as its page shows it. Pure.

use std::collections::BTreeSet;

use assay_model::Estimate;
use assay_report::{WatchedChange, WatchedLine, WatchedValue};
use assay_study::pooled;

use super::history::{History, Searched};
use super::values::{Line, Versions};

/// The quantile of the normal distribution for 95% intervals.
const Z_95: f64 = 1.96;

/// The lines of the page. Changes of searches that were not told yet are new.
pub(super) fn lines(
    history: &History,
    versions: &Versions,
    told: &BTreeSet<String>,
) -> Vec<WatchedLine> {
    let of = |(place, line): (usize, &Line)| {
        let own = history.searches.iter().filter(|it| it.line == place && it.known.has_ended);
        WatchedLine {
            test: line.test.clone(),
            setup: line.setup,
            measure: line.measure,
            values: values(line),
            changes: own.flat_map(|it| changes(versions, it, told)).collect(),
        }
    };
    history.lines.iter().enumerate().map(of).collect()
}

/// The values of each version, put together.
fn values(line: &Line) -> Vec<WatchedValue> {
    let versions: BTreeSet<usize> = line.values.iter().map(|it| it.version).collect();
    let value = |version: usize| {
        if version == 0 {
            let ratio = Estimate::without_interval(1.0);
            return Some(WatchedValue { version, ratio, studies: 0 });
        }
        let own = line.values.iter().filter(|it| it.version == version);
        let logs: Vec<(f64, f64)> = own.map(|it| (it.log_ratio, it.se)).collect();
        let (mean, se) = pooled(&logs)?;
        let [value, low, high] = [mean, mean - Z_95 * se, mean + Z_95 * se].map(f64::exp);
        let ratio = Estimate { value, low, high };
        Some(WatchedValue { version, ratio, studies: logs.len() })
    };
    versions.into_iter().filter_map(value).collect()
}

fn changes(
    versions: &Versions,
    search: &Searched,
    told: &BTreeSet<String>,
) -> impl Iterator<Item = WatchedChange> {
    search.known.steps.iter().filter_map(|([after, at], step)| {
        Some(WatchedChange {
            after: versions.place(after)?,
            at: versions.place(at)?,
            step: *step,
            search: search.known.id.clone(),
            is_new: !told.contains(&search.known.id),
        })
    })
}
