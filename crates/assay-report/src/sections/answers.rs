//! Answers to a user's statements that differ from those of the base, messages about a dump, statements that belong to
//! several tests, and settings of sessions that systems refuse.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    AnswerCounts, AnswerDifference, AnswerPart, DumpFinding, DumpFindingKind, EventKind,
    PerDialect, Severity, Sql, StudyRecord, Test, Transaction, UserStep, counted,
};

use super::study::JudgedStudy;
use crate::words::{one_line, shortened};

const SHOWN: usize = 160;

pub(super) const NAMED: usize = 6;

const SHOWN_MAX: usize = 100;

pub(crate) fn differences(
    record: &StudyRecord,
) -> impl Iterator<Item = (usize, &AnswerDifference)> {
    record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::AnswerDiffers(difference), Some(system)) => Some((system, difference)),
        _ => None,
    })
}

pub(crate) fn restored(record: &StudyRecord) -> impl Iterator<Item = (usize, &DumpFinding)> {
    record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::Restored(restored), Some(system)) => Some((system, restored)),
        _ => None,
    })
}

/// Statements by difference from the base, and the number of equal answers. A statement is listed under its most severe
/// difference.
#[derive(Default)]
pub(crate) struct AnswersByStatement<'a> {
    /// Refused, or answered with other rows.
    pub(crate) must_fix: ByStatement<'a>,
    /// With other rows or another order that the statement leaves open, or with other types, names or warnings.
    pub(crate) look_at: ByStatement<'a>,
    pub(crate) not_compared: ByStatement<'a>,
    /// Texts with the collation of the connection, by the reason why it differs. Each reason needs a single look.
    pub(crate) of_connection: BTreeMap<&'a str, ByStatement<'a>>,
    /// `None` if no answers were compared.
    pub(crate) compared: Option<AnswerCounts>,
}

impl<'a> AnswersByStatement<'a> {
    pub(crate) fn for_system(record: &'a StudyRecord, system: usize) -> Self {
        let mut found = Self::default();
        let mut by_statement: BTreeMap<&str, (Severity, BTreeSet<&str>)> = BTreeMap::new();
        for (_, it) in differences(record).filter(|(index, _)| *index == system) {
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
            let list = match severity {
                Severity::MustFix => &mut found.must_fix,
                Severity::LookAt => &mut found.look_at,
                Severity::NotCompared => &mut found.not_compared,
            };
            list.insert(statement, tests);
        }
        found.compared = record.events.iter().find_map(|event| match event.what {
            EventKind::AnswersCompared(compared) if event.system == Some(system) => Some(compared),
            _ => None,
        });
        found
    }
}

/// Statements of the dump that a system refused: the first and their number.
fn refused_of_dump(record: &StudyRecord, system: usize) -> Option<(&DumpFinding, u64)> {
    let refused = || {
        restored(record).filter(|(index, it)| *index == system && it.what == DumpFindingKind::Error)
    };
    let (_, first) = refused().next()?;
    Some((first, refused().map(|(_, it)| it.count).sum()))
}

/// Comes before all that is to do: without the rows of the base, equal answers prove nothing.
pub(super) fn dump_of_base_warning(study: &JudgedStudy) -> Vec<String> {
    let Some((first, count)) = refused_of_dump(study.record, study.base) else {
        return Vec::new();
    };
    let DumpFinding { file, line, statement, message, .. } = first;
    vec![format!(
        "mend the dump first: {} itself refuses {} of it, so tables or rows may be missing on all systems; the first \
         is `{}` (`{file}`, line {line}): {}",
        study.label(study.base),
        counted(count, "statement"),
        shown(statement),
        shown(message)
    )]
}

