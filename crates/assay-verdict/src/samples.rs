//! The samples of a study, reduced to what decisions need.
//!
//! A study decides after every block. [`Samples`] keeps the centres of the blocks, so a decision reads only the samples
//! of those blocks that changed since the last one. It keeps a few numbers for each slice that was measured, and
//! nothing for a system that is missing in a round.

use std::collections::BTreeMap;

use assay_model::{
    CellId, Slice, SliceOutcome, Study, StudyRecord, System, Trouble, Turn, Verdict,
};

use crate::account::server_cpu_per_op;
use crate::effect::{Effect, Reduced, estimate};
use crate::gate::{self, Claim, GateJudgement};
use crate::robust::{Centre, Value, centre};
use crate::rules::{Decision, Rules};

/// If a smaller share of a cell's rounds is free of machine trouble, the troubled rounds are judged too, and the cell
/// is marked: on a machine that is always busy, a marked answer is better than none.
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
#[derive(Debug, Clone, PartialEq)]
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
    /// Operations per second; `None` without operations.
    pub rate: Option<f64>,
    /// Server CPU per operation, nanoseconds; `None` if it was not measured.
    pub cpu_per_op: Option<f64>,
    /// Logarithm of the rate in every two turns, of which one is early in the order of systems and one late; empty for
    /// a slice of one turn.
    pub twos: Vec<f64>,
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
            twos: twos(&slice.turns),
        }
    }
}

fn twos(turns: &[Turn]) -> Vec<f64> {
    let rate = |two: &[Turn]| {
        let sum = |count: fn(&Turn) -> u64| two.iter().map(|it| count(it) as f64).sum::<f64>();
        (sum(|turn| turn.units) / sum(|turn| turn.ns)).ln()
    };
    if turns.len() > 1 { turns.chunks(2).map(rate).collect() } else { Vec::new() }
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
            let of_system = effects.iter_mut().skip(system).step_by(systems);
            for (effect, estimated) in of_system.zip(estimate(&cells)) {
                *effect = estimated;
            }
        }
        Self { reduced, effects }
    }
}

/// The samples of a study, and what is known from them.
#[derive(Debug, Clone)]
pub struct Samples {
    /// In the study's order.
    cells: Vec<CellSamples>,
    /// Index of each cell.
    indices: BTreeMap<CellId, usize>,
    systems: usize,
    base: usize,
    /// Whether a system's verdicts keep the study going.
    counts: Vec<bool>,
    rules: Rules,
    /// The margins of a gate, in the order of the cells.
    margins: Option<Vec<f64>>,
}

/// The samples of one cell.
#[derive(Debug, Clone)]
struct CellSamples {
    id: CellId,
    blocks: BTreeMap<u32, BlockSamples>,
    /// Whether each system has failed.
    failed: Vec<bool>,
    /// Whether a block has changed since the last decision.
    has_changed: bool,
    /// Whether troubled samples were judged in the last decision.
    is_disturbed: bool,
}

/// The samples of one cell in one block.
#[derive(Debug, Clone, Default)]
struct BlockSamples {
    /// The samples that may be judged. From the last decision on they are sorted by round and system; later ones follow
    /// in the order in which they came.
    figures: Vec<Figures>,
    /// Logarithms of rates in every two turns, those of one sample one after the other.
    twos: Vec<f64>,
    has_changed: bool,
    /// Rounds in which all systems have a sample.
    complete: u32,
    /// Complete rounds without machine trouble.
    quiet: u32,
    /// Each system that has a relative rate here, and the centre of its logarithms.
    centres: Vec<(usize, Centre)>,
}

/// The figures of one sample. An unknown figure is NaN.
#[derive(Debug, Clone, Copy)]
struct Figures {
    round: u32,
    system: u32,
    is_good: bool,
    rate: f64,
    cpu_per_op: f64,
    /// Its part of [`BlockSamples::twos`].
    twos: (u32, u32),
}

/// The samples of one round.
struct Round<'a> {
    /// Sorted by system.
    figures: &'a [Figures],
    /// Whether troubled samples are judged too.
    is_disturbed: bool,
}

impl Samples {
    /// No samples yet of a study.
    #[must_use]
    pub fn new(study: &Study, systems: &[System]) -> Self {
        let has_others = systems.iter().any(|system| !system.is_base && !system.is_twin);
        let cells: Vec<_> =
            study.cells.iter().map(|cell| CellSamples::new(cell.id, systems.len())).collect();
        Self {
            indices: cells.iter().enumerate().map(|(index, cell)| (cell.id, index)).collect(),
            cells,
            systems: systems.len(),
            base: systems.iter().position(|system| system.is_base).unwrap_or(0),
            // Nobody waits for the twin to be the same as the base, unless it is all that is compared.
            counts: systems.iter().map(|it| !(it.is_base || has_others && it.is_twin)).collect(),
            rules: Rules::new(study),
            margins: study.gate.as_ref().map(|gate| gate.margins.clone()),
        }
    }

