//! What another version does to a user's statements: changed answers, refusals, new warnings, plans and speed, in this
//! order, each with its meaning for the reader.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{AnswerPart, StudyRecord, Verdict, counted};
use assay_verdict::{CellJudgement, ChangeCause, JudgedFigure, PlanFindings};

use super::answers::{AnswersByStatement, ByStatement, NAMED, differences, in_tests};
use super::cpu;
use super::study::JudgedStudy;
use super::to_do::{ToDo, is_of_statements};
use crate::document::{Block, Wish};
use crate::ratio::{Ratio, narrow};
use crate::words::shortened;

/// Statements of a system that differ from the base, each under its gravest difference.
struct ChangedStatements<'a> {
    answers: ByStatement<'a>,
    refused: ByStatement<'a>,
    warned: ByStatement<'a>,
    /// Number of statements with comparable answers; `None` if no answers were compared.
    compared: Option<u32>,
}

impl<'a> ChangedStatements<'a> {
    fn for_system(record: &'a StudyRecord, system: usize, to_do: &ToDo<'_>) -> Self {
        let mut answers = ByStatement::new();
        let mut refused = ByStatement::new();
        let mut warned = ByStatement::new();
        for (_, found) in differences(record).filter(|(index, _)| *index == system) {
            let list = match found.what {
                AnswerPart::Error => &mut refused,
                AnswerPart::Warnings => &mut warned,
                AnswerPart::SameError | AnswerPart::NoAnswer | AnswerPart::Undetermined => continue,
                _ if found.is_of_connection() => continue,
                AnswerPart::OtherError
                | AnswerPart::Rows
                | AnswerPart::Values
                | AnswerPart::Order
                | AnswerPart::Choice
                | AnswerPart::Names
                | AnswerPart::Types => &mut answers,
            };
            list.entry(found.statement.as_str()).or_default().insert(found.test.as_str());
        }
        answers.retain(|statement, _| !refused.contains_key(statement));
        warned.retain(|statement, _| {
            !refused.contains_key(statement) && !answers.contains_key(statement)
        });
        // Counts of undetermined answers leave out statements without any.
        let not_compared = to_do.statements.not_compared.len() as u32;
        let compared = to_do
            .statements
            .compared
            .map(|counts| counts.statements.saturating_sub(counts.undetermined.max(not_compared)));
        Self { answers, refused, warned, compared }
    }

    /// `1 of 3 statements`, `none of 3 statements`.
    fn part(&self, count: usize) -> String {
        let number = if count == 0 { "none".to_owned() } else { count.to_string() };
        match self.compared {
            Some(all) => format!("{number} of {}", counted(all, "statement")),
            None => counted(count as u64, "statement"),
        }
    }
}

/// The first sentence of a report about a user's statements, for each system: `1 of 3 statements changes its answer,
/// none is refused; speed: not decided yet`.
pub(super) fn headlines(study: &JudgedStudy) -> Vec<String> {
    if !is_of_statements(study) || study.counts_only() {
        return Vec::new();
    }
    let line = |system: &usize| match study.compared.len() {
        1 => headline(study, *system),
        _ => Some(format!("{}: {}", study.label(*system), headline(study, *system)?)),
    };
    study.compared.iter().filter_map(line).collect()
}

/// `None` if nothing is known but the speed.
fn headline(study: &JudgedStudy, system: usize) -> Option<String> {
    let to_do = ToDo::for_system(study, system);
    let changes = ChangedStatements::for_system(study.record, system, &to_do);
    let refused = changes.refused.len() + to_do.failing.len();
    let others = (to_do.settings.len() + to_do.options[0] + to_do.logins) as u64 + to_do.of_dump;
    let answers = match (changes.answers.len(), changes.compared) {
        (0, None) if refused == 0 && others == 0 => return None,
        (0, None) => "no answers were compared".to_owned(),
        (count @ (0 | 1), _) => format!("{} changes its answer", changes.part(count)),
        (count, _) => format!("{} change their answers", changes.part(count)),
    };
    let refused = match refused {
        0 => "none is refused".to_owned(),
        1 => "1 is refused".to_owned(),
        many => format!("{many} are refused"),
    };
    let others = match others {
        0 => String::new(),
        count => format!(", {} must be fixed", counted(count, "other thing")),
    };
    Some(format!("{answers}, {refused}{others}; speed: {}", speed(study, system)))
}