/// For readers who read no further.
pub(super) fn dump_warnings(study: &JudgedStudy) -> Vec<String> {
    let record = study.record;
    let mut warnings = Vec::new();
    for system in 0..record.systems.len() {
        let name = study.label(system);
        if let Some((_, count)) = refused_of_dump(record, system)
            && system != study.base
        {
            warnings.push(format!("{name} refused {} of the dump", counted(count, "statement")));
        }
        if let Some((_, empty)) = restored(record)
            .find(|(index, it)| *index == system && it.what == DumpFindingKind::Empty)
        {
            warnings.push(format!("the dump left {name} with {}", empty.message));
        }
        let made = |it: &DumpFinding| it.what == DumpFindingKind::Made;
        if system == study.base
            && let Some((_, made)) =
                restored(record).find(|(index, it)| *index == system && made(it))
        {
            warnings.push(format!(
                "the dump has no rows of {}: they were made from definitions, so plans and times may differ from \
                 those of your data",
                counted(made.count, "table")
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

pub(super) fn lists(study: &JudgedStudy) -> Vec<FindingList> {
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
            DumpFindingKind::Error => "error",
            DumpFindingKind::Warning => "warning",
            DumpFindingKind::LeftOut => "left out",
            DumpFindingKind::Empty => "empty",
            DumpFindingKind::Made => "made",
            DumpFindingKind::Login => "login",
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
            AnswerPart::SameError | AnswerPart::Undetermined => {
                format!("{}: {}", it.what.in_words(), shown(&it.here))
            }
            what if it.base == it.here => format!("{} on both", what.in_words()),
            what => {
                let why = it.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                let what = format!("{}{}{why}", what.in_words(), it.in_some());
                format!("{what}; {} → {}", shown(&it.base), shown(&it.here))
            }
        };
        (about(study, system, &shortened(&tests, NAMED)), format!("{what}; `{}`", shown(&it.sent)))
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
        for (why, statements) in AnswersByStatement::for_system(study.record, system).of_connection
        {
            let sent = first.get(&(system, why)).copied().unwrap_or_default();
            let what = AnswerPart::Types.in_words();
            let words = format!("{what}: {why}; the first is `{}`", shown(sent));
            found.push((about(study, system, &in_tests(&statements)), words));
        }
    }
    found.truncate(SHOWN_MAX);
    found
}

/// `orders-by-customer`, and the system if there are several.
pub(super) fn about(study: &JudgedStudy, system: usize, what: &str) -> String {
    match study.record.systems.len() {
        2 if system != study.base => what.to_owned(),
        _ => format!("{what}, {}", study.label(system)),
    }
}

pub(super) fn shown(text: &str) -> String {
    one_line(text, SHOWN, "…")
}

/// Statements with placeholders for their values, each with its tests.
pub(crate) type ByStatement<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// `None` for a mix, and for tests that are not the user's.
pub fn only_kind(test: Test) -> Option<&'static Transaction> {
    let mut kinds = test.definition().roles.iter().flat_map(|role| &role.script.mix);
    kinds.next().filter(|_| kinds.next().is_none())
}

pub fn sql_text(kind: &Transaction) -> String {
    let sent = kind.steps.iter().filter_map(|step| match step {
        UserStep::Send { sql: PerDialect { mysql, postgres }, .. } => {
            mysql.as_ref().or(postgres.as_ref()).map(marked)
        }
        UserStep::Sleep { .. } | UserStep::Pipeline { .. } => None,
    });
    sent.collect::<Vec<_>>().join("; ")
}

fn marked(sql: &Sql) -> String {
    one_line(&sql.with_marks(|_| "?".to_owned()), usize::MAX, "")
}

/// Kinds of events that are separate tests, by name.
fn kinds(record: &StudyRecord) -> BTreeMap<&'static str, &'static Transaction> {
    let tests = record.study.cells.iter().map(|cell| cell.id.test);
    tests.filter_map(|test| Some((test.name(), only_kind(test)?))).collect()
}

fn differing(kinds: &[&'static Transaction]) -> BTreeSet<&'static str> {
    let mut values: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for setting in kinds.iter().flat_map(|kind| &kind.session) {
        let (count, of_name) = values.entry(setting.name()).or_default();
        *count += 1;
        of_name.insert(setting.value());
    }
    // A session without the setting has the server's value.
    let differ =
        |(count, values): &(usize, BTreeSet<&str>)| values.len() > 1 || *count < kinds.len();
    values.into_iter().filter(|(_, it)| differ(it)).map(|(name, _)| name).collect()
}

/// `2 statements (5 tests)`
pub(super) fn in_tests(list: &ByStatement<'_>) -> String {
    let statements = counted(list.len() as u64, "statement");
    let tests: BTreeSet<&str> = list.values().flatten().copied().collect();
    match tests.len() <= list.len() {
        true => statements,
        false => format!("{statements} ({})", counted(tests.len() as u64, "test")),
    }
}

/// Number of statements and transactions in the tests of a log, if some are in several tests because of their sessions.
pub(super) fn session_note(record: &StudyRecord) -> Option<String> {
    let mut by_text: BTreeMap<String, Vec<&'static Transaction>> = BTreeMap::new();
    for kind in kinds(record).into_values().filter(|it| !it.steps.is_empty()) {
        by_text.entry(sql_text(kind)).or_default().push(kind);
    }
    let names: BTreeSet<&str> = by_text.values().flat_map(|kinds| differing(kinds)).collect();
    if names.is_empty() {
        return None;
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let tests: usize = by_text.values().map(Vec::len).sum();
    let is_transaction = |kinds: &&Vec<&Transaction>| {
        let is_sent = |step: &&UserStep| matches!(step, UserStep::Send { .. });
        kinds[0].steps.iter().filter(is_sent).count() > 1
    };
    let transactions = by_text.values().filter(is_transaction).count();
    let parts = [(by_text.len() - transactions, "statement"), (transactions, "transaction")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, one)| counted(count as u64, one)).collect();
    Some(format!(
        "the report is about {} ({}, because sessions set {} differently)",
        parts.join(" and "),
        counted(tests as u64, "test"),
        names.join(", ")
    ))
}

struct RefusedSettingRow<'a> {
    system: usize,
    setting: &'a str,
    modes: &'a [String],
    message: &'a str,
}

fn refused<'a>(study: &JudgedStudy<'a>) -> Vec<RefusedSettingRow<'a>> {
    let found = study.record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::SettingRefused { setting, modes, message }, Some(system)) => {
            Some(RefusedSettingRow { system, setting, modes, message })
        }
        _ => None,
    });
    found.collect()
}

