//! Resumed studies.

use std::ops::ControlFlow;

use assay_sim::{Scenario, SimMachine, simulate};
use assay_study::{Driver, Executor as _, Shard, StudyEnd, carry_out};

/// A resumed block leaves later ones their time.
#[test]
fn a_study_that_is_killed_early_has_as_many_blocks() {
    let scenario = || Scenario::quick(7).undecided();
    let whole = simulate(scenario()).unwrap().record;
    let mut machine = SimMachine::new(scenario(), Shard::WHOLE);
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    while machine.record().slices.len() < whole.slices.len() / whole.blocks.len() / 2 {
        let ControlFlow::Continue(action) = driver.next() else { panic!("ended early") };
        let outcome = machine.act(action).unwrap();
        driver.receive(&outcome, machine.used_s());
    }
    assert_eq!(machine.record().blocks.len(), 1);
    machine.restart();
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    assert_eq!(carry_out(&mut driver, &mut machine), Ok(StudyEnd::Complete));
    assert_eq!(machine.record().blocks.len(), whole.blocks.len());
    assert!(whole.blocks.len() > 2, "{}", whole.blocks.len());
}