/// The tests of a system by verdict: `slower in 2, not decided yet in 5 of 7 tests`.
pub(super) fn speed(study: &JudgedStudy, system: usize) -> String {
    let figure = study.figure();
    let is_timed = figure == JudgedFigure::Time;
    let verdicts = [
        (Verdict::Slower, if is_timed { "slower" } else { "more CPU" }),
        (Verdict::Uneven, "uneven"),
        (Verdict::Faster, if is_timed { "faster" } else { "less CPU" }),
        (Verdict::Same, if is_timed { "the same" } else { "the same CPU" }),
        (Verdict::Undecided, "not decided yet"),
        (Verdict::Failed, "could not be tested"),
    ];
    let cells: Vec<&CellJudgement> = of_system(study, system).collect();
    let count =
        |verdict: Verdict| cells.iter().filter(|cell| cell.verdict_by(figure) == verdict).count();
    let found = verdicts.map(|(verdict, words)| (words, count(verdict)));
    let found: Vec<_> = found.into_iter().filter(|(_, count)| *count > 0).collect();
    let tests = counted(cells.len() as u64, "test");
    match found.as_slice() {
        [] => "not measured".to_owned(),
        [("not decided yet", _)] => "not decided yet".to_owned(),
        [(words, _)] => format!("{words} in {tests}"),
        several => {
            let parts = several.iter().map(|(words, count)| format!("{words} in {count}"));
            format!("{} of {tests}", parts.collect::<Vec<_>>().join(", "))
        }
    }
}

fn of_system<'a>(
    study: &JudgedStudy<'a>,
    system: usize,
) -> impl Iterator<Item = &'a CellJudgement> {
    study.judgement.cells.iter().filter(move |cell| cell.system == system)
}

/// The answer to one question about the statements.
pub(super) struct StatementOutcome {
    pub(super) name: &'static str,
    pub(super) has_findings: bool,
    pub(super) message: String,
}

/// In the order of a report. Empty unless statements came from logs or answers were compared.
pub(super) fn outcomes(study: &JudgedStudy, system: usize) -> Vec<StatementOutcome> {
    if !is_of_statements(study) {
        return Vec::new();
    }
    let to_do = ToDo::for_system(study, system);
    let changes = ChangedStatements::for_system(study.record, system, &to_do);
    vec![
        changed_answers(&changes),
        refusals(study, &to_do, &changes),
        new_warnings(&to_do, &changes),
        plans(study, system),
        speed_outcome(study, system),
    ]
}

const NOT_COMPARED: &str = "not compared";

/// Name of the outcome that only says which tests are slower.
pub(super) const SPEED: &str = "speed";

fn changed_answers(changes: &ChangedStatements<'_>) -> StatementOutcome {
    let count = changes.answers.len();
    let message = match (count, changes.compared) {
        (0, None) => NOT_COMPARED.to_owned(),
        (0, Some(_)) => {
            format!("{}; no answer has other rows, order, types or names", changes.part(0))
        }
        _ => format!(
            "{}: {}; people and programs that read {} get something else than today",
            changes.part(count),
            names(&changes.answers),
            if count == 1 { "it" } else { "them" }
        ),
    };
    StatementOutcome { name: "changed answers", has_findings: count > 0, message }
}

