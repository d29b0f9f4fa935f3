//! Where systems answer a user's statements differently from the base, and what they told of a dump.

use assay_model::{AnswerDifference, AnswerPart, EventKind, Restored, RestoredKind, StudyRecord};

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
        let differs = differences(record)
            .filter(|(of, it)| *of == system && it.what != AnswerPart::Undetermined)
            .filter(|(_, it)| it.base != it.here);
        let mut statements: Vec<(&str, &str)> =
            differs.map(|(_, it)| (it.test.as_str(), it.statement.as_str())).collect();
        statements.sort_unstable();
        statements.dedup();
        if !statements.is_empty() {
            let count = assay_model::counted(statements.len() as u64, "statement");
            let base = study.label(study.base);
            warnings.push(format!("{name} answers {count} differently from {base}"));
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
    let answers = differences(study.record).take(SHOWN_MAX).map(|(system, it)| {
        let what = match it.what {
            AnswerPart::Undetermined => format!("{}: {}", it.what.in_words(), shown(&it.here)),
            what if it.base == it.here => format!("{} on both", what.in_words()),
            what => {
                let what = format!("{}{}", what.in_words(), it.in_some());
                format!("{what}: {} → {}", shown(&it.base), shown(&it.here))
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
