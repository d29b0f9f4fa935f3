//! A watch as its page shows it. Pure.

use std::collections::BTreeSet;

use assay_model::{Estimate, counted};
use assay_report::{Watched, WatchedChange, WatchedLine, WatchedValue};
use assay_study::pooled;

use super::values::{Line, Searched, Versions};
use crate::bisect::Wanted;

/// The quantile of the normal distribution for 95% intervals.
const Z_95: f64 = 1.96;

/// What a run saw and did.
pub(super) struct Seen<'a> {
    pub(super) range: &'a Wanted,
    pub(super) is_of_commits: bool,
    pub(super) versions: &'a Versions,
    /// The versions that it measured.
    pub(super) new: &'a [usize],
    /// The versions that it could not use, and why.
    pub(super) unusable: &'a [(usize, String)],
    /// The searches that it ended.
    pub(super) ended: &'a BTreeSet<String>,
    /// Suspected changes for which it had no time.
    pub(super) waiting: usize,
    pub(super) is_interrupted: bool,
}

pub(super) fn told<'a>(seen: &Seen<'a>, lines: &[Line], searches: &[Searched]) -> Watched<'a> {
    let of = |(place, line): (usize, &Line)| {
        let own = searches.iter().filter(|it| it.line == place && it.known.has_ended);
        WatchedLine {
            test: line.test.clone(),
            setup: line.setup,
            measure: line.measure,
            values: values(line),
            changes: own.flat_map(|it| changes(seen, it)).collect(),
        }
    };
    let mut notes = Vec::new();
    for (at, why) in seen.unusable {
        let name = seen.versions.all.get(*at).map_or("", |it| it.name.as_str());
        notes.push(format!("{name} could not be measured: {why}"));
    }
    if seen.waiting > 0 {
        notes.push(format!(
            "the time for searches was over: {} will be searched for in the next run",
            counted(seen.waiting as u64, "suspected change")
        ));
    }
    if seen.is_interrupted {
        notes.push("the run was interrupted; run it again to go on".to_owned());
    }
    Watched {
        range: seen.range.words(),
        is_of_commits: seen.is_of_commits,
        versions: &seen.versions.all,
        new: seen.new.to_vec(),
        lines: lines.iter().enumerate().map(of).collect(),
        notes,
    }
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
        Some(WatchedValue { version, ratio: ratio(mean, se), studies: logs.len() })
    };
    versions.into_iter().filter_map(value).collect()
}

fn ratio(mean: f64, se: f64) -> Estimate {
    let [value, low, high] = [mean, mean - Z_95 * se, mean + Z_95 * se].map(f64::exp);
    Estimate { value, low, high }
}

fn changes(seen: &Seen<'_>, search: &Searched) -> impl Iterator<Item = WatchedChange> {
    search.known.steps.iter().filter_map(|([after, at], step)| {
        Some(WatchedChange {
            after: seen.versions.place(after)?,
            at: seen.versions.place(at)?,
            step: *step,
            search: search.known.id.clone(),
            is_new: seen.ended.contains(&search.known.id),
        })
    })
}
