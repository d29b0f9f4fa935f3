//! A hanging event when time is short.

use std::ops::ControlFlow;

use assay_plan::ROUNDS_MIN;
use assay_sim::{Scenario, SimMachine};
use assay_study::{Driver, Executor as _, Outcome, Shard, SilentEvent, StudyAction};

/// The silence exceeds the block's share of time, yet the other system is measured: otherwise the silence bounds
/// nothing.
#[test]
fn the_other_system_is_measured_in_the_block_of_a_silence() {
    for silent in [0, 1] {
        let mut scenario = Scenario::small().undecided();
        scenario.record.study.cells.truncate(1);
        scenario.record.study.budget_s = 60.0;
        let mut machine = SimMachine::new(scenario, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let mut late_s = 0.0;
        while let ControlFlow::Continue(action) = driver.next() {
            let outcome = match action {
                StudyAction::Trace { .. } if late_s == 0.0 => {
                    late_s = 20.0;
                    let why = "no answer to `SELECT 1` within 20 s".to_owned();
                    let silence = SilentEvent { why, events: 0, elapsed_ns: 20_000_000_000 };
                    Outcome::Silent { system: silent, silence }
                }
                action => machine.act(action).unwrap(),
            };
            driver.receive(&outcome, machine.used_s() + late_s);
        }
        let of_other = machine.record().slices.iter().filter(|it| it.system != silent);
        let in_block = of_other.filter(|slice| slice.block == 0).count();
        assert!(in_block >= ROUNDS_MIN as usize, "{silent}: {in_block}");
    }
}
