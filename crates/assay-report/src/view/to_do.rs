//! Things to fix and to look at before an upgrade to a system: each counted once, even if several tests, answers and
//! events show it. The head of a report counts what its body lists.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    AnswerPart, EventKind, Restored, RestoredKind, Severity, StudyRecord, Verdict, counted,
};
use assay_verdict::CellJudgement;

use super::answers::{FindingList, Statements, about, differences, restored, shown};
use super::query_cache::{self, QueryCache, query_cache};
use super::session_sets::in_tests;
use super::study::JudgedStudy;
use super::{sessions, startup};

#[derive(Default)]
pub(super) struct ToDo<'a> {
    pub(super) statements: Statements<'a>,
    /// Tests that fail on the system only, by their first cells, without those covered by its answers.
    pub(super) failing: Vec<&'a CellJudgement>,
    /// Settings of sessions that the system refuses and the base accepts.
    pub(super) settings: Vec<String>,
    pub(super) query_cache: Option<QueryCache>,
    /// Options of the config file that the system refuses and the base accepts, and those that are deprecated on the
    /// system only.
    options: [usize; 2],
    /// Plugins of the dump's users that the system lacks and the base has.
    logins: usize,
    /// Statements of the dump that the system refuses and the base accepts.
    of_dump: u64,
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
    pub(super) fn of(study: &JudgedStudy<'a>, system: usize) -> Self {
        if !is_of_statements(study) {
            return Self::default();
        }
        let record = study.record;
        let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let errors =
            differences(record).filter(|(of, it)| *of == system && it.what == AnswerPart::Error);
        errors.for_each(|(_, it)| refused.entry(&it.test).or_default().push(&it.here));
        let options = [Severity::MustFix, Severity::LookAt].map(|wanted| {
            startup::options(record).filter(|(of, _, it)| (*of, *it) == (system, wanted)).count()
        });
        Self {
            statements: Statements::of(record, system),
            failing: failing(study, system, &refused),
            settings: sessions::to_fix(study, system),
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

    fn counts(&self) -> [(u64, String); 2] {
        let Statements { must_fix, look_at, of_connection, .. } = &self.statements;
        let several = |count: u64, one: &str| (count, counted(count, one));
        let of = |parts: Vec<(u64, String)>| {
            let parts: Vec<_> = parts.into_iter().filter(|(count, _)| *count > 0).collect();
            let words: Vec<String> = parts.iter().map(|(_, words)| words.clone()).collect();
            (parts.iter().map(|(count, _)| count).sum(), words.join(", "))
        };
        let [refused, deprecated] = self.options.map(|it| it as u64);
        let (failing, settings) = (self.failing.len() as u64, self.settings.len() as u64);
        let fix = of(vec![
            (refused, format!("{} of the config file", counted(refused, "option"))),
            several(self.logins as u64, "login plugin"),
            (must_fix.len() as u64, in_tests(must_fix)),
            (failing, format!("{} failing on it only", counted(failing, "test"))),
            several(settings, "session setting"),
            (self.of_dump, format!("{} of the dump", counted(self.of_dump, "statement"))),
        ]);
        let look = of(vec![
            (look_at.len() as u64, in_tests(look_at)),
            several(of_connection.len() as u64, "connection collation"),
            (u64::from(self.query_cache.is_some()), "the query cache".to_owned()),
            several(deprecated, "deprecated option"),
        ]);
        [fix, look]
    }
}

/// Number of statements of the dump that the system refuses and the base accepts.
fn refused_of_dump(record: &StudyRecord, base: usize, system: usize) -> u64 {
    let place = |it: &Restored| (it.file.clone(), it.line, it.statement.clone());
    let of = |wanted: usize| {
        let all = restored(record).filter(move |(of, _)| *of == wanted);
        all.map(|(_, it)| it).filter(|it| it.what == RestoredKind::Error)
    };
    let of_base: BTreeSet<_> = of(base).map(place).collect();
    of(system).filter(|it| !of_base.contains(&place(it))).map(|it| it.count).sum()
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

/// For readers who read no further, the query cache first: it makes times meaningless.
pub(super) fn warnings(study: &JudgedStudy) -> Vec<String> {
    let all: Vec<_> = study.compared.iter().map(|it| (*it, ToDo::of(study, *it))).collect();
    let caches =
        query_cache::warnings(study, all.iter().filter_map(|(_, it)| it.query_cache.as_ref()));
    let counts = all.iter().filter_map(|(system, it)| {
        let [(fix, to_fix), (look, to_look_at)] = it.counts();
        let part = |count: u64, what: &str, words: &str| match count {
            0 => format!("nothing to {what}"),
            _ => format!("{} to {what}: {words}", counted(count, "thing")),
        };
        let names = [study.label(*system), study.label(study.base)];
        let [fixed, looked] = [part(fix, "fix", &to_fix), part(look, "look at", &to_look_at)];
        (fix + look > 0).then(|| format!("{} after {}: {fixed}; {looked}", names[0], names[1]))
    });
    caches.into_iter().chain(counts).collect()
}

pub(super) fn lists(study: &JudgedStudy) -> Vec<FindingList> {
    let facts = study.compared.iter().flat_map(|system| {
        ToDo::of(study, *system).failing.into_iter().map(|cell| {
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
