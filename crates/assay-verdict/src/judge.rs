//! Judges a record: cells, then groups, then systems.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    CellId, Estimate, PlannedCell, Profile, Slice, SliceOutcome, StudyRecord, Trouble, Verdict,
};

use crate::account::{latency, operations, published, published_latency, shares_cpu};
use crate::bound::RatioBound;
use crate::effect::BlockCentres;
use crate::judged_figure::cost_verdict;
use crate::reads::reads_go_on;
use crate::rules::Decision;
use crate::sample::{Fitness, SliceSample};
use crate::samples::{QuantityEstimates, Samples, StudyDecisions};
use crate::slice_totals::SliceTotals;
use crate::threads::share_turns;
use crate::uneven::Surplus;
use crate::{
    CellJudgement, CpuJudgement, CpuSummary, Judgement, Silence, SystemSummary, TroubleCounts,
    VerdictDoubt, change, count, counters, crossover, group, ibench_step, nodes, profile, ranking,
    robust, steps, why,
};

impl QuantityEstimates {
    /// Estimate with its interval. A single measurement has none, as its uncertainty is unknown.
    pub(crate) fn shown(&self, index: usize) -> Option<Estimate> {
        match (&self.effects[index], &self.reduced[index]) {
            (Some(effect), _) => Some(effect.shown()),
            (None, Some(reduced)) => Some(Estimate::without_interval(reduced.log().exp())),
            (None, None) => None,
        }
    }

    fn forget(&mut self, index: usize) {
        self.reduced[index] = None;
        self.effects[index] = None;
    }

    fn total(&self, index: usize, surplus: &[Option<Surplus>]) -> Option<Estimate> {
        Some(self.effects[index].as_ref()?.with(surplus[index].as_ref()?).shown())
    }
}

pub fn judge(record: &StudyRecord) -> Judgement {
    with_rates(record).0
}

/// A judgement with the relative rates of its blocks, for medians over any cells.
#[derive(Debug)]
pub struct JudgedRates {
    pub judgement: Judgement,
    /// In the order of the judged cells.
    rates: Vec<Option<BlockCentres>>,
}

impl JudgedRates {
    pub fn from_record(record: &StudyRecord) -> Self {
        let (judgement, rates) = with_rates(record);
        Self { judgement, rates }
    }

    /// Median relative QPS over the cells that are meant and did not fail; without interval for too few blocks.
    pub fn median(
        &self,
        record: &StudyRecord,
        is_meant: impl Fn(&CellJudgement) -> bool,
    ) -> Option<Estimate> {
        group::median_of(record, &self.judgement.cells, &self.rates, is_meant)
    }
}

