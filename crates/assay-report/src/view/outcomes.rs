//! What happens to a user's captured statements in another version, for a meeting: what must be fixed, what is slower,
//! the same or faster, and what could not be tested.

use std::collections::BTreeSet;

use assay_model::{AnswerPart, Verdict, counted};
use assay_verdict::{Cause, CellJudgement};

use super::answers::differences;
use super::sessions::to_fix;
use super::study::JudgedStudy;
use crate::ratio::narrow;

/// Tests that are named.
const NAMED: usize = 6;

/// What happens to a test. The first that applies counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    MustFix,
    Slower,
    LooksOther,
    Undecided,
    Same,
    Faster,
    Untested,
}

impl Outcome {
    /// In the order of a report.
    const ALL: [Self; 7] = [
        Self::MustFix,
        Self::Slower,
        Self::LooksOther,
        Self::Undecided,
        Self::Same,
        Self::Faster,
        Self::Untested,
    ];

    fn words(self) -> &'static str {
        match self {
            Self::MustFix => "must be fixed: refused, or other rows",
            Self::Slower => "slower",
            Self::LooksOther => "other types, names or warnings",
            Self::Undecided => "undecided",
            Self::Same => "same",
            Self::Faster => "faster",
            Self::Untested => "could not be tested",
        }
    }
}

/// Each outcome with its tests, by system. `None` unless statements came from logs or answers were compared.
pub(super) fn outcomes(study: &JudgedStudy) -> Option<Vec<(String, String)>> {
    let roles = study.record.study.cells.iter().flat_map(|cell| &cell.id.test.definition().roles);
    let mut kinds = roles.flat_map(|role| &role.script.mix);
    let is_captured = kinds.any(|kind| kind.captured.is_some());
    if !is_captured && differences(study.record).next().is_none() {
        return None;
    }
    let facts = study.compared.iter().flat_map(|system| of_system(study, *system));
    let facts: Vec<(String, String)> = facts.collect();
    (!facts.is_empty()).then_some(facts)
}

fn of_system(study: &JudgedStudy, system: usize) -> Vec<(String, String)> {
    let found = Differing::of(study, system);
    // A mix would be told again what its parts tell.
    let is_one = |cell: &&CellJudgement| {
        let roles = cell.cell.test.definition().roles.iter();
        roles.flat_map(|role| &role.script.mix).count() == 1
    };
    let cells = study.judgement.cells.iter().filter(|cell| cell.system == system).filter(is_one);
    let judged: Vec<(Outcome, &CellJudgement)> =
        cells.map(|cell| (found.outcome(study, cell), cell)).collect();
    let fact = |outcome: Outcome| {
        let mut tests: Vec<&CellJudgement> =
            judged.iter().filter(|(it, _)| *it == outcome).map(|(_, cell)| *cell).collect();
        if outcome == Outcome::Slower {
            let speed = |cell: &CellJudgement| cell.rqps.map_or(1.0, |ratio| ratio.value);
            tests.sort_by(|a, b| speed(a).total_cmp(&speed(b)));
        }
        let named = tests.iter().take(NAMED).map(|cell| name(study, outcome, cell));
        let mut named: Vec<String> = named.collect();
        if tests.len() > NAMED {
            named.push(format!("{} more", tests.len() - NAMED));
        }
        let words = match study.compared.len() {
            1 => outcome.words().to_owned(),
            _ => format!("{}: {}", study.label(system), outcome.words()),
        };
        let told = format!("{}: {}", counted(tests.len() as u64, "test"), named.join(", "));
        (!tests.is_empty()).then_some((words, told))
    };
    let settings = to_fix(study, system);
    let words = match study.compared.len() {
        1 => "must be fixed: settings of sessions".to_owned(),
        _ => format!("{}: must be fixed: settings of sessions", study.label(system)),
    };
    let settings = (!settings.is_empty()).then(|| (words, settings.join(", ")));
    settings.into_iter().chain(Outcome::ALL.into_iter().filter_map(fact)).collect()
}

/// `orders-by-customer 0.45 with another plan`
fn name(study: &JudgedStudy, outcome: Outcome, cell: &CellJudgement) -> String {
    let name = study.cell_name(cell.cell);
    if outcome == Outcome::Untested {
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
    let is_called = matches!(outcome, Outcome::Slower | Outcome::Faster);
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

/// The tests whose answers differ in a system.
struct Differing<'a> {
    /// Refused, or with other rows.
    wrong: BTreeSet<&'a str>,
    /// With other types, names or warnings.
    other: BTreeSet<&'a str>,
}

impl<'a> Differing<'a> {
    fn of(study: &JudgedStudy<'a>, system: usize) -> Self {
        let mut found = Self { wrong: BTreeSet::new(), other: BTreeSet::new() };
        for (_, it) in differences(study.record).filter(|(of, _)| *of == system) {
            match it.what {
                AnswerPart::Error | AnswerPart::Rows | AnswerPart::Values => {
                    found.wrong.insert(it.test.as_str());
                }
                AnswerPart::Names | AnswerPart::Types | AnswerPart::Warnings => {
                    found.other.insert(it.test.as_str());
                }
                AnswerPart::NoAnswer | AnswerPart::Undetermined => {}
            }
        }
        found
    }

    fn outcome(&self, study: &JudgedStudy, cell: &CellJudgement) -> Outcome {
        let test = cell.cell.test.name();
        let of_base = study.cell(cell.cell, study.base);
        // Before a cell is given up that could not begin on a system, the others are tried.
        let base_ran = of_base.is_some_and(|base| base.failure.is_none() && base.silence.is_none());
        match cell.verdict {
            _ if self.wrong.contains(test) => Outcome::MustFix,
            Verdict::Failed if base_ran => Outcome::MustFix,
            Verdict::Failed => Outcome::Untested,
            Verdict::Slower => Outcome::Slower,
            _ if self.other.contains(test) => Outcome::LooksOther,
            Verdict::Same => Outcome::Same,
            Verdict::Faster => Outcome::Faster,
            Verdict::Undecided | Verdict::Uneven if cell.slices == 0 => Outcome::Untested,
            Verdict::Undecided | Verdict::Uneven => Outcome::Undecided,
        }
    }
}
