//! Judges a record: cells, then groups, then systems.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{
    CellId, Estimate, PlannedCell, Profile, Slice, SliceOutcome, StudyRecord, Trouble, Verdict,
};

use crate::account::{latency, operations, published, published_latency, shares_cpu};
use crate::bound::Bound;
use crate::effect::Reduced;
use crate::reads::reads_go_on;
use crate::rules::Decision;
use crate::sample::{Fitness, Sample};
use crate::samples::{Decided, Quantity, Samples};
use crate::threads::share_turns;
use crate::totals::per_op;
use crate::uneven::Surplus;
use crate::{
    CellJudgement, Doubt, GateJudgement, Judgement, Silence, SystemSummary, TroubledBy, change,
    count, counters, crossover, group, nodes, profile, ranking, robust, step, steps, why,
};

impl Quantity {
    /// Estimate with its interval. A single measurement has none, as its uncertainty is unknown.
    pub(crate) fn shown(&self, index: usize) -> Option<Estimate> {
        match (self.effects.get(index)?, self.reduced.get(index)?) {
            (Some(effect), _) => Some(effect.shown()),
            (None, Some(reduced)) => Some(Estimate::without_interval(reduced.log().exp())),
            (None, None) => None,
        }
    }

    fn forget(&mut self, index: usize) {
        self.reduced.get_mut(index).into_iter().for_each(|it| *it = None);
        self.effects.get_mut(index).into_iter().for_each(|it| *it = None);
    }

    fn total(&self, index: usize, surplus: &[Option<Surplus>]) -> Option<Estimate> {
        let effect = self.effects.get(index)?.as_ref()?;
        Some(effect.with(surplus.get(index)?.as_ref()?).shown())
    }
}

#[must_use]
pub fn judge(record: &StudyRecord) -> Judgement {
    with_rates(record).0
}