fn with_rates(record: &StudyRecord) -> (Judgement, Vec<Option<BlockCentres>>) {
    let mut samples = Samples::from_record(record);
    let base = samples.base();
    let StudyDecisions {
        rates: mut rqps,
        rate_decisions: mut decisions,
        bounds,
        surplus,
        cpu,
        cpu_decisions,
        serving_cpu,
        serving_cpu_decisions,
        tails,
        ..
    } = samples.decide();
    let paced = paced(record);
    let qps = samples.rates();
    let slices = judged_slices(record, &samples);
    let profiles: BTreeMap<(CellId, usize), &Profile> =
        record.profiles.iter().map(|it| ((it.cell, it.system), &it.profile)).collect();
    let counts = counts(record);
    let cpus = record.host().cpus;
    forget_paced(record, &paced, base, &mut rqps, &mut decisions);
    let nothing = CellTroubles::default();
    let keys = record.study.cells.iter();
    let keys = keys.flat_map(|cell| (0..record.systems.len()).map(move |system| (cell, system)));
    let mut cells = Vec::with_capacity(decisions.len());
    for (index, ((cell, system), mut decision)) in keys.zip(decisions).enumerate() {
        let mine = counts.get(&(cell.id, system)).unwrap_or(&nothing);
        let judged = slices.get(&(cell.id, system)).map(Vec::as_slice).unwrap_or_default();
        let of_base = slices.get(&(cell.id, base)).filter(|_| system != base);
        if of_base.is_some_and(|it| share_turns(cell, it) || share_turns(cell, judged)) {
            decision.leave_open_for(VerdictDoubt::SharedTurns);
        }
        let mut described = described(record, judged, cell, system, mine);
        described.is_disturbed = samples.is_disturbed(cell.id);
        described.qps = qps.shown(index);
        described.rqps = rqps.shown(index);
        apply_bound(&mut described, bounds[index], &counts, base);
        described.total = rqps.total(index, &surplus);
        described.beyond_threshold = decision.beyond;
        described.bound = decision.bound;
        described.change =
            of_base.and_then(|of_base| change::change(of_base, judged, shares_cpu(cell, cpus)));
        described.counters = of_base.and_then(|of_base| counters::changes(of_base, judged));
        let profiles = profiles.get(&(cell.id, base)).zip(profiles.get(&(cell.id, system)));
        described.profile = profiles
            .filter(|_| system != base)
            .and_then(|(of_base, mine)| profile::compare(of_base, mine, described.change.as_ref()));
        described.count = count::judgement(record, cell.id, (base, system));
        described.cpu_ratio = cpu.shown(index).or_else(|| published_cpu(&described, of_base?));
        described.cpu_verdict =
            cpu.effects[index].map(|_| cost_verdict(cpu_decisions[index].verdict));
        described.cpu =
            CpuJudgement::new(serving_cpu.effects[index].as_ref(), &serving_cpu_decisions[index]);
        [described.p99, described.dispersion] = [0_usize, 1].map(|figure| tails[figure][index]);
        described.detectable = decision.detectable;
        described.doubt = doubt(&decision, &described, paced.contains(&cell.id));
        described.verdict = decision.verdict;
        forget_failed_step(&mut described);
        cells.push(described);
    }
    if record.counts_only() {
        count::settle(record, &mut cells);
    } else {
        why::explain(record, &mut cells, base);
    }
    let judgement = of_all_cells(record, &mut samples, cells, &rqps.reduced, &paced);
    (judgement, rqps.reduced)
}

/// Cells with what follows from all of them.
fn of_all_cells(
    record: &StudyRecord,
    samples: &mut Samples,
    cells: Vec<CellJudgement>,
    reduced: &[Option<BlockCentres>],
    paced: &BTreeSet<CellId>,
) -> Judgement {
    let base = samples.base();
    let (steps, lines) = steps::steps(record, samples, &cells);
    Judgement {
        groups: group::summaries(record, &cells, reduced, base),
        group_pairs: group::pair_summaries(record, samples, &cells, paced),
        systems: summaries(record, &cells, reduced, base),
        steps,
        lines,
        crossovers: crossover::crossovers(record, &cells),
        limits: if record.counts_only() { count::limits(record, &cells) } else { samples.limits() },
        nodes: nodes::summaries(record, &cells, reduced),
        rankings: ranking::rankings(record, samples, paced),
        cells,
    }
}

/// A rate that met fewer writes is no faster.
fn forget_failed_step(cell: &mut CellJudgement) {
    if cell.step.is_some() && cell.verdict == Verdict::Failed {
        (cell.rqps, cell.total, cell.cpu_ratio) = (None, None, None);
        (cell.change, cell.counters) = (None, None);
    }
}

fn apply_bound(
    described: &mut CellJudgement,
    bound: Option<RatioBound>,
    counts: &BTreeMap<(CellId, usize), CellTroubles>,
    base: usize,
) {
    let cell = described.cell;
    let what = |system| counts.get(&(cell, system))?.unanswered.clone();
    let silence = |system| Some(Silence { system, what: what(system)? });
    described.silence = silence(described.system).or_else(|| bound.and_then(|_| silence(base)));
    described.rqps = described.rqps.or_else(|| bound?.estimate());
    if bound == Some(RatioBound::Neither) {
        described.failure = what(described.system).map(|what| format!("on both sides {what}"));
    }
}