    /// All samples of a record.
    #[must_use]
    pub fn of(record: &StudyRecord) -> Self {
        let mut samples = Self::new(&record.study, &record.systems);
        record.slices.iter().for_each(|slice| samples.add(&Sample::of(slice)));
        samples
    }

    /// Adds a sample. Those of unplanned cells and unknown systems are left out.
    pub fn add(&mut self, sample: &Sample) {
        let index = self.indices.get(&sample.cell);
        let Some(cell) = index.and_then(|&index| self.cells.get_mut(index)) else { return };
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

    /// What the study's gate says so far; `None` if the study is no gate.
    #[must_use]
    pub fn gate(&mut self) -> Option<GateJudgement> {
        let margins = self.margins.clone()?;
        let (rates, decisions) = self.decide();
        let margins = margins.iter().flat_map(|margin| (0..self.systems).map(move |_| *margin));
        let estimates = rates.effects.iter().zip(&rates.reduced).zip(decisions);
        let mut claims = Vec::new();
        for (((cell, system), margin), ((effect, reduced), decision)) in
            self.keys().zip(margins).zip(estimates)
        {
            if self.counts.get(system) == Some(&true) {
                claims.push(Claim {
                    cell: cell.id,
                    system,
                    margin,
                    effect: *effect,
                    is_measured: reduced.is_some(),
                    has_failed: decision.verdict == Verdict::Failed,
                });
            }
        }
        Some(gate::judge(&claims, &self.rules))
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
                Some((round.judged(system)?.cpu_per_op / round.judged(base)?.cpu_per_op).ln())
            })
        };
        let cpu = Quantity::new(self.keys().map(relative).collect(), self.systems);
        let decisions = self.rules.decisions(self.systems, &cpu.effects);
        (cpu, decisions)
    }

    /// Estimates of operations per second.
    pub(crate) fn rates(&self) -> Quantity {
        let rate = |(cell, system): (&CellSamples, usize)| {
            cell.reduce(|round| Some(round.judged(system)?.rate.ln()))
        };
        Quantity::new(self.keys().map(rate).collect(), self.systems)
    }

    /// Whether so few rounds of the cell were quiet that the last decision judged its troubled samples too.
    pub(crate) fn is_disturbed(&self, cell: CellId) -> bool {
        let index = self.indices.get(&cell);
        index.and_then(|&index| self.cells.get(index)).is_some_and(|cell| cell.is_disturbed)
    }

    /// Index of the base.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    fn keys(&self) -> impl Iterator<Item = (&CellSamples, usize)> {
        self.cells.iter().flat_map(|cell| (0..self.systems).map(move |system| (cell, system)))
    }
}

impl CellSamples {
    fn new(id: CellId, systems: usize) -> Self {
        Self {
            id,
            blocks: BTreeMap::new(),
            failed: vec![false; systems],
            has_changed: false,
            is_disturbed: false,
        }
    }

    fn add(&mut self, sample: &Sample) {
        match sample.fitness {
            Fitness::Failed => {
                if let Some(failed) = self.failed.get_mut(sample.system) {
                    *failed = true;
                }
            }
            Fitness::Mistimed => {}
            Fitness::Good | Fitness::Troubled => {
                let block = self.blocks.entry(sample.block).or_default();
                block.add(sample);
                block.has_changed = true;
                self.has_changed = true;
            }
        }
    }

    fn has_failed(&self, system: usize) -> bool {
        self.failed.get(system).copied().unwrap_or(false)
    }

    /// Brings the blocks that have changed up to date.
    fn update(&mut self, base: usize) {
        if !self.has_changed {
            return;
        }
        let systems = self.failed.len();
        for block in self.blocks.values_mut().filter(|block| block.has_changed) {
            block.sort(systems);
        }
        let sum = |count: fn(&BlockSamples) -> u32| -> f64 {
            self.blocks.values().map(|block| f64::from(count(block))).sum()
        };
        let is_disturbed = sum(|block| block.quiet) < QUIET_SHARE * sum(|block| block.complete);
        let is_all = is_disturbed != self.is_disturbed;
        let mut ratios = Vec::new();
        for block in self.blocks.values_mut().filter(|block| is_all || block.has_changed) {
            block.update(systems, base, is_disturbed, &mut ratios);
        }
        self.is_disturbed = is_disturbed;
        self.has_changed = false;
    }

