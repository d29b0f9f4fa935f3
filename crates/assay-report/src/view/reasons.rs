//! What the changes of a system have in common: causes, versions and functions, over all its tests.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Verdict, counted};
use assay_verdict::{Cause, CellJudgement, Term, TimeChange};

use super::study::JudgedStudy;

/// Groups that are named with a cause.
const GROUPS: usize = 3;

/// A version or a function is named if it has at least this part of the changed tests.
const COMMON: f64 = 0.5;

/// Terms with a smaller part of the changes are not named.
const SHARE_MIN: f64 = 0.1;

/// Fewer tests have nothing in common.
const TESTS_MIN: usize = 2;

/// A sentence for each direction in which the system changed, and one for what many changes share. Published results
/// tell no causes.
pub(crate) fn reasons(study: &JudgedStudy, system: usize) -> Vec<String> {
    if study.record.is_reported() {
        return Vec::new();
    }
    let of_system = study.judgement.cells.iter().filter(|cell| cell.system == system);
    let cells: Vec<&CellJudgement> = of_system.filter(|cell| cell.cause.is_some()).collect();
    let mut sentences = Vec::new();
    for verdict in [Verdict::Slower, Verdict::Faster, Verdict::Uneven] {
        let changed: Vec<&CellJudgement> =
            cells.iter().copied().filter(|cell| cell.verdict == verdict).collect();
        if changed.len() < TESTS_MIN {
            continue;
        }
        sentences.push(causes(verdict, &changed));
        sentences.extend(since(study, verdict, &changed));
        sentences.extend(functions(&changed));
    }
    sentences
}

/// `Slower in 7 tests: 5 mostly because of CPU in serving threads (range-1, writes), 2 with another plan (point).`
fn causes(verdict: Verdict, changed: &[&CellJudgement]) -> String {
    let mut by_cause: BTreeMap<Cause, Vec<&CellJudgement>> = BTreeMap::new();
    for cell in changed {
        by_cause.entry(cell.cause.unwrap_or(Cause::Unknown)).or_default().push(cell);
    }
    let mut by_cause: Vec<(Cause, Vec<&CellJudgement>)> = by_cause.into_iter().collect();
    by_cause.sort_by_key(|(_, cells)| std::cmp::Reverse(cells.len()));
    let part = |(cause, cells): &(Cause, Vec<&CellJudgement>)| {
        let groups: BTreeSet<&str> = cells.iter().map(|cell| cell.group.word.as_str()).collect();
        let named: Vec<&str> = groups.iter().copied().take(GROUPS).collect();
        let more = if groups.len() > GROUPS { ", ..." } else { "" };
        let shares = if *cause == Cause::Several { shares(cells) } else { String::new() };
        let count = cells.len();
        let of = match count {
            2 if changed.len() == 2 => "both".to_owned(),
            _ if count == changed.len() => "all".to_owned(),
            _ => count.to_string(),
        };
        format!("{of} {} ({}{more}{shares})", cause.words(), named.join(", "))
    };
    let parts: Vec<String> = by_cause.iter().map(part).collect();
    let word = match verdict {
        Verdict::Slower => "Slower",
        Verdict::Faster => "Faster",
        _ => "Uneven",
    };
    let tests = counted(changed.len() as u64, "test");
    format!("{word} in {tests}: {}.", parts.join(", "))
}

/// The terms that these changes come from: `; 55 % CPU of serving threads and 40 % other waiting on average`.
fn shares(cells: &[&CellJudgement]) -> String {
    let changes: Vec<&TimeChange> = cells.iter().filter_map(|it| it.change.as_ref()).collect();
    let mut by_term: BTreeMap<Term, f64> = BTreeMap::new();
    for (term, share) in changes.iter().flat_map(|it| it.shares()) {
        *by_term.entry(term).or_default() += share / changes.len() as f64;
    }
    let mut terms: Vec<(Term, f64)> = by_term.into_iter().collect();
    terms.retain(|(_, share)| share.abs() >= SHARE_MIN);
    terms.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let tells_disk = changes.iter().all(|it| it.tells_disk());
    let named = terms.iter().map(|(term, share)| {
        format!("{:.0} % {}", 100.0 * share, term.word(tells_disk)).replace('-', "−")
    });
    let named: Vec<String> = named.collect();
    match named.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; {only} on average"),
        Some((last, rest)) => format!("; {} and {last} on average", rest.join(", ")),
    }
}

/// The version with which most of these tests changed most; nothing if versions are no line, or none has most of them.
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

/// The functions whose CPU time changed for certain, in the direction of the whole, in most of the profiles.
fn functions(changed: &[&CellJudgement]) -> Option<String> {
    let profiles: Vec<_> = changed.iter().filter_map(|cell| cell.profile.as_ref()).collect();
    let mut by_function: BTreeMap<&str, usize> = BTreeMap::new();
    for profile in &profiles {
        // Several modules may have a function of the same name.
        let named: BTreeSet<&str> =
            profile.causes().take(GROUPS).map(|(function, _)| function).collect();
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
