//! The driver with the simulated executor: budget, resume, stop rule, faults.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use assay_model::limits::{BLOCKS, CELLS, SYSTEMS};
use assay_model::{
    BlockCell, CellId, EventKind, PlannedBlock, PlannedCell, Preset, RegressionLimits, Setup,
    Slice, SliceOutcome, StudyEvent, StudyRecord, Verdict,
};
use assay_plan::{ROUNDS_MIN, Request};
use assay_sim::{Scenario, SimFaults, SimMachine, SimulatedEnd, Strike, simulate, study};
use assay_study::{
    Driver, Executor, Outcome, Shard, SilentEvent, StudyAction, StudyEnd, carry_out,
};
use assay_verdict::{Fitness, LimitVerdict, SliceSample, judge};

fn ended(scenario: Scenario) -> SimulatedEnd {
    simulate(scenario).unwrap_or_else(|what| panic!("{what}"))
}

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
    assert_eq!(quick.end, StudyEnd::Complete);
    let budget_s = quick.record.study.budget_s;
    assert!((0.95 * budget_s..1.02 * budget_s).contains(&quick.used_s), "{} s", quick.used_s);
    // Error reserved for blocks that never come would be wasted.
    assert_eq!(quick.record.blocks.len() as u32, quick.record.study.blocks);
}

#[test]
fn a_budget_is_kept_but_something_is_measured() {
    let of_budget = |budget_s| {
        let mut scenario = Scenario::small().undecided();
        scenario.record.study.budget_s = budget_s;
        ended(scenario)
    };
    let short = of_budget(0.1);
    let rounds = good_rounds(&short.record);
    assert_eq!((short.record.blocks.len(), rounds.len()), (1, 1));
    assert!(rounds.values().all(|rounds| *rounds == 2));
    // Loading takes five seconds, and half of the budget is for the first block.
    let most_s = 9.0;
    for budget_s in [6.0, 12.0, 20.0, 40.0] {
        let used_s = of_budget(budget_s).used_s;
        assert!(used_s < budget_s.max(most_s) + 1.0, "{used_s} of {budget_s}");
    }
}

#[test]
fn a_budget_for_fewer_blocks_than_planned_gives_fewer_blocks() {
    let once = ended(Scenario::small().undecided()).used_s;
    let mut scenario = Scenario::small().undecided();
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
    let mut scenario = Scenario::small();
    // All are equal except one write, too noisy to be decided.
    scenario.record.study.blocks = 6;
    let equal = ended(scenario.clone());
    // Three blocks show that instances hardly differ; the design expects more, and counts six degrees of freedom.
    assert_eq!(equal.record.blocks.len(), 3);
    assert!(equal.used_s < 0.1 * equal.record.study.budget_s);
    let cells = scenario.record.study.cells.iter();
    let index = cells.clone().position(|it| &*it.id.test.name == "update-one").unwrap();
    scenario.truth.changes = vec![vec![0.0; scenario.record.study.cells.len()]];
    // At the threshold nothing is ever decided.
    scenario.truth.changes[0][index] = 0.02_f64.ln_1p();
    let open = ended(scenario);
    let last = open.record.blocks.last().unwrap();
    let names: Vec<_> = last.cells.iter().map(|cell| cell.id.test.name()).collect();
    assert_eq!((last.number, names), (5, vec!["update-index", "update-one"]));
}

/// [`small`] as a gate of 3% in six blocks, with changed cells.
fn gated(changes: &[(&str, f64)]) -> Scenario {
    let mut scenario = Scenario::small();
    scenario.record.study.blocks = 6;
    let cells = &scenario.record.study.cells;
    let margins = vec![0.03; cells.len()];
    let change = |cell: &PlannedCell| {
        let it = changes.iter().find(|(name, _)| *name == cell.id.test.name());
        it.map_or(0.0, |(_, ratio)| ratio.ln())
    };
    scenario.truth.changes = vec![cells.iter().map(change).collect()];
    scenario.record.study.limits = Some(RegressionLimits { margins, allow_undecided: false });
    scenario
}

