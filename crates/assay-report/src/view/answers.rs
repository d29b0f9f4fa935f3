//! Answers to a user's statements that differ from those of the base, and messages about a dump.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    AnswerDifference, AnswerPart, AnswersCompared, EventKind, Restored, RestoredKind, Severity,
    StudyRecord,
};

use super::session_sets::{ByStatement, in_tests};
use super::study::JudgedStudy;

const SHOWN: usize = 160;

const NAMED: usize = 6;

const SHOWN_MAX: usize = 100;

pub(crate) fn differences(
    record: &StudyRecord,
) -> impl Iterator<Item = (usize, &AnswerDifference)> {
    record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::AnswerDiffers(difference), Some(system)) => Some((system, difference)),
        _ => None,
    })
}

pub(crate) fn restored(record: &StudyRecord) -> impl Iterator<Item = (usize, &Restored)> {
    record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::Restored(restored), Some(system)) => Some((system, restored)),
        _ => None,
    })
}

/// Statements by difference from the base, and the number of equal answers. A statement is listed under its most severe
/// difference.
#[derive(Default)]
pub(crate) struct Statements<'a> {
    /// Refused, or answered with other rows.
    pub(crate) must_fix: ByStatement<'a>,
    /// With other rows or another order that the statement leaves open, or with other types, names or warnings.
    pub(crate) look_at: ByStatement<'a>,
    pub(crate) not_compared: ByStatement<'a>,
    /// Texts with the collation of the connection, by the reason why it differs. Each reason needs a single look.
    pub(crate) of_connection: BTreeMap<&'a str, ByStatement<'a>>,
    /// `None` if no answers were compared.
    pub(crate) compared: Option<AnswersCompared>,
}

impl<'a> Statements<'a> {
    pub(crate) fn of(record: &'a StudyRecord, system: usize) -> Self {
        let mut found = Self::default();
        let mut by_statement: BTreeMap<&str, (Severity, BTreeSet<&str>)> = BTreeMap::new();
        for (_, it) in differences(record).filter(|(of, _)| *of == system) {
            if let Some(why) = it.why.as_deref().filter(|_| it.is_of_connection()) {
                let of_why = found.of_connection.entry(why).or_default();
                of_why.entry(&it.statement).or_default().insert(&it.test);
                continue;
            }
            let severity = it.what.severity();
            let (known, tests) =
                by_statement.entry(&it.statement).or_insert((severity, BTreeSet::new()));
            if severity < *known {
                *known = severity;
                tests.clear();
            }
            if severity == *known {
                tests.insert(&it.test);
            }
        }
        for (statement, (severity, tests)) in by_statement {
            let of = match severity {
                Severity::MustFix => &mut found.must_fix,
                Severity::LookAt => &mut found.look_at,
                Severity::NotCompared => &mut found.not_compared,
            };
            of.insert(statement, tests);
        }
        found.compared = record.events.iter().find_map(|event| match event.what {
            EventKind::AnswersCompared(compared) if event.system == Some(system) => Some(compared),
            _ => None,
        });
        found
    }
}

/// For readers who read no further.
pub(crate) fn warnings(study: &JudgedStudy) -> Vec<String> {
    let record = study.record;
    let mut warnings = Vec::new();
    for system in 0..record.systems.len() {
        let name = study.label(system);
        let refused = restored(record)
            .filter(|(of, it)| *of == system && it.what == RestoredKind::Error)
            .map(|(_, it)| it.count)
            .sum::<u64>();
        if refused > 0 {
            let statements = assay_model::counted(refused, "statement");
            warnings.push(format!("{name} refused {statements} of the dump"));
        }
        if let Some((_, empty)) =
            restored(record).find(|(of, it)| *of == system && it.what == RestoredKind::Empty)
        {
            warnings.push(format!("the dump left {name} with {}", empty.message));
        }
        let made = |it: &Restored| it.what == RestoredKind::Made;
        if system == study.base
            && let Some((_, made)) = restored(record).find(|(of, it)| *of == system && made(it))
        {
            warnings.push(format!(
                "the dump has no rows of {}: they were made from definitions, so plans and times may differ from \
                 those of your data",
                assay_model::counted(made.count, "table")
            ));
        }
    }
    warnings
}

#[derive(Clone)]
pub(crate) struct FindingList {
    pub(crate) title: &'static str,
    pub(crate) note: &'static str,
    pub(crate) facts: Vec<(String, String)>,
}

