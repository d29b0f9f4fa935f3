//! Checks that the servers of a block hold the same rows and return correct answers, before its slices.

use anyhow::{Context as _, Result, ensure};
use assay_load::{Check, TableContent, TestAnswers};
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

    /// Checks servers beside those of the executor, and that they agree.
    pub fn check_apart(
        &mut self,
        phase: Phase,
        servers: impl Iterator<Item = (usize, ConnectOptions)>,
    ) -> Result<()> {
        let mut all = Agreement::default();
        for (system, options) in servers {
            let checked = self.checked(system, &options, phase)?;
            all.add(self.name(system), checked)?;
        }
        Ok(())
    }

    /// Checks a server; returns its content and answers if only the base can tell whether they are right.
    fn checked(
        &mut self,
        system: usize,
        options: &ConnectOptions,
        phase: Phase,
    ) -> Result<CheckedContent> {
        let study = self.recorder.study();
        let cells = study.cells.iter().filter(|it| it.id.setup.data() == phase.data);
        let mut tests: Vec<Test> = cells.map(|planned| planned.id.test).collect();
        tests.retain(|test| test.start_from == phase.start_from);
        tests.dedup();
        let (seed, name) = (study.seed, self.name(system));
        self.env.progress.begin(&format!("{name}: checking answers"));
        let dialect = self.dialect(system);
        let check = Check { dialect, tests: &tests, data: phase.data, seed };
        let loaded = self.loaded.entry(phase.data);
        let loaded = loaded.or_insert_with(|| LoadedData::new(seed, phase.data));
        let checked = match phase.start_from {
            StartFrom::Fresh => assay_load::check_loaded(options, &check, loaded)
                .map(|()| (TableContent::default(), Vec::new())),
            StartFrom::Aged => assay_load::content(options, dialect, phase.data)
                .and_then(|it| Ok((it, assay_load::answers(options, &check)?))),
        };
        checked.with_context(|| format!("`{name}` failed the check"))
    }
}

type CheckedContent = (TableContent, Vec<TestAnswers>);

/// Content and answers of the first server, with which the others must agree.
#[derive(Default)]
struct Agreement(Option<(String, CheckedContent)>);

impl Agreement {
    fn add(&mut self, name: &str, (content, answers): CheckedContent) -> Result<()> {
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

/// Whether a server gave a wrong answer, as opposed to none.
pub fn is_wrong_answer(error: &anyhow::Error) -> bool {
    if error.is::<Disagreement>() {
        return true;
    }
    use assay_load::LoadError::{AnswersDiffer, UnknownAnswer, WrongAnswer, WrongContent};
    let found = error.chain().find_map(|cause| cause.downcast_ref::<assay_load::LoadError>());
    matches!(
        found,
        Some(
            WrongContent { .. } | WrongAnswer { .. } | AnswersDiffer { .. } | UnknownAnswer { .. }
        )
    )
}
