//! Takes profiles of the systems after a study, on separate instances.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use assay_ledger::Problem;
use assay_model::{CellProfile, EventKind, PlannedCell, Profiling, StudyRecord, Verdict, counted};
use assay_study::Phase;
use assay_verdict::CellJudgement;

use super::executor::StudyExecutor;
use super::sampling::{self, PARTS, Sampling};
use crate::errors::hints;

pub const NONE_CHANGED: &str =
    "no profiles: no test changed for certain; `--profile=all` takes those of all tests";

impl StudyExecutor<'_, '_> {
    /// Takes the requested profiles that the study does not have yet. Failures are noted, and do not affect the study.
    pub(crate) fn profile(&mut self) -> Result<()> {
        self.recorder.forget_not_profiled()?;
        let known = self.recorder.profiled()?;
        let mut phases: BTreeMap<Phase, Vec<PlannedCell>> = BTreeMap::new();
        for cell in cells(&self.record_to_judge(), self.request.profile) {
            if !known.contains(&cell.id) {
                phases.entry(Phase::of(cell.id)).or_default().push(cell);
            }
        }
        let count = phases.values().map(Vec::len).sum::<usize>() as u64;
        if count == 0 {
            if self.request.profile == Profiling::Changed && known.is_empty() {
                self.env.progress.note(NONE_CHANGED);
            }
            return Ok(());
        }
        let each = sampling::seconds() * self.participants.len() as f64;
        self.env.progress.note(&format!(
            "taking profiles of {}, about {:.0} s{}",
            counted(count, "test"),
            each,
            if count > 1 { " each" } else { "" },
        ));
        if self.templates.is_empty() {
            self.load()?;
        }
        let mut prevented: Option<(Scope, String)> = None;
        for (phase, cells) in phases {
            prevented = prevented.filter(|(scope, _)| *scope == Scope::Study);
            for cell in &cells {
                if prevented.is_none() {
                    prevented = self.profile_apart(phase, cell)?;
                }
                if let Some((_, why)) = &prevented {
                    let (test, why) = (cell.id.test.name.clone(), why.clone());
                    self.note(None, EventKind::NotProfiled { test, why })?;
                }
                prevented = prevented.filter(|(scope, _)| *scope != Scope::Test);
            }
            self.servers.clear();
        }
        Ok(())
    }

    /// Takes the profiles of a cell on the instances of its phase. Returns a failure and the profiles that it affects.
    fn profile_apart(
        &mut self,
        phase: Phase,
        cell: &PlannedCell,
    ) -> Result<Option<(Scope, String)>> {
        let started = self.start_apart(phase);
        let scope = if started.is_ok() { Scope::Test } else { Scope::Phase };
        let Err(error) = started.and_then(|()| self.profile_cell(cell)) else { return Ok(None) };
        self.env.interrupt.check()?;
        if is_of_ledger(&error) {
            return Err(error);
        }
        // One of them may have ended, so the next cell gets others.
        self.servers.clear();
        let scope = if is_refused(&error) { Scope::Study } else { scope };
        Ok(Some((scope, message(&error))))
    }

    /// Starts an instance of every system that no slice of the study uses, unless it is running already, fills the
    /// caches, and freezes them.
    pub(super) fn start_apart(&mut self, phase: Phase) -> Result<()> {
        for system in 0..self.participants.len() {
            if self.servers.contains_key(&system) {
                continue;
            }
            self.env.interrupt.check()?;
            self.env.progress.update(&format!("starting {}", self.name(system)));
            let mut server = self.instance(system, phase)?;
            self.tables(system, phase.data)?.warm(&server.connect_options(), server.is_ours())?;
            server.freeze()?;
            self.servers.insert(system, server);
        }
        Ok(())
    }

