//! What must be fixed and what must be looked at before an upgrade to a system: each thing once, however many tests,
//! answers and events tell of it. The head of a report counts what its body lists.

use std::collections::BTreeSet;

use assay_model::{AnswerPart, EventKind, Verdict, counted};
use assay_verdict::CellJudgement;

use super::answers::{FindingList, Statements, about, differences, shown};
use super::query_cache::{QueryCache, query_cache};
use super::session_sets::in_tests;
use super::sessions;
use super::study::JudgedStudy;

/// What is to be done for a system.
#[derive(Default)]
pub(super) struct ToDo<'a> {
    pub(super) statements: Statements<'a>,
    /// The tests that fail on the system only, by their first cells, without those that its answers tell of.
    pub(super) failing: Vec<&'a CellJudgement>,
    /// The settings of sessions that it refuses and the base takes.
    pub(super) settings: Vec<String>,
    /// Which of both answers reads from its query cache.
    pub(super) query_cache: Option<QueryCache>,
    /// The tests with a statement that it refuses and the base does not.
    refused: BTreeSet<&'a str>,
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
    /// Nothing is to be done in a study of other statements.
    pub(super) fn of(study: &JudgedStudy<'a>, system: usize) -> Self {
        if !is_of_statements(study) {
            return Self::default();
        }
        let record = study.record;
        let refused = differences(record)
            .filter(|(of, it)| *of == system && it.what == AnswerPart::Error)
            .map(|(_, it)| it.test.as_str());
        let refused: BTreeSet<&str> = refused.collect();
        Self {
            statements: Statements::of(record, system),
            failing: failing(study, system, &refused),
            settings: sessions::to_fix(study, system),
            query_cache: query_cache(study, system),
            refused,
        }
    }

    /// Whether it says why a test fails on the system.
    pub(super) fn tells(&self, test: &str) -> bool {
        self.refused.contains(test) || self.failing.iter().any(|cell| cell.cell.test.name() == test)
    }

    /// What must be fixed and what must be looked at, each as a number and in words.
    fn counts(&self) -> [(usize, String); 2] {
        let Statements { must_fix, look_at, of_connection, .. } = &self.statements;
        let several = |count: usize, one: &str| (count, counted(count as u64, one));
        let of = |parts: Vec<(usize, String)>| {
            let parts: Vec<_> = parts.into_iter().filter(|(count, _)| *count > 0).collect();
            let words: Vec<String> = parts.iter().map(|(_, words)| words.clone()).collect();
            (parts.iter().map(|(count, _)| count).sum(), words.join(", "))
        };
        let statements = in_tests;
        let (failing, settings) = (self.failing.len(), self.settings.len());
        let fix = of(vec![
            (must_fix.len(), statements(must_fix)),
            (failing, format!("{} failing on it only", counted(failing as u64, "test"))),
            several(settings, "session setting"),
        ]);
        let look = of(vec![
            (look_at.len(), statements(look_at)),
            several(of_connection.len(), "connection collation"),
            (usize::from(self.query_cache.is_some()), "the query cache".to_owned()),
        ]);
        [fix, look]
    }
}

/// Sentences for those who read no further, the query cache first: it makes times meaningless.
pub(super) fn warnings(study: &JudgedStudy) -> Vec<String> {
    let all: Vec<_> = study.compared.iter().map(|it| (*it, ToDo::of(study, *it))).collect();
    let caches = all.iter().filter_map(|(_, it)| Some(it.query_cache.as_ref()?.warning.clone()));
    let counts = all.iter().filter_map(|(system, it)| {
        let [(fix, to_fix), (look, to_look_at)] = it.counts();
        let part = |count: usize, what: &str, words: &str| match count {
            0 => format!("nothing must be {what}"),
            _ => format!("{count} must be {what}: {words}"),
        };
        let names = [study.label(*system), study.label(study.base)];
        let [fixed, looked] = [part(fix, "fixed", &to_fix), part(look, "looked at", &to_look_at)];
        (fix + look > 0).then(|| format!("{} after {}: {fixed}; {looked}", names[0], names[1]))
    });
    caches.chain(counts).collect()
}

/// The tests that fail, with the errors of servers.
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

/// The tests that fail on a system and not on the base, by their first cells. A mix fails with its parts.
fn failing<'a>(
    study: &JudgedStudy<'a>,
    system: usize,
    refused: &BTreeSet<&str>,
) -> Vec<&'a CellJudgement> {
    let is_one = |cell: &&CellJudgement| {
        let roles = cell.cell.test.definition().roles.iter();
        roles.flat_map(|role| &role.script.mix).count() == 1
    };
    // Before a cell is given up that could not begin on a system, the others are tried.
    let base_ran = |cell: &&CellJudgement| {
        let of_base = study.cell(cell.cell, study.base);
        of_base.is_some_and(|base| base.failure.is_none() && base.silence.is_none())
    };
    let of_system = study.judgement.cells.iter().filter(|cell| cell.system == system);
    let failed = of_system.filter(|cell| cell.verdict == Verdict::Failed);
    let mut seen = refused.clone();
    let is_new = |cell: &&CellJudgement| seen.insert(cell.cell.test.name());
    failed.filter(is_one).filter(base_ran).filter(is_new).collect()
}
