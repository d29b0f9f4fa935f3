//! Where systems answer a user's statements differently from the base, and what they told of a dump.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    AnswerDifference, AnswerPart, AnswersCompared, EventKind, Restored, RestoredKind, Severity,
    StudyRecord,
};

use super::study::JudgedStudy;

/// Texts are cut after so many characters.
const SHOWN: usize = 160;

/// Findings of a kind that are shown.
const SHOWN_MAX: usize = 100;

/// The differences of answers, with their systems.
pub(crate) fn differences(
    record: &StudyRecord,
) -> impl Iterator<Item = (usize, &AnswerDifference)> {
    record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::AnswerDiffers(difference), Some(system)) => Some((system, difference)),
        _ => None,
    })
}

/// What systems told of a dump.
pub(crate) fn restored(record: &StudyRecord) -> impl Iterator<Item = (usize, &Restored)> {
    record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::Restored(restored), Some(system)) => Some((system, restored)),
        _ => None,
    })
}

/// The statements that a system answers differently from the base, by test, and those that it answers the same.
pub(crate) struct Statements<'a> {
    /// Those that it refuses or answers with other rows.
    pub(crate) must_fix: ByTest<'a>,
    /// Those with other rows or another order that the statement leaves open, or with other types, names or warnings.
    pub(crate) look_at: ByTest<'a>,
    /// Those whose answers cannot be compared.
    pub(crate) not_compared: ByTest<'a>,
    /// `None` if no answers were compared.
    pub(crate) compared: Option<AnswersCompared>,
}

/// Statements by the tests that have them.
pub(crate) type ByTest<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

impl<'a> Statements<'a> {
    pub(crate) fn of(record: &'a StudyRecord, system: usize) -> Self {
        let mut severity: BTreeMap<(&str, &str), Severity> = BTreeMap::new();
        for (_, it) in differences(record).filter(|(of, _)| *of == system) {
            let of_statement = severity.entry((&it.test, &it.statement));
            let of_part = it.what.severity();
            of_statement.and_modify(|it| *it = of_part.min(*it)).or_insert(of_part);
        }
        let of = |wanted: Severity| {
            let mut found = ByTest::new();
            for ((test, statement), _) in severity.iter().filter(|(_, it)| **it == wanted) {
                found.entry(*test).or_default().insert(*statement);
            }
            found
        };
        let compared = record.events.iter().find_map(|event| match event.what {
            EventKind::AnswersCompared(compared) if event.system == Some(system) => Some(compared),
            _ => None,
        });
        Self {
            must_fix: of(Severity::MustFix),
            look_at: of(Severity::LookAt),
            not_compared: of(Severity::NotCompared),
            compared,
        }
    }
}

/// How many statements these are.
pub(crate) fn number(of: &ByTest<'_>) -> u64 {
    of.values().map(|it| it.len() as u64).sum()
}

/// Sentences for those who read no further.
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
        let Statements { must_fix, look_at, .. } = Statements::of(record, system);
        let (must_fix, look_at) = (number(&must_fix), number(&look_at));
        if must_fix + look_at > 0 {
            let count = assay_model::counted(must_fix + look_at, "statement");
            let base = study.label(study.base);
            warnings.push(format!(
                "{name} answers {count} differently from {base}: {must_fix} must be fixed, {look_at} must be looked at"
            ));
        }
    }
    warnings
}

/// Findings of a kind.
#[derive(Clone)]
pub(crate) struct FindingList {
    pub(crate) title: &'static str,
    /// How they were found.
    pub(crate) note: &'static str,
    /// What each is about, and what was found.
    pub(crate) facts: Vec<(String, String)>,
}

/// The answers that differ, and what systems told of a dump.
pub(crate) fn lists(study: &JudgedStudy) -> Vec<FindingList> {
    let mut all: Vec<(usize, &AnswerDifference)> = differences(study.record).collect();
    all.sort_by_key(|(_, it)| it.what.severity());
    let answers = all.into_iter().take(SHOWN_MAX).map(|(system, it)| {
        let what = match it.what {
            AnswerPart::Undetermined => format!("{}: {}", it.what.in_words(), shown(&it.here)),
            what if it.base == it.here => format!("{} on both", what.in_words()),
            what => {
                let why = it.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                let what = format!("{}{}{why}", what.in_words(), it.in_some());
                format!("{what}; {} → {}", shown(&it.base), shown(&it.here))
            }
        };
        let told = format!("{what}; `{}`", shown(&it.sent));
        (about(study, system, &it.test), told)
    });
    let answers = FindingList {
        title: "answers that differ",
        note: "before anything was measured, each statement that only reads was carried out on all systems with the \
               same values, up to 300 of them while there was time; what the base answers stands first",
        facts: answers.collect(),
    };
    let told = restored(study.record).take(SHOWN_MAX).map(|(system, it)| {
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
        // What is about all of the dump names the tables.
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
    let told = FindingList {
        title: "restoring the dump",
        note: "what each system refused, what it warned of, and what is for another place",
        facts: told.collect(),
    };
    [answers, told].into_iter().filter(|list| !list.facts.is_empty()).collect()
}

/// `orders-by-customer`, and the system if there are several.
pub(super) fn about(study: &JudgedStudy, system: usize, what: &str) -> String {
    match study.record.systems.len() {
        2 if system != study.base => what.to_owned(),
        _ => format!("{what}, {}", study.label(system)),
    }
}

/// A text in one line that is cut where it is long.
pub(super) fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(SHOWN).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}
