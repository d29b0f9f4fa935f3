//! Studies on a machine that others use.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use assay_model::CellId;
use assay_sim::{Machine, Scenario};
use assay_study::{Driver, Executor, Outcome, Shard};
use assay_verdict::Fitness;

/// On a machine that others use, everything takes longer than planned, and no slice is good.
#[test]
fn a_busy_machine_measures_every_test_briefly_rather_than_some_of_them_well() {
    const SLOWER: f64 = 2.0;
    for budget_s in [60.0, 90.0] {
        let mut scenario = Scenario::quick(3);
        scenario.record.study.budget_s = budget_s;
        let mut machine = Machine::new(scenario, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        while let ControlFlow::Continue(action) = driver.next() {
            let outcome = match machine.act(action).unwrap() {
                Outcome::Measured { mut samples, seconds } => {
                    samples.iter_mut().for_each(|it| it.fitness = Fitness::Troubled);
                    Outcome::Measured { samples, seconds: SLOWER * seconds }
                }
                other => other,
            };
            driver.came(&outcome, SLOWER * machine.used_s());
        }
        let (record, used_s) = (machine.record(), SLOWER * machine.used_s());
        let measured: BTreeSet<CellId> = record.slices.iter().map(|it| it.cell).collect();
        assert_eq!(measured.len(), record.study.cells.len(), "{used_s} of {budget_s}");
        assert!(used_s < 1.1 * budget_s, "{used_s} of {budget_s}");
    }
}
