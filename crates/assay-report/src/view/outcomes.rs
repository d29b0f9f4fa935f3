//! Outcomes of a user's captured statements in another version, for a meeting: to fix, to look at, slower, same,
//! faster, not testable.

use std::collections::BTreeMap;

use assay_model::{AnswerPart, Verdict, counted};
use assay_verdict::{Cause, CellJudgement};

use super::answers::{Statements, differences, shortened};
use super::session_sets::{ByStatement, in_tests};
use super::study::JudgedStudy;
use super::to_do::{ToDo, is_of_statements};
use crate::ratio::narrow;

/// Facts with their names. `None` unless statements came from logs or answers were compared.
pub(super) fn outcomes(study: &JudgedStudy) -> Option<Vec<(String, String)>> {
    if !is_of_statements(study) {
        return None;
    }
    let facts = study.compared.iter().flat_map(|system| {
        of_system(study, *system).into_iter().map(|(name, message)| {
            let name = match study.compared.len() {
                1 => name.to_owned(),
                _ => format!("{}: {name}", study.label(*system)),
            };
            (name, message)
        })
    });
    let facts: Vec<(String, String)> = facts.collect();
    (!facts.is_empty()).then_some(facts)
}

fn to_do(study: &JudgedStudy, to_do: &ToDo<'_>) -> Vec<(&'static str, String)> {
    let ToDo { statements, failing, settings, query_cache, .. } = to_do;
    let Statements { must_fix, look_at, not_compared, of_connection, compared } = statements;
    let mut facts = Vec::new();
    let of = |name, of| named(of).map(|message| (name, message));
    facts.extend(of("must be fixed: refused, or other rows", must_fix));
    if !failing.is_empty() {
        let names: Vec<String> = failing.iter().map(|cell| study.cell_name(cell.cell)).collect();
        facts.push(("must be fixed: fails on this system only", listed(&names, "test")));
    }
    if !settings.is_empty() {
        facts.push(("must be fixed: settings of sessions", settings.join(", ")));
    }
    facts.extend(query_cache.iter().map(|it| ("must be looked at: query cache", it.who.clone())));
    facts.extend(of("must be looked at: other order, types, names or warnings", look_at));
    let collations = of_connection.iter().filter_map(|(why, statements)| {
        let message = format!("{why}; {}", named(statements)?);
        Some(("must be looked at: collation of connections", message))
    });
    facts.extend(collations);
    facts.extend(compared.map(|compared| ("the same answers", compared.same_in_words())));
    facts.extend(of("answers not compared", not_compared));
    facts
}

/// Answers first, then speed: the verdicts of all tests, as the answer of the report counts them.
fn of_system(study: &JudgedStudy, system: usize) -> Vec<(&'static str, String)> {
    let to_do_here = ToDo::of(study, system);
    let mut facts = to_do(study, &to_do_here);
    let cells = study.judgement.cells.iter().filter(|cell| cell.system == system);
    let cells: Vec<&CellJudgement> = cells.collect();
    let verdicts = [
        (Verdict::Slower, "slower"),
        (Verdict::Uneven, "uneven"),
        (Verdict::Undecided, "undecided"),
        (Verdict::Same, "same speed"),
        (Verdict::Faster, "faster"),
        (Verdict::Failed, "failed: could not be tested"),
    ];
    for (verdict, words) in verdicts {
        let mut of_verdict: Vec<&CellJudgement> =
            cells.iter().copied().filter(|cell| cell.verdict == verdict).collect();
        if verdict == Verdict::Slower {
            let speed = |cell: &CellJudgement| cell.rqps.map_or(1.0, |ratio| ratio.value);
            of_verdict.sort_by(|a, b| speed(a).total_cmp(&speed(b)));
        }
        let count = of_verdict.len();
        let is_told = |cell: &CellJudgement| {
            let test = cell.cell.test.name();
            verdict == Verdict::Failed && to_do_here.tells(test, cell.failure.as_deref())
        };
        of_verdict.retain(|cell| !is_told(cell));
        let message = (count > of_verdict.len())
            .then(|| format!("{} that must be fixed", count - of_verdict.len()));
        let names = message.into_iter().chain(of_verdict.iter().map(|cell| name(study, cell)));
        let names: Vec<String> = names.collect();
        let counted = counted(count as u64, "test");
        facts.extend((count > 0).then(|| (words, format!("{counted}: {}", shortened(&names)))));
    }
    facts
}

/// `3 statements: orders (2 statements), top`
fn named(of: &ByStatement<'_>) -> Option<String> {
    let mut by_test: BTreeMap<&str, u64> = BTreeMap::new();
    of.values().flatten().for_each(|test| *by_test.entry(test).or_default() += 1);
    let name = |(test, statements): (&&str, &u64)| match statements {
        1 => (*test).to_owned(),
        several => format!("{test} ({})", counted(*several, "statement")),
    };
    let names: Vec<String> = by_test.iter().map(name).collect();
    let statements = in_tests(of);
    (!of.is_empty()).then(|| format!("{statements}: {}", shortened(&names)))
}

fn listed(names: &[String], what: &str) -> String {
    format!("{}: {}", counted(names.len() as u64, what), shortened(names))
}

/// `orders-by-customer 0.45 with another plan`
fn name(study: &JudgedStudy, cell: &CellJudgement) -> String {
    let name = study.cell_name(cell.cell);
    let has_nothing = cell.slices == 0
        && matches!(cell.verdict, Verdict::Undecided | Verdict::Uneven | Verdict::Failed);
    if cell.verdict == Verdict::Failed || has_nothing {
        let of = |system| study.cell(cell.cell, system).and_then(|it| it.failure.as_deref());
        let of_base = of(study.base);
        let fails_everywhere = (0..study.record.systems.len()).all(|it| of(it).is_some());
        let on_all = if fails_everywhere { "on all systems: " } else { "" };
        let unanswered = differences(study.record)
            .find(|(_, it)| it.test == cell.cell.test.name() && it.what == AnswerPart::NoAnswer)
            .map(|(_, it)| it.here.as_str());
        let why = cell.failure.as_deref().or(of_base).or(unanswered);
        return format!("{name} ({on_all}{})", first_words(why.unwrap_or("no time was left")));
    }
    let is_called = matches!(cell.verdict, Verdict::Slower | Verdict::Faster);
    let Some(ratio) = cell.rqps.filter(|_| is_called) else { return name };
    let plan = if cell.cause == Some(Cause::Plan) { " with another plan" } else { "" };
    format!("{name} {}{plan}", narrow(ratio))
}

fn first_words(why: &str) -> String {
    const SHOWN: usize = 80;
    let line = why.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
