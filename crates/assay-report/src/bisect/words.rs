//! Texts of a search.

use assay_model::{BisectMeasure, COUNT_THRESHOLD, Estimate, counted};

use super::found::{Bisection, RangeEnd, SearchedRange, SearchedVersion, VersionStep};
use crate::number::{confidence, duration};
use crate::ratio::{Quotient, change_in_words};

/// Probability of no change from which on the ends count as equal.
const PROBABLE: f64 = 0.8;

/// Probability of no change up to which a change is certain.
const IMPROBABLE: f64 = 0.05;

fn measured(measure: BisectMeasure) -> &'static str {
    match measure {
        BisectMeasure::Qps => "QPS",
        BisectMeasure::Cpu => "server CPU time per operation",
        BisectMeasure::Instructions => "instructions per operation of the serving thread",
    }
}

pub(crate) fn ratio_heading(measure: BisectMeasure) -> &'static str {
    match measure {
        BisectMeasure::Qps => "relative QPS",
        BisectMeasure::Cpu => "relative CPU/op",
        BisectMeasure::Instructions => "relative instructions/op",
    }
}

/// Counts repeat so exactly that more digits are meaningful.
pub(crate) fn ratio(measure: BisectMeasure, ratio: Option<Estimate>) -> String {
    match ratio {
        Some(base) if !base.has_interval() && base.value == 1.0 => "base".to_owned(),
        Some(Estimate { value, low, high })
            if measure == BisectMeasure::Instructions && (0.1..10.0).contains(&value) =>
        {
            format!("{value:.4} [{low:.4}, {high:.4}]")
        }
        ratio => Quotient(ratio).to_string(),
    }
}

fn change(estimate: Estimate) -> String {
    change_in_words(estimate).unwrap_or_else(|| "by an unknown amount".to_owned())
}

/// `11.4.5: −9.6% [−10%, −9%] relative to 10.11.19, probability >99%`.
fn step(range: &SearchedRange, step: &VersionStep) -> String {
    format!(
        "{}: {} relative to {}, probability {}",
        range.name(step.at),
        change(step.ratio),
        range.name(step.after),
        confidence(step.probability)
    )
}

fn is_within(ratio: Estimate, most: f64) -> bool {
    ratio.low > 1.0 - most && ratio.high < 1.0 + most
}

/// Minimum probability for naming a place: a less probable one would read like an answer.
const NAMED: f64 = 0.5;

/// The most probable place of a change, if probable enough to be named.
fn named_place(range: &SearchedRange) -> Option<&VersionStep> {
    range.runners_up.first().filter(|it| it.probability >= NAMED)
}

fn most_probable(range: &SearchedRange) -> String {
    match (named_place(range), range.runners_up.first().filter(|it| it.probability > 0.0)) {
        (Some(place), _) => format!("the most probable place is {}", step(range, place)),
        (None, Some(first)) => format!(
            "no place is probable enough to be named, since the most probable one has {}{}",
            confidence(first.probability),
            region(range)
        ),
        (None, None) => "no place is more probable than others".to_owned(),
    }
}

const REGION: f64 = 0.9;

/// The shortest series of versions that has the change with a probability of [`REGION`]; empty if it is nearly all of
/// them, or if the probability is not reached.
fn region(range: &SearchedRange) -> String {
    let all: Vec<f64> = range.versions.iter().map(|it| it.probability).collect();
    let windows = (1..all.len()).flat_map(|length| {
        let sums = all.windows(length).map(|window| window.iter().sum::<f64>()).enumerate();
        sums.map(move |(from, sum)| (from, from + length - 1, sum)).collect::<Vec<_>>()
    });
    let found = windows.into_iter().find(|(_, _, sum)| *sum >= REGION);
    match found {
        Some((from, to, sum)) if to > from && 4 * (to - from + 1) <= 3 * all.len() => format!(
            "; it came with one of {} to {} with a probability of {}",
            range.name(from),
            range.name(to),
            confidence(sum)
        ),
        _ => String::new(),
    }
}

fn of_equal_ends(search: &Bisection<'_>, range: &SearchedRange, between: &str) -> String {
    const WIDE: f64 = 0.05;
    let by = change(range.ends);
    let is_counted = search.measure == BisectMeasure::Instructions;
    let is_probable = range.no_step >= PROBABLE;
    let is_equal = match is_counted {
        true => is_within(range.ends, COUNT_THRESHOLD / 2.0),
        false => is_probable && is_within(range.ends, WIDE),
    };
    let more =
        if is_counted { "" } else { "; a quieter machine tells more, and `--count` needs none" };
    match (is_equal, is_probable) {
        (true, _) => format!("did not change {between} ({by}), so there is nothing to search"),
        (_, true) => {
            format!("no change was found {between} ({by}), but small ones are not excluded{more}")
        }
        _ => format!("whether it changed {between} is not certain ({by}){more}"),
    }
}

