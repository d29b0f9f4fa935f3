//! Cost of a mix's events in another system, from tests that measure each kind of them alone.
//!
//! The time of the mix is the sum of weight × mean time of an event over its kinds, and the change is that sum in the
//! other system divided by that in the base. The ends of its interval are the sums with the ends of all intervals at
//! once, so the interval holds however the errors of tests are correlated.

use assay_model::{CellId, Estimate, StudyRecord, Transaction};

use crate::CellJudgement;

#[derive(Debug, Clone, PartialEq)]
pub struct WeightedTotal {
    pub mix: CellId,
    pub system: usize,
    /// Time of the events in the system, relative to the base. A lower bound if an event was not answered.
    pub time: Estimate,
    /// Kinds of events measured alone in both systems. Others are excluded.
    pub measured: usize,
    pub kinds: usize,
}

/// A kind of events: its share of the base's time, and its relative speed in the other system.
struct MixPart {
    time: f64,
    speed: Estimate,
}

/// For each mix with at least two kinds measured alone, by system without the base.
pub fn weighted_totals(record: &StudyRecord, cells: &[CellJudgement]) -> Vec<WeightedTotal> {
    let base = record.systems.iter().position(|system| system.is_base).unwrap_or(0);
    let mut totals = Vec::new();
    for mix in record.study.cells.iter().map(|cell| cell.id) {
        let kinds = kinds(mix);
        let others = (0..record.systems.len()).filter(|system| *system != base);
        let of_mix = MixCells { mix, cells, base };
        totals.extend(others.filter_map(|system| of_mix.total(&kinds, system)));
    }
    totals
}

fn kinds(mix: CellId) -> Vec<&'static Transaction> {
    let roles = mix.test.definition().roles.iter();
    roles.flat_map(|role| &role.script.mix).collect()
}

#[derive(Clone, Copy)]
struct MixCells<'a> {
    mix: CellId,
    cells: &'a [CellJudgement],
    base: usize,
}

impl<'a> MixCells<'a> {
    fn total(self, kinds: &[&Transaction], system: usize) -> Option<WeightedTotal> {
        let parts: Vec<MixPart> = kinds.iter().filter_map(|kind| self.part(kind, system)).collect();
        let (measured, kinds) = (parts.len(), kinds.len());
        Some(WeightedTotal { mix: self.mix, system, time: relative(&parts)?, measured, kinds })
    }

    fn part(self, kind: &Transaction, system: usize) -> Option<MixPart> {
        let speed = self.alone(kind, system)?.rqps?;
        let is_known = speed.value > 0.0 && !(speed.is_bound() && speed.low.is_finite());
        let events_per_s = self.alone(kind, self.base)?.tps.filter(|tps| *tps > 0.0 && is_known)?;
        let clients = f64::from(self.mix.setup.clients);
        Some(MixPart { time: kind.weight * clients / events_per_s, speed })
    }

    fn alone(self, kind: &Transaction, system: usize) -> Option<&'a CellJudgement> {
        self.cells.iter().find(|it| {
            let cell = it.cell;
            let is_alone = cell != self.mix && cell.setup == self.mix.setup;
            is_alone && it.system == system && cell.test.name == kind.name
        })
    }
}

fn relative(parts: &[MixPart]) -> Option<Estimate> {
    let before: f64 = parts.iter().map(|part| part.time).sum();
    if parts.len() < 2 || before <= 0.0 {
        return None;
    }
    let sum = |end: fn(&Estimate) -> f64| {
        parts.iter().map(|part| part.time / end(&part.speed)).sum::<f64>() / before
    };
    let value = sum(|it| it.value);
    Some(match parts.iter().any(|part| part.speed.is_bound()) {
        true => Estimate::at_least(value),
        false => Estimate { value, low: sum(|it| it.high), high: sum(|it| it.low) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(time: f64, value: f64, half: f64) -> MixPart {
        let speed = Estimate { value, low: value * (1.0 - half), high: value * (1.0 + half) };
        MixPart { time, speed }
    }

    #[test]
    fn the_dear_part_counts_most() {
        let found = relative(&[part(9.0, 0.5, 0.1), part(1.0, 1.0, 0.1)]).unwrap();
        assert!((found.value - 1.9).abs() < 1e-12, "{found:?}");
        assert!((found.low - 1.9 / 1.1).abs() < 1e-12, "{found:?}");
        assert!((found.high - 1.9 / 0.9).abs() < 1e-12, "{found:?}");
        assert_eq!(relative(&[part(9.0, 0.5, 0.1)]), None);
    }

    #[test]
    fn an_event_without_an_answer_makes_a_bound() {
        let silent = MixPart { time: 1.0, speed: Estimate::at_most(0.01) };
        let found = relative(&[part(1.0, 1.0, 0.1), silent]).unwrap();
        assert!(found.is_bound() && (found.value - 50.5).abs() < 1e-9, "{found:?}");
        let single = MixPart { time: 1.0, speed: Estimate::without_interval(0.5) };
        let found = relative(&[part(1.0, 1.0, 0.1), single]).unwrap();
        assert!(!found.has_interval() && (found.value - 1.5).abs() < 1e-12, "{found:?}");
    }
}