#[test]
fn a_gate_ends_once_it_is_decided_and_measures_what_is_open() {
    let gate = |changes: &[(&str, f64)]| {
        let ended = ended(gated(changes));
        let verdict = judge(&ended.record).limits.unwrap().verdict();
        let names =
            |cells: &[CellId]| cells.iter().map(|cell| cell.test.name()).collect::<Vec<_>>();
        let last = ended.record.blocks.last().unwrap();
        (verdict, last.number + 1, names(&last.cells.iter().map(|it| it.id).collect::<Vec<_>>()))
    };
    // The second block shows that instances hardly differ. A faster test passes. A change of 10% is decided after the
    // first.
    let (verdict, blocks, _) = gate(&[("point-query", 1.2)]);
    assert_eq!((verdict, blocks), (LimitVerdict::Passed, 2));
    // Nothing else can make it pass, so the open test is dropped.
    let (verdict, blocks, _) = gate(&[("point-query", 0.9), ("range-covered-pk", 0.97)]);
    assert_eq!((verdict, blocks), (LimitVerdict::Exceeded, 1));
    let (verdict, blocks, names) = gate(&[("range-covered-pk", 0.97)]);
    assert_eq!((verdict, blocks, names), (LimitVerdict::Undecided, 6, vec!["range-covered-pk"]));
}

#[test]
fn a_study_that_is_killed_after_any_action_measures_the_same() {
    let whole = good_rounds(&ended(Scenario::small().undecided()).record);
    let (mut kills, mut kill_after) = (0, 0);
    loop {
        let mut machine = SimMachine::new(Scenario::small().undecided(), Shard::WHOLE);
        let mut left = kill_after;
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let broken_off = loop {
            let ControlFlow::Continue(action) = driver.next() else { break false };
            let outcome = machine.act(action).unwrap();
            if left == 0 {
                break true;
            }
            left -= 1;
            driver.receive(&outcome, machine.used_s());
        };
        if !broken_off {
            break;
        }
        kills += 1;
        machine.restart();
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        assert_eq!(carry_out(&mut driver, &mut machine), Ok(StudyEnd::Complete));
        let found = good_rounds(machine.record());
        assert!(found.keys().eq(whole.keys()), "killed after {kill_after} actions");
        let blocks = machine.record().blocks.iter();
        let wanted: BTreeMap<_, usize> = blocks
            .flat_map(|it| it.cells.iter().map(|cell| ((it.number, cell.id), cell.rounds as usize)))
            .collect();
        // The first round of a broken pair counts where it is good.
        let extra: Vec<usize> = found
            .iter()
            .map(|(key, rounds)| rounds.checked_sub(wanted[key]).expect("rounds are lacking"))
            .collect();
        assert!(extra.iter().sum::<usize>() <= 1, "killed after {kill_after} actions: {extra:?}");
        kill_after += 1;
    }
    assert!(kills > 100, "{kills} actions");
}

