//! The cases: machines, changes and budgets.

use assay_model::{Class, StudyRecord};
use assay_plan::Request;

use assay_sim::{Scenario, SimFaults, SpeedModel, Truth, is_special, study};

use super::Kind;

const TESTS: usize = 32;

/// A kind of study to simulate many times.
#[derive(Debug, Clone)]
pub struct Case {
    /// `MACHINE/CHANGE/BUDGET`, and the threshold if it is not 2%.
    pub name: String,
    pub model: SpeedModel,
    /// Number of tests that change; different ones in every study.
    pub changed: usize,
    /// Half of all studies are slower by this fraction, the others faster.
    pub change: f64,
    pub budget_s: f64,
    /// The smallest change of practical interest.
    pub threshold: f64,
    /// The study before its first slice.
    record: StudyRecord,
}

impl Case {
    fn new(machine: &str, model: SpeedModel, changed: usize, percent: u32, minutes: f64) -> Self {
        Self::with_threshold(machine, model, changed, percent, (minutes, 0.02))
    }

    fn with_threshold(
        machine: &str,
        model: SpeedModel,
        changed: usize,
        percent: u32,
        (minutes, threshold): (f64, f64),
    ) -> Self {
        let change = match changed {
            0 => "null".to_owned(),
            1 => format!("one-{percent}"),
            _ => format!("twelve-{percent}"),
        };
        let unless_usual =
            if threshold == 0.02 { String::new() } else { format!("/t{}", 100.0 * threshold) };
        let words = ["mariadb@10.11", "mariadb@11.8"].map(str::to_owned);
        let request = Request {
            budget_s: Some(60.0 * minutes),
            threshold: Some(threshold),
            ..Request::of_systems(&words)
        };
        Self {
            name: format!("{machine}/{change}/{minutes}m{unless_usual}"),
            model,
            changed,
            change: f64::from(percent) / 100.0,
            budget_s: 60.0 * minutes,
            threshold,
            record: study(&request),
        }
    }

    pub fn scenario(&self, seed: u64) -> Scenario {
        let mut record = self.record.clone();
        record.study.seed = seed;
        let changes = vec![self.changes(seed)];
        let truth = Truth { changes, slice_sd: 1.0, speed: Some(self.model), ..Truth::default() };
        Scenario { seed, record, truth, faults: SimFaults::default() }
    }

    /// Logarithms of the relative rates of the tests in the study with this seed.
    pub fn changes(&self, seed: u64) -> Vec<f64> {
        let change = if seed.is_multiple_of(2) { self.change } else { -self.change };
        let place = |cell: usize| (5 * cell + seed as usize / 2) % TESTS;
        let change_of_cell = |cell| if place(cell) < self.changed { change.ln_1p() } else { 0.0 };
        (0..TESTS).map(change_of_cell).collect()
    }

    /// Logarithm of the true relative rate of a cell with this change.
    pub fn true_rate(&self, change: f64, cell: usize) -> f64 {
        change + if self.stalls(cell) { self.model.stalled() } else { 0.0 }
    }

    /// Logarithm of the true relative CPU time per operation. Stalls use none.
    pub fn true_cpu(&self, change: f64, _cell: usize) -> f64 {
        -change
    }

    pub fn kind(&self, change: f64, cell: usize) -> Kind {
        if self.stalls(cell) {
            Kind::Stalled
        } else if change != 0.0 && self.is_write(cell) {
            Kind::ChangedWrite
        } else if change != 0.0 {
            Kind::Changed
        } else if self.model.wide > 1.0 && is_special(cell) {
            Kind::Wide
        } else if self.is_write(cell) {
            Kind::Write
        } else {
            Kind::Null
        }
    }

    fn is_write(&self, cell: usize) -> bool {
        let planned = self.record.study.cells.get(cell);
        planned.is_some_and(|planned| planned.id.test.class == Class::Write)
    }

    fn stalls(&self, cell: usize) -> bool {
        self.model.stalls > 0.0 && is_special(cell)
    }
}

pub fn cases() -> Vec<Case> {
    let vm = SpeedModel::VIRTUAL;
    let mut cases = Vec::new();
    for minutes in [2.5, 5.0, 10.0, 20.0, 40.0] {
        cases.push(Case::new("virtual", vm, 0, 0, minutes));
    }
    for (changed, minutes) in [(1, 5.0), (12, 5.0), (1, 10.0), (12, 10.0)] {
        cases.extend([1, 2, 3, 5].map(|it| Case::new("virtual", vm, changed, it, minutes)));
    }
    for (changed, percent) in [(0, 0), (1, 1), (1, 2), (12, 2)] {
        cases.push(Case::with_threshold("virtual", vm, changed, percent, (10.0, 0.01)));
    }
    let busy = SpeedModel { neighbour_every_s: 20.0, ..vm };
    let stalls = SpeedModel { stalls: 0.05, ..vm };
    let drift = SpeedModel { drift_sd: 0.1, ..vm };
    let shared = SpeedModel { instance_sd: 0.01, instance_common: 1.0, ..vm };
    let unequal = SpeedModel { wide: 3.0, ..vm };
    let writes = SpeedModel { write_fades_ms: 300.0, ..vm };
    let all = SpeedModel {
        neighbour_every_s: 20.0,
        stalls: 0.05,
        drift_sd: 0.1,
        instance_sd: 0.01,
        wide: 3.0,
        write_fades_ms: 300.0,
        ..vm
    };
    for (machine, model) in [
        ("quiet", SpeedModel::QUIET),
        ("noisy", SpeedModel::NOISY),
        ("bursts", busy),
        ("stalls", stalls),
        ("drift", drift),
        ("shared", shared),
        ("unequal", unequal),
        ("writes", writes),
        ("all", all),
    ] {
        for (changed, percent) in [(0, 0), (1, 3), (12, 3)] {
            cases.push(Case::new(machine, model, changed, percent, 5.0));
        }
    }
    for (changed, percent, threshold) in [(0, 0, 0.02), (1, 3, 0.02), (1, 2, 0.01)] {
        let noisy = SpeedModel::NOISY;
        cases.push(Case::with_threshold("noisy", noisy, changed, percent, (10.0, threshold)));
    }
    cases
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_differ_and_changes_are_as_many_as_named() {
        let cases = cases();
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len());
        assert!(names.contains("virtual/one-2/10m/t1"), "{names:?}");
        for case in cases {
            assert_eq!(case.record.study.cells.len(), TESTS);
            for seed in 0..70 {
                let changes = case.changes(seed);
                let changed = changes.iter().filter(|change| **change != 0.0).count();
                assert_eq!(changed, case.changed, "{} {seed}", case.name);
            }
        }
    }
}
