//! Slices as far as decisions need them.
//!
//! A study decides after every block. [`Samples`] keeps what it has reduced so far, so a decision costs only what is
//! new: the blocks that got samples since the last one.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{CellId, Slice, SliceOutcome, Study, StudyRecord, System, Trouble, Verdict};

use crate::account::server_cpu_per_op;
use crate::effect::{Effect, Reduced, estimate};
use crate::robust::{Centre, centre};
use crate::rules::{Decision, Rules};

/// Below this share of rounds without machine trouble a cell is judged with those in trouble as well, and says so: on a
/// machine that is always busy an answer that is marked is better than none.
pub const QUIET_SHARE: f64 = 0.25;

/// Whether a sample can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fitness {
    /// It is judged.
    Good,
    /// The machine was in trouble: judged only where too few samples are good.
    Troubled,
    /// The clock jumped while it was measured: never judged.
    Mistimed,
    /// It was broken off: its system has failed in the cell.
    Failed,
}

/// The judged figures of one slice, no matter who measured it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Index into the systems.
    pub system: usize,
    /// The cell that was measured.
    pub cell: CellId,
    /// The block, from 0.
    pub block: u32,
    /// The round within block and cell, from 0. Samples of one round form a pair.
    pub round: u32,
    /// Whether it can be judged.
    pub fitness: Fitness,
    /// Operations per second; none without operations.
    pub rate: Option<f64>,
    /// Server CPU per operation, nanoseconds; `None` if it was not measured.
    pub cpu_per_op: Option<f64>,
}

impl Sample {
    /// The figures of a slice.
    #[must_use]
    pub fn of(slice: &Slice) -> Self {
        let fitness = match slice.outcome {
            SliceOutcome::Failed(_) => Fitness::Failed,
            _ if slice.trouble.contains(&Trouble::ClockJump) => Fitness::Mistimed,
            SliceOutcome::Troubled => Fitness::Troubled,
            SliceOutcome::Good => Fitness::Good,
        };
        Self {
            system: slice.system,
            cell: slice.cell,
            block: slice.block,
            round: slice.round,
            fitness,
            rate: slice.ops_per_second(),
            cpu_per_op: server_cpu_per_op(slice),
        }
    }
}

/// One quantity in all cells and systems, estimated together. Cells are in the study's order, and each of them has all
/// systems in theirs.
pub(crate) struct Quantity {
    pub(crate) reduced: Vec<Option<Reduced>>,
    pub(crate) effects: Vec<Option<Effect>>,
}

impl Quantity {
    fn new(reduced: Vec<Option<Reduced>>, systems: usize) -> Self {
        let mut effects = vec![None; reduced.len()];
        for system in 0..systems {
            let cells: Vec<_> = reduced.iter().skip(system).step_by(systems).collect();
            let places = effects.iter_mut().skip(system).step_by(systems);
            for (place, effect) in places.zip(estimate(&cells)) {
                *place = effect;
            }
        }
        Self { reduced, effects }
    }
}

/// The samples of a study, and what is known from them.
#[derive(Debug)]
pub struct Samples {
    cells: Vec<CellSamples>,
    places: BTreeMap<CellId, usize>,
    systems: usize,
    base: usize,
    /// Whether a system's verdicts keep the study going.
    counts: Vec<bool>,
    rules: Rules,
}

/// The samples of one cell.
#[derive(Debug)]
struct CellSamples {
    id: CellId,
    /// Those that may be judged, by block and round; in each round by system.
    rounds: BTreeMap<(u32, u32), Vec<Option<Sample>>>,
    /// Whether each system has failed.
    failed: Vec<bool>,
    /// Blocks that have changed since their centres were computed.
    changed: BTreeSet<u32>,
    /// Whether samples in trouble are judged, as of the last decision.
    is_disturbed: bool,
    /// Centres of the logarithms of the relative rates, by system and block.
    centres: Vec<BTreeMap<u32, (Centre, usize)>>,
}

