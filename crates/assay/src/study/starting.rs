//! Starts the instances of a study, and asks the first one of each system for its settings.

use std::time::Instant as Clock;

use anyhow::{Context, Result};
use assay_model::{DataSet, StartFrom, Test};
use assay_servers::audit::Facts;
use assay_study::{Outcome, Phase};

use super::executor::StudyExecutor;
use crate::clock::now_ms;
use crate::systems::{Instance, Questions, facts, start_instance};

impl StudyExecutor<'_, '_> {
    /// Starts an instance of one system, fills its caches, and freezes it.
    pub(super) fn start_frozen(&mut self, system: usize, block: u32, phase: Phase) -> Result<()> {
        let mut server = self.start_recorded(system, block, phase)?;
        let participant = self.participants.get(system).context("no such system")?;
        let key = self.recorder.study().id_key;
        let product = participant.system.spec.product;
        assay_load::fill_cache(&server.connect_options(), product, key, phase.data)?;
        server.freeze()?;
        self.servers.insert(system, server);
        Ok(())
    }

    /// Starts the instance of a sequential study's system. It keeps running.
    pub(super) fn start_one(&mut self, system: usize, data: DataSet) -> Result<Outcome> {
        let phase = Phase { data, start_from: StartFrom::Fresh };
        match self.start_recorded(system, 0, phase) {
            Ok(server) => self.servers.insert(system, server),
            Err(error) => return self.failed(system, error),
        };
        Ok(Outcome::Done)
    }

    /// Starts an instance and records it. The first instance of a system is asked for the system's settings.
    fn start_recorded(&mut self, system: usize, block: u32, phase: Phase) -> Result<Instance> {
        self.env.interrupt.check()?;
        self.env.progress.update(&format!("starting {}", self.name(system)));
        let began = Clock::now();
        let server = self.instance(system, phase)?;
        self.recorder.instance(assay_model::Instance {
            system,
            // The recorder sets it.
            run: 0,
            block,
            data: phase.data,
            start_from: phase.start_from,
            started_ms: now_ms(),
            start_took_ms: began.elapsed().as_millis() as u64,
        })?;
        if !self.recorder.is_audited(system, phase.data) {
            let facts = self.audit(system, &server, phase.data)?;
            self.recorder.facts(system, phase.data, facts)?;
        }
        Ok(server)
    }

    fn instance(&self, system: usize, phase: Phase) -> Result<Instance> {
        let participant = self.participants.get(system).context("no such system")?;
        let template = self.templates.of(system, phase.data)?;
        let study = self.recorder.study();
        start_instance(participant, template, phase, study, self.local, self.env)
    }

    /// Asks an instance for its system's settings, and ends it.
    pub(super) fn audit_alone(&mut self, system: usize, data: DataSet) -> Result<()> {
        let server = self.instance(system, Phase { data, start_from: StartFrom::Fresh })?;
        let facts = self.audit(system, &server, data)?;
        self.recorder.facts(system, data, facts)?;
        Ok(server.stop()?)
    }

    /// Asks a server that holds the data for what the audit compares.
    fn audit(&self, system: usize, server: &Instance, data: DataSet) -> Result<Facts> {
        let study = self.recorder.study();
        let mut tests: Vec<Test> = Vec::new();
        for cell in &study.cells {
            if !tests.contains(&cell.id.test) {
                tests.push(cell.id.test);
            }
        }
        let questions =
            Questions { data, tests: &tests, statements: study.statements, seed: study.seed };
        let participant = self.participants.get(system).context("no such system")?;
        facts(server, &participant.system, &questions)
    }
}
