//! Studies on a machine that others use.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use assay_model::{CellId, Noise, TurnError};
use assay_plan::{Needs, shortened};
use assay_sim::{Scenario, SimMachine};
use assay_study::{Driver, Executor, Outcome, Shard, carry_out};
use assay_verdict::Fitness;

/// Everything takes longer than planned, and no slice is good.
#[test]
fn a_busy_machine_measures_every_test_briefly_rather_than_some_of_them_well() {
    const SLOWER: f64 = 2.0;
    for budget_s in [60.0, 90.0] {
        let mut scenario = Scenario::quick(3);
        scenario.record.study.budget_s = budget_s;
        let mut machine = SimMachine::new(scenario, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        while let ControlFlow::Continue(action) = driver.next() {
            let outcome = match machine.act(action).unwrap() {
                Outcome::Measured { mut samples, seconds } => {
                    samples.iter_mut().for_each(|it| it.fitness = Fitness::Troubled);
                    Outcome::Measured { samples, seconds: SLOWER * seconds }
                }
                other => other,
            };
            driver.receive(&outcome, SLOWER * machine.used_s());
        }
        let (record, used_s) = (machine.record(), SLOWER * machine.used_s());
        let measured: BTreeSet<CellId> = record.slices.iter().map(|it| it.cell).collect();
        assert_eq!(measured.len(), record.study.cells.len(), "{used_s} of {budget_s}");
        assert!(used_s < 1.1 * budget_s, "{used_s} of {budget_s}");
    }
}

/// Runs a study whose actions take `slower` times as long as planned, a function of the seconds used so far. Returns
/// the number of measured cells, seconds used, and seconds of the longest action.
fn carried_out(scenario: Scenario, slower: &dyn Fn(f64) -> f64) -> (usize, f64, f64) {
    let mut machine = SimMachine::new(scenario, Shard::WHOLE);
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    let (mut used_s, mut longest_s) = (0.0, 0.0_f64);
    while let ControlFlow::Continue(action) = driver.next() {
        let (before_s, factor) = (machine.used_s(), slower(used_s));
        let outcome = match machine.act(action).unwrap() {
            Outcome::Measured { samples, seconds } => {
                Outcome::Measured { samples, seconds: factor * seconds }
            }
            Outcome::Traced { systems, seconds } => {
                Outcome::Traced { systems, seconds: factor * seconds }
            }
            other => other,
        };
        let took_s = factor * (machine.used_s() - before_s);
        used_s += took_s;
        longest_s = longest_s.max(took_s);
        driver.receive(&outcome, used_s);
    }
    let measured: BTreeSet<CellId> = machine.record().slices.iter().map(|it| it.cell).collect();
    (measured.len(), used_s, longest_s)
}

/// The machine becomes busy at some point, or intermittently.
#[test]
fn a_budget_holds_on_a_machine_whose_speed_changes() {
    type Slower = Box<dyn Fn(f64) -> f64>;
    let constant = |factor: f64| -> Slower { Box::new(move |_| factor) };
    let from = |part: f64, budget_s: f64, factor: f64| -> Slower {
        Box::new(move |used_s| if used_s > part * budget_s { factor } else { 1.0 })
    };
    let at_times = |factor: f64| -> Slower {
        Box::new(move |used_s| if used_s.rem_euclid(20.0) < 7.0 { factor } else { 1.0 })
    };
    for budget_s in [60.0, 120.0, 600.0] {
        let patterns = [2.0, 4.0, 8.0].into_iter().flat_map(|factor| {
            let parts = [0.2, 0.5, 0.8].map(|part| from(part, budget_s, factor));
            parts.into_iter().chain([constant(factor), at_times(factor)])
        });
        for (number, slower) in patterns.enumerate() {
            let mut scenario = Scenario::quick(3).undecided();
            scenario.record.study.budget_s = budget_s;
            let (cells, used_s, longest_s) = carried_out(scenario, &*slower);
            let message =
                format!("{number}: {used_s:.1} of {budget_s} s, {longest_s:.1} s at once");
            assert!(used_s <= 1.1 * budget_s + longest_s, "{message}");
            assert!(cells > 0, "{message}");
            if std::env::var_os("SHOW").is_some() {
                eprintln!("SHOW {message} cells {cells}");
            }
        }
    }
}

/// Data preparation takes part or all of the budget; still something is measured, in bounded time.
#[test]
fn preparations_leave_a_quarter_of_the_budget_to_the_first_block() {
    for (part, most) in [(0.5, 1.0), (0.8, 1.05), (0.95, 1.1), (1.5, 1.75)] {
        let budget_s = 120.0;
        let mut scenario = Scenario::quick(3).undecided();
        scenario.record.study.budget_s = budget_s;
        // Loading takes five seconds there, and comes first.
        let slower = |used_s: f64| if used_s == 0.0 { part * budget_s / 5.0 } else { 1.0 };
        let (cells, used_s, longest_s) = carried_out(scenario, &slower);
        assert!(longest_s >= part * budget_s - 1e-6 && cells > 0, "{longest_s} {cells}");
        assert!(used_s <= (most + 0.05) * budget_s, "{part}: {used_s} of {budget_s}");
    }
}

/// The plan for a machine that is too noisy to decide by time.
#[test]
fn shorter_slices_give_more_rounds_of_every_test_in_the_same_time() {
    let needs = Needs { block_sd: 0.007, last_level: 0.03, threshold: 0.02, is_resumed: false };
    let turns = [1.0, 100.0].map(|turn_ms| TurnError { turn_ms, error: 0.5 });
    let noise = Noise { turns: turns.to_vec(), ..Noise::default() };
    let [long, short] = [false, true].map(|is_short| {
        let mut scenario = Scenario::quick(3).undecided();
        let study = &mut scenario.record.study;
        study.budget_s = 120.0;
        if is_short {
            *study = shortened(study, 2, needs, &noise).unwrap();
        }
        let mut machine = SimMachine::new(scenario, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        carry_out(&mut driver, &mut machine).unwrap();
        assert!(machine.used_s() <= 1.1 * 120.0, "{}", machine.used_s());
        let slices = &machine.record().slices;
        let measured: BTreeSet<CellId> = slices.iter().map(|slice| slice.cell).collect();
        assert_eq!(measured.len(), machine.record().study.cells.len());
        slices.len()
    });
    assert!(short as f64 > 1.3 * long as f64, "{short} {long}");
}
