//! What happens to a user's captured statements in another version, for a meeting: what must be fixed, what must be
//! looked at, what is slower, the same or faster, and what could not be tested.

use std::collections::BTreeSet;

use assay_model::{AnswerPart, Verdict, counted};
use assay_verdict::{Cause, CellJudgement};

use super::answers::{ByTest, Statements, differences, number};
use super::sessions::to_fix;
use super::study::JudgedStudy;
use crate::ratio::narrow;

/// Tests that are named.
const NAMED: usize = 6;

/// What happens to a system's statements, as facts with their names. `None` unless statements came from logs or answers
/// were compared.
pub(super) fn outcomes(study: &JudgedStudy) -> Option<Vec<(String, String)>> {
    let roles = study.record.study.cells.iter().flat_map(|cell| &cell.id.test.definition().roles);
    let mut kinds = roles.flat_map(|role| &role.script.mix);
    let is_captured = kinds.any(|kind| kind.captured.is_some());
    if !is_captured && differences(study.record).next().is_none() {
        return None;
    }
    let facts = study.compared.iter().flat_map(|system| {
        of_system(study, *system).into_iter().map(|(name, told)| {
            let name = match study.compared.len() {
                1 => name.to_owned(),
                _ => format!("{}: {name}", study.label(*system)),
            };
            (name, told)
        })
    });
    let facts: Vec<(String, String)> = facts.collect();
    (!facts.is_empty()).then_some(facts)
}

/// Answers first, then speed: the verdicts of all tests, as the answer of the report counts them.
fn of_system(study: &JudgedStudy, system: usize) -> Vec<(&'static str, String)> {
    let Statements { must_fix, look_at, not_compared, compared } =
        Statements::of(study.record, system);
    let mut facts = Vec::new();
    let answers = [
        ("must be fixed: refused, or other rows", &must_fix),
        ("must be looked at: other order, types, names or warnings", &look_at),
    ];
    facts.extend(answers.into_iter().filter_map(|(name, of)| Some((name, named(of)?))));
    let settings = to_fix(study, system);
    if !settings.is_empty() {
        facts.push(("must be fixed: settings of sessions", settings.join(", ")));
    }
    let cells = study.judgement.cells.iter().filter(|cell| cell.system == system);
    let cells: Vec<&CellJudgement> = cells.collect();
    let failing = failing(study, &cells);
    if !failing.is_empty() {
        facts.push(("must be fixed: fails on this system only", listed(&failing, "test")));
    }
    if let Some(compared) = compared {
        facts.push(("the same answers", compared.same_in_words()));
    }
    facts.extend(named(&not_compared).map(|told| ("answers not compared", told)));
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
        let names: Vec<String> = of_verdict.iter().map(|cell| name(study, cell)).collect();
        facts.extend((!names.is_empty()).then(|| (words, listed(&names, "test"))));
    }
    facts
}

/// `3 statements: orders (2 statements), top`
fn named(of: &ByTest<'_>) -> Option<String> {
    let name = |(test, statements): (&&str, &BTreeSet<&str>)| match statements.len() {
        1 => (*test).to_owned(),
        several => format!("{test} ({})", counted(several as u64, "statement")),
    };
    let names: Vec<String> = of.iter().map(name).collect();
    let statements = counted(number(of), "statement");
    (!of.is_empty()).then(|| format!("{statements}: {}", shortened(&names)))
}

fn listed(names: &[String], what: &str) -> String {
    format!("{}: {}", counted(names.len() as u64, what), shortened(names))
}

fn shortened(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMED).cloned().collect();
    if names.len() > NAMED {
        shown.push(format!("{} more", names.len() - NAMED));
    }
    shown.join(", ")
}

/// The tests that fail on a system and not on the base. A mix fails with its parts.
fn failing(study: &JudgedStudy, cells: &[&CellJudgement]) -> Vec<String> {
    let is_one = |cell: &&&CellJudgement| {
        let roles = cell.cell.test.definition().roles.iter();
        roles.flat_map(|role| &role.script.mix).count() == 1
    };
    // Before a cell is given up that could not begin on a system, the others are tried.
    let base_ran = |cell: &&&CellJudgement| {
        let of_base = study.cell(cell.cell, study.base);
        of_base.is_some_and(|base| base.failure.is_none() && base.silence.is_none())
    };
    let failed = cells.iter().filter(|cell| cell.verdict == Verdict::Failed);
    failed.filter(is_one).filter(base_ran).map(|cell| name(study, cell)).collect()
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

/// The beginning of a reason.
fn first_words(why: &str) -> String {
    const SHOWN: usize = 80;
    let line = why.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