/// Judgement of a record, and relative rates in the order of the judged cells.
pub(crate) fn with_rates(record: &StudyRecord) -> (Judgement, Vec<Option<Reduced>>) {
    let mut samples = Samples::of(record);
    let base = samples.base();
    let Decided {
        rates: mut rqps,
        rate_decisions: mut decisions,
        bounds,
        surplus,
        cpu,
        cpu_decisions,
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
    let nothing = Counts::default();
    let keys = record.study.cells.iter();
    let keys = keys.flat_map(|cell| (0..record.systems.len()).map(move |system| (cell, system)));
    let mut cells = Vec::with_capacity(decisions.len());
    for (index, ((cell, system), mut decision)) in keys.zip(decisions).enumerate() {
        let mine = counts.get(&(cell.id, system)).unwrap_or(&nothing);
        let judged = slices.get(&(cell.id, system)).map(Vec::as_slice).unwrap_or_default();
        let of_base = slices.get(&(cell.id, base)).filter(|_| system != base);
        if of_base.is_some_and(|it| share_turns(cell, it) || share_turns(cell, judged)) {
            decision.leave_open_for(Doubt::SharedTurns);
        }
        let mut described = described(record, judged, cell, system, mine);
        described.is_disturbed = samples.is_disturbed(cell.id);
        described.qps = qps.shown(index);
        described.rqps = rqps.shown(index);
        hear(&mut described, bounds.get(index).copied().flatten(), &counts, base);
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
        described.count = count::of(record, cell.id, (base, system));
        described.cpu_ratio = cpu.shown(index);
        let cpu_effect = cpu.effects.get(index).and_then(Option::as_ref);
        described.cpu_verdict =
            cpu_effect.and(cpu_decisions.get(index)).map(|it| of_cost(it.verdict));
        described.detectable = decision.detectable;
        described.doubt = doubt(&decision, &described, paced.contains(&cell.id));
        described.verdict = decision.verdict;
        if described.step.is_some() && described.verdict == Verdict::Failed {
            // A rate that met fewer writes is no faster.
            (described.rqps, described.total, described.cpu_ratio) = (None, None, None);
            (described.change, described.counters) = (None, None);
        }
        cells.push(described);
    }
    explain(record, &mut cells, base);
    let groups = group::summaries(record, &cells, &rqps.reduced, base);
    let systems = summaries(record, &cells, &rqps.reduced, base);
    let (steps, lines) = steps::steps(record, &samples, &cells);
    let crossovers = crossover::crossovers(record, &cells);
    let gate = gate(record, &mut samples, &cells);
    let nodes = nodes::summaries(record, &cells, &rqps.reduced);
    let rankings = ranking::rankings(record, &samples, &paced);
    let judgement =
        Judgement { cells, groups, systems, steps, lines, crossovers, gate, nodes, rankings };
    (judgement, rqps.reduced)
}

fn explain(record: &StudyRecord, cells: &mut [CellJudgement], base: usize) {
    match record.counts_only() {
        true => count::settle(record, cells),
        false => why::explain(record, cells, base),
    }
}

fn gate(
    record: &StudyRecord,
    samples: &mut Samples,
    cells: &[CellJudgement],
) -> Option<GateJudgement> {
    if record.counts_only() { count::gate(record, cells) } else { samples.gate() }
}

fn hear(
    described: &mut CellJudgement,
    bound: Option<Bound>,
    counts: &BTreeMap<(CellId, usize), Counts>,
    base: usize,
) {
    let cell = described.cell;
    let what = |system| counts.get(&(cell, system))?.unanswered.clone();
    let silence = |system| Some(Silence { system, what: what(system)? });
    described.silence = silence(described.system).or_else(|| bound.and_then(|_| silence(base)));
    described.rqps = described.rqps.or_else(|| bound?.estimate());
    if bound == Some(Bound::Neither) {
        described.failure = what(described.system).map(|what| format!("on both sides {what}"));
    }
}

fn doubt(decision: &Decision, described: &CellJudgement, is_paced: bool) -> Option<Doubt> {
    match decision.doubt {
        _ if decision.verdict != Verdict::Undecided => None,
        _ if is_paced => Some(Doubt::Paced),
        None if described.rqps.is_none() => Some(Doubt::Unmeasured),
        None => Some(Doubt::SinglePair),
        doubt => doubt,
    }
}

/// Prescribed rates cannot be compared.
fn forget_paced(
    record: &StudyRecord,
    paced: &BTreeSet<CellId>,
    base: usize,
    rqps: &mut Quantity,
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
        let is_judged = match Sample::of(slice).fitness {
            Fitness::Good | Fitness::Missed => true,
            Fitness::Troubled => samples.is_disturbed(slice.cell),
            Fitness::Mistimed | Fitness::Failed | Fitness::Unanswered => false,
        };
        if is_judged {
            judged.entry((slice.cell, slice.system)).or_default().push(slice);
        }
    }
    judged.values_mut().for_each(|slices| slices.sort_by_key(|slice| (slice.block, slice.round)));
    judged
}

/// Verdict on a ratio for which less is better.
fn of_cost(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        other => other,
    }
}

#[derive(Default)]
struct Counts {
    troubled: u32,
    troubled_by: TroubledBy,
    errors: u64,
    failure: Option<String>,
    unanswered: Option<String>,
}

impl Counts {
    fn add(&mut self, slice: &Slice) {
        self.errors += slice.work.error_count();
        match &slice.outcome {
            _ if slice.misses_sla() => {
                self.failure.get_or_insert_with(|| step::missed(slice));
            }
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

fn counts(record: &StudyRecord) -> BTreeMap<(CellId, usize), Counts> {
    let mut counts: BTreeMap<(CellId, usize), Counts> = BTreeMap::new();
    for slice in record.slices_that_count() {
        counts.entry((slice.cell, slice.system)).or_default().add(slice);
    }
    counts
}

/// The parts of a judgement that need no statistics.
fn described(
    record: &StudyRecord,
    judged: &[&Slice],
    planned: &PlannedCell,
    system: usize,
    counts: &Counts,
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
        step: step::summary(judged),
        latency: latency(slices()).or_else(|| published_latency(&published(judged))),
        per_op: per_op(slices(), shares_cpu(planned, cpus)),
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
    reduced: &[Option<Reduced>],
    base: usize,
) -> Vec<SystemSummary> {
    let others = (0..record.systems.len()).filter(|&system| system != base);
    let of_system = |system| {
        let median = group::median_of_system(record, cells, reduced, system);
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
        detectable: robust::median(&detectable),
    }
}
