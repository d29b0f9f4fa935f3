//! Tries the requirements of a user's workload on the first instance of each system, before anything is measured: the
//! settings of its sessions, and the kinds of events of its mixes. A kind that fails on a system is removed from the
//! mix on all systems, so that they still do the same work.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use assay_load::{ClientSession, ClientWork, RefusedSetting, RunBound, refused_settings};
use assay_model::{Class, Dialect, EventKind, SessionSetting, Setup, Test};
use assay_study::Phase;
use assay_wire::ConnectOptions;
use assay_workloads::{EventProgram, without_kinds};

use super::executor::{StudyExecutor, SystemTrial};
use crate::systems::{Instance, OUTSIDE_BLOCKS};

/// Events tried of a kind that writes, and of one that only reads.
const EVENTS: [u64; 2] = [16, 2];

const FIRST: u64 = OUTSIDE_BLOCKS + (1 << 25);

/// Share of a budget that may be spent, divided among systems.
const SHARE: f64 = 0.05;

const LEAST: Duration = Duration::from_secs(2);

impl StudyExecutor<'_, '_> {
    fn mixes(&self) -> Vec<Test> {
        let mut mixes: Vec<Test> = Vec::new();
        for test in self.recorder.study().cells.iter().map(|cell| cell.id.test) {
            if kinds(test).len() > 1 && !mixes.contains(&test) {
                mixes.push(test);
            }
        }
        mixes
    }

    /// Whether everything has been tried: at the latest when there is a slice.
    fn is_tried(&self) -> bool {
        !self.recorder.record().slices.is_empty()
    }

    /// The test with the kinds of events that work on all systems.
    pub(super) fn carried_out(&self, test: Test) -> Test {
        let left_out = self.recorder.record().events.iter().filter_map(|event| match &event.what {
            EventKind::KindLeftOut { test: mix, part, .. } if mix == test.name() => {
                Some(part.clone())
            }
            _ => None,
        });
        let left_out: Vec<String> = left_out.collect();
        if left_out.is_empty() { test } else { without_kinds(test, &left_out).unwrap_or(test) }
    }

    /// Tries a system on a separate instance if there are mixes that write: all systems are measured with the same
    /// history.
    pub(super) fn try_apart(&mut self, system: usize, phase: Phase) -> Result<()> {
        let writes = self.mixes().iter().any(|mix| mix.class == Class::Write);
        if !writes || self.is_tried() || self.tried.contains_key(&system) {
            return Ok(());
        }
        self.env.interrupt.check()?;
        let server = self.instance(system, phase)?;
        self.try_system(system, &server)?;
        Ok(server.stop()?)
    }

    pub(super) fn try_system(&mut self, system: usize, server: &Instance) -> Result<()> {
        if self.is_tried() || self.tried.contains_key(&system) {
            return Ok(());
        }
        let dialect = self.dialect(system);
        let options = server.connect_options();
        let study = self.recorder.study();
        let mut sessions: Vec<Vec<SessionSetting>> = Vec::new();
        for cell in &study.cells {
            let program = EventProgram::new(dialect, cell.id.test, cell.id.setup, study.statements);
            for session in program.sessions() {
                if !session.is_empty() && !sessions.contains(session) {
                    sessions.push(session.clone());
                }
            }
        }
        let mut tried =
            SystemTrial { settings: refused_settings(&options, &sessions)?, kinds: Vec::new() };
        let mixes = self.mixes();
        if !mixes.is_empty() {
            self.env.progress.update(&format!("{}: trying the mix", self.name(system)));
        }
        let share = study.budget_s * SHARE / self.participants.len().max(1) as f64;
        let time = Duration::try_from_secs_f64(share).unwrap_or(LEAST).max(LEAST);
        let began = Instant::now();
        for mix in mixes {
            for kind in kinds(mix) {
                if began.elapsed() > time {
                    break;
                }
                if let Some(why) = self.fails(&options, dialect, mix, &kind)? {
                    tried.kinds.push((mix, kind, why));
                }
            }
        }
        self.tried.insert(system, tried);
        Ok(())
    }

    /// Why events of a kind fail; `None` if they do not, or if it is unknown.
    fn fails(
        &self,
        options: &ConnectOptions,
        dialect: Dialect,
        mix: Test,
        kind: &str,
    ) -> Result<Option<String>> {
        let others: Vec<String> = kinds(mix).into_iter().filter(|it| it != kind).collect();
        let Some(alone) = without_kinds(mix, &others) else { return Ok(None) };
        let study = self.recorder.study();
        let setup = study.cells.iter().find(|cell| cell.id.test == mix).map(|cell| cell.id.setup);
        let setup = Setup { clients: 1, ..setup.context("a mix has no cell")? };
        let (statements, seed) = (study.statements, study.seed);
        let work = ClientWork { dialect, test: alone, setup, statements, seed };
        let [of_writes, of_reads] = EVENTS;
        let events = if mix.class == Class::Write { of_writes } else { of_reads };
        let bound = RunBound::EventsWithin { events, time: LEAST / 4 };
        let tried =
            ClientSession::open(options, &work, &[]).and_then(|mut it| it.run(FIRST, bound));
        Ok(match tried {
            Err(error) if error.server_code().is_some() => {
                Some(self.why(&anyhow::Error::from(error)))
            }
            // The measurement will show other problems.
            Ok(_) | Err(_) => None,
        })
    }

    pub(super) fn note_tried(&mut self) -> Result<()> {
        if self.is_tried() || self.tried.len() < self.participants.len() {
            return Ok(());
        }
        for (system, SystemTrial { settings, kinds }) in std::mem::take(&mut self.tried) {
            for RefusedSetting { setting, modes, message } in settings {
                let setting = setting.to_string();
                let what = EventKind::SettingRefused { setting, modes, message };
                self.note_once(system, what, true)?;
            }
            for (test, part, why) in kinds {
                let what = EventKind::KindLeftOut { test: test.name.clone(), part, why };
                self.note_once(system, what, true)?;
            }
        }
        Ok(())
    }
}

fn kinds(test: Test) -> Vec<String> {
    let roles = test.definition().roles.iter();
    roles.flat_map(|role| &role.script.mix).map(|kind| kind.name.clone()).collect()
}