/// Settings that a system refuses and the base accepts: an application that sets them fails there.
pub(super) fn refused_settings(study: &JudgedStudy, system: usize) -> Vec<String> {
    let all = refused(study);
    let is_new = |it: &&RefusedSettingRow| {
        it.system == system
            && !all.iter().any(|other| other.system == study.base && other.setting == it.setting)
    };
    all.iter().filter(is_new).map(|it| format!("`{}`", it.setting)).collect()
}

/// For readers who read no further: the mixes that are measured in part.
pub(super) fn mix_warnings(study: &JudgedStudy) -> Vec<String> {
    let mut warnings = Vec::new();
    let left_out = study.record.events.iter().filter_map(|event| match &event.what {
        EventKind::KindLeftOut { test, part, .. } => Some((test.as_str(), part.as_str())),
        _ => None,
    });
    let mut left_out: Vec<(&str, &str)> = left_out.collect();
    left_out.sort_unstable();
    left_out.dedup();
    let mut mixes: Vec<&str> = left_out.iter().map(|(test, _)| *test).collect();
    mixes.dedup();
    for mix in mixes {
        let parts: Vec<&str> =
            left_out.iter().filter(|(test, _)| *test == mix).map(|(_, part)| *part).collect();
        warnings.push(format!(
            "{mix} is measured without {} on all systems, because {} on at least one",
            parts.join(", "),
            if parts.len() == 1 { "it fails" } else { "they fail" }
        ));
    }
    warnings
}

/// With the errors of servers. `is_told` selects failures that the report has elsewhere.
pub(super) fn session_lists(
    study: &JudgedStudy,
    is_told: impl Fn(usize, &str, &str) -> bool,
) -> Vec<FindingList> {
    let settings = refused(study).into_iter().map(|it| {
        let modes = match it.modes {
            [] => String::new(),
            modes => format!(" (only {}; the rest of the list is set)", modes.join(", ")),
        };
        let text = format!("`{}`{modes}: {}", it.setting, shown(it.message));
        (about(study, it.system, "sessions"), text)
    });
    let settings = FindingList {
        title: "settings of sessions that are refused",
        note: "sessions of the workload set them; statements were carried out without what is refused",
        facts: settings.collect(),
    };
    let kinds = study.record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::KindLeftOut { part, why, .. }, Some(system)) if !is_told(system, part, why) => {
            Some((about(study, system, part), shown(why)))
        }
        _ => None,
    });
    let kinds = FindingList {
        title: "tests that left their mix",
        note: "a system cannot carry them out, so the mix is measured without them on all systems",
        facts: kinds.collect(),
    };
    [settings, kinds].into_iter().filter(|list| !list.facts.is_empty()).collect()
}
