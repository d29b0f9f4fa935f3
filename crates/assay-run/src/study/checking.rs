//! Checks that the servers of a block hold the same rows and return correct answers, before its slices.

use anyhow::{Context, Result, ensure};
use assay_load::{Check, Content, TestAnswers};
use assay_model::{StartFrom, Test};
use assay_study::{Outcome, Phase};
use assay_wire::ConnectOptions;
use assay_workloads::LoadedData;

use super::executor::StudyExecutor;

impl StudyExecutor<'_, '_> {
    /// Checks every server of a phase: loaded data against those that a load sends, aged data against the base. Nothing
    /// is measured on a server with a wrong answer.
    pub(super) fn check(&mut self, phase: Phase) -> Result<Outcome> {
        let mut all = Agreement::default();
        let systems: Vec<usize> = self.servers.keys().copied().collect();
        for system in systems {
            let options = self.server(system)?.connect_options();
            let checked = self.thawed(system, |it| it.checked(system, &options, phase));
            match checked {
                Ok(checked) => all.add(self.name(system), checked)?,
                Err(error) if is_wrong_answer(&error) => return Err(error),
                // For example because the server has ended.
                Err(error) => return self.failed(system, error),
            }
        }
        Ok(Outcome::Done)
    }

    /// Checks a server; returns its content and answers if only the base can tell whether they are right.
    pub(super) fn checked(
        &mut self,
        system: usize,
        options: &ConnectOptions,
        phase: Phase,
    ) -> Result<Checked> {
        let study = self.recorder.study();
        let cells = study.cells.iter().filter(|it| it.id.setup.data() == phase.data);
        let mut tests: Vec<Test> = cells.map(|planned| planned.id.test).collect();
        tests.retain(|test| test.start_from == phase.start_from);
        tests.dedup();
        let (seed, name) = (study.seed, self.name(system));
        self.env.progress.begin(&format!("{name}: checking answers"));
        let participant = self.participants.get(system).context("no such system")?;
        let dialect = participant.system.spec.product.dialect();
        let check = Check { dialect, tests: &tests, data: phase.data, seed };
        let loaded = self.loaded.entry(phase.data);
        let loaded = loaded.or_insert_with(|| LoadedData::new(seed, phase.data));
        let checked = match phase.start_from {
            StartFrom::Fresh => assay_load::check_loaded(options, &check, loaded)
                .map(|()| (Content::default(), Vec::new())),
            StartFrom::Aged => assay_load::content(options, dialect, phase.data)
                .and_then(|it| Ok((it, assay_load::answers(options, &check)?))),
        };
        checked.with_context(|| format!("`{name}` failed the check"))
    }
}

type Checked = (Content, Vec<TestAnswers>);

/// Content and answers of the first server, with which the others must agree.
#[derive(Default)]
pub(super) struct Agreement(Option<(String, Checked)>);

impl Agreement {
    pub(super) fn add(&mut self, name: &str, (content, answers): Checked) -> Result<()> {
        let Some((base, (held, expected))) = &self.0 else {
            self.0 = Some((name.to_owned(), (content, answers)));
            return Ok(());
        };
        ensure!(*held == content, Disagreement::Rows { name: name.to_owned(), base: base.clone() });
        let differs = expected.iter().zip(&answers).find(|(one, other)| one != other);
        if let Some((one, _)) = differs {
            let test = one.test.name().to_owned();
            let (name, base) = (name.to_owned(), base.clone());
            return Err(Disagreement::Answers { name, base, test }.into());
        }
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
enum Disagreement {
    #[error("`{name}` and `{base}` do not hold the same rows")]
    Rows { name: String, base: String },
    #[error("`{name}` and `{base}` give different answers to {test}")]
    Answers { name: String, base: String, test: String },
}

pub(super) fn is_wrong_answer(error: &anyhow::Error) -> bool {
    if error.is::<Disagreement>() {
        return true;
    }
    use assay_load::Error::{AnswersDiffer, UnknownAnswer, WrongAnswer, WrongContent};
    let found = error.chain().find_map(|cause| cause.downcast_ref::<assay_load::Error>());
    matches!(
        found,
        Some(
            WrongContent { .. } | WrongAnswer { .. } | AnswersDiffer { .. } | UnknownAnswer { .. }
        )
    )
}