    /// Samples all systems part by part in the order A B, B A, B A, A B.
    fn profile_cell(&mut self, cell: &PlannedCell) -> Result<()> {
        let mut samplings = Vec::with_capacity(self.participants.len());
        for system in 0..self.participants.len() {
            self.env.interrupt.check()?;
            let sampling = self.thawed(system, |study| {
                let clients = study.connect_one(system, cell)?;
                Sampling::new(clients, system, &mut study.symbols)
            });
            samplings.push(sampling.with_context(|| format!("`{}`", self.name(system)))?);
        }
        for part in 0..PARTS {
            let mut turns: Vec<(usize, &mut Sampling)> = samplings.iter_mut().enumerate().collect();
            if matches!(part % 4, 1 | 2) {
                turns.reverse();
            }
            for (system, sampling) in turns {
                self.env.interrupt.check()?;
                let (name, test) = (self.name(system), cell.id.test);
                let number = part + 1;
                self.env.progress.update(&format!("sampling {name}, {test}, {number} of {PARTS}"));
                let sampled =
                    self.thawed(system, |study| sampling.part(cell, part, &mut study.symbols));
                sampled.with_context(|| format!("`{name}`"))?;
            }
        }
        let mut profiles = Vec::with_capacity(samplings.len());
        for (system, sampling) in samplings.into_iter().enumerate() {
            // The last requests of its clients reach the server before it is frozen.
            let profile = self.thawed(system, |_| sampling.profile());
            let profile = profile.with_context(|| format!("`{}`", self.name(system)))?;
            profiles.push(CellProfile { system, cell: cell.id, profile });
        }
        self.recorder.profiles(&profiles)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Test,
    /// All tests on the same data, because a server does not start.
    Phase,
    /// All tests, because the kernel refuses profiles for a lasting reason.
    Study,
}

pub(super) fn message(error: &anyhow::Error) -> String {
    let hints: String = hints(error, &[]).iter().map(|it| format!("; {it}")).collect();
    format!("{error:#}{hints}")
}

/// Whether the ledger cannot be written at all. If it only refuses a profile, it accepts everything else.
pub(super) fn is_of_ledger(error: &anyhow::Error) -> bool {
    let mut found = error.chain().filter_map(|it| it.downcast_ref::<assay_ledger::Error>());
    found.any(|it| !matches!(it.problem, Problem::Unstorable(_) | Problem::TooLong))
}

fn is_refused(error: &anyhow::Error) -> bool {
    use assay_profile::Error::{LockedMemory, NotPermitted, NotProvided};
    let found = error.chain().find_map(|cause| cause.downcast_ref::<assay_profile::Error>());
    matches!(found, Some(NotPermitted(_) | NotProvided | LockedMemory))
}

fn cells(record: &StudyRecord, wanted: Profiling) -> Vec<PlannedCell> {
    let planned = record.study.cells.iter();
    match wanted {
        Profiling::None => Vec::new(),
        Profiling::All => planned.cloned().collect(),
        Profiling::Changed => {
            let judged = assay_verdict::judge(record).cells;
            let is_wanted = |cell: &&PlannedCell| {
                let changed = [Verdict::Faster, Verdict::Slower, Verdict::Uneven];
                let has_changed = |it: &CellJudgement| {
                    changed.contains(&it.verdict)
                        || it.cpu_verdict.is_some_and(|it| changed.contains(&it))
                };
                judged.iter().any(|it| it.cell == cell.id && has_changed(it))
            };
            planned.filter(is_wanted).cloned().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_that_cannot_be_stored_does_not_end_the_study() {
        let of = |problem| {
            anyhow::Error::from(assay_ledger::Error { path: "ledger.db".into(), problem })
        };
        assert!(!is_of_ledger(&of(Problem::Unstorable("`frames` is 60001".to_owned()))));
        assert!(!is_of_ledger(&of(Problem::TooLong)));
        assert!(is_of_ledger(&of(Problem::Locked)));
        assert!(is_of_ledger(&of(Problem::Dangling).context("`mysql@8.0`")));
        assert!(!is_of_ledger(&anyhow::anyhow!("the server has ended")));
    }

    #[test]
    fn only_the_kernel_refuses_all_profiles() {
        use assay_profile::Error;

        let refused = |error: Error| is_refused(&anyhow::Error::from(error).context("`mysql@8.0`"));
        assert!(refused(Error::NotPermitted("3".to_owned())) && refused(Error::LockedMemory));
        assert!(!refused(Error::NoThread));
    }
}
