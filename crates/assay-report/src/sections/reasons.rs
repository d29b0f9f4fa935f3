//! Common causes, versions and functions of a system's changes over all its tests.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Verdict, counted};
use assay_verdict::{CellJudgement, ChangeCause, GroupSummary, TimeChange, TimeTerm};

use super::study::JudgedStudy;
use crate::words::{capital, listed};

const GROUPS: usize = 3;

/// Minimum share of the changed tests for naming a version or a function.
const COMMON: f64 = 0.5;

/// Terms with a smaller share of the changes are not named.
const SHARE_MIN: f64 = 0.1;

/// Fewer tests have nothing in common.
const TESTS_MIN: usize = 2;

const DIRECTIONS: [(Verdict, &str); 3] =
    [(Verdict::Slower, "slower"), (Verdict::Faster, "faster"), (Verdict::Uneven, "uneven")];

/// A sentence for each direction in which the system changed, and one for the common cause of many changes. Published
/// results have no causes.
pub(crate) fn reasons(study: &JudgedStudy, system: usize) -> Vec<String> {
    if study.record.is_reported() {
        return Vec::new();
    }
    let of_system = study.judgement.cells.iter().filter(|cell| cell.system == system);
    let cells: Vec<&CellJudgement> = of_system.filter(|cell| cell.cause.is_some()).collect();
    let mut sentences = Vec::new();
    for (verdict, word) in DIRECTIONS {
        let changed: Vec<&CellJudgement> =
            cells.iter().copied().filter(|cell| cell.verdict == verdict).collect();
        if changed.len() < TESTS_MIN {
            continue;
        }
        let tests = counted(changed.len() as u64, "test");
        sentences.push(format!("{} in {tests}: {}.", capital(word), causes(&changed, true)));
        sentences.extend(since(study, verdict, &changed));
        sentences.extend(functions(&changed));
    }
    sentences
}

/// Causes of the changes of a group under a setup: `of 10 tests, slower in 3: 2 mostly because of CPU in serving
/// threads, 1 with another plan; faster in 1: mostly because of waiting`. `None` for published results and if no test
/// changed.
pub(crate) fn of_group(cells: &[CellJudgement], summary: &GroupSummary) -> Option<String> {
    let is_in_it = |cell: &&CellJudgement| {
        let place = (cell.system, cell.cell.setup, cell.group.word.as_str());
        place == (summary.system, summary.setup, summary.group.word.as_str())
    };
    let explained: Vec<&CellJudgement> =
        cells.iter().filter(is_in_it).filter(|cell| cell.cause.is_some()).collect();
    let part = |(verdict, word): (Verdict, &str)| {
        let changed: Vec<&CellJudgement> =
            explained.iter().copied().filter(|cell| cell.verdict == verdict).collect();
        let message = || format!("{word} in {}: {}", changed.len(), causes(&changed, false));
        (!changed.is_empty()).then(message)
    };
    let parts: Vec<String> = DIRECTIONS.into_iter().filter_map(part).collect();
    let tests = counted(u64::from(summary.n), "test");
    (!parts.is_empty()).then(|| format!("of {tests}, {}", parts.join("; ")))
}

/// `5 mostly because of CPU in serving threads (range-1, writes), 2 with another plan (point)`, with the groups or
/// without them.
fn causes(changed: &[&CellJudgement], has_groups: bool) -> String {
    let mut by_cause: BTreeMap<ChangeCause, Vec<&CellJudgement>> = BTreeMap::new();
    for cell in changed {
        by_cause.entry(cell.cause.unwrap_or(ChangeCause::Unknown)).or_default().push(cell);
    }
    let mut by_cause: Vec<(ChangeCause, Vec<&CellJudgement>)> = by_cause.into_iter().collect();
    by_cause.sort_by_key(|(_, cells)| std::cmp::Reverse(cells.len()));
    let part = |(cause, cells): &(ChangeCause, Vec<&CellJudgement>)| {
        let of = match cells.len() {
            1 if changed.len() == 1 => String::new(),
            2 if changed.len() == 2 => "both ".to_owned(),
            count if count == changed.len() => "all ".to_owned(),
            count => format!("{count} "),
        };
        let groups = if has_groups { groups(cells) } else { String::new() };
        let shares = if *cause == ChangeCause::Several { shares(cells) } else { String::new() };
        let details: Vec<String> =
            [groups, shares].into_iter().filter(|it| !it.is_empty()).collect();
        let details = match details.is_empty() {
            true => String::new(),
            false => format!(" ({})", details.join("; ")),
        };
        format!("{of}{}{details}", cause.words())
    };
    let parts: Vec<String> = by_cause.iter().map(part).collect();
    parts.join(", ")
}