fn doubt(decision: &Decision, described: &CellJudgement, is_paced: bool) -> Option<VerdictDoubt> {
    match decision.doubt {
        _ if decision.verdict != Verdict::Undecided => None,
        _ if is_paced => Some(VerdictDoubt::Paced),
        None if described.rqps.is_none() => Some(VerdictDoubt::Unmeasured),
        None => Some(VerdictDoubt::SinglePair),
        doubt => doubt,
    }
}

/// Prescribed rates cannot be compared.
fn forget_paced(
    record: &StudyRecord,
    paced: &BTreeSet<CellId>,
    base: usize,
    rqps: &mut QuantityEstimates,
    decisions: &mut [Decision],
) {
    let systems = record.systems.len();
    let cells = record.study.cells.iter();
    let keys = cells.flat_map(|cell| (0..systems).map(move |system| (cell.id, system)));
    for ((index, (cell, system)), decision) in keys.enumerate().zip(decisions) {
        if !paced.contains(&cell) {
            continue;
        }
        rqps.forget(index);
        if system != base {
            decision.leave_open();
        }
    }
}

fn paced(record: &StudyRecord) -> BTreeSet<CellId> {
    record.slices.iter().filter(|slice| slice.is_paced()).map(|slice| slice.cell).collect()
}

/// Slices used by verdicts, by cell and system; in order of block and round.
fn judged_slices<'a>(
    record: &'a StudyRecord,
    samples: &Samples,
) -> BTreeMap<(CellId, usize), Vec<&'a Slice>> {
    let mut judged: BTreeMap<(CellId, usize), Vec<&Slice>> = BTreeMap::new();
    for slice in record.slices_that_count() {
        let is_judged = match SliceSample::from_slice(slice).fitness {
            Fitness::Good | Fitness::Missed => true,
            // No segment of a step can be repeated, so all of them count.
            Fitness::Troubled => samples.is_disturbed(slice.cell) || slice.segment().is_some(),
            Fitness::Mistimed | Fitness::Failed | Fitness::Unanswered => false,
        };
        if is_judged {
            judged.entry((slice.cell, slice.system)).or_default().push(slice);
        }
    }
    judged.values_mut().for_each(|slices| slices.sort_by_key(|slice| (slice.block, slice.round)));
    judged
}

/// Names of published CPU per operation: of microbenchmarks, and of steps of the Insert Benchmark.
const PUBLISHED_CPU: [&str; 2] = ["cpu/o", "cpupq"];

/// Ratio of published CPU per operation, which is that of the whole machine, client included.
fn published_cpu(cell: &CellJudgement, of_base: &[&Slice]) -> Option<Estimate> {
    let of_base = published(of_base);
    let ratio = PUBLISHED_CPU.into_iter().find_map(|name| {
        let (_, base) = of_base.iter().find(|(known, _)| known == name)?;
        Some(cell.published(name)? / base)
    })?;
    (ratio.is_finite() && ratio > 0.0).then(|| Estimate::without_interval(ratio))
}

#[derive(Default)]
struct CellTroubles {
    troubled: u32,
    troubled_by: TroubleCounts,
    errors: u64,
    failure: Option<String>,
    unanswered: Option<String>,
}

impl CellTroubles {
    fn add(&mut self, slice: &Slice) {
        self.errors += slice.work.error_count();
        match &slice.outcome {
            SliceOutcome::Good => {}
            SliceOutcome::Troubled => {
                let has = |trouble| u32::from(slice.trouble.contains(&trouble));
                self.troubled += 1;
                self.troubled_by.steal += has(Trouble::Steal);
                self.troubled_by.other_process += has(Trouble::OtherProcess);
                self.troubled_by.clock_jump += has(Trouble::ClockJump);
                self.troubled_by.throttled += has(Trouble::Throttled);
            }
            SliceOutcome::Failed(reason) => {
                self.failure.get_or_insert_with(|| reason.clone());
            }
            SliceOutcome::Unanswered(why) => {
                self.unanswered.get_or_insert_with(|| why.clone());
            }
        }
    }
}