fn refusals(
    study: &JudgedStudy,
    to_do: &ToDo<'_>,
    changes: &ChangedStatements<'_>,
) -> StatementOutcome {
    let failing: Vec<String> =
        to_do.failing.iter().map(|cell| study.cell_name(cell.cell)).collect();
    let part = |count: u64, one: &str, rest: String| {
        (count > 0).then(|| format!("{}{rest}", counted(count, one)))
    };
    let of_failing = format!(" failing here only: {}", shortened(&failing, NAMED));
    let of_settings = format!(": {}", shortened(&to_do.settings, NAMED));
    let parts = [
        named(&changes.refused),
        part(failing.len() as u64, "test", of_failing),
        part(to_do.settings.len() as u64, "session setting", of_settings),
        part(to_do.of_dump, "statement", " of the dump".to_owned()),
        part(to_do.options[0] as u64, "option", " of the config file".to_owned()),
        part(to_do.logins as u64, "login plugin", String::new()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let message = match parts.is_empty() {
        true => {
            format!("none; nothing tried on both fails here and works on {}", study.base_label())
        }
        false => format!("{}; what works today fails until it is changed", parts.join(", ")),
    };
    StatementOutcome { name: "refusals", has_findings: !parts.is_empty(), message }
}

fn new_warnings(to_do: &ToDo<'_>, changes: &ChangedStatements<'_>) -> StatementOutcome {
    let deprecated = to_do.options[1] as u64;
    let deprecated = (deprecated > 0).then(|| counted(deprecated, "deprecated option"));
    let parts: Vec<String> = named(&changes.warned).into_iter().chain(deprecated).collect();
    let message = match (parts.is_empty(), changes.compared) {
        (true, None) => NOT_COMPARED.to_owned(),
        (true, Some(_)) => "none; no answer announces a later change".to_owned(),
        (false, _) => {
            format!("{}; they work here and may stop in a later version", parts.join(", "))
        }
    };
    StatementOutcome { name: "new warnings", has_findings: !parts.is_empty(), message }
}

/// Tests with a statement that the system executes with another plan than the base.
fn plans(study: &JudgedStudy, system: usize) -> StatementOutcome {
    let (mut all, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for cell in of_system(study, system).filter(|cell| cell.cell.test.user_data().is_some()) {
        let Some(is_changed) = plan_changed(study.record, cell) else { continue };
        all.insert(cell.cell.test.name());
        if is_changed {
            changed.insert(cell.cell.test.name());
        }
    }
    let tests = counted(all.len() as u64, "test");
    let names: Vec<&str> = changed.iter().copied().collect();
    let message = match (all.len(), changed.len()) {
        (0, _) => NOT_COMPARED.to_owned(),
        (_, 0) => format!("none of {tests}; the servers read the data in the same way"),
        (_, count) => format!(
            "{count} of {tests}: {}; the server reads the data in another way, so times may change \
             as the data grow",
            shortened(&names, NAMED)
        ),
    };
    StatementOutcome { name: "plans", has_findings: !changed.is_empty(), message }
}

/// `None` if the plans were not compared.
pub(crate) fn plan_changed(record: &StudyRecord, judged: &CellJudgement) -> Option<bool> {
    let base = record.systems.iter().position(|system| system.is_base)?;
    let system = judged.system;
    let data = judged.cell.setup.data();
    let ran = |system: usize| {
        record.instances.iter().any(|instance| (instance.system, instance.data) == (system, data))
    };
    let dialect = |system: usize| Some(record.systems.get(system)?.spec.product.dialect());
    let is_compared =
        base != system && dialect(base) == dialect(system) && ran(base) && ran(system);
    is_compared.then(|| PlanFindings::new(&record.audit).differ(judged.cell, [base, system]))
}

fn speed_outcome(study: &JudgedStudy, system: usize) -> StatementOutcome {
    let figure = study.figure();
    let has =
        |verdict: Verdict| of_system(study, system).any(|cell| cell.verdict_by(figure) == verdict);
    let meaning = if !has(Verdict::Slower) {
        let is_decided = has(Verdict::Faster) || has(Verdict::Same);
        if is_decided { "; none is slower for certain" } else { "" }
    } else if figure == JudgedFigure::Cpu {
        "; the server needs more CPU for these"
    } else {
        "; users wait longer for these"
    };
    let message = format!("{}{meaning}", speed(study, system));
    StatementOutcome { name: SPEED, has_findings: has(Verdict::Slower), message }
}

/// Empty unless statements came from logs or answers were compared.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if !is_of_statements(study) {
        return Vec::new();
    }
    let facts = study.compared.iter().flat_map(|system| {
        let heading = |name: &str| match study.compared.len() {
            1 => wish.heading(name),
            _ => format!("{}: {name}", study.label(*system)),
        };
        let outcomes = outcomes(study, *system).into_iter();
        let first = outcomes.map(|outcome| (outcome.name, outcome.message));
        let facts = first.chain(facts(study, *system));
        facts.map(|(name, message)| (heading(name), message)).collect::<Vec<_>>()
    });
    let blocks = vec![Block::facts(facts)];
    Block::place("outcomes", "Statements", wish.heading("what happens to the statements"), blocks)
}

fn to_do_facts(to_do: &ToDo<'_>) -> Vec<(&'static str, String)> {
    let AnswersByStatement { must_fix, look_at, not_compared, of_connection, compared } =
        &to_do.statements;
    let mut facts = Vec::new();
    let fact = |name, list| named(list).map(|message| (name, message));
    facts.extend(fact("must be fixed: refused, or other rows", must_fix));
    let cache = to_do.query_cache.iter();
    facts.extend(cache.map(|cache| ("must be looked at: query cache", cache.who.clone())));
    facts.extend(fact("must be looked at: other order, types, names or warnings", look_at));
    let collations = of_connection.iter().filter_map(|(why, statements)| {
        let message = format!("{why}; {}", named(statements)?);
        Some(("must be looked at: collation of connections", message))
    });
    facts.extend(collations);
    facts.extend(compared.map(|compared| ("the same answers", compared.same_in_words())));
    facts.extend(fact("answers not compared", not_compared));
    facts
}

/// Answers first, then speed: the verdicts of all tests, as the answer of the report counts them.
fn facts(study: &JudgedStudy, system: usize) -> Vec<(&'static str, String)> {
    let to_do_here = ToDo::for_system(study, system);
    let mut facts = to_do_facts(&to_do_here);
    let cells: Vec<&CellJudgement> = of_system(study, system).collect();
    let figure = study.figure();
    let is_timed = figure == JudgedFigure::Time;
    let verdicts = [
        (Verdict::Slower, if is_timed { "slower" } else { "more CPU" }),
        (Verdict::Uneven, "uneven"),
        (Verdict::Undecided, "undecided"),
        (Verdict::Same, if is_timed { "same speed" } else { "same CPU" }),
        (Verdict::Faster, if is_timed { "faster" } else { "less CPU" }),
        (Verdict::Failed, "failed: could not be tested"),
    ];
    for (verdict, words) in verdicts {
        let mut of_verdict: Vec<&CellJudgement> =
            cells.iter().copied().filter(|cell| cell.verdict_by(figure) == verdict).collect();
        if verdict == Verdict::Slower {
            let ratio =
                |cell: &CellJudgement| cell.ratio_by(figure).map_or(1.0, |ratio| ratio.value);
            let speed = |cell: &CellJudgement| if is_timed { ratio(cell) } else { -ratio(cell) };
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
        let names =
            message.into_iter().chain(of_verdict.iter().map(|cell| cell_in_words(study, cell)));
        let names: Vec<String> = names.collect();
        let counted = counted(count as u64, "test");
        facts.extend(
            (count > 0).then(|| (words, format!("{counted}: {}", shortened(&names, NAMED)))),
        );
    }
    facts
}

/// `3 statements: orders (2 statements), top`
fn named(list: &ByStatement<'_>) -> Option<String> {
    (!list.is_empty()).then(|| format!("{}: {}", in_tests(list), names(list)))
}

/// `orders (2 statements), top`
fn names(list: &ByStatement<'_>) -> String {
    let mut by_test: BTreeMap<&str, u64> = BTreeMap::new();
    list.values().flatten().for_each(|test| *by_test.entry(test).or_default() += 1);
    let name = |(test, statements): (&&str, &u64)| match statements {
        1 => (*test).to_owned(),
        several => format!("{test} ({})", counted(*several, "statement")),
    };
    let names: Vec<String> = by_test.iter().map(name).collect();
    shortened(&names, NAMED)
}

/// `orders-by-customer 0.45 (−55%) with another plan`
fn cell_in_words(study: &JudgedStudy, cell: &CellJudgement) -> String {
    let name = study.cell_name(cell.cell);
    let has_nothing = cell.slices == 0
        && matches!(cell.verdict, Verdict::Undecided | Verdict::Uneven | Verdict::Failed);
    if cell.verdict == Verdict::Failed || has_nothing {
        let failure = |system| study.cell(cell.cell, system).and_then(|it| it.failure.as_deref());
        let of_base = failure(study.base);
        let fails_everywhere = (0..study.record.systems.len()).all(|it| failure(it).is_some());
        let on_all = if fails_everywhere { "on all systems: " } else { "" };
        let unanswered = differences(study.record)
            .find(|(_, it)| it.test == cell.cell.test.name() && it.what == AnswerPart::NoAnswer)
            .map(|(_, it)| it.here.as_str());
        let why = cell.failure.as_deref().or(of_base).or(unanswered);
        return format!("{name} ({on_all}{})", first_words(why.unwrap_or("no time was left")));
    }
    let figure = study.figure();
    let is_called = matches!(cell.verdict_by(figure), Verdict::Slower | Verdict::Faster);
    let Some(ratio) = cell.ratio_by(figure).filter(|_| is_called) else {
        let is_timed = figure == JudgedFigure::Time;
        return match cpu::beside(study, cell).filter(|_| is_timed) {
            Some(words) => format!("{name} ({words})"),
            None => name,
        };
    };
    let plan = if cell.cause == Some(ChangeCause::Plan) { " with another plan" } else { "" };
    let percent = Ratio(Some(ratio)).percent().filter(|_| figure == JudgedFigure::Time);
    let percent = percent.map_or_else(String::new, |percent| format!(" ({percent})"));
    format!("{name} {}{percent}{plan}", narrow(ratio))
}

fn first_words(why: &str) -> String {
    const SHOWN: usize = 80;
    let line = why.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