impl Samples {
    /// No samples yet of a study.
    #[must_use]
    pub fn new(study: &Study, systems: &[System]) -> Self {
        let has_others = systems.iter().any(|system| !system.is_base && !system.is_twin);
        let cells: Vec<_> =
            study.cells.iter().map(|cell| CellSamples::new(cell.id, systems.len())).collect();
        Self {
            places: cells.iter().enumerate().map(|(place, cell)| (cell.id, place)).collect(),
            cells,
            systems: systems.len(),
            base: systems.iter().position(|system| system.is_base).unwrap_or(0),
            // Nobody waits for the twin to be the same as the base, unless it is all that is compared.
            counts: systems.iter().map(|it| !(it.is_base || has_others && it.is_twin)).collect(),
            rules: Rules::new(study),
        }
    }

    /// All samples of a record.
    #[must_use]
    pub fn of(record: &StudyRecord) -> Self {
        let mut samples = Self::new(&record.study, &record.systems);
        record.slices.iter().for_each(|slice| samples.add(Sample::of(slice)));
        samples
    }

    /// Adds a sample. Those of unplanned cells and unknown systems are left out.
    pub fn add(&mut self, sample: Sample) {
        let place = self.places.get(&sample.cell);
        let Some(cell) = place.and_then(|&place| self.cells.get_mut(place)) else { return };
        if sample.system < self.systems {
            self.rules.see(sample.block);
            cell.add(sample);
        }
    }

    /// The verdict on every cell and system: cells in the study's order, in each the systems in theirs.
    #[must_use]
    pub fn verdicts(&mut self) -> Vec<(CellId, usize, Verdict)> {
        let (_, decisions) = self.decide();
        let keys = self.keys().map(|(cell, system)| (cell.id, system));
        keys.zip(decisions).map(|((cell, system), it)| (cell, system, it.verdict)).collect()
    }

    /// The cells in which some system is not decided yet, in the study's order: where further blocks should go.
    #[must_use]
    pub fn open_cells(&self, verdicts: &[(CellId, usize, Verdict)]) -> Vec<CellId> {
        let counts = |system: usize| self.counts.get(system).copied().unwrap_or(false);
        let is_open = |&&(_, system, verdict): &&(CellId, usize, Verdict)| {
            verdict == Verdict::Undecided && counts(system)
        };
        let mut open: Vec<CellId> = verdicts.iter().filter(is_open).map(|it| it.0).collect();
        open.dedup();
        open
    }

    /// Estimates of the relative rates, and what is decided on each.
    pub(crate) fn decide(&mut self) -> (Quantity, Vec<Decision>) {
        let base = self.base;
        self.cells.iter_mut().for_each(|cell| cell.update(base));
        let reduced = self.keys().map(|(cell, system)| cell.reduced(system)).collect();
        let rates = Quantity::new(reduced, self.systems);
        let mut decisions = self.rules.decisions(self.systems, &rates.effects);
        for ((cell, system), decision) in self.keys().zip(&mut decisions) {
            decision.verdict = match decision.verdict {
                _ if cell.has_failed(system) || cell.has_failed(base) => Verdict::Failed,
                _ if system == base => Verdict::Same,
                verdict => verdict,
            };
        }
        (rates, decisions)
    }

    /// Estimates of the server's CPU per operation relative to the base's, and what is decided on each.
    pub(crate) fn relative_cpu(&self) -> (Quantity, Vec<Decision>) {
        let base = self.base;
        let relative = |(cell, system): (&CellSamples, usize)| {
            if system == base {
                return None;
            }
            cell.reduce(|round| {
                let of = |system: usize| round.get(system)?.as_ref()?.cpu_per_op;
                Some((of(system)? / of(base)?).ln())
            })
        };
        let cpu = Quantity::new(self.keys().map(relative).collect(), self.systems);
        let decisions = self.rules.decisions(self.systems, &cpu.effects);
        (cpu, decisions)
    }

    /// Estimates of operations per second.
    pub(crate) fn rates(&self) -> Quantity {
        let rate = |(cell, system): (&CellSamples, usize)| {
            cell.reduce(|round| round.get(system)?.as_ref()?.rate.map(f64::ln))
        };
        Quantity::new(self.keys().map(rate).collect(), self.systems)
    }

    /// Whether so few samples of the cell are good that those in trouble are judged, too, as of the last decision.
    pub(crate) fn is_disturbed(&self, cell: CellId) -> bool {
        let place = self.places.get(&cell);
        place.and_then(|&place| self.cells.get(place)).is_some_and(|cell| cell.is_disturbed)
    }