fn counts(record: &StudyRecord) -> BTreeMap<(CellId, usize), CellTroubles> {
    let mut counts: BTreeMap<(CellId, usize), CellTroubles> = BTreeMap::new();
    for slice in record.slices_that_count() {
        counts.entry((slice.cell, slice.system)).or_default().add(slice);
    }
    for ((cell, system, _), segments) in ibench_step::missed_steps(record) {
        let of_cell = counts.entry((cell, system)).or_default();
        of_cell.failure.get_or_insert_with(|| ibench_step::missed(&segments));
    }
    counts
}

/// The parts of a judgement that need no statistics.
fn described(
    record: &StudyRecord,
    judged: &[&Slice],
    planned: &PlannedCell,
    system: usize,
    counts: &CellTroubles,
) -> CellJudgement {
    let cpus = record.host().cpus;
    let slices = || judged.iter().copied();
    let mut blocks: Vec<u32> = slices().map(|slice| slice.block).collect();
    blocks.dedup();
    CellJudgement {
        cell: planned.id,
        group: planned.id.test.group(record.study.set),
        system,
        qps: None,
        tps: events_per_second(judged),
        rqps: None,
        verdict: Verdict::Undecided,
        beyond_threshold: None,
        bound: None,
        total: None,
        cpu_ratio: None,
        cpu_verdict: None,
        cpu: None,
        p99: None,
        dispersion: None,
        is_disturbed: false,
        slices: judged.len() as u32,
        troubled: counts.troubled,
        troubled_by: counts.troubled_by,
        blocks: blocks.len() as u32,
        ops: slices().map(operations).sum(),
        errors: counts.errors,
        failure: counts.failure.clone(),
        silence: None,
        published: published(judged),
        step: ibench_step::summary(judged),
        latency: latency(slices()).or_else(|| published_latency(&published(judged))),
        per_op: SliceTotals::of_slices(slices())
            .and_then(|totals| totals.per_op(shares_cpu(planned, cpus))),
        usual_read_kb: robust::median(
            &slices()
                .filter_map(|slice| {
                    let read = slice.counter("server_read_bytes")? as f64 / 1024.0;
                    Some(read / slice.counted_ops()).filter(|read| read.is_finite())
                })
                .collect::<Vec<_>>(),
        ),
        rereads: reads_go_on(judged),
        change: None,
        counters: None,
        profile: None,
        count: None,
        cause: None,
        detectable: None,
        doubt: None,
        why: None,
    }
}

fn events_per_second(slices: &[&Slice]) -> Option<f64> {
    let events: f64 = slices.iter().map(|slice| slice.work.events as f64).sum();
    let ns: f64 = slices.iter().map(|slice| slice.work.elapsed_ns as f64).sum();
    // An imported result may have queries, but no events.
    (ns > 0.0 && events > 0.0).then(|| events / (ns / 1e9))
}

fn summaries(
    record: &StudyRecord,
    cells: &[CellJudgement],
    reduced: &[Option<BlockCentres>],
    base: usize,
) -> Vec<SystemSummary> {
    let others = (0..record.systems.len()).filter(|&system| system != base);
    let of_system = |system| {
        let median = group::median_of(record, cells, reduced, |cell| cell.system == system);
        summary(cells, system, median)
    };
    others.map(of_system).collect()
}

fn summary(cells: &[CellJudgement], system: usize, median: Option<Estimate>) -> SystemSummary {
    let mine: Vec<&CellJudgement> = cells.iter().filter(|cell| cell.system == system).collect();
    let count = |verdict| mine.iter().filter(|cell| cell.verdict == verdict).count() as u32;
    let detectable: Vec<f64> = mine.iter().filter_map(|cell| cell.detectable).collect();
    SystemSummary {
        system,
        slower: count(Verdict::Slower),
        faster: count(Verdict::Faster),
        same: count(Verdict::Same),
        uneven: count(Verdict::Uneven),
        undecided: count(Verdict::Undecided),
        failed: count(Verdict::Failed),
        median,
        bounded: mine.iter().filter(|cell| cell.has_bound()).count() as u32,
        cpu: CpuSummary::new(mine.iter().copied()),
        detectable: robust::median(&detectable),
    }
}
