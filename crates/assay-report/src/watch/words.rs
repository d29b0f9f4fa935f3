//! Texts of a watch.

use assay_model::{BisectMeasure, Estimate, counted};

use super::watched::{Watched, WatchedLine, WatchedSuspicion};
use crate::ratio::change_in_words;

pub(super) fn measured(measure: BisectMeasure) -> &'static str {
    match measure {
        BisectMeasure::Qps => "QPS",
        BisectMeasure::Cpu => "CPU/op",
        BisectMeasure::Instructions => "instructions/op",
    }
}

pub(super) fn title(line: &WatchedLine) -> String {
    format!("{}, {}", line.test, measured(line.measure))
}

pub(super) fn change(estimate: Estimate) -> String {
    change_in_words(estimate).unwrap_or_else(|| "by an unknown amount".to_owned())
}

/// Assumes independent errors.
pub(super) fn quotient(one: Estimate, other: Estimate) -> Estimate {
    let half = |it: Estimate| if it.has_interval() { (it.high / it.low).ln() / 2.0 } else { 0.0 };
    let log = |it: Estimate| (it.value.ln(), half(it));
    let ((one, of_one), (other, of_other)) = (log(one), log(other));
    let (mean, half) = (one - other, of_one.hypot(of_other));
    Estimate { value: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() }
}

pub(super) fn suspicion(
    watch: &Watched<'_>,
    (line, it): (&WatchedLine, &WatchedSuspicion),
) -> String {
    format!(
        "{} of {}: a change is suspected between {} and {}: {}, not certain; `assay resume {}` shows the search",
        measured(line.measure),
        line.test,
        watch.name(it.after),
        watch.name(it.at),
        change(it.ratio),
        it.search
    )
}

/// At most two sentences.
pub(super) fn answer(watch: &Watched<'_>) -> String {
    let names: Vec<&str> = watch.new.iter().map(|it| watch.name(*it)).collect();
    let measured = match names.as_slice() {
        [] => "nothing new was measured".to_owned(),
        [name] => format!("new: {name}"),
        names => format!("new: {}", names.join(", ")),
    };
    let all = watch.changes();
    let new: Vec<String> = (all.iter().filter(|(_, change)| change.is_new))
        .map(|(line, it)| {
            format!(
                "{} of {} changed at {}: {} relative to {}",
                self::measured(line.measure),
                line.test,
                watch.name(it.at),
                change(it.step.ratio),
                watch.name(it.after)
            )
        })
        .collect();
    let since = watch.name(0);
    let so_far = match all.len() - new.len() {
        0 if new.is_empty() => format!("no change was found since {since}"),
        0 => String::new(),
        before => format!("{} found before since {since}", counted(before as u64, "change")),
    };
    let suspected = match watch.suspected().count() {
        0 => String::new(),
        all => format!("{} suspected but not certain", counted(all as u64, "change")),
    };
    let parts = [measured, new.join("; "), so_far, suspected];
    parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ")
}