    /// Index of the base.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    fn keys(&self) -> impl Iterator<Item = (&CellSamples, usize)> {
        self.cells.iter().flat_map(|cell| (0..self.systems).map(move |system| (cell, system)))
    }
}

/// The samples of a round, by system.
type Round<'a> = [Option<&'a Sample>];

impl CellSamples {
    fn new(id: CellId, systems: usize) -> Self {
        Self {
            id,
            rounds: BTreeMap::new(),
            failed: vec![false; systems],
            changed: BTreeSet::new(),
            is_disturbed: false,
            centres: vec![BTreeMap::new(); systems],
        }
    }

    fn add(&mut self, sample: Sample) {
        match sample.fitness {
            Fitness::Failed => {
                self.failed.iter_mut().skip(sample.system).take(1).for_each(|it| *it = true)
            }
            Fitness::Mistimed => {}
            Fitness::Good | Fitness::Troubled => {
                let round = self.rounds.entry((sample.block, sample.round));
                let round = round.or_insert_with(|| vec![None; self.failed.len()]);
                round.iter_mut().skip(sample.system).take(1).for_each(|it| *it = Some(sample));
                self.changed.insert(sample.block);
            }
        }
    }

    fn has_failed(&self, system: usize) -> bool {
        self.failed.get(system).copied().unwrap_or(false)
    }

    /// Whether fewer than [`QUIET_SHARE`] of the complete rounds are good.
    fn is_mostly_troubled(&self) -> bool {
        let complete = |wanted: fn(&Sample) -> bool| {
            let is_complete = |round: &&Vec<Option<Sample>>| {
                round.iter().all(|it| it.as_ref().is_some_and(wanted))
            };
            self.rounds.values().filter(is_complete).count() as f64
        };
        complete(|sample| sample.fitness == Fitness::Good) < QUIET_SHARE * complete(|_| true)
    }

    /// Computes the centres of blocks that have changed.
    fn update(&mut self, base: usize) {
        if self.changed.is_empty() {
            return;
        }
        let is_disturbed = self.is_mostly_troubled();
        if is_disturbed != self.is_disturbed {
            self.is_disturbed = is_disturbed;
            self.changed = self.rounds.keys().map(|(block, _)| *block).collect();
        }
        for block in std::mem::take(&mut self.changed) {
            for system in (0..self.centres.len()).filter(|&system| system != base) {
                let ratios = self.values(block, &|round| {
                    let of = |system: usize| round.get(system)?.as_ref()?.rate;
                    Some((of(system)? / of(base)?).ln())
                });
                let found = centre(&ratios).map(|centre| (centre, ratios.len()));
                let Some(centres) = self.centres.get_mut(system) else { continue };
                match found {
                    Some(found) => centres.insert(block, found),
                    None => centres.remove(&block),
                };
            }
        }
    }

    /// The relative rate of a system, as of the last update.
    fn reduced(&self, system: usize) -> Option<Reduced> {
        let blocks = self.centres.get(system)?.iter();
        Reduced::new(blocks.map(|(block, (centre, values))| (*block, *centre, *values)))
    }

    /// A quantity of every round reduced to blocks.
    fn reduce(&self, quantity: impl Fn(&Round) -> Option<f64>) -> Option<Reduced> {
        let blocks: BTreeSet<u32> = self.rounds.keys().map(|(block, _)| *block).collect();
        Reduced::new(blocks.into_iter().filter_map(|block| {
            let values = self.values(block, &quantity);
            centre(&values).map(|centre| (block, centre, values.len()))
        }))
    }

    /// A quantity of the rounds of a block, in order; only what is judged, and finite.
    fn values(&self, block: u32, quantity: &impl Fn(&Round) -> Option<f64>) -> Vec<f64> {
        let is_judged = |sample: &&Sample| self.is_disturbed || sample.fitness == Fitness::Good;
        let rounds = self.rounds.range((block, 0)..=(block, u32::MAX));
        let values = rounds.filter_map(|(_, round)| {
            let judged: Vec<_> = round.iter().map(|it| it.as_ref().filter(is_judged)).collect();
            quantity(&judged)
        });
        values.filter(|value| value.is_finite()).collect()
    }
}
