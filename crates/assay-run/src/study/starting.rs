//! Starts the instances of a study, and asks the first one of each system for its settings.

use std::thread;
use std::time::Instant as Clock;

use anyhow::{Context, Result, anyhow};
use assay_model::{DataSet, StartFrom, Test};
use assay_servers::audit::{AuditFacts, ineffective, warnings};
use assay_study::{Outcome, Phase};

use super::executor::StudyExecutor;
use crate::clock::now_ms;
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
    ) -> Result<(), (usize, anyhow::Error)> {
        for &system in order {
            self.try_apart(system, phase).map_err(|error| (system, error))?;
        }
        let mut started = Vec::with_capacity(order.len());
        for &system in order {
            let server = self.start_recorded(system, block, phase);
            started.push(server.map_err(|error| (system, error))?);
        }
        let fill = |(server, &system): (&Instance, &usize)| {
            let tables = self.tables(system, phase.data);
            let (options, is_ours) = (server.connect_options(), server.is_ours());
            move || tables?.warm(&options, is_ours)
        };
        let filled = together(started.iter().zip(order).map(fill));
        for ((&system, server), filled) in order.iter().zip(&mut started).zip(filled) {
            let ready = filled.and_then(|warm| self.ask_once(system, server, phase.data, &warm));
            let ready = ready.and_then(|()| self.ask_answers(system, server));
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

    /// Starts the instance of a sequential study's system. It keeps running.
    pub(super) fn start_one(&mut self, system: usize, data: DataSet) -> Result<Outcome> {
        let phase = Phase { data, start_from: StartFrom::Fresh };
        let started = self.start_recorded(system, 0, phase).and_then(|server| {
            self.tables(system, data)?.begin(&server.connect_options(), server.is_ours())?;
            Ok(server)
        });
        match started {
            Ok(server) => self.servers.insert(system, server),
            Err(error) => return self.failed(system, error),
        };
        Ok(Outcome::Done)
    }

    /// Asks the first instance of a system for its settings and plans, unless they are known. Plans depend on what is
    /// cached, so the caches must be as in measurements.
    fn ask_once(
        &mut self,
        system: usize,
        server: &Instance,
        data: DataSet,
        warm: &Warm,
    ) -> Result<()> {
        if self.recorder.is_audited(system, data) {
            return Ok(());
        }
        let facts = self.audit(system, server, data, warm)?;
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
        self.recorder.instance(assay_model::InstanceRecord {
            system,
            // The recorder sets it.
            run: 0,
            block,
            data: phase.data,
            start_from: phase.start_from,
            started_ms: now_ms(),
            start_took_ms: began.elapsed().as_millis() as u64,
        })?;
        Ok(server)
    }

    pub(super) fn instance(&self, system: usize, phase: Phase) -> Result<Instance> {
        let participant = &self.participants[system];
        let template = self.templates.get(system, phase.data)?;
        let study = self.recorder.study();
        start_instance(participant, template, phase, study, self.local, self.env)
    }

    pub(super) fn audit_alone(&mut self, system: usize, data: DataSet) -> Result<()> {
        let server = self.instance(system, Phase { data, start_from: StartFrom::Fresh })?;
        let warm = self.tables(system, data)?.warm(&server.connect_options(), server.is_ours())?;
        self.ask_once(system, &server, data, &warm)?;
        Ok(server.stop()?)
    }

    fn audit(
        &self,
        system: usize,
        server: &Instance,
        data: DataSet,
        warm: &Warm,
    ) -> Result<AuditFacts> {
        let study = self.recorder.study();
        let mut tests: Vec<Test> = Vec::new();
        for test in study.cells.iter().map(|cell| cell.id.test) {
            // The tables of the Insert Benchmark do not exist yet.
            if test.ibench().is_none() && !tests.contains(&test) {
                tests.push(test);
            }
        }
        let (statements, seed) = (study.statements, study.seed);
        let questions = Questions { data, tests: &tests, statements, seed, warm: Some(warm) };
        facts(server, &self.participants[system].system, &questions)
    }
}

/// Runs all in parallel, one thread each. Results keep the order.
pub fn together<T: Send>(
    acts: impl Iterator<Item = impl FnOnce() -> Result<T> + Send>,
) -> Vec<Result<T>> {
    thread::scope(|scope| {
        let threads: Vec<_> =
            acts.map(|act| thread::Builder::new().spawn_scoped(scope, act)).collect();
        let join = |thread: std::io::Result<thread::ScopedJoinHandle<'_, Result<T>>>| {
            let done = thread.context("cannot start a thread")?.join();
            done.unwrap_or_else(|_| Err(anyhow!("internal error: a thread panicked")))
        };
        threads.into_iter().map(join).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn all_acts_happen_at_the_same_time() {
        let barrier = Barrier::new(3);
        let act = |number: usize| {
            let barrier = &barrier;
            move || {
                barrier.wait();
                anyhow::ensure!(number != 2, "no");
                Ok(10 * number)
            }
        };
        let done: Vec<Option<usize>> =
            together([1, 2, 3].map(act).into_iter()).into_iter().map(Result::ok).collect();
        assert_eq!(done, [Some(10), None, Some(30)]);
    }

    #[test]
    fn an_act_that_panics_is_an_error() {
        let done = together(std::iter::once(|| -> Result<()> { panic!("in a test") }));
        assert!(done[0].as_ref().unwrap_err().to_string().contains("a thread panicked"));
    }
}
