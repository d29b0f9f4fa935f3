//! Client-side times of the statements of a user's test, their changes, and the share of some of them in a change.

use std::collections::BTreeMap;

use assay_model::{CellId, STATEMENT, Slice, SliceOutcome, StudyRecord, Verdict};

use crate::change::{QuantityChange, jackknife};
use crate::looks::ALPHA;
use crate::plans::StatementPlace;
use crate::robust::median_of_any_order;

#[derive(Debug, Clone, PartialEq)]
pub struct StatementChange {
    pub kind: u32,
    pub step: u32,
    /// Mean microseconds from sending it to the end of the reply.
    pub time: QuantityChange,
}

#[derive(Debug, Clone, Copy, Default)]
struct StatementTimes {
    count: u64,
    ns: u64,
}

impl StatementTimes {
    fn mean_us(self) -> Option<f64> {
        (self.count > 0).then(|| self.ns as f64 / 1e3 / self.count as f64)
    }

    fn plus(self, other: Self) -> Self {
        let (count, ns) = (self.count + other.count, self.ns.saturating_add(other.ns));
        Self { count, ns }
    }

    fn minus(self, other: Self) -> Self {
        let (count, ns) =
            (self.count.saturating_sub(other.count), self.ns.saturating_sub(other.ns));
        Self { count, ns }
    }
}

type StatementBlocks = BTreeMap<u32, BTreeMap<StatementPlace, StatementTimes>>;

/// Statements of a test in the base and in another system, in order, over their common blocks; empty if clients did not
/// time them.
///
/// The error of a change is that of a jackknife over blocks. A change must exceed its interval of confidence 1 −
/// [`ALPHA`] / number of statements (Bonferroni).
pub fn statement_changes(
    record: &StudyRecord,
    cell: CellId,
    [base, other]: [usize; 2],
) -> Vec<StatementChange> {
    let (mut base, mut other) = (by_block(record, cell, base), by_block(record, cell, other));
    base.retain(|block, _| other.contains_key(block));
    other.retain(|block, _| base.contains_key(block));
    let mut places: Vec<StatementPlace> = base.values().flat_map(|it| it.keys().copied()).collect();
    places.sort_unstable();
    places.dedup();
    let level = ALPHA / places.len().max(1) as f64;
    let change = |&(kind, step): &StatementPlace| {
        let [base, other] = [&base, &other].map(|blocks| of_place(blocks, (kind, step)));
        let [all_base, all_other] = [&base, &other]
            .map(|each| each.iter().copied().fold(StatementTimes::default(), StatementTimes::plus));
        let (before, after) = (all_base.mean_us()?, all_other.mean_us()?);
        let without = |(one, next): (&StatementTimes, &StatementTimes)| {
            Some(all_other.minus(*next).mean_us()? - all_base.minus(*one).mean_us()?)
        };
        let partial: Vec<f64> = base.iter().zip(&other).filter_map(without).collect();
        let time = QuantityChange { before, after, by: jackknife(after - before, &partial, level) };
        Some(StatementChange { kind, step, time })
    };
    places.iter().filter_map(change).collect()
}

fn of_place(blocks: &StatementBlocks, place: StatementPlace) -> Vec<StatementTimes> {
    blocks.values().map(|it| it.get(&place).copied().unwrap_or_default()).collect()
}

fn by_block(record: &StudyRecord, cell: CellId, system: usize) -> StatementBlocks {
    let is_good = |slice: &&Slice| slice.cell == cell && slice.system == system && is_whole(slice);
    let mut blocks = StatementBlocks::new();
    for slice in record.slices.iter().filter(is_good) {
        let block = blocks.entry(slice.block).or_default();
        for (name, value) in slice.counters.iter() {
            let Some((place, what)) = place(name) else { continue };
            let sent: &mut StatementTimes = block.entry(place).or_default();
            match what {
                "count" => sent.count += value,
                STATEMENTS_NS => sent.ns = sent.ns.saturating_add(value),
                _ => {}
            }
        }
    }
    blocks
}

fn is_whole(slice: &Slice) -> bool {
    matches!(slice.outcome, SliceOutcome::Good | SliceOutcome::Troubled)
}

const STATEMENTS_NS: &str = "ns";

/// Parses a counter such as `statement.0.3.ns`: kind and step, and the counted thing.
fn place(name: &str) -> Option<(StatementPlace, &str)> {
    let mut parts = name.strip_prefix(STATEMENT)?.splitn(3, '.');
    let kind = parts.next()?.parse().ok()?;
    let step = parts.next()?.parse().ok()?;
    Some(((kind, step), parts.next()?))
}