/// `range-1, writes`.
fn groups(cells: &[&CellJudgement]) -> String {
    let groups: BTreeSet<&str> = cells.iter().map(|cell| cell.group.word.as_str()).collect();
    let named: Vec<&str> = groups.iter().copied().take(GROUPS).collect();
    let more = if groups.len() > GROUPS { ", ..." } else { "" };
    format!("{}{more}", named.join(", "))
}

/// Terms of these changes: `55% CPU of serving threads and 40% other waiting on average`.
fn shares(cells: &[&CellJudgement]) -> String {
    let changes: Vec<&TimeChange> = cells.iter().filter_map(|it| it.change.as_ref()).collect();
    let mut by_term: BTreeMap<TimeTerm, f64> = BTreeMap::new();
    for (term, share) in changes.iter().flat_map(|it| it.shares()) {
        *by_term.entry(term).or_default() += share / changes.len() as f64;
    }
    let mut terms: Vec<(TimeTerm, f64)> = by_term.into_iter().collect();
    terms.retain(|(_, share)| share.abs() >= SHARE_MIN);
    terms.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let tells_disk = changes.iter().all(|it| it.tells_disk());
    let named = terms.iter().map(|(term, share)| {
        format!("{:.0}% {}", 100.0 * share, term.word(tells_disk)).replace('-', "−")
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() { String::new() } else { format!("{} on average", listed(&named)) }
}

/// The version with which most of these tests changed most; `None` if versions are not a line, or no version has most
/// of them.
fn since(study: &JudgedStudy, verdict: Verdict, changed: &[&CellJudgement]) -> Option<String> {
    let mut by_version: BTreeMap<usize, usize> = BTreeMap::new();
    for cell in changed {
        let lines = study.judgement.lines.iter();
        let mut of_cell = lines.filter(|line| {
            line.cell == cell.cell
                && line.verdict == verdict
                && line.systems.last() == Some(&cell.system)
        });
        if let Some(step) = of_cell.find_map(|line| line.main) {
            *by_version.entry(step.to).or_default() += 1;
        }
    }
    let (version, count) = by_version.into_iter().max_by_key(|(_, count)| *count)?;
    let is_common = count >= TESTS_MIN && count as f64 >= COMMON * changed.len() as f64;
    is_common.then(|| {
        format!("The largest step of {count} of them is the one to {}.", study.label(version))
    })
}

/// Functions whose CPU time changed for certain, in the direction of the whole, in most of the profiles.
fn functions(changed: &[&CellJudgement]) -> Option<String> {
    let profiles: Vec<_> = changed.iter().filter_map(|cell| cell.profile.as_ref()).collect();
    let mut by_function: BTreeMap<&str, usize> = BTreeMap::new();
    for profile in &profiles {
        // Several modules may have a function of the same name.
        let named: BTreeSet<&str> =
            profile.causes().take(GROUPS).filter_map(|it| it.function.as_deref()).collect();
        for function in named {
            *by_function.entry(function).or_default() += 1;
        }
    }
    let (function, count) = by_function.into_iter().max_by_key(|(_, count)| *count)?;
    let is_common = count >= TESTS_MIN && count as f64 >= COMMON * profiles.len() as f64;
    is_common.then(|| {
        format!(
            "`{function}` is among the {GROUPS} functions that changed most in {count} of {}.",
            counted(profiles.len() as u64, "profile")
        )
    })
}
