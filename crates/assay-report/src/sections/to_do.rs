//! Things to fix and to look at before an upgrade to a system, each counted once, even if several tests, answers and
//! events show it.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    AnswerPart, DumpFinding, DumpFindingKind, EventKind, Severity, StudyRecord, System, Verdict,
};
use assay_verdict::CellJudgement;

use super::answers::{self, AnswersByStatement, FindingList, about, differences, restored, shown};
use super::startup;
use super::study::JudgedStudy;
use crate::document::{Block, Wish};
use crate::words::listed;

#[derive(Default)]
pub(super) struct ToDo<'a> {
    pub(super) statements: AnswersByStatement<'a>,
    /// Tests that fail on the system only, by their first cells, without those covered by its answers.
    pub(super) failing: Vec<&'a CellJudgement>,
    /// Settings of sessions that the system refuses and the base accepts.
    pub(super) settings: Vec<String>,
    pub(super) query_cache: Option<QueryCache>,
    /// Options of the config file that the system refuses and the base accepts, and those that are deprecated on the
    /// system only.
    pub(super) options: [usize; 2],
    /// Plugins of the dump's users that the system lacks and the base has.
    pub(super) logins: usize,
    /// Statements of the dump that the system refuses and the base accepts.
    pub(super) of_dump: u64,
    /// Tests with a statement that the system refuses and the base accepts, with its errors.
    refused: BTreeMap<&'a str, Vec<&'a str>>,
}

/// Whether the study measures statements of a log, or compared those of a workload and found something.
pub(super) fn is_of_statements(study: &JudgedStudy) -> bool {
    let roles = study.record.study.cells.iter().flat_map(|cell| &cell.id.test.definition().roles);
    let mut kinds = roles.flat_map(|role| &role.script.mix);
    kinds.any(|kind| kind.captured.is_some() || kind.logged.is_some())
        || study.record.events.iter().any(|event| {
            matches!(event.what, EventKind::AnswerDiffers(_) | EventKind::SettingRefused { .. })
        })
}

impl<'a> ToDo<'a> {
    /// Empty for a study of other statements.
    pub(super) fn for_system(study: &JudgedStudy<'a>, system: usize) -> Self {
        if !is_of_statements(study) {
            return Self::default();
        }
        let record = study.record;
        let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let errors = differences(record)
            .filter(|(index, it)| *index == system && it.what == AnswerPart::Error);
        errors.for_each(|(_, it)| refused.entry(&it.test).or_default().push(&it.here));
        let options = [Severity::MustFix, Severity::LookAt].map(|wanted| {
            startup::options(record)
                .filter(|(index, _, it)| (*index, *it) == (system, wanted))
                .count()
        });
        Self {
            statements: AnswersByStatement::for_system(record, system),
            failing: failing(study, system, &refused),
            settings: answers::refused_settings(study, system),
            query_cache: query_cache(study, system),
            options,
            logins: startup::logins(record, study.base, system).len(),
            of_dump: refused_of_dump(record, study.base, system),
            refused,
        }
    }

    pub(super) fn tells(&self, test: &str, failure: Option<&str>) -> bool {
        let is_same = |message: Option<&str>| match (message, failure) {
            (Some(message), Some(failure)) => is_same_error(message, failure),
            (message, failure) => message == failure,
        };
        let mut refused = self.refused.get(test).into_iter().flatten();
        let mut failing = self.failing.iter().filter(|cell| cell.cell.test.name() == test);
        refused.any(|error| is_same(Some(error)))
            || failing.any(|it| is_same(it.failure.as_deref()))
    }
}

/// Number of statements of the dump that the system refuses and the base accepts.
fn refused_of_dump(record: &StudyRecord, base: usize, system: usize) -> u64 {
    let place = |it: &DumpFinding| (it.file.clone(), it.line, it.statement.clone());
    let refused = |wanted: usize| {
        let all = restored(record).filter(move |(index, _)| *index == wanted);
        all.map(|(_, it)| it).filter(|it| it.what == DumpFindingKind::Error)
    };
    let of_base: BTreeSet<_> = refused(base).map(place).collect();
    refused(system).filter(|it| !of_base.contains(&place(it))).map(|it| it.count).sum()
}

/// Whether two failures are the same error of a server. Answers and tests format its code differently, and its words
/// may have other values.
fn is_same_error(one: &str, other: &str) -> bool {
    let both = code_and_words(one).zip(code_and_words(other));
    let is_same = both.is_some_and(|((code, words), (other_code, other_words))| {
        code == other_code && (words.starts_with(other_words) || other_words.starts_with(words))
    });
    one == other || is_same
}

