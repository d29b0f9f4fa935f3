//! Starts the instances of a study, and asks the first one of each system for its settings.

use std::time::{Duration, Instant as Clock};

use anyhow::Result;
use assay_model::{DataSet, InstanceRecord, StartFrom, Study, System, Test};
use assay_servers::audit::{AuditFacts, ineffective, warnings};
use assay_study::{Outcome, Phase};

use super::executor::StudyExecutor;
use crate::clock::now_ms;
use crate::parallel::together;
use crate::systems::{Instance, Questions, Warm, facts, start_instance};

impl StudyExecutor<'_, '_> {
    /// Starts an instance of every system, fills their caches, and freezes them. An error names its system.
    ///
    /// How fast a server reads depends on the part of the memory that holds its pages. The servers fill their caches at
    /// the same time, so that they share the same parts (docs/lab/turns.md, instances).
    pub(super) fn start_frozen(
        &mut self,
        block: u32,
        phase: Phase,
        order: &[usize],
    ) -> Result<(), SystemFailure> {
        for &system in order {
            self.try_apart(system, phase).map_err(|error| (system, error))?;
        }
        let mut started = self.start_together(block, phase, order)?;
        if let Err((system, why)) = self.fill_and_ask(phase.data, order, &started) {
            let server = order.iter().zip(&mut started).find(|(of, _)| **of == system);
            let why = match server {
                Some((_, server)) => server.explained(why),
                None => why,
            };
            return Err((system, why));
        }
        for (&system, server) in order.iter().zip(&mut started) {
            let ready = self.ask_answers(system, server);
            let ready = ready.and_then(|()| self.try_system(system, server));
            let frozen = match ready {
                Ok(()) => server.freeze().map_err(anyhow::Error::from),
                Err(why) => Err(server.explained(why)),
            };
            frozen.map_err(|error| (system, error))?;
        }
        self.servers.extend(order.iter().copied().zip(started));
        let first = order.first().copied().unwrap_or_default();
        let noted = self.note_tried().and_then(|()| self.compare_answers());
        noted.map_err(|error| (first, error))
    }

    /// Starts an instance of every system at the same time. For most of its start, a server copies its data or waits
    /// for the disk. None starts while another is measured, because that would take CPU, caches and disk from turns.
    fn start_together(
        &mut self,
        block: u32,
        phase: Phase,
        order: &[usize],
    ) -> Result<Vec<Instance>, SystemFailure> {
        let first = order.first().copied().unwrap_or_default();
        let room = self.env.interrupt.check().map_err(anyhow::Error::from);
        let room = room.and_then(|()| self.templates.make_room(order, phase, self.env));
        room.map_err(|error| (first, error))?;
        let names: Vec<&str> = order.iter().map(|system| self.name(*system)).collect();
        self.env.progress.update(&format!("starting {}", names.join(", ")));
        let (participants, templates, study) =
            (self.participants, &self.templates, self.recorder.study());
        let (local, env) = (self.local, self.env);
        let start = |&system: &usize| {
            let template = templates.get(system, phase.data);
            move || -> Result<(Instance, i64, Duration)> {
                let began = Clock::now();
                let participant = &participants[system];
                let server = start_instance(participant, template?, phase, study, local, env)?;
                Ok((server, now_ms(), began.elapsed()))
            }
        };
        let started = together(order.iter().map(start));
        let (mut servers, mut failure) = (Vec::with_capacity(order.len()), None);
        // Those that started beside one that failed are recorded too.
        for (&system, started) in order.iter().zip(started) {
            let recorded = started.and_then(|(server, started_ms, took)| {
                servers.push(server);
                self.record_instance(system, (block, phase), (started_ms, took))
            });
            if let Err(error) = recorded {
                failure.get_or_insert((system, error));
            }
        }
        failure.map_or(Ok(servers), Err)
    }

