//! Page of a watch. Pure.

use std::collections::BTreeSet;

use assay_model::Estimate;
use assay_report::{WatchedChange, WatchedLine, WatchedSuspicion, WatchedValue};
use assay_study::pooled;

use super::history::{History, Searched};
use super::values::{Line, Versions};
use assay_bisect::ratio;

/// Lines of the page. Changes of searches that were not reported yet are new.
pub(super) fn lines(
    history: &History,
    versions: &Versions,
    reported: &BTreeSet<String>,
) -> Vec<WatchedLine> {
    let of = |(place, line): (usize, &Line)| {
        let own = history.searches.iter().filter(|it| it.line == place && it.known.has_ended);
        let own: Vec<&Searched> = own.collect();
        WatchedLine {
            test: line.test.clone(),
            setup: line.setup,
            measure: line.measure,
            values: values(line),
            changes: own.iter().flat_map(|it| changes(versions, it, reported)).collect(),
            suspected: suspected(versions, &own),
        }
    };
    history.lines.iter().enumerate().map(of).collect()
}

pub(super) fn sources(history: &History) -> Option<String> {
    let named: Vec<&str> = history.sources.iter().map(String::as_str).collect();
    (named.len() > 1).then(|| {
        format!(
            "the builds come from several sources ({}), whose compilers and options differ: the ratio of two versions \
             from different sources may be off by some percent, which its interval does not contain",
            named.join(", ")
        )
    })
}

fn values(line: &Line) -> Vec<WatchedValue> {
    let versions: BTreeSet<usize> = line.values.iter().map(|it| it.version).collect();
    let value = |version: usize| {
        if version == 0 {
            let ratio = Estimate::without_interval(1.0);
            return Some(WatchedValue { version, ratio, studies: 0 });
        }
        let own = line.values.iter().filter(|it| it.version == version);
        let logs: Vec<(f64, f64)> = own.map(|it| (it.log_ratio, it.se)).collect();
        Some(WatchedValue { version, ratio: ratio(pooled(&logs)?), studies: logs.len() })
    };
    versions.into_iter().filter_map(value).collect()
}

fn changes(
    versions: &Versions,
    search: &Searched,
    reported: &BTreeSet<String>,
) -> impl Iterator<Item = WatchedChange> {
    search.known.steps.iter().filter_map(|([after, at], step)| {
        Some(WatchedChange {
            after: versions.place(after)?,
            at: versions.place(at)?,
            step: *step,
            search: search.known.id.clone(),
            is_new: !reported.contains(&search.known.id),
        })
    })
}

/// Suspicions from the searches of a line, oldest first. A later search of the same versions replaces an earlier one.
fn suspected(versions: &Versions, searches: &[&Searched]) -> Vec<WatchedSuspicion> {
    let of = |(nth, search): (usize, &&Searched)| {
        let it = search.known.suspected.as_ref()?;
        let [first, last] = &it.ends;
        let (after, at) = (versions.place(first)?, versions.place(last)?);
        let mut later = searches.iter().skip(nth + 1).filter_map(|it| it.ends);
        let is_replaced = later.any(|[first, last]| first <= after && at <= last);
        (!is_replaced).then(|| WatchedSuspicion {
            after,
            at,
            ratio: it.ratio,
            probability: it.probability,
            search: search.known.id.clone(),
        })
    };
    searches.iter().enumerate().filter_map(of).collect()
}