/// The code of a server's error, and its words up to the first name or value: those of `error 1054: Unknown column 'a'`
/// and of ``query `SELECT 5` failed: server error 1054 (`42S22`): Unknown column 'a'``.
fn code_and_words(text: &str) -> Option<(&str, &str)> {
    let after = text.split_once("server error ").map(|(_, after)| after);
    let (code, words) = after.or_else(|| text.strip_prefix("error "))?.split_once(": ")?;
    let code = code.split(' ').next().unwrap_or_default().trim_matches('`');
    let is_end = |it: char| it.is_ascii_digit() || matches!(it, '\'' | '"' | '`' | '…');
    Some((code, words.split(is_end).next().unwrap_or_default()))
}

/// For readers who read no further: a query cache makes times meaningless.
pub(super) fn warnings(study: &JudgedStudy) -> Vec<String> {
    let all: Vec<_> =
        study.compared.iter().map(|system| ToDo::for_system(study, *system)).collect();
    cache_warnings(study, all.iter().filter_map(|to_do| to_do.query_cache.as_ref()))
}

/// Most entries of a list in a short report.
const SHORT: usize = 10;

/// Lists of findings about a user's statements.
pub(super) fn findings(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let to_do: BTreeMap<usize, ToDo> =
        study.compared.iter().map(|system| (*system, ToDo::for_system(study, *system))).collect();
    let is_told = |system: usize, test: &str, failure: &str| {
        to_do.get(&system).is_some_and(|of_system| of_system.tells(test, Some(failure)))
    };
    let lists =
        [lists(study), answers::session_lists(study, is_told), answers::lists(study)].concat();
    let blocks = lists.into_iter().flat_map(|FindingList { title, note, mut facts }| {
        let most = wish.at_most(SHORT);
        let more = facts.len().saturating_sub(most);
        facts.truncate(most);
        if more > 0 {
            facts.push((format!("{more} more"), "`--verbose` shows all".to_owned()));
        }
        let heading = Block::Heading(1, wish.heading(title).into());
        [heading, Block::Lines(vec![wish.sentence(note)]), Block::facts(facts)]
    });
    let heading = wish.heading("answers and the dump");
    Block::place("findings", "Answers", heading, blocks.collect())
}

fn lists(study: &JudgedStudy) -> Vec<FindingList> {
    let facts = study.compared.iter().flat_map(|system| {
        ToDo::for_system(study, *system).failing.into_iter().map(|cell| {
            let why = shown(cell.failure.as_deref().unwrap_or("it was not measured"));
            (about(study, *system, &study.cell_name(cell.cell)), why)
        })
    });
    let facts: Vec<(String, String)> = facts.collect();
    let list = FindingList {
        title: "tests that fail on this system only",
        note: "the base carries them out; their answers were not compared, or do not show it",
        facts,
    };
    Some(list).into_iter().filter(|list| !list.facts.is_empty()).collect()
}

/// Tests that fail on a system and not on the base, by their first cells. A mix fails with its parts.
fn failing<'a>(
    study: &JudgedStudy<'a>,
    system: usize,
    refused: &BTreeMap<&str, Vec<&str>>,
) -> Vec<&'a CellJudgement> {
    let is_one = |cell: &&CellJudgement| {
        let roles = cell.cell.test.definition().roles.iter();
        roles.flat_map(|role| &role.script.mix).count() == 1
    };
    // The base may not have run either: all systems are tried before a cell is given up.
    let base_ran = |cell: &&CellJudgement| {
        let of_base = study.cell(cell.cell, study.base);
        of_base.is_some_and(|base| base.failure.is_none() && base.silence.is_none())
    };
    let of_system = study.judgement.cells.iter().filter(|cell| cell.system == system);
    let failed = of_system.filter(|cell| cell.verdict == Verdict::Failed);
    let mut seen: BTreeSet<&str> = refused.keys().copied().collect();
    let is_new = |cell: &&CellJudgement| seen.insert(cell.cell.test.name());
    failed.filter(is_one).filter(base_ran).filter(is_new).collect()
}

/// The setting that switches the cache on, and its size, without which it holds nothing.
const TYPE: &str = "query_cache_type";
const SIZE: &str = "query_cache_size";

/// Systems of which one answers reads from its query cache.
pub(super) struct QueryCache {
    pub(super) who: String,
    /// Indices of the systems with and without the cache.
    on: usize,
    off: usize,
}

/// `None` unless exactly one of the base and the system has its query cache on.
fn query_cache(study: &JudgedStudy, system: usize) -> Option<QueryCache> {
    let record = study.record;
    let (on, off) = match (is_on(record, study.base), is_on(record, system)) {
        (true, false) => (study.base, system),
        (false, true) => (system, study.base),
        _ => return None,
    };
    let value = value(record, on, TYPE).unwrap_or_default();
    let without = without(record, &[off]);
    let who = format!(
        "{} has it on (`{TYPE} = {value}`), and {} {without}",
        study.label(on),
        study.label(off)
    );
    Some(QueryCache { who, on, off })
}