    /// Fills the caches of all servers at the same time, then asks the first instance of each system for its settings
    /// and plans. Plans depend on what is cached, so the caches must be as in measurements.
    fn fill_and_ask(
        &mut self,
        data: DataSet,
        order: &[usize],
        servers: &[Instance],
    ) -> Result<(), SystemFailure> {
        let fill = |(server, &system): (&Instance, &usize)| {
            let tables = self.tables(system, data);
            let options = server.connect_options();
            move || tables?.warm(&options)
        };
        let filled = by_system(order, together(servers.iter().zip(order).map(fill)))?;
        let is_new = |system: &usize| !self.recorder.is_audited(*system, data);
        let new: Vec<usize> = order.iter().copied().filter(is_new).collect();
        let (participants, study) = (self.participants, self.recorder.study());
        let all = servers.iter().zip(&filled).filter(|(_, (system, _))| new.contains(system));
        let asked = together(all.map(|(server, (system, warm))| {
            let system = &participants[*system].system;
            move || audit(system, study, (server, data), warm)
        }));
        for (system, facts) in by_system(&new, asked)? {
            self.note_facts(system, data, facts).map_err(|error| (system, error))?;
        }
        Ok(())
    }

    /// Starts the instance of a sequential study's system. It keeps running.
    pub(super) fn start_one(&mut self, system: usize, data: DataSet) -> Result<Outcome> {
        let phase = Phase { data, start_from: StartFrom::Fresh };
        let started = self.start_recorded(system, 0, phase).and_then(|server| {
            self.tables(system, data)?.begin(&server.connect_options())?;
            Ok(server)
        });
        match started {
            Ok(server) => self.servers.insert(system, server),
            Err(error) => return self.failed(system, error),
        };
        Ok(Outcome::Done)
    }

    fn note_facts(&mut self, system: usize, data: DataSet, facts: AuditFacts) -> Result<()> {
        let spec = &self.participants[system].system.spec;
        for warning in warnings(&ineffective(spec, &facts.settings)) {
            self.env.progress.note(&format!("warning: {}: {warning}", self.name(system)));
        }
        for sentence in self.recorder.facts(system, data, facts)? {
            self.env.progress.note(&format!("warning: {sentence}"));
        }
        Ok(())
    }

    fn start_recorded(&mut self, system: usize, block: u32, phase: Phase) -> Result<Instance> {
        self.env.interrupt.check()?;
        self.env.progress.update(&format!("starting {}", self.name(system)));
        let began = Clock::now();
        let server = self.instance(system, phase)?;
        self.record_instance(system, (block, phase), (now_ms(), began.elapsed()))?;
        Ok(server)
    }

    fn record_instance(
        &mut self,
        system: usize,
        (block, Phase { data, start_from }): (u32, Phase),
        (started_ms, took): (i64, Duration),
    ) -> Result<()> {
        // The recorder sets the run.
        let (run, start_took_ms) = (0, took.as_millis() as u64);
        let instance =
            InstanceRecord { system, run, block, data, start_from, started_ms, start_took_ms };
        self.recorder.instance(instance)
    }

    pub(super) fn instance(&self, system: usize, phase: Phase) -> Result<Instance> {
        let participant = &self.participants[system];
        let template = self.templates.get(system, phase.data)?;
        let study = self.recorder.study();
        start_instance(participant, template, phase, study, self.local, self.env)
    }

    pub(super) fn audit_alone(&mut self, system: usize, data: DataSet) -> Result<()> {
        let server = self.instance(system, Phase { data, start_from: StartFrom::Fresh })?;
        self.fill_and_ask(data, &[system], std::slice::from_ref(&server))
            .map_err(|(_, error)| error)?;
        Ok(server.stop()?)
    }
}

/// A system, and why it could not be started.
type SystemFailure = (usize, anyhow::Error);

/// Each result with its system, or the first failure.
fn by_system<T>(order: &[usize], done: Vec<Result<T>>) -> Result<Vec<(usize, T)>, SystemFailure> {
    let all = order.iter().zip(done);
    all.map(|(&system, done)| done.map(|done| (system, done)).map_err(|why| (system, why)))
        .collect()
}

/// Asks a server for its settings and the plans of all tests.
fn audit(
    system: &System,
    study: &Study,
    (server, data): (&Instance, DataSet),
    warm: &Warm,
) -> Result<AuditFacts> {
    let mut tests: Vec<Test> = Vec::new();
    for test in study.cells.iter().map(|cell| cell.id.test) {
        // The tables of the Insert Benchmark do not exist yet.
        if test.ibench().is_none() && !tests.contains(&test) {
            tests.push(test);
        }
    }
    let (statements, seed) = (study.statements, study.seed);
    let questions = Questions { data, tests: &tests, statements, seed, warm: Some(warm) };
    facts(server, system, &questions)
}
