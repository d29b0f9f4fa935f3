//! Compares the answers of all systems to the statements of a user's tests, before anything is measured.

use std::collections::BTreeSet;

use anyhow::Result;
use assay_load::{
    AnswerComparison, AnswerDoubt, Openings, RepeatRequest, RepeatedAnswers, answer_differences,
    ask_again, ask_statements, doubts, time_of_answers,
};
use assay_model::{Class, EventKind, Study, Test};
use assay_workloads::groups_rows;

use super::executor::StudyExecutor;
use crate::systems::{Instance, Participant};

/// Differences printed while the study runs; the report has all.
pub(super) const DIFFERENCES_SHOWN: usize = 5;

impl StudyExecutor<'_, '_> {
    fn to_compare(&self) -> Vec<Test> {
        let is_compared = |what: &EventKind| matches!(what, EventKind::AnswersCompared(_));
        let is_known = self.recorder.record().events.iter().any(|event| is_compared(&event.what));
        if is_known || self.like_base().is_empty() {
            return Vec::new();
        }
        tests_with_answers(self.recorder.study())
    }

    pub(super) fn ask_answers(&mut self, system: usize, server: &Instance) -> Result<()> {
        let tests = self.to_compare();
        if tests.is_empty() || self.answers.contains_key(&system) {
            return Ok(());
        }
        let dialect = self.dialect(system);
        self.env.progress.update(&format!("{}: comparing answers", self.name(system)));
        let study = self.recorder.study();
        let time = time_of_answers(study.budget_s, self.participants.len());
        let options = server.connect_options();
        let answers = ask_statements(&options, dialect, &tests, study.seed, time)?;
        self.answers.insert(system, answers);
        Ok(())
    }

    /// Compares the answers once all systems have given them, and notes the differences. Where rows differ, the base
    /// and the system are asked again: a statement may leave the difference open.
    pub(super) fn compare_answers(&mut self) -> Result<()> {
        let tests = self.to_compare();
        if tests.is_empty() || self.answers.len() < self.participants.len() {
            return Ok(());
        }
        let answers = std::mem::take(&mut self.answers);
        let (base, others) = (self.base(), self.like_base());
        let expected = &answers[&base];
        let mut in_doubt: Vec<AnswerDoubt> =
            others.iter().flat_map(|system| doubts(expected, &answers[system])).collect();
        in_doubt.sort_unstable();
        in_doubt.dedup();
        let of_base = self.ask_again(base, &tests, &in_doubt)?;
        let mut compared = Vec::new();
        for system in others {
            let in_doubt = doubts(expected, &answers[&system]);
            let of_system = self.ask_again(system, &tests, &in_doubt)?;
            let openings = Openings::new(expected, &of_base, &of_system);
            let sorted = |sql: &str| self.sorted(base, system, sql);
            let found = answer_differences(expected, &answers[&system], &openings, &sorted);
            compared.push((system, found));
        }
        self.note_answers(compared)
    }

    /// The server is frozen before and after.
    fn ask_again(
        &mut self,
        system: usize,
        tests: &[Test],
        doubts: &[AnswerDoubt],
    ) -> Result<RepeatedAnswers> {
        if doubts.is_empty() {
            return Ok(RepeatedAnswers::default());
        }
        self.env.progress.update(&format!("{}: comparing answers again", self.name(system)));
        let (is_base, dialect) = (self.participants[system].system.is_base, self.dialect(system));
        let (seed, budget_s) = (self.recorder.study().seed, self.recorder.study().budget_s);
        let time = time_of_answers(budget_s, self.participants.len());
        self.thawed(system, |this| {
            let options = this.server(system)?.connect_options();
            let asked = RepeatRequest { options: &options, dialect, tests, seed, is_base };
            Ok(ask_again(&asked, doubts, time)?)
        })
    }

    fn base(&self) -> usize {
        base_of(self.participants)
    }

    /// Systems compared with the base: values of the other family have other texts.
    fn like_base(&self) -> Vec<usize> {
        let base = self.base();
        let systems = 0..self.participants.len();
        systems.filter(|it| *it != base && self.dialect(*it) == self.dialect(base)).collect()
    }

    /// Why the base sorts the rows of a statement that does not ask for it, if the system does not.
    fn sorted(&self, base: usize, system: usize, sql: &str) -> Option<String> {
        let sorts_groups = |system: usize| {
            let system = &self.participants[system].system;
            (system.spec.product.facts().sorts_groups)(system.artifact.version())
        };
        let why = sorts_groups(base).filter(|_| sorts_groups(system).is_none())?;
        groups_rows(sql, self.dialect(base)).then(|| why.to_owned())
    }

    fn note_answers(&mut self, compared: Vec<(usize, AnswerComparison)>) -> Result<()> {
        let (mut shown, mut more) = (0, 0);
        for (system, AnswerComparison { differences, counts }) in compared {
            let mut known = BTreeSet::new();
            for difference in differences {
                // A pair of connection collations is one difference of all statements.
                let is_known =
                    difference.is_of_connection() && !known.insert(difference.why.clone());
                let what = EventKind::AnswerDiffers(difference);
                if !is_known && shown < DIFFERENCES_SHOWN {
                    self.env.progress.failed(self.name(system), &what.to_string());
                    shown += 1;
                } else if !is_known {
                    more += 1;
                }
                self.recorder.event(Some(system), what)?;
            }
            self.recorder.event(Some(system), EventKind::AnswersCompared(counts))?;
        }
        if more > 0 {
            self.env.progress.note(&format!("{more} more differences are in the report"));
        }
        Ok(())
    }
}

pub(super) fn base_of(participants: &[Participant]) -> usize {
    participants.iter().position(|it| it.system.is_base).expect("a study has a base")
}

pub(super) fn tests_with_answers(study: &Study) -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for test in study.cells.iter().map(|cell| cell.id.test) {
        let is_read = test.user_data().is_some() && test.class == Class::Read;
        if is_read && !tests.contains(&test) {
            tests.push(test);
        }
    }
    tests
}
