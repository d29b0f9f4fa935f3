//! Takes profiles of the systems after a study, on instances of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_model::{
    CellProfile, EventKind, PlannedCell, ProcessorPart, Profile, Profiling, StudyRecord, Verdict,
    Waits, counted,
};
use assay_profile::{FREQUENCY, ProcessorCounters, Sampler};
use assay_study::Phase;
use assay_verdict::CellJudgement;

use super::executor::StudyExecutor;
use crate::errors::hints;
use crate::systems::{Clients, Instance, Slot};

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
        let known = self.recorder.profiled()?;
        let mut phases: BTreeMap<Phase, Vec<PlannedCell>> = BTreeMap::new();
        for cell in cells(self.recorder.record(), self.profiling) {
            if !known.contains(&cell.id) {
                phases.entry(Phase::of(cell.id)).or_default().push(cell);
            }
        }
        let count = phases.values().map(Vec::len).sum::<usize>() as u64;
        if count == 0 {
            return Ok(());
        }
        let systems = self.participants.len();
        let counted_for = COUNTED_PART * COUNTED_PARTS as u32;
        let each = (WARM + SAMPLED + WAITS_SAMPLED + counted_for).as_secs_f64() * systems as f64;
        self.env.progress.note(&format!(
            "taking profiles of {}, {:.0} s each",
            counted(count, "test"),
            each
        ));
        if self.templates.is_empty() {
            self.load()?;
        }
        // What the kernel refuses once, it refuses always.
        let mut refused: Option<String> = None;
        for (phase, cells) in phases {
            let started = match &refused {
                None => self.start_apart(phase).map_err(|error| told(&error)),
                Some(why) => Err(why.clone()),
            };
            self.env.interrupt.check()?;
            for cell in &cells {
                let prevented = started.as_ref().err().or(refused.as_ref()).cloned();
                let why = match prevented {
                    Some(why) => why,
                    None => match self.profile_cell(cell) {
                        Ok(()) => continue,
                        Err(error) => {
                            self.env.interrupt.check()?;
                            if error.chain().any(|cause| cause.is::<assay_ledger::Error>()) {
                                return Err(error);
                            }
                            refused = is_refused(&error).then(|| told(&error));
                            told(&error)
                        }
                    },
                };
                let test = cell.id.test.name.clone();
                self.note(None, EventKind::NotProfiled { test, why })?;
            }
            self.servers.clear();
        }
        Ok(())
    }

    /// Starts an instance of every system that no slice of the study uses, fills the caches, and freezes them.
    fn start_apart(&mut self, phase: Phase) -> Result<()> {
        for system in 0..self.participants.len() {
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
            self.server(system)?.thaw()?;
            let profile = self.sampled(system, cell);
            // A server that has ended says so in its error.
            let frozen = self.server(system).and_then(|it: &mut Instance| Ok(it.freeze()?));
            let profile = profile.with_context(|| format!("`{name}`"))?;
            frozen?;
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
        let shows_kernel = !sampled.limits.no_kernel;
        let waits = match serving.as_ref().filter(|_| shows_kernel) {
            Some(serving) => {
                let sampler = Sampler::waits(pid, serving, &mut self.symbols);
                let ops = clients.work_apart(cell, slot, 2, WAITS_SAMPLED)?;
                match sampler.and_then(Sampler::stop) {
                    Ok(found) => {
                        sampled.limits.lost += found.limits.lost;
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
            frequency: FREQUENCY,
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

/// An error in words, with what the user may do.
fn told(error: &anyhow::Error) -> String {
    let hints: String = hints(error).iter().map(|it| format!("; {it}")).collect();
    format!("{error:#}{hints}")
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
