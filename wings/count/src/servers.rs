//! The servers on which the tests of a phase are counted, all at the same time.

use anyhow::Result;
use assay_plan::COUNTED_INSTANCES;
use assay_run::study::afterwards::{StudyExecutor, together};
use assay_run::systems::{StudyTables, start_counted};
use assay_servers::{ServerInstance, ServersError};
use assay_study::Phase;

use crate::counter::patient;
use crate::instrument::Instrument;

pub(crate) struct CountedServers {
    /// Each instance has a server of every system.
    pub(crate) instances: Vec<Vec<ServerInstance>>,
    /// Instructions per second of the background threads of each server, instance by instance, while no client sends
    /// anything. Empty until they are counted.
    pub(crate) idle_rates: Vec<f64>,
}

impl CountedServers {
    /// Starts all of them, with filled caches.
    pub(crate) fn start(
        executor: &StudyExecutor<'_, '_>,
        phase: Phase,
        instrument: &Instrument,
    ) -> Result<Self> {
        let progress = executor.environment().progress;
        progress.begin("starting the servers whose instructions are counted");
        let systems = executor.participants().len();
        let all = (0..COUNTED_INSTANCES).flat_map(|_| 0..systems);
        let mut all =
            together(all.map(|system| starter(executor, system, phase, instrument))).into_iter();
        let instances =
            (0..COUNTED_INSTANCES).map(|_| all.by_ref().take(systems).collect::<Result<Vec<_>>>());
        Ok(Self { instances: instances.collect::<Result<_>>()?, idle_rates: Vec::new() })
    }

    /// The system of the first server that has ended, and how it ended. The others run on.
    pub(crate) fn ending(&mut self) -> Option<(usize, ServersError)> {
        let mut all = self.instances.iter_mut().flat_map(|servers| servers.iter_mut().enumerate());
        all.find_map(|(system, server)| Some((system, server.thaw().err()?)))
    }

    /// Starts the servers again that have ended.
    pub(crate) fn restart(
        &mut self,
        executor: &StudyExecutor<'_, '_>,
        phase: Phase,
        instrument: &Instrument,
    ) -> Result<()> {
        self.idle_rates.clear();
        let all = self.instances.iter_mut().flat_map(|servers| servers.iter_mut().enumerate());
        let ended = all.filter_map(|(system, server)| {
            let has_ended = server.thaw().is_err();
            has_ended.then_some((system, server))
        });
        let ended: Vec<(usize, &mut ServerInstance)> = ended.collect();
        let starts = ended.iter().map(|(system, _)| starter(executor, *system, phase, instrument));
        let started = together(starts);
        for ((_, server), started) in ended.into_iter().zip(started) {
            *server = started?;
        }
        Ok(())
    }

    /// All servers, each with its system.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, &ServerInstance)> {
        self.instances.iter().flat_map(|servers| servers.iter().enumerate())
    }
}

/// Starts a server and fills its caches.
fn starter<'e>(
    executor: &'e StudyExecutor<'_, '_>,
    system: usize,
    phase: Phase,
    instrument: &'e Instrument,
) -> impl FnOnce() -> Result<ServerInstance> + Send + 'e {
    let (study, site) = (executor.study(), executor.site());
    let participant = &executor.participants()[system];
    let template = executor.templates().get(system, phase.data);
    let valgrind = instrument.valgrind();
    move || -> Result<ServerInstance> {
        let server = start_counted(participant, template?, phase, valgrind, site)?;
        let tables = StudyTables::new(study, &participant.system.spec, phase.data);
        tables.warm(&patient(&server))?;
        Ok(server)
    }
}
