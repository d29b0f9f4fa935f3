//! Compares the answers of all systems to the statements of a user's tests, before anything is measured.

use anyhow::{Context, Result};
use assay_load::{Answered, answer_differences, ask_statements, time_of_answers};
use assay_model::{AnswerPart, Class, EventKind, Test};

use super::executor::StudyExecutor;
use crate::systems::Instance;

/// Differences that are told while the study runs; the report has all.
const TOLD: usize = 5;

impl StudyExecutor<'_, '_> {
    /// The user's tests whose answers are still to be compared; none where all are known.
    fn to_compare(&self) -> Vec<Test> {
        let is_compared = |what: &EventKind| matches!(what, EventKind::AnswersCompared { .. });
        if self.recorder.record().events.iter().any(|event| is_compared(&event.what)) {
            return Vec::new();
        }
        let mut tests: Vec<Test> = Vec::new();
        for test in self.recorder.study().cells.iter().map(|cell| cell.id.test) {
            let is_read = test.user_data().is_some() && test.class == Class::Read;
            if is_read && !tests.contains(&test) {
                tests.push(test);
            }
        }
        tests
    }

    /// Asks a running instance of a system, unless its answers are known.
    pub(super) fn ask_answers(&mut self, system: usize, server: &Instance) -> Result<()> {
        let tests = self.to_compare();
        if tests.is_empty() || self.answers.contains_key(&system) {
            return Ok(());
        }
        let participant = self.participants.get(system).context("no such system")?;
        let dialect = participant.system.spec.product.dialect();
        self.env.progress.update(&format!("{}: comparing answers", self.name(system)));
        let study = self.recorder.study();
        let time = time_of_answers(study.budget_s, self.participants.len());
        let options = server.connect_options();
        let answers = ask_statements(&options, dialect, &tests, study.seed, time)?;
        self.answers.insert(system, answers);
        Ok(())
    }

    /// Compares the answers once all systems have given them, and notes the differences.
    pub(super) fn compare_answers(&mut self) -> Result<()> {
        if self.to_compare().is_empty() || self.answers.len() < self.participants.len() {
            return Ok(());
        }
        let base = self.participants.iter().position(|it| it.system.is_base).unwrap_or(0);
        let dialect = |system: usize| {
            self.participants.get(system).map(|it| it.system.spec.product.dialect())
        };
        let Some(expected) = self.answers.get(&base) else { return Ok(()) };
        let mut found = Vec::new();
        let mut values: Vec<Vec<u32>> = Vec::new();
        // Values of the two families have other texts.
        let others = self.answers.iter().filter(|(system, _)| **system != base);
        for (system, answers) in others.filter(|(system, _)| dialect(**system) == dialect(base)) {
            let compared = answer_differences(expected, answers);
            found.extend(compared.differences.into_iter().map(|it| (*system, it)));
            values.push(compared.values);
        }
        let statements = compared(expected);
        let undetermined = found.iter().filter(|(_, it)| it.what == AnswerPart::Undetermined);
        let mut undetermined: Vec<(&str, &str)> =
            undetermined.map(|(_, it)| (it.test.as_str(), it.statement.as_str())).collect();
        undetermined.sort_unstable();
        undetermined.dedup();
        let undetermined = undetermined.len() as u32;
        let more = found.len().saturating_sub(TOLD);
        for (number, (system, difference)) in found.into_iter().enumerate() {
            let what = EventKind::AnswerDiffers(difference);
            if number < TOLD {
                self.env.progress.failed(self.name(system), &what.to_string());
            }
            self.recorder.event(Some(system), what)?;
        }
        if more > 0 {
            self.env.progress.note(&format!("{more} more differences are in the report"));
        }
        self.answers.clear();
        let answers = values.iter().map(|it| it.iter().map(|it| u64::from(*it)).sum()).min();
        let least = values.iter().flatten().min().copied();
        let (answers, least) = (answers.unwrap_or(0), least.unwrap_or(0));
        let what = EventKind::AnswersCompared { statements, undetermined, answers, least };
        self.recorder.event(None, what)
    }
}

/// Statements that were carried out.
fn compared(answers: &[Answered]) -> u32 {
    let mut all: Vec<(&str, &str)> = answers.iter().map(|it| (&*it.test, &*it.statement)).collect();
    all.sort_unstable();
    all.dedup();
    all.len() as u32
}
