//! Sampling of a system in a cell: in parts, between which the other systems have their turns.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use assay_model::{
    CallTree, GrowingTree, PlannedCell, ProcessorPart, Profile, ProfileLimits, Waits,
};
use assay_probe::ProcessorCounters;
use assay_run::systems::{Clients, SliceSlot, WORK_APART_MAX};
use assay_symbols::Symbols;

use crate::sampler::StackSampler;

/// Parts of the sampling of each system. The speed of the machine changes over seconds; alternating spreads this
/// evenly.
pub(crate) const PARTS: u64 = 8;

/// Unsampled work of clients at the start of a part, and of the first one.
const WARM: Duration = Duration::from_millis(100);
const WARM_FIRST: Duration = Duration::from_millis(500);

/// CPU sampling time in a part. All parts give some ten thousand samples, so that a function with 1% of the time is
/// known to a tenth of that.
const CPU: Duration = Duration::from_millis(625);

const COUNTED: Duration = Duration::from_millis(250);

/// Time of sampling waits, after the last part: in one piece, because shorter ones would miss threads that switch
/// rarely.
const WAITS: Duration = Duration::from_secs(2);

const KINDS: u64 = 3;

const _: () = assert!(KINDS * PARTS < WORK_APART_MAX);

/// Approximate seconds of sampling a system.
pub(crate) fn seconds() -> f64 {
    let parts = (WARM + CPU + COUNTED) * PARTS as u32;
    (parts + WARM_FIRST + WAITS).as_secs_f64()
}

pub(crate) struct Sampling {
    clients: Clients,
    slot: SliceSlot,
    pid: i32,
    serving: Option<Vec<i32>>,
    frequency: u32,
    server: String,
    ops: f64,
    /// CPU time of serving threads, by part.
    parts: Vec<CallTree>,
    background: GrowingTree,
    waits: Option<Waits>,
    counts: bool,
    processor: Vec<ProcessorPart>,
    limits: ProfileLimits,
}

impl Sampling {
    pub(crate) fn new(clients: Clients, system: usize, symbols: &mut Symbols) -> Result<Self> {
        let (pid, serving) = clients.probed().context("its process is not known")?;
        let serving = serving.map(<[i32]>::to_vec);
        StackSampler::prepare(pid, symbols);
        Ok(Self {
            clients,
            slot: SliceSlot { system, block: 0, round: 0, position: 0 },
            pid,
            serving,
            frequency: 0,
            server: String::new(),
            ops: 0.0,
            parts: Vec::new(),
            background: GrowingTree::default(),
            waits: None,
            counts: true,
            processor: Vec::new(),
            limits: ProfileLimits::default(),
        })
    }

    /// The server must not be frozen.
    pub(crate) fn part(
        &mut self,
        cell: &PlannedCell,
        part: u64,
        symbols: &mut Symbols,
    ) -> Result<()> {
        let first = KINDS * part;
        let warm = if part == 0 { WARM_FIRST } else { WARM };
        self.clients.work_apart(cell, self.slot, first, warm)?;
        let sampler = StackSampler::cpu(self.pid, self.serving.as_deref(), symbols)?;
        self.ops += self.clients.work_apart(cell, self.slot, first + 1, CPU)?;
        let sampled = sampler.stop()?;
        let shows_kernel = !sampled.limits.no_kernel;
        (self.frequency, self.server) = (sampled.frequency, sampled.server);
        self.parts.push(sampled.serving);
        self.background.add(&sampled.background);
        self.limits.add(sampled.limits);
        self.count(cell, first + 2, shows_kernel)?;
        if part + 1 == PARTS && shows_kernel {
            self.wait(cell, symbols)?;
        }
        Ok(())
    }

    /// Counts instructions and cycles of the serving threads. Optional, if the kernel permits it.
    fn count(&mut self, cell: &PlannedCell, kind: u64, shows_kernel: bool) -> Result<()> {
        if !self.counts {
            return Ok(());
        }
        let serving = self.serving.as_deref().unwrap_or_default();
        // Counters cost time at each switch, so they are open only here.
        if let Some(mut counters) = ProcessorCounters::open(serving, shows_kernel) {
            let before = counters.read();
            let ops = self.clients.work_apart(cell, self.slot, kind, COUNTED)?;
            if let (Ok([instructions, cycles]), Ok([more_instructions, more_cycles])) =
                (before, counters.read())
            {
                self.processor.push(ProcessorPart {
                    ops,
                    instructions: more_instructions.saturating_sub(instructions),
                    cycles: more_cycles.saturating_sub(cycles),
                });
                return Ok(());
            }
        }
        self.counts = false;
        self.processor.clear();
        Ok(())
    }

    /// Samples waits of the serving threads. Optional.
    fn wait(&mut self, cell: &PlannedCell, symbols: &mut Symbols) -> Result<()> {
        let Some(serving) = &self.serving else { return Ok(()) };
        let sampler = StackSampler::waits(self.pid, serving, symbols);
        let ops = self.clients.work_apart(cell, self.slot, KINDS * PARTS, WAITS)?;
        match sampler.and_then(StackSampler::stop) {
            Ok(found) => {
                self.limits.lost_waits = found.limits.lost_waits;
                self.limits.unnamed_kernel |= found.limits.unnamed_kernel;
                self.waits = found.waits.map(|calls| Waits { ops, calls });
            }
            Err(error) => {
                log::warn!("what threads wait for in {} is unknown: {error}", cell.id.test);
            }
        }
        Ok(())
    }

    pub(crate) fn profile(self) -> Result<Profile> {
        let sampled_s = (CPU * PARTS as u32).as_secs_f64();
        ensure!(self.ops >= 1.0, "no operation ended within {sampled_s} s");
        let dispersion = assay_verdict::dispersion(&self.parts);
        let mut serving = GrowingTree::default();
        self.parts.iter().for_each(|part| serving.add(part));
        Ok(Profile {
            frequency: self.frequency,
            ops: self.ops,
            server: self.server,
            serving: serving.into_tree(),
            dispersion,
            background: self.background.into_tree(),
            waits: self.waits,
            processor: self.processor,
            limits: self.limits,
        })
    }
}
