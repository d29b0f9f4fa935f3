//! Checks that the servers of a block hold the same rows and return correct answers, before its slices.

use anyhow::{Context, Result, ensure};
use assay_load::{Check, Content, TestAnswers};
use assay_model::{StartFrom, Test};
use assay_study::{Outcome, Phase};
use assay_workloads::LoadedData;

use super::executor::StudyExecutor;

impl StudyExecutor<'_, '_> {
    /// Checks every server of a phase: data as loaded against what a load sends, aged data against the base.
    ///
    /// # Errors
    /// The first wrong answer. Nothing is measured on such a server.
    pub(super) fn check(&mut self, phase: Phase) -> Result<Outcome> {
        let study = self.recorder.study();
        let cells = study.cells.iter().filter(|it| it.id.setup.data() == phase.data);
        let mut tests: Vec<Test> = cells.map(|planned| planned.id.test).collect();
        tests.retain(|test| test.start_from == phase.start_from);
        tests.dedup();
        let seed = study.seed;
        let mut first: Option<(usize, Content, Vec<TestAnswers>)> = None;
        let systems: Vec<usize> = self.servers.keys().copied().collect();
        for system in systems {
            let name = self.name(system);
            self.env.progress.begin(&format!("{name}: checking answers"));
            let dialect = self
                .participants
                .get(system)
                .context("no such system")?
                .system
                .spec
                .product
                .dialect();
            let check = Check { dialect, tests: &tests, data: phase.data, seed };
            let options = self.server(system)?.connect_options();
            let checked = self.thawed(system, |it| {
                let loaded = it.loaded.entry(phase.data);
                let loaded = loaded.or_insert_with(|| LoadedData::new(seed, phase.data));
                Ok(match phase.start_from {
                    StartFrom::Fresh => assay_load::check_loaded(&options, &check, loaded)
                        .map(|()| (Content::default(), Vec::new())),
                    StartFrom::Aged => {
                        let content = assay_load::content(&options, dialect, phase.data);
                        content.and_then(|it| Ok((it, assay_load::answers(&options, &check)?)))
                    }
                }?)
            });
            let checked = checked.with_context(|| format!("`{name}` failed the check"));
            let (content, answers) = match checked {
                Ok(checked) => checked,
                Err(error) if is_wrong_answer(&error) => return Err(error),
                // A server that has ended, for example.
                Err(error) => return self.failed(system, error),
            };
            match &first {
                None => first = Some((system, content, answers)),
                Some((base, held, expected)) => {
                    ensure!(
                        *held == content,
                        "`{name}` and `{}` do not hold the same rows",
                        self.name(*base)
                    );
                    let differs = expected.iter().zip(&answers).find(|(one, other)| one != other);
                    let test = differs.map(|(one, _)| one.test.name());
                    ensure!(
                        test.is_none(),
                        "`{name}` and `{}` give different answers to {}",
                        self.name(*base),
                        test.unwrap_or_default()
                    );
                }
            }
        }
        Ok(Outcome::Done)
    }
}

fn is_wrong_answer(error: &anyhow::Error) -> bool {
    use assay_load::Error::{AnswersDiffer, UnknownAnswer, WrongAnswer, WrongContent};
    let found = error.chain().find_map(|cause| cause.downcast_ref::<assay_load::Error>());
    matches!(
        found,
        Some(
            WrongContent { .. } | WrongAnswer { .. } | AnswersDiffer { .. } | UnknownAnswer { .. }
        )
    )
}