    /// The relative rate of a system, as of the last decision.
    fn reduced(&self, system: usize) -> Option<Reduced> {
        Reduced::new(self.blocks.iter().filter_map(|(number, block)| {
            let index = block.centres.binary_search_by_key(&system, |it| it.0).ok()?;
            block.centres.get(index).map(|&(_, centre)| (*number, centre))
        }))
    }

    /// A quantity of every round reduced to blocks, as of the last decision.
    fn reduce(&self, quantity: impl Fn(&Round) -> Option<f64>) -> Option<Reduced> {
        let mut values = Vec::new();
        Reduced::new(self.blocks.iter().filter_map(|(number, block)| {
            let one = |round: &Round, found: &mut dyn FnMut(f64)| {
                quantity(round).into_iter().for_each(found);
            };
            block.values(self.is_disturbed, one, &mut values);
            centre(&mut values).map(|centre| (*number, centre))
        }))
    }
}

impl BlockSamples {
    fn add(&mut self, sample: &Sample) {
        let first = self.twos.len() as u32;
        self.twos.extend(&sample.twos);
        self.figures.push(Figures::of(sample, (first, self.twos.len() as u32)));
    }

    /// Rates in every two turns of a sample.
    fn twos(&self, figures: &Figures) -> &[f64] {
        let (first, end) = figures.twos;
        self.twos.get(first as usize..end as usize).unwrap_or_default()
    }

    /// Logarithms of the ratio of the rates of two systems in a round: of every two turns, or of the whole where they did
    /// not alternate.
    fn ratios(&self, one: &Figures, base: &Figures, found: &mut dyn FnMut(f64)) {
        let (twos, of_base) = (self.twos(one), self.twos(base));
        if twos.is_empty() || twos.len() != of_base.len() {
            return found((one.rate / base.rate).ln());
        }
        twos.iter().zip(of_base).for_each(|(one, base)| found(one - base));
    }

    /// Sorts the samples and counts the rounds. A later sample of the same round and system replaces an earlier one.
    fn sort(&mut self, systems: usize) {
        let key = |figures: &Figures| (figures.round, figures.system);
        // The sort keeps the order of samples with the same key.
        self.figures.sort_by_key(key);
        self.figures.dedup_by(|later, earlier| {
            let is_same = key(later) == key(earlier);
            if is_same {
                *earlier = *later;
            }
            is_same
        });
        (self.complete, self.quiet) = (0, 0);
        let rounds = self.figures.chunk_by(|one, next| one.round == next.round);
        for round in rounds.filter(|round| round.len() == systems) {
            self.complete += 1;
            self.quiet += u32::from(round.iter().all(|figures| figures.is_good));
        }
    }

    /// Computes the centres anew. `ratios` is room to work in.
    fn update(&mut self, systems: usize, base: usize, is_disturbed: bool, ratios: &mut Vec<Value>) {
        let mut centres = std::mem::take(&mut self.centres);
        centres.clear();
        for system in (0..systems).filter(|&system| system != base) {
            let of_round = |round: &Round, found: &mut dyn FnMut(f64)| {
                if let Some((one, base)) = round.judged(system).zip(round.judged(base)) {
                    self.ratios(one, base, found);
                }
            };
            self.values(is_disturbed, of_round, ratios);
            centres.extend(centre(ratios).map(|centre| (system, centre)));
        }
        self.centres = centres;
        self.has_changed = false;
    }

    /// Quantities of the rounds, in order: only what is judged, and finite.
    fn values(
        &self,
        is_disturbed: bool,
        quantities: impl Fn(&Round, &mut dyn FnMut(f64)),
        values: &mut Vec<Value>,
    ) {
        values.clear();
        for figures in self.figures.chunk_by(|one, next| one.round == next.round) {
            let number = figures.first().map_or(0, |it| it.round);
            quantities(&Round { figures, is_disturbed }, &mut |value| {
                if value.is_finite() {
                    values.push(Value { round: number, value });
                }
            });
        }
    }
}

impl Figures {
    fn of(sample: &Sample, twos: (u32, u32)) -> Self {
        Self {
            round: sample.round,
            twos,
            system: sample.system as u32,
            is_good: sample.fitness == Fitness::Good,
            rate: sample.rate.unwrap_or(f64::NAN),
            cpu_per_op: sample.cpu_per_op.unwrap_or(f64::NAN),
        }
    }
}

impl Round<'_> {
    /// The figures of a system, if it has a sample that is judged.
    fn judged(&self, system: usize) -> Option<&Figures> {
        let index = self.figures.binary_search_by_key(&system, |it| it.system as usize).ok()?;
        self.figures.get(index).filter(|figures| self.is_disturbed || figures.is_good)
    }
}