#[test]
fn a_finished_study_that_gets_more_time_measures_more_blocks() {
    let planned = ended(Scenario::small().undecided()).record;
    let more = |record: &StudyRecord, seconds| {
        let mut record = record.clone();
        let what = EventKind::Extended { seconds, blocks: 2, ended_after: None };
        record.events.push(StudyEvent { when_ms: 0, system: None, what });
        let mut machine =
            SimMachine::new(Scenario { record, ..Scenario::small().undecided() }, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        assert_eq!(carry_out(&mut driver, &mut machine), Ok(StudyEnd::Complete));
        machine.record().blocks.iter().map(|block| block.number).collect::<Vec<_>>()
    };
    assert_eq!(planned.blocks.len(), 4);
    assert_eq!(more(&planned, 600), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_system_that_does_not_start_in_a_late_block_leaves_its_tests_for_later() {
    let scenario = Scenario::small().undecided();
    let mut machine = SimMachine::new(scenario, Shard::WHOLE);
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    let mut starts = Vec::new();
    let mut notes = 0;
    let end = loop {
        let action = match driver.next() {
            ControlFlow::Break(end) => break end,
            ControlFlow::Continue(action) => action,
        };
        let outcome = match &action {
            StudyAction::StartAll { block: 2, .. } => {
                starts.push(action);
                Outcome::Failed { system: 1, why: "struck".to_owned(), also: Vec::new() }
            }
            // The machine is unaware of these failures.
            StudyAction::Note { .. } => {
                notes += 1;
                Outcome::Done
            }
            _ => machine.act(action).unwrap(),
        };
        driver.receive(&outcome, machine.used_s());
    };
    assert_eq!(end, StudyEnd::Unfinished);
    // Twice for each of its two phases, with a note per failure.
    assert_eq!((starts.len(), notes), (4, 4));
    let blocks = machine.record().slices.iter().map(|slice| slice.block);
    assert!(blocks.clone().all(|block| block != 2) && blocks.max() == Some(3));
}

#[test]
fn a_study_that_never_starts_is_abandoned() {
    let mut driver = Driver::new(&Scenario::small().record, Shard::WHOLE);
    let end = loop {
        match driver.next() {
            ControlFlow::Break(end) => break end,
            ControlFlow::Continue(StudyAction::Load) => {
                driver.receive(&Outcome::Loaded { rates: vec![100.0; 9] }, 0.0);
            }
            ControlFlow::Continue(StudyAction::StartAll { .. }) => {
                driver.receive(
                    &Outcome::Failed { system: 0, why: String::new(), also: Vec::new() },
                    0.0,
                );
            }
            ControlFlow::Continue(_) => driver.receive(&Outcome::Done, 0.0),
        }
    };
    assert_eq!(end, StudyEnd::Abandoned);
}

#[test]
fn a_cell_that_failed_on_one_of_two_systems_is_closed_and_the_others_go_on() {
    for also in [Vec::new(), vec![(0, "also struck".to_owned())]] {
        let mut machine = SimMachine::new(Scenario::small(), Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let cell = machine.record().study.cells[1].id;
        let end = loop {
            let action = match driver.next() {
                ControlFlow::Break(end) => break end,
                ControlFlow::Continue(action) => action,
            };
            let outcome = match action {
                StudyAction::Connect { cell: 1, .. } => {
                    Outcome::Failed { system: 1, why: "struck".to_owned(), also: also.clone() }
                }
                action => machine.act(action).unwrap(),
            };
            driver.receive(&outcome, machine.used_s());
        };
        assert_eq!(end, StudyEnd::Complete);
        let of_cell: Vec<&Slice> =
            machine.record().slices.iter().filter(|slice| slice.cell == cell).collect();
        let failed = |slice: &&&Slice| matches!(slice.outcome, SliceOutcome::Failed(_));
        let systems: Vec<usize> = of_cell.iter().filter(failed).map(|it| it.system).collect();
        assert_eq!((systems.len(), of_cell.len()), (1 + also.len(), 1 + also.len()));
        assert!(also.iter().all(|(system, _)| systems.contains(system)) && systems[0] == 1);
        let (blocks, cells) = (machine.record().blocks.len(), machine.record().study.cells.len());
        assert_eq!(good_rounds(machine.record()).len(), blocks * (cells - 1));
    }
}

#[test]
fn a_study_whose_tests_all_fail_ends_soon_after_its_budget() {
    // Added to the time that starting servers takes in the simulation.
    const STARTS_S: f64 = 7.0;
    let tried = |budget_s: f64, failing: usize| {
        let mut scenario = Scenario::quick(3);
        scenario.record.study.budget_s = budget_s;
        let mut machine = SimMachine::new(scenario, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let (mut started, mut failed, mut used_s) = (0, 0, 0.0);
        let end = loop {
            let outcome = match driver.next() {
                ControlFlow::Break(end) => break end,
                ControlFlow::Continue(StudyAction::Connect { .. }) if failed < failing => {
                    failed += 1;
                    Outcome::Failed { system: 1, why: "struck".to_owned(), also: Vec::new() }
                }
                ControlFlow::Continue(action) => {
                    started += u32::from(matches!(action, StudyAction::StartAll { .. }));
                    machine.act(action).unwrap()
                }
            };
            used_s = machine.used_s() + STARTS_S * f64::from(started);
            driver.receive(&outcome, used_s);
        };
        assert_eq!(end, StudyEnd::Complete);
        (failed, good_rounds(machine.record()).len(), used_s)
    };
    let (failed, measured, _) = tried(20.0, usize::MAX);
    assert_eq!((failed, measured), (3, 0));
    // Those within the budget count, so the first failure after it is the last.
    let (failed, _, used_s) = tried(40.0, usize::MAX);
    assert!(failed > 3 && used_s < 40.0 + 2.0 * STARTS_S, "{failed} in {used_s} s");
    assert_eq!(tried(3600.0, usize::MAX).0, 32);
    // After fewer failures, something is measured even beyond the budget.
    assert!(tried(20.0, 2).1 > 0);
}

/// The rates of writes are unknown if the data were aged while another study measured.
#[test]
fn writes_are_sized_when_they_are_first_measured_if_aging_kept_no_rates() {
    let mut machine = SimMachine::new(Scenario::small().undecided(), Shard::WHOLE);
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    let mut sized = Vec::new();
    let end = loop {
        let action = match driver.next() {
            ControlFlow::Break(end) => break end,
            ControlFlow::Continue(action) => action,
        };
        if let StudyAction::Size { cell, .. } = action {
            sized.push(cell);
        }
        let outcome = match machine.act(action).unwrap() {
            Outcome::Loaded { rates } => Outcome::Loaded { rates: vec![0.0; rates.len()] },
            outcome => outcome,
        };
        driver.receive(&outcome, machine.used_s());
    };
    assert_eq!(end, StudyEnd::Complete);
    let cells = machine.record().study.cells.iter().enumerate();
    let writes = cells.filter(|(_, cell)| cell.id.test.class == assay_model::Class::Write);
    let (writes, events): (Vec<usize>, Vec<Option<u64>>) =
        writes.map(|(index, cell)| (index, cell.events)).unzip();
    assert_eq!(sized, writes);
    assert!(!writes.is_empty() && events.iter().all(Option::is_some));
}

#[test]
fn a_cell_that_fails_on_one_system_is_measured_on_the_others() {
    let words = ["10.11", "11.4", "11.8"].map(|version| format!("mariadb@{version}"));
    let request = Request {
        tests: ["point-query", "update-one", "update-index"].map(str::to_owned).into(),
        budget_s: Some(3600.0),
        blocks: Some(3),
        rounds: Some(4),
        ..Request::of_systems(&words)
    };
    for failing in [1, 0] {
        let scenario = Scenario { record: study(&request), ..Scenario::small().undecided() };
        let mut machine = SimMachine::new(scenario, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let end = loop {
            let action = match driver.next() {
                ControlFlow::Break(end) => break end,
                ControlFlow::Continue(action) => action,
            };
            let outcome = match action {
                // A write: later writes need new instances, on which all systems did the same.
                StudyAction::Connect { cell: 0, ref order, .. } if order.contains(&failing) => {
                    Outcome::Failed { system: failing, why: "struck".to_owned(), also: Vec::new() }
                }
                action => machine.act(action).unwrap(),
            };
            driver.receive(&outcome, machine.used_s());
        };
        assert_eq!(end, StudyEnd::Complete);
        let record = machine.record();
        let cell = record.study.cells[0].id;
        assert_eq!(cell.test.class, assay_model::Class::Write);
        let good = |system: usize| {
            let slices = record.slices.iter().filter(|it| it.cell == cell && it.system == system);
            slices.filter(|it| it.outcome == SliceOutcome::Good).count()
        };
        let others: Vec<bool> = (0..3).filter(|it| *it != failing).map(|it| good(it) > 0).collect();
        let is_base = failing == 0;
        assert_eq!((good(failing), others), (0, vec![!is_base, !is_base]));
        let failed = record.slices.iter().filter(|it| it.outcome != SliceOutcome::Good);
        assert_eq!(failed.count(), 1);
        let judged = judge(record);
        let verdicts = judged.cells.iter().filter(|it| it.cell == cell && it.system != 0);
        let verdicts = verdicts.map(|it| it.verdict == assay_model::Verdict::Failed);
        let expected = if is_base { [true, true] } else { [true, false] };
        assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn shards_together_measure_the_whole_study() {
    let whole = good_rounds(&ended(Scenario::small().undecided()).record);
    let mut parts = BTreeMap::new();
    for index in 0..3 {
        let shard = Shard::new(index, 3).unwrap();
        let mut machine = SimMachine::new(Scenario::small().undecided(), shard);
        let mut driver = Driver::new(machine.record(), shard);
        assert_eq!(carry_out(&mut driver, &mut machine), Ok(StudyEnd::Complete));
        let part = good_rounds(machine.record());
        assert!(part.keys().all(|(block, _)| shard.has(*block)));
        parts.extend(part);
    }
    assert_eq!(parts, whole);
    assert_eq!(Shard::new(3, 3), None);
}

#[test]
fn a_shard_that_is_killed_resumes_its_own_blocks() {
    let shard = Shard::new(1, 2).unwrap();
    let faults = SimFaults { kill: 0.05, ..SimFaults::default() };
    let mut machine = SimMachine::new(Scenario { faults, ..Scenario::small().undecided() }, shard);
    let mut runs = 0;
    let end = loop {
        runs += 1;
        machine.restart();
        let mut driver = Driver::new(machine.record(), shard);
        match carry_out(&mut driver, &mut machine) {
            Ok(end) => break end,
            Err(strike) => assert_eq!(strike, Strike::Killed),
        }
    };
    assert!(end == StudyEnd::Complete && runs > 2, "{end:?} after {runs} runs");
    let blocks: Vec<u32> = machine.record().blocks.iter().map(|block| block.number).collect();
    assert_eq!(blocks, [1, 3]);
    assert!(machine.record().slices.iter().all(|slice| blocks.contains(&slice.block)));
    let cells = machine.record().study.cells.len();
    assert!(good_rounds(machine.record()).values().all(|rounds| *rounds >= 4));
    assert_eq!(good_rounds(machine.record()).len(), 2 * cells);
}

#[test]
fn a_study_ends_with_the_last_block_that_a_ledger_takes() {
    let next_block = |blocks, begun| {
        let mut record = Scenario::small().undecided().record;
        record.study.blocks = blocks;
        let cells = record.study.cells.iter();
        let cells = cells.map(|it| BlockCell { id: it.id, rounds: ROUNDS_MIN }).collect();
        record.blocks.push(PlannedBlock { number: begun, run: 0, left: 1, cells });
        let mut machine =
            SimMachine::new(Scenario { record, ..Scenario::small().undecided() }, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let ended: Result<StudyEnd, Strike> = carry_out(&mut driver, &mut machine);
        (ended, machine.record().blocks.last().map(|block| block.number))
    };
    let last = *BLOCKS.end() - 1;
    assert_eq!(next_block(*BLOCKS.end(), last - 1), (Ok(StudyEnd::Complete), Some(last)));
    assert_eq!(next_block(*BLOCKS.end(), last), (Ok(StudyEnd::Complete), Some(last)));
    // Possible in an edited ledger.
    assert_eq!(next_block(4, last), (Ok(StudyEnd::Complete), Some(last)));
}

fn sequential() -> Scenario {
    let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
    let request = Request {
        preset: Preset::Published,
        tests: ["point-query", "update-one"].map(str::to_owned).into(),
        slice_s: Some(1.0),
        write_slice_s: Some(1.0),
        ..Request::of_systems(&words)
    };
    Scenario { record: study(&request), ..Scenario::small() }
}

#[test]
fn a_sequential_study_belongs_to_the_first_shard() {
    let slices = |index| {
        let shard = Shard::new(index, 2).unwrap();
        let mut machine = SimMachine::new(sequential(), shard);
        let mut driver = Driver::new(machine.record(), shard);
        assert_eq!(carry_out(&mut driver, &mut machine), Ok(StudyEnd::Complete));
        machine.into_record().slices.len()
    };
    let cells = sequential().record.study.cells.len();
    assert_eq!([slices(0), slices(1)], [2 * cells, 0]);
}

/// Otherwise, a server that ends while repeating unrecorded writes would fail the next test for good.
#[test]
fn a_server_is_checked_after_a_repeated_write_fails() {
    let mut machine = SimMachine::new(sequential(), Shard::WHOLE);
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    let is_write = |slice: &Slice| slice.cell.test.name() == "update-one";
    while !machine.record().slices.iter().any(is_write) {
        let ControlFlow::Continue(action) = driver.next() else { panic!("no write") };
        driver.receive(&machine.act(action).unwrap(), machine.used_s());
    }
    // The first system is incomplete, so a resumed study repeats its writes.
    machine.restart();
    let mut record = machine.into_record();
    record.slices.retain(is_write);
    let mut machine = SimMachine::new(Scenario { record, ..sequential() }, Shard::WHOLE);
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    let checked = loop {
        let ControlFlow::Continue(action) = driver.next() else { panic!("no repeated write") };
        let is_repeated = matches!(action, StudyAction::Once { is_recorded: false, .. });
        let mut outcome = machine.act(action).unwrap();
        if let Outcome::Measured { samples, .. } = &mut outcome {
            samples[0].fitness = Fitness::Failed;
        }
        driver.receive(&outcome, machine.used_s());
        if is_repeated {
            break driver.next();
        }
    };
    assert!(matches!(checked, ControlFlow::Continue(StudyAction::CheckAlive { system: 0, .. })));
}

/// Each action is requested once, whatever its outcome.
#[test]
fn an_outcome_that_an_action_cannot_have_ends_the_study() {
    for scenario in [Scenario::small(), sequential()] {
        let mut machine = SimMachine::new(scenario, Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let mut asked = 0;
        while let ControlFlow::Continue(action) = driver.next() {
            let wrong = match action {
                StudyAction::Load | StudyAction::Round { .. } | StudyAction::Once { .. } => {
                    Outcome::Done
                }
                StudyAction::Size { .. } => Outcome::Loaded { rates: Vec::new() },
                _ => Outcome::Measured { samples: Vec::new(), seconds: 0.0 },
            };
            let mut misled = driver.clone();
            misled.receive(&wrong, machine.used_s());
            let ControlFlow::Break(StudyEnd::WrongOutcome(what)) = misled.next() else {
                panic!("{action:?} and {wrong:?}: {:?}", misled.next());
            };
            assert_eq!(what, format!("{action:?} was answered with {wrong:?}"));
            asked += 1;
            driver.receive(&machine.act(action).unwrap(), machine.used_s());
        }
        assert!(asked > 10, "{asked}");
    }
}

#[test]
fn slices_that_are_not_those_of_the_round_end_the_study() {
    let mut machine = SimMachine::new(Scenario::small(), Shard::WHOLE);
    let mut driver = Driver::new(machine.record(), Shard::WHOLE);
    let samples = loop {
        let ControlFlow::Continue(action) = driver.next() else { panic!("no round") };
        match machine.act(action).unwrap() {
            Outcome::Measured { samples, .. } => break samples,
            outcome => driver.receive(&outcome, machine.used_s()),
        }
    };
    let is_right = |samples: Vec<SliceSample>| {
        let mut driver = driver.clone();
        driver.receive(&Outcome::Measured { samples, seconds: 1.0 }, machine.used_s());
        !matches!(driver.next(), ControlFlow::Break(StudyEnd::WrongOutcome(_)))
    };
    let failed = |sample| SliceSample { fitness: Fitness::Failed, ..sample };
    let (first, second) = (|| samples[0].clone(), || samples[1].clone());
    assert!(is_right(vec![first(), second()]));
    assert!(is_right(vec![first(), failed(second())]));
    assert!(is_right(vec![failed(first())]));
    assert!(is_right(vec![failed(second())]));
    assert!(!is_right(vec![]));
    assert!(!is_right(vec![first()]));
    assert!(!is_right(vec![second(), first()]));
    assert!(!is_right(vec![first(), second(), second()]));
    let of_next = |sample: SliceSample| SliceSample { round: sample.round + 1, ..sample };
    assert!(!is_right(vec![first(), of_next(second())]));
    assert!(!is_right(vec![failed(of_next(first()))]));
}

#[test]
fn a_large_sequential_study_is_planned_step_by_step() {
    let mut scenario = sequential();
    let record = &mut scenario.record;
    let system = record.systems[1].clone();
    record.systems.extend((2..SYSTEMS).map(|_| system.clone()));
    let cell = record.study.cells[0].clone();
    let setups = (0..CELLS as u32).map(|more| Setup { rows: 1000 + more, ..cell.id.setup });
    record.study.setups = setups.collect();
    let cells = record.study.setups.iter();
    let cells = cells.map(|&setup| PlannedCell { id: CellId { setup, ..cell.id }, ..cell.clone() });
    record.study.cells = cells.collect();
    let mut driver = Driver::new(record, Shard::WHOLE);
    driver.receive(&Outcome::Loaded { rates: vec![0.0; CELLS] }, 0.0);
    let mut audits = 0;
    while let ControlFlow::Continue(StudyAction::Audit { .. }) = driver.next() {
        driver.receive(&Outcome::Done, 0.0);
        audits += 1;
    }
    assert_eq!(audits, CELLS * SYSTEMS);
    let next = driver.next();
    assert!(matches!(next, ControlFlow::Continue(StudyAction::StartOne { system: 0, .. })));
}

/// An event takes too long on a system: the cell continues without it, and is judged by the bound.
#[test]
fn a_system_that_does_not_answer_is_judged_by_a_bound() {
    for silent in [0, 1] {
        let mut machine = SimMachine::new(Scenario::small(), Shard::WHOLE);
        let mut driver = Driver::new(machine.record(), Shard::WHOLE);
        let mut silent_in = None;
        while let ControlFlow::Continue(action) = driver.next() {
            let outcome = match action {
                StudyAction::Trace { cell, .. } if silent_in.is_none() => {
                    silent_in = Some(cell);
                    let why = "no answer to `SELECT 1` within 30 s".to_owned();
                    let silence = SilentEvent { why, events: 0, elapsed_ns: 30_000_000_000 };
                    Outcome::Silent { system: silent, silence }
                }
                action => machine.act(action).unwrap(),
            };
            driver.receive(&outcome, machine.used_s());
        }
        assert_eq!(driver.next(), ControlFlow::Break(StudyEnd::Complete));
        let record = machine.record();
        let id = record.study.cells[silent_in.unwrap()].id;
        let slices = || record.slices.iter().filter(|slice| slice.cell == id);
        assert_eq!(slices().filter(|it| is_unanswered(it)).count(), 1);
        let of_silent = slices().filter(|slice| slice.system == silent);
        assert_eq!(of_silent.count(), 1, "it is measured no further");
        // Writes continue as long as others on the same instances do.
        let goes_on = id.test.class == assay_model::Class::Write;
        assert!(goes_on || slices().all(|slice| slice.block == 0), "the bound decides");
        let judged = judge(record);
        let cell = judged.cells.iter().find(|it| it.cell == id && it.system == 1).unwrap();
        let rqps = cell.rqps.unwrap();
        let (verdict, ratio) = match silent {
            0 => (Verdict::Faster, rqps.low),
            _ => (Verdict::Slower, 1.0 / rqps.high),
        };
        assert_eq!(cell.verdict, verdict);
        assert!(rqps.is_bound() && ratio > 1000.0, "{rqps:?}");
        let silence = cell.silence.as_ref().unwrap();
        assert_eq!((silence.system, cell.failure.as_ref()), (silent, None));
        assert_eq!(judged.systems[0].failed, 0);
        let lines = assay_verdict::comparable(&[(record, &judged)], |cell, _| cell == id);
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(line.points.is_empty() && line.bounds[0].rqps.is_bound(), "{line:?}");
        let mut gated = record.clone();
        let margins = vec![0.03; gated.study.cells.len()];
        gated.study.limits = Some(RegressionLimits { margins, allow_undecided: false });
        let gate = judge(&gated).limits.unwrap();
        let by_gate = gate.cells.iter().find(|it| it.cell == id).unwrap().verdict;
        let expected = [LimitVerdict::Passed, LimitVerdict::Exceeded][silent];
        assert_eq!((by_gate, gate.verdict()), (expected, expected));
    }
}

fn is_unanswered(slice: &Slice) -> bool {
    matches!(slice.outcome, SliceOutcome::Unanswered(_))
}