/// Consequences of the query cache and the remedy: a sentence for each of these systems.
fn cache_warnings<'a>(
    study: &JudgedStudy,
    found: impl Iterator<Item = &'a QueryCache>,
) -> Vec<String> {
    let record = study.record;
    let mut all: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    found.for_each(|it| all.entry(it.on).or_default().push(it.off));
    let message = all.into_iter().map(|(on, off)| {
        let value = value(record, on, TYPE).unwrap_or_default();
        let name = record.systems.get(on).map(|it| it.spec.without_options().to_string());
        let others: Vec<&str> = off.iter().map(|it| study.label(*it)).collect();
        format!(
            "{} answers repeated reads from its query cache (`{TYPE} = {value}`) without carrying them out, and {} \
             {}; to measure without it, append `+{TYPE}=OFF` to the name of `{}`",
            study.label(on),
            listed(&others),
            without(record, &off),
            name.unwrap_or_default()
        )
    });
    message.collect()
}

/// `has no such cache`, in singular or plural.
fn without(record: &StudyRecord, systems: &[usize]) -> &'static str {
    let lacks = |it: &usize| value_of_audit(record, *it, TYPE) == Some(None);
    match (systems.len(), systems.iter().filter(|it| lacks(it)).count()) {
        (1, 1) => "has no such cache",
        (1, _) => "has it off",
        (all, lacking) if all == lacking => "have no such cache",
        (_, 0) => "have it off",
        _ => "have no such cache or have it off",
    }
}

fn is_on(record: &StudyRecord, system: usize) -> bool {
    let is_switched_on = value(record, system, TYPE)
        .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("on"));
    let is_empty = match value(record, system, SIZE) {
        Some(size) => {
            let number = size.trim_end_matches(|it: char| it.is_ascii_alphabetic());
            number.parse::<u64>() == Ok(0)
        }
        None => is_empty_by_default(record, system),
    };
    is_switched_on && !is_empty
}

/// Whether the cache has no size by default: MySQL before 5.6.8, MariaDB before 10.1.7. Needed because an audit lacks
/// sizes that all systems share.
fn is_empty_by_default(record: &StudyRecord, system: usize) -> bool {
    let Some(artifact) = record.systems.get(system).map(|it| &it.artifact) else { return false };
    let numbers = artifact.version().split(|it: char| !it.is_ascii_digit());
    let numbers: Vec<u32> = numbers.take(3).filter_map(|it| it.parse().ok()).collect();
    // No version of MySQL with the cache is as high as 10.
    let first_with_size = if numbers.first() >= Some(&10) { [10, 1, 7] } else { [5, 6, 8] };
    !numbers.is_empty() && numbers.as_slice() < first_with_size.as_slice()
}

fn value(record: &StudyRecord, system: usize, name: &str) -> Option<String> {
    match value_of_audit(record, system, name) {
        Some(value) => value.map(str::to_owned),
        None => asked(record.systems.get(system)?, name),
    }
}

/// `None` if the audit found no difference, `Some(None)` if the system lacks the setting.
fn value_of_audit<'a>(
    record: &'a StudyRecord,
    system: usize,
    name: &str,
) -> Option<Option<&'a str>> {
    let finding = record.audit.iter().find(|it| it.setting == name)?;
    Some(finding.values.get(system)?.as_deref())
}

fn asked(system: &System, name: &str) -> Option<String> {
    let plain = |option: &str| option.replace('-', "_").to_ascii_lowercase();
    let is_it = |option: &str| plain(option).trim_start_matches("loose_") == name;
    let mut options = system.spec.overrides.iter().rev();
    options.find(|(option, _)| is_it(option)).map(|(_, value)| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_the_same_in_other_forms() {
        let message = "error 1054: Unknown column 'rank' in 'field list'";
        let failed = |code, words| format!("query `SELECT 5` failed: server error {code}: {words}");
        assert!(is_same_error(message, &failed("1054 (`42S22`)", "Unknown column 'rank' in 'x'")));
        assert!(!is_same_error(message, &failed("10540 (`42S22`)", "Unknown column 'rank'")));
        assert!(!is_same_error(message, &failed("1054 (`42S22`)", "Lock wait timeout exceeded")));
        assert!(!is_same_error(message, "no answer from `x` within 10 s"));
        let message = "error 42703: column \"rank\" does not exist";
        assert!(is_same_error(message, &failed("`42703`", "column \"rank\" does not exist")));
    }
}