pub(super) fn answer(search: &Bisection<'_>) -> String {
    let of = format!("{} of {}", measured(search.measure), search.test);
    let Some(range) = search.last() else { return format!("{of}: nothing was compared yet") };
    let ends = [0, range.versions.len().saturating_sub(1)].map(|end| range.name(end));
    let between = format!("between {} and {}", ends[0], ends[1]);
    let most_probable = || most_probable(range);
    let found = || {
        let steps: Vec<String> = range.steps.iter().map(|it| step(range, it)).collect();
        steps.join("; and at ")
    };
    match range.end {
        RangeEnd::Found => format!("{of} changed at {}", found()),
        RangeEnd::Unsure | RangeEnd::Budget if !range.steps.is_empty() => format!(
            "{of} changed at {}; whether it changed elsewhere too is not certain: {}",
            found(),
            most_probable()
        ),
        RangeEnd::Unsure | RangeEnd::Budget if range.no_step <= IMPROBABLE => {
            format!("{of} changed {between}, but where is not certain: {}", most_probable())
        }
        RangeEnd::Unsure | RangeEnd::Budget => format!(
            "{of}: whether it changed {between} is not certain ({}): {}",
            change(range.ends),
            most_probable()
        ),
        RangeEnd::NoStep => format!("{of}: {}", of_equal_ends(search, range, &between)),
        RangeEnd::Nothing => format!("{of}: fewer than two of these versions can be used"),
        RangeEnd::Interrupted => {
            let so_far = match (search.comparisons, range.steps.is_empty()) {
                (0, _) => String::new(),
                (_, true) => format!(": so far, {}", most_probable()),
                (_, false) => format!(": so far, it changed at {}", found()),
            };
            format!("{of}: the search was interrupted{so_far}")
        }
    }
}

pub(super) fn notes(search: &Bisection<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(range) = search.last() else { return notes };
    for it in &range.steps {
        let between: Vec<&str> = (it.after + 1..it.at).map(|version| range.name(version)).collect();
        if !between.is_empty() {
            notes.push(format!(
                "{} cannot be used, so the change may have come with any of {} to {}",
                between.join(", "),
                between.first().copied().unwrap_or_default(),
                range.name(it.at)
            ));
        }
        let series = |version: usize| range.versions.get(version).map_or("", |it| &it.series);
        let (before, since) = (series(it.after), series(it.at));
        if before != since {
            notes.push(format!(
                "{before} and {since} are branches with a common ancestor, and {} is the first release of {since} that \
                 was searched: the change was made on the way there after {before} branched off, unless {before} alone \
                 changed since then",
                range.name(it.at)
            ));
        }
    }
    notes.extend(sources(range));
    if range.end == RangeEnd::Budget {
        notes.push(format!(
            "the budget allowed {}, and they are used up; the same command with a larger `--budget` begins a longer \
             search",
            counted(u64::from(search.comparisons), "comparison")
        ));
    }
    if search.measure == BisectMeasure::Instructions && !range.versions.is_empty() {
        notes.push(
            "counts of instructions repeat almost exactly, so one comparison decides about a version, and the search \
             halves the range each time"
                .to_owned(),
        );
    }
    notes
}

/// Comparisons and changes between builds from different sources, and their meaning.
fn sources(range: &SearchedRange) -> Vec<String> {
    let Some(sources) = range.sources() else { return Vec::new() };
    let source = |it: &SearchedVersion| it.source.clone().unwrap_or_default();
    let compared = || range.versions.iter().filter(|it| it.source.is_some());
    let Some(base) = compared().next() else { return Vec::new() };
    let others: Vec<String> = (compared().filter(|it| it.source != base.source))
        .map(|it| format!("{} ({})", it.version.name, source(it)))
        .collect();
    let mut notes = vec![format!(
        "the builds come from {} sources: {} is from {}, but {} not; compilers and options of sources differ, so such \
         a ratio may be off by some percent, and the search trusts it less",
        sources.len(),
        base.version.name,
        source(base),
        match others.as_slice() {
            [one] => format!("{one} is"),
            all => format!("{} are", all.join(", ")),
        }
    )];
    for it in &range.steps {
        let ends = [it.after, it.at].map(|at| range.versions.get(at));
        let [Some(after), Some(at)] = ends else { continue };
        if after.source != at.source {
            notes.push(format!(
                "{} is from {} and {} from {}: a part of the change between them may be one of the builds rather than \
                 of the version",
                after.version.name,
                source(after),
                at.version.name,
                source(at)
            ));
        }
    }
    notes
}

/// Places of a change that the answer does not name.
pub(super) fn runners_up(range: &SearchedRange) -> Option<String> {
    let is_compared = range.versions.iter().any(|it| it.comparisons > 0);
    let may_name = match range.end {
        RangeEnd::Unsure | RangeEnd::Budget => true,
        RangeEnd::Interrupted => range.steps.is_empty(),
        _ => false,
    };
    let named = usize::from(may_name && named_place(range).is_some());
    let others = range.runners_up.iter().skip(named);
    let likely = others.filter(|it| is_compared && it.probability >= 0.005);
    let message: Vec<String> = likely.map(|it| step(range, it)).collect();
    let which = if may_name && named == 0 { "possible" } else { "other" };
    (!message.is_empty()).then(|| format!("{which} places: {}", message.join("; ")))
}

pub(super) fn cost(search: &Bisection<'_>) -> String {
    let builds = match search.builds {
        0 => "nothing built".to_owned(),
        builds => counted(u64::from(builds), "build"),
    };
    format!(
        "{}, {builds}, {}; ratios are relative to the first version that can be used, with 95% intervals",
        counted(u64::from(search.comparisons), "comparison"),
        duration(search.elapsed_s)
    )
}