/// Share of a change from which statements are its cause.
pub(crate) const MOST: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PartTime {
    pub(crate) us: [f64; 2],
    /// Share of the change of all statements' time.
    pub(crate) share: f64,
}

impl PartTime {
    /// `None` if statements were not timed.
    pub(crate) fn for_cell(
        record: &StudyRecord,
        cell: CellId,
        systems: [usize; 2],
        is_part: impl Fn(StatementPlace) -> bool,
    ) -> Option<Self> {
        let [before, after] = systems.map(|system| medians(record, cell, system, &is_part));
        let (before, after) = (before?, after?);
        let change = after.all_us - before.all_us;
        let share = (after.part_us - before.part_us) / change;
        share.is_finite().then_some(Self { us: [before.part_us, after.part_us], share })
    }

    /// Whether they are at least this share of a change with this verdict, and changed in its direction together with
    /// all statements.
    pub(crate) fn is_part_of(&self, verdict: Verdict, least: f64) -> bool {
        let [before, after] = self.us;
        self.share >= least && (after > before) == (verdict == Verdict::Slower)
    }
}

struct PerEvent {
    part_us: f64,
    all_us: f64,
}

/// Medians over slices: a single stall of the disk is no cause.
fn medians(
    record: &StudyRecord,
    cell: CellId,
    system: usize,
    is_part: &impl Fn(StatementPlace) -> bool,
) -> Option<PerEvent> {
    let is_counted =
        |slice: &&Slice| slice.cell == cell && slice.system == system && is_whole(slice);
    let slices = record.slices.iter().filter(is_counted);
    let (mut part, mut rest): (Vec<f64>, Vec<f64>) =
        slices.filter_map(|slice| part_and_rest(slice, is_part)).unzip();
    let (part_us, rest_us) = (median_of_any_order(&mut part)?, median_of_any_order(&mut rest)?);
    Some(PerEvent { part_us, all_us: part_us + rest_us })
}

/// Microseconds per event of a slice: in some statements, and in all others.
fn part_and_rest(slice: &Slice, is_part: &impl Fn(StatementPlace) -> bool) -> Option<(f64, f64)> {
    let (mut part_ns, mut rest_ns) = (0_u64, 0_u64);
    for (name, ns) in slice.counters.iter() {
        let Some((place, STATEMENTS_NS)) = place(name) else { continue };
        let sum = if is_part(place) { &mut part_ns } else { &mut rest_ns };
        *sum = sum.saturating_add(ns);
    }
    let per_event = |ns: u64| ns as f64 / 1e3 / slice.work.events as f64;
    (slice.work.events > 0 && part_ns.saturating_add(rest_ns) > 0)
        .then(|| (per_event(part_ns), per_event(rest_ns)))
}

#[cfg(test)]
mod tests {
    use assay_model::{Host, Setup, Study, TestSet};

    use super::*;

    #[test]
    fn the_statement_that_changed_is_found() {
        let test = assay_workloads::tests_of(TestSet::All)[0];
        let cell = CellId { test, setup: Setup { clients: 1, tables: 1, rows: 1000 } };
        let study = Study::published("s".to_owned(), 0, &[cell]);
        let mut record = StudyRecord::new(study, Host::default(), Vec::new());
        for block in 0..4_u32 {
            for system in [0, 1] {
                let mut slice = Slice { block, ..Slice::new(system, cell) };
                let noise = u64::from(block * 7 % 4);
                let second = if system == 1 { 60_000 } else { 50_000 };
                slice.counters.extend([
                    ("statement.0.1.count", 10),
                    ("statement.0.1.ns", 10 * (20_000 + noise)),
                    ("statement.0.3.count", 5),
                    ("statement.0.3.ns", 5 * (second + noise)),
                    ("statement.1.0.count", 0),
                    ("statement.1.0.ns", 0),
                    ("status.Questions", 9),
                ]);
                record.slices.push(slice);
            }
        }
        let changes = statement_changes(&record, cell, [0, 1]);
        let message: Vec<_> =
            changes.iter().map(|it| (it.kind, it.step, it.time.is_certain())).collect();
        assert_eq!(message, [(0, 1, false), (0, 3, true)]);
        let time = changes[1].time;
        assert!((time.before - 50.0).abs() < 0.01 && (time.after - 60.0).abs() < 0.01, "{time:?}");
        // Two blocks are too few for an interval.
        record.slices.retain(|it| it.block < 2);
        let changes = statement_changes(&record, cell, [0, 1]);
        assert!(changes.len() == 2 && !changes[1].time.is_certain());
        assert_eq!(place("x"), None);
    }
}
