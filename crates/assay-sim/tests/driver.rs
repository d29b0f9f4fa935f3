//! The driver through the simulated executor: budget, resume, stop rule, faults.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use assay_model::limits::BLOCKS;
use assay_model::{Block, CellId, Slice, SliceOutcome, StudyRecord};
use assay_plan::{ROUNDS_MIN, Request};
use assay_sim::{Ended, Faults, Machine, Scenario, Strike, Truth, simulate, study};
use assay_study::{Action, Driver, End, Executor, Outcome, Shard, carry_out};

/// Two systems, six tests, no noise to speak of.
fn small() -> Scenario {
    let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
    let request = Request {
        tests: ["point-query", "update-one", "update-index", "range-*"].map(str::to_owned).into(),
        budget_s: Some(3600.0),
        blocks: Some(4),
        rounds: Some(4),
        ..Request::of_systems(&words)
    };
    let truth = Truth { changes: Vec::new(), slice_sd: 0.0005, block_sd: 0.0002 };
    Scenario { seed: 7, record: study(&request), truth, faults: Faults::NONE }
}

/// The cells of [`small`], none of which is decided early.
fn undecided() -> Scenario {
    let truth = Truth { changes: Vec::new(), slice_sd: 0.3, block_sd: 0.1 };
    Scenario { truth, ..small() }
}

fn ended(scenario: Scenario) -> Ended {
    simulate(scenario).unwrap_or_else(|what| panic!("{what}"))
}

/// Good rounds of every cell and block.
fn good_rounds(record: &StudyRecord) -> BTreeMap<(u32, CellId), usize> {
    let mut rounds = BTreeMap::new();
    let good = record.slices.iter().filter(|slice| slice.outcome == SliceOutcome::Good);
    for slice in good {
        *rounds.entry((slice.block, slice.cell)).or_default() += 1;
    }
    rounds.values_mut().for_each(|slices| *slices /= record.systems.len());
    rounds
}

#[test]
fn a_thousand_faulty_studies_keep_every_invariant() {
    for seed in 1_000_000..1_001_000 {
        if let Err(what) = simulate(Scenario::faulty(seed)) {
            panic!("`cargo xtask simulate faults 1 {seed}`: {what}");
        }
    }
}

#[test]
fn a_quick_study_takes_its_budget_and_no_more() {
    let quick = ended(Scenario::quick(3));
    assert_eq!(quick.end, End::Complete);
    let budget_s = quick.record.study.budget_s;
    assert!((0.95 * budget_s..1.02 * budget_s).contains(&quick.used_s), "{} s", quick.used_s);
    assert_eq!(quick.record.blocks.len(), 6);
}

#[test]
fn two_blocks_run_whatever_the_budget() {
    let mut scenario = undecided();
    scenario.record.study.budget_s = 0.1;
    let short = ended(scenario);
    assert_eq!(short.record.blocks.iter().map(|it| it.rounds).collect::<Vec<_>>(), [2, 2]);
    assert!(good_rounds(&short.record).values().all(|rounds| *rounds == 2));
}

#[test]
fn a_budget_for_fewer_blocks_than_planned_gives_fewer_blocks() {
    let once = ended(undecided()).used_s;
    let mut scenario = undecided();
    scenario.record.study.rounds = 400;
    scenario.record.study.blocks = 40;
    scenario.record.study.budget_s = once;
    let ended = ended(scenario);
    let blocks = ended.record.blocks.len();
    assert!((3..40).contains(&blocks), "{blocks} blocks");
    assert!(ended.used_s < 1.2 * once, "{} s of {once} s", ended.used_s);
}

#[test]
fn decided_cells_stop_and_writes_go_on_together() {
    let mut scenario = small();
    // All are equal but one write, which is so noisy that it stays open.
    scenario.record.study.blocks = 6;
    let equal = ended(scenario.clone());
    // A verdict needs four blocks.
    assert_eq!(equal.record.blocks.len(), 4);
    assert!(equal.used_s < 0.1 * equal.record.study.budget_s);
    let cells = scenario.record.study.cells.iter();
    let place = cells.clone().position(|it| &*it.id.test.name == "update-one").unwrap();
    scenario.truth.changes = vec![vec![0.0; scenario.record.study.cells.len()]];
    // At the threshold nothing is ever decided.
    scenario.truth.changes[0][place] = 0.02_f64.ln_1p();
    let open = ended(scenario);
    let last = open.record.blocks.last().unwrap();
    let names: Vec<_> = last.cells.iter().map(|cell| cell.test.name()).collect();
    assert_eq!((last.number, names), (5, vec!["update-index", "update-one"]));
}

