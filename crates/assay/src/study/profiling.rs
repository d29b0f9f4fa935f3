//! Takes profiles of the systems after a study, on instances of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use assay_ledger::Problem;
use assay_model::{
    CellProfile, EventKind, PlannedCell, ProcessorPart, Profile, Profiling, StudyRecord, Verdict,
    Waits, counted,
};
use assay_profile::{ProcessorCounters, Sampler};
use assay_study::Phase;
use assay_verdict::CellJudgement;

use super::executor::StudyExecutor;
use crate::errors::hints;
use crate::systems::{Clients, Slot};

/// How long each system is sampled in a cell: some ten thousand samples, so that a function with 1 % of the time is
/// known to a tenth of that.
const SAMPLED: Duration = Duration::from_secs(5);

/// How long its waiting is sampled after that.
const WAITS_SAMPLED: Duration = Duration::from_secs(2);

/// Parts of the time in which instructions and cycles are counted, and the length of each.
const COUNTED_PARTS: u64 = 8;
const COUNTED_PART: Duration = Duration::from_millis(250);

/// How long its clients work before.
const WARM: Duration = Duration::from_millis(500);

impl StudyExecutor<'_, '_> {
    /// Takes the profiles that the user asked for and that the study does not have yet. What prevents one is noted, and
    /// the study is as good without it.
    ///
    /// # Errors
    /// The user asked to stop, or the ledger cannot be written.
    pub(crate) fn profile(&mut self) -> Result<()> {
        self.recorder.forget_not_profiled()?;
        let known = self.recorder.profiled()?;
        let mut phases: BTreeMap<Phase, Vec<PlannedCell>> = BTreeMap::new();
        for cell in cells(self.recorder.record(), self.profiling) {
            if !known.contains(&cell.id) {
                phases.entry(Phase::of(cell.id)).or_default().push(cell);
            }
        }
        let count = phases.values().map(Vec::len).sum::<usize>() as u64;
        if count == 0 {
            if self.profiling == Profiling::Changed && known.is_empty() {
                let none = "no profiles: no test changed for certain; `--profile=all` takes those of all tests";
                self.env.progress.note(none);
            }
            return Ok(());
        }
        let systems = self.participants.len();
        let counted_for = COUNTED_PART * COUNTED_PARTS as u32;
        let each = (WARM + SAMPLED + WAITS_SAMPLED + counted_for).as_secs_f64() * systems as f64;
        self.env.progress.note(&format!(
            "taking profiles of {}, {:.0} s{}",
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

    /// Takes the profiles of a cell on the instances of its phase. Returns what prevents them, and which others.
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
        Ok(Some((scope, told(&error))))
    }

    /// Starts an instance of every system that no slice of the study uses, unless it runs already, fills the caches,
    /// and freezes them.
    fn start_apart(&mut self, phase: Phase) -> Result<()> {
        for system in 0..self.participants.len() {
            if self.servers.contains_key(&system) {
                continue;
            }
            self.env.interrupt.check()?;
            self.env.progress.update(&format!("starting {}", self.name(system)));
            let mut server = self.instance(system, phase)?;
            self.tables(system, phase.data)?.fill_cache(&server.connect_options())?;
            server.freeze()?;
            self.servers.insert(system, server);
        }
        Ok(())
    }

    fn profile_cell(&mut self, cell: &PlannedCell) -> Result<()> {
        let mut profiles = Vec::with_capacity(self.participants.len());
        for system in 0..self.participants.len() {
            self.env.interrupt.check()?;
            let (name, test) = (self.name(system), cell.id.test);
            self.env.progress.update(&format!("sampling {name}, {test}"));
            let profile = self.thawed(system, |study| study.sampled(system, cell));
            let profile = profile.with_context(|| format!("`{name}`"))?;
            profiles.push(CellProfile { system, cell: cell.id, profile });
        }
        self.recorder.profiles(&profiles)
    }

    /// Samples a system that is not frozen.
    fn sampled(&mut self, system: usize, cell: &PlannedCell) -> Result<Profile> {
        let mut clients = self.connect_one(system, cell)?;
        let slot = Slot { system, block: 0, round: 0, position: 0 };
        let (pid, serving) = clients.watched().context("its process is not known")?;
        Sampler::prepare(pid, &mut self.symbols);
        self.env.interrupt.check()?;
        let serving = serving.map(<[i32]>::to_vec);
        clients.work_apart(cell, slot, 0, WARM)?;
        let sampler = Sampler::cpu(pid, serving.as_deref(), &mut self.symbols)?;
        let ops = clients.work_apart(cell, slot, 1, SAMPLED)?;
        let mut sampled = sampler.stop()?;
        ensure!(ops >= 1.0, "no operation ended within {} s", SAMPLED.as_secs());
        let shows_kernel = !sampled.limits.no_kernel;
        let waits = match serving.as_ref().filter(|_| shows_kernel) {
            Some(serving) => {
                let sampler = Sampler::waits(pid, serving, &mut self.symbols);
                let ops = clients.work_apart(cell, slot, 2, WAITS_SAMPLED)?;
                match sampler.and_then(Sampler::stop) {
                    Ok(found) => {
                        sampled.limits.lost_waits = found.limits.lost_waits;
                        sampled.limits.unnamed_kernel |= found.limits.unnamed_kernel;
                        found.waits.map(|calls| Waits { ops, calls })
                    }
                    // The profile of CPU time is as good without it.
                    Err(error) => {
                        log::warn!("what threads wait for in {} is unknown: {error}", cell.id.test);
                        None
                    }
                }
            }
            None => None,
        };
        let serving = serving.unwrap_or_default();
        let processor = counted_parts(&mut clients, cell, slot, (&serving, shows_kernel))?;
        Ok(Profile {
            frequency: sampled.frequency,
            ops,
            server: sampled.server,
            serving: sampled.serving,
            background: sampled.background,
            waits,
            processor,
            limits: sampled.limits,
        })
    }
}

/// Instructions and cycles of the threads that serve the clients, part by part; none if the processor does not count
/// them.
fn counted_parts(
    clients: &mut Clients,
    cell: &PlannedCell,
    slot: Slot,
    (serving, shows_kernel): (&[i32], bool),
) -> Result<Vec<ProcessorPart>> {
    // Sampling and waits are the first three kinds of work that is apart.
    const FIRST: u64 = 3;
    let Some(mut counters) = ProcessorCounters::open(serving, shows_kernel) else {
        return Ok(Vec::new());
    };
    let Ok(mut before) = counters.read() else { return Ok(Vec::new()) };
    let mut parts = Vec::new();
    for part in 0..COUNTED_PARTS {
        let ops = clients.work_apart(cell, slot, FIRST + part, COUNTED_PART)?;
        // The profile is as good without what the kernel does not tell.
        let Ok(now) = counters.read() else { return Ok(Vec::new()) };
        let ([instructions, cycles], [more_instructions, more_cycles]) = (before, now);
        parts.push(ProcessorPart {
            ops,
            instructions: more_instructions.saturating_sub(instructions),
            cycles: more_cycles.saturating_sub(cycles),
        });
        before = now;
    }
    Ok(parts)
}

/// The profiles that cannot be taken for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Those of a test.
    Test,
    /// Those of all tests on the same data, because a server does not start.
    Phase,
    /// All of them, because the kernel refuses them for a reason that does not change.
    Study,
}

/// An error in words, with what the user may do.
fn told(error: &anyhow::Error) -> String {
    let hints: String = hints(error).iter().map(|it| format!("; {it}")).collect();
    format!("{error:#}{hints}")
}

/// Whether the ledger cannot be written at all. If it only refuses a profile, it accepts everything else.
fn is_of_ledger(error: &anyhow::Error) -> bool {
    let mut found = error.chain().filter_map(|it| it.downcast_ref::<assay_ledger::Error>());
    found.any(|it| !matches!(it.problem, Problem::Unstorable(_) | Problem::TooLong))
}

/// Whether the kernel does not let this user sample.
fn is_refused(error: &anyhow::Error) -> bool {
    use assay_profile::Error::{LockedMemory, NotPermitted, NotProvided};
    let found = error.chain().find_map(|cause| cause.downcast_ref::<assay_profile::Error>());
    matches!(found, Some(NotPermitted(_) | NotProvided | LockedMemory))
}

/// The cells of which profiles are wanted.
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