pub(crate) fn lists(study: &JudgedStudy) -> Vec<FindingList> {
    let answers = different(study).into_iter().take(SHOWN_MAX);
    let answers = FindingList {
        title: "answers that differ",
        note: "before anything was measured, each statement that only reads was carried out on all systems with the \
               same values, up to 300 of them while there was time; what the base answers stands first",
        facts: answers.chain(of_connections(study)).collect(),
    };
    let words = restored(study.record).take(SHOWN_MAX).map(|(system, it)| {
        let place = match it.line {
            0 => it.file.clone(),
            line => format!("{}, line {line}", it.file),
        };
        let kind = match it.what {
            RestoredKind::Error => "error",
            RestoredKind::Warning => "warning",
            RestoredKind::LeftOut => "left out",
            RestoredKind::Empty => "empty",
            RestoredKind::Made => "made",
            RestoredKind::Login => "login",
        };
        // Findings about the whole dump list the tables.
        let times = if it.count > 1 && it.line > 0 {
            format!(" ({} times)", it.count)
        } else {
            String::new()
        };
        let of = match it.statement.is_empty() {
            true => String::new(),
            false => format!("; `{}`", shown(&it.statement)),
        };
        (about(study, system, &place), format!("{kind}{times}: {}{of}", shown(&it.message)))
    });
    let words = FindingList {
        title: "restoring the dump",
        note: "what each system refused, what it warned of, and what is for another place",
        facts: words.collect(),
    };
    [answers, words].into_iter().filter(|list| !list.facts.is_empty()).collect()
}

/// Most severe first. Tests that share a statement share one line.
fn different(study: &JudgedStudy) -> Vec<(String, String)> {
    let mut all: Vec<(usize, &AnswerDifference)> =
        differences(study.record).filter(|(_, it)| !it.is_of_connection()).collect();
    all.sort_by_key(|(_, it)| it.what.severity());
    let mut found: Vec<(usize, AnswerDifference, Vec<&str>)> = Vec::new();
    let parts = |it: &AnswerDifference| (it.what, it.statement.clone(), it.why.clone());
    let mut places = BTreeMap::new();
    for (system, it) in all {
        let place = *places.entry((system, parts(it))).or_insert(found.len());
        match found.get_mut(place) {
            Some((_, known, tests)) => {
                known.count = known.count.saturating_add(it.count);
                known.of = known.of.saturating_add(it.of);
                tests.push(&it.test);
            }
            None => found.push((system, it.clone(), vec![&it.test])),
        }
    }
    let words = found.into_iter().map(|(system, it, tests)| {
        let what = match it.what {
            AnswerPart::Undetermined => format!("{}: {}", it.what.in_words(), shown(&it.here)),
            what if it.base == it.here => format!("{} on both", what.in_words()),
            what => {
                let why = it.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                let what = format!("{}{}{why}", what.in_words(), it.in_some());
                format!("{what}; {} → {}", shown(&it.base), shown(&it.here))
            }
        };
        (about(study, system, &shortened(&tests)), format!("{what}; `{}`", shown(&it.sent)))
    });
    words.collect()
}

/// A line per pair of collations of connections.
fn of_connections(study: &JudgedStudy) -> Vec<(String, String)> {
    let mut first: BTreeMap<(usize, &str), &str> = BTreeMap::new();
    for (system, it) in differences(study.record).filter(|(_, it)| it.is_of_connection()) {
        let why = it.why.as_deref().unwrap_or_default();
        first.entry((system, why)).or_insert(&it.sent);
    }
    let mut found = Vec::new();
    for system in study.compared.iter().copied() {
        for (why, statements) in Statements::of(study.record, system).of_connection {
            let sent = first.get(&(system, why)).copied().unwrap_or_default();
            let what = AnswerPart::Types.in_words();
            let words = format!("{what}: {why}; the first is `{}`", shown(sent));
            found.push((about(study, system, &in_tests(&statements)), words));
        }
    }
    found.truncate(SHOWN_MAX);
    found
}

pub(super) fn shortened(names: &[impl AsRef<str>]) -> String {
    let mut shown: Vec<String> =
        names.iter().take(NAMED).map(|name| name.as_ref().to_owned()).collect();
    if names.len() > NAMED {
        shown.push(format!("{} more", names.len() - NAMED));
    }
    shown.join(", ")
}

/// `a, b and c`
pub(super) fn listed(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// `orders-by-customer`, and the system if there are several.
pub(super) fn about(study: &JudgedStudy, system: usize, what: &str) -> String {
    match study.record.systems.len() {
        2 if system != study.base => what.to_owned(),
        _ => format!("{what}, {}", study.label(system)),
    }
}

/// On one line, truncated if long.
pub(super) fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(SHOWN).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}