#[test]
fn a_study_that_is_killed_after_any_action_measures_the_same() {
    let whole = ended(undecided());
    let wanted = good_rounds(&whole.record);
    let (mut kills, mut kill_after) = (0, 0);
    loop {
        let mut machine = Machine::new(undecided(), Shard::WHOLE);
        let mut left = kill_after;
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let broken_off = loop {
            let ControlFlow::Continue(action) = driver.next(machine.used_s()) else { break false };
            let outcome = machine.act(action).unwrap();
            if left == 0 {
                break true;
            }
            left -= 1;
            driver.came(&outcome);
        };
        if !broken_off {
            break;
        }
        kills += 1;
        machine.restart();
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        assert_eq!(carry_out(&mut driver, &mut machine), Ok(End::Complete));
        let found = good_rounds(machine.record());
        assert!(found.keys().eq(wanted.keys()), "killed after {kill_after} actions");
        // The first round of a broken two counts where it is good.
        let extra: Vec<usize> = found.iter().map(|(key, rounds)| rounds - wanted[key]).collect();
        assert!(extra.iter().sum::<usize>() <= 1, "killed after {kill_after} actions: {extra:?}");
        kill_after += 1;
    }
    assert!(kills > 100, "{kills} actions");
}

#[test]
fn a_system_that_does_not_start_in_a_late_block_leaves_its_tests_for_later() {
    let scenario = undecided();
    let mut machine = Machine::new(scenario, Shard::WHOLE);
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    let mut starts = Vec::new();
    let mut notes = 0;
    let end = loop {
        let action = match driver.next(machine.used_s()) {
            ControlFlow::Break(end) => break end,
            ControlFlow::Continue(action) => action,
        };
        let outcome = match &action {
            Action::StartAll { block: 2, .. } => {
                starts.push(action);
                Outcome::Failed { system: 1, why: "struck".to_owned() }
            }
            Action::Note { .. } => {
                notes += 1;
                machine.act(action).unwrap()
            }
            _ => machine.act(action).unwrap(),
        };
        driver.came(&outcome);
    };
    assert_eq!(end, End::Unfinished);
    // Twice for each of its two phases, with a note of each failure.
    assert_eq!((starts.len(), notes), (4, 4));
    let blocks = machine.record().slices.iter().map(|slice| slice.block);
    assert!(blocks.clone().all(|block| block != 2) && blocks.max() == Some(3));
}

#[test]
fn a_study_that_never_starts_is_abandoned() {
    let mut driver = Driver::new(&small().record, Shard::WHOLE);
    let end = loop {
        match driver.next(0.0) {
            ControlFlow::Break(end) => break end,
            ControlFlow::Continue(Action::Load) => {
                driver.came(&Outcome::Loaded { rates: vec![100.0; 9] });
            }
            ControlFlow::Continue(Action::StartAll { .. }) => {
                driver.came(&Outcome::Failed { system: 0, why: String::new() });
            }
            ControlFlow::Continue(_) => driver.came(&Outcome::Done),
        }
    };
    assert_eq!(end, End::Abandoned);
}

#[test]
fn a_failed_cell_is_closed_on_all_systems_and_the_others_go_on() {
    let mut machine = Machine::new(small(), Shard::WHOLE);
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    let cell = machine.record().study.cells[1].id;
    let end = loop {
        let action = match driver.next(machine.used_s()) {
            ControlFlow::Break(end) => break end,
            ControlFlow::Continue(action) => action,
        };
        let outcome = match action {
            Action::Connect { cell: 1, .. } => {
                Outcome::Failed { system: 1, why: "struck".to_owned() }
            }
            action => machine.act(action).unwrap(),
        };
        driver.came(&outcome);
    };
    assert_eq!(end, End::Complete);
    let of_cell: Vec<&Slice> =
        machine.record().slices.iter().filter(|slice| slice.cell == cell).collect();
    assert!(matches!(of_cell[..], [Slice { system: 1, outcome: SliceOutcome::Failed(_), .. }]));
    assert_eq!(good_rounds(machine.record()).len(), 4 * (machine.record().study.cells.len() - 1));
}

#[test]
fn shards_together_measure_the_whole_study() {
    let whole = good_rounds(&ended(undecided()).record);
    let mut parts = BTreeMap::new();
    for index in 0..3 {
        let shard = Shard::new(index, 3).unwrap();
        let mut machine = Machine::new(undecided(), shard);
        let mut driver = Driver::new(machine.record(), shard);
        assert_eq!(carry_out(&mut driver, &mut machine), Ok(End::Complete));
        let part = good_rounds(machine.record());
        assert!(part.keys().all(|(block, _)| shard.has(*block)));
        parts.extend(part);
    }
    assert_eq!(parts, whole);
    assert_eq!(Shard::new(3, 3), None);
}

#[test]
fn a_study_ends_with_the_last_block_that_a_ledger_takes() {
    let next_block = |blocks, begun| {
        let mut record = undecided().record;
        record.study.blocks = blocks;
        let cells = record.study.cells.iter().map(|cell| cell.id).collect();
        record.blocks.push(Block { number: begun, run: 0, rounds: ROUNDS_MIN, cells });
        let mut machine = Machine::new(Scenario { record, ..undecided() }, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let ended: Result<End, Strike> = carry_out(&mut driver, &mut machine);
        (ended, machine.record().blocks.last().map(|block| block.number))
    };
    let last = *BLOCKS.end() - 1;
    assert_eq!(next_block(*BLOCKS.end(), last - 1), (Ok(End::Complete), Some(last)));
    assert_eq!(next_block(*BLOCKS.end(), last), (Ok(End::Complete), Some(last)));
    // An edited ledger may say so.
    assert_eq!(next_block(4, last), (Ok(End::Complete), Some(last)));
}
