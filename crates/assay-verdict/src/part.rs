//! Share of some statements of a user's test in a change, as seen by its clients.

use assay_model::{CellId, Slice, StudyRecord, Verdict};

use crate::plans::Place;
use crate::robust::median_of_any_order;
use crate::statements::{STATEMENTS_NS, is_whole, place};

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
    pub(crate) fn of(
        record: &StudyRecord,
        cell: CellId,
        systems: [usize; 2],
        is_part: impl Fn(Place) -> bool,
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
    is_part: &impl Fn(Place) -> bool,
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
fn part_and_rest(slice: &Slice, is_part: &impl Fn(Place) -> bool) -> Option<(f64, f64)> {
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
