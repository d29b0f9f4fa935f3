//! Judges simulated studies whose true effects are known. Seeded, so deterministic.

use assay_model::{
    BlockCell, CellId, PlannedBlock, Preset, SliceOutcome, StudyRecord, Trouble, Verdict,
};
use assay_verdict::{CellJudgement, Judgement, Samples, TroubleCounts, VerdictDoubt, judge};

use crate::common::Simulation;

fn others(judgement: &Judgement) -> impl Iterator<Item = &CellJudgement> {
    judgement.cells.iter().filter(|cell| cell.system == 1)
}

fn count(judgement: &Judgement, verdict: Verdict) -> usize {
    others(judgement).filter(|cell| cell.verdict == verdict).count()
}

/// Share of true effects inside 95% intervals, calls, and mean half-width, over studies of 32 cells.
fn over_studies(simulation: Simulation, studies: u64) -> (f64, f64, f64) {
    let (mut covered, mut called, mut cells, mut width) = (0, 0, 0, 0.0);
    for seed in 0..studies {
        let judgement = judge(&Simulation { seed, ..simulation }.record());
        let truth = simulation.effect.exp();
        let measured = others(&judgement).filter_map(|cell| Some((cell, cell.rqps?)));
        for (cell, interval) in measured {
            cells += 1;
            covered += usize::from(interval.low <= truth && truth <= interval.high);
            called += usize::from(matches!(cell.verdict, Verdict::Faster | Verdict::Slower));
            width += (interval.high - interval.low) / 2.0;
        }
    }
    let cells = f64::from(cells);
    (covered as f64 / cells, called as f64 / cells, width / cells)
}

fn open_cells(record: &StudyRecord) -> Vec<CellId> {
    let open = Samples::from_record(record).standings().into_iter().filter(|it| it.is_open);
    open.map(|it| it.cell).collect()
}

#[test]
fn equal_systems_are_covered_and_not_called() {
    let mut report = String::new();
    // Calls come in clusters, because cells share instances: estimating their share takes many studies.
    for (blocks, rounds, studies) in [(2, 40, 120), (4, 10, 120), (4, 40, 24), (6, 40, 24)] {
        let simulation = Simulation { blocks, rounds, ..Simulation::MEASURED };
        let (covered, called, width) = over_studies(simulation, studies);
        report +=
            &format!("{blocks} × {rounds}: covered {covered:.3} called {called:.4} ±{width:.4}\n");
        assert!((0.93..=0.985).contains(&covered), "{report}");
        assert!(called < 0.002, "{report}");
    }
    println!("{report}");
}

#[test]
fn without_noise_within_blocks_intervals_still_cover() {
    let simulation = Simulation { pair_sd: 0.005, spikes: 0.0, ..Simulation::MEASURED };
    let (covered, called, _) = over_studies(simulation, 24);
    assert!((0.92..=0.98).contains(&covered), "{covered}");
    assert!(called < 0.05, "{called}");
}

#[test]
fn five_percent_is_found() {
    for effect in [-0.05, 0.05] {
        let (covered, called, _) = over_studies(Simulation { effect, ..Simulation::MEASURED }, 20);
        assert!(covered > 0.93, "{covered}");
        assert!(called > 0.9, "{called}");
    }
}

/// If one cell of 32 changes by the smallest detectable change, four of five studies call it.
#[test]
fn the_smallest_detectable_change_is_called_in_four_of_five_studies() {
    let equal = Simulation::MEASURED;
    let smallest: Vec<f64> = (0..6)
        .flat_map(|seed| judge(&Simulation { seed, ..equal }.record()).cells)
        .filter_map(|cell| cell.detectable)
        .collect();
    let mean = smallest.iter().sum::<f64>() / smallest.len() as f64;
    let changed = Simulation { effect: mean.ln_1p(), changing: 1, ..equal };
    let called = (200..260)
        .map(|seed| judge(&Simulation { seed, ..changed }.record()))
        .filter(|judgement| {
            others(judgement).next().is_some_and(|cell| cell.verdict == Verdict::Faster)
        })
        .count();
    assert!((0.65..0.9).contains(&(called as f64 / 60.0)), "{called} of 60 at {mean}");
}

#[test]
fn a_cell_that_changes_among_many_is_seen_sooner() {
    let smallest = |changing| {
        let changed = Simulation { effect: 0.2, changing, ..Simulation::MEASURED };
        judge(&changed.record()).cells.last().and_then(|cell| cell.detectable).unwrap()
    };
    assert!(smallest(0) > 1.1 * smallest(16), "{} {}", smallest(0), smallest(16));
}

#[test]
fn few_studies_of_equal_systems_have_a_false_call() {
    let with_call = (100..160)
        .filter(|&seed| {
            let judgement =
                judge(&Simulation { seed, rounds: 20, ..Simulation::MEASURED }.record());
            count(&judgement, Verdict::Faster) + count(&judgement, Verdict::Slower) > 0
        })
        .count();
    // One in twenty is allowed. More than six of 60 would then have a probability of 3%.
    assert!(with_call <= 6, "{with_call} of 60");
}

#[test]
fn smoke_calls_only_gross_changes() {
    let smoke = Simulation { preset: Preset::Smoke, blocks: 2, rounds: 2, ..Simulation::MEASURED };
    let equal = judge(&smoke.record());
    assert_eq!(count(&equal, Verdict::Undecided), 32);
    let gross = judge(&Simulation { effect: -0.7, ..smoke }.record());
    assert!(count(&gross, Verdict::Slower) > 28, "{}", count(&gross, Verdict::Slower));
}

/// Half the rate is known from one block of four, and 1% is not.
#[test]
fn one_block_of_several_calls_large_changes() {
    let record_of_one_block = |effect| {
        let mut record = Simulation { pair_sd: 0.01, effect, ..Simulation::MEASURED }.record();
        record.slices.retain(|slice| slice.block == 0);
        record.finished = false;
        record
    };
    let half = judge(&record_of_one_block(0.5_f64.ln()));
    assert_eq!(count(&half, Verdict::Slower), 32);
    assert!(half.groups.iter().all(|group| group.median_interval.is_none()));
    let little = record_of_one_block(0.99_f64.ln());
    let of_little = judge(&little);
    assert_eq!(count(&of_little, Verdict::Undecided), 32, "{:?}", of_little.cells[1]);
    assert_eq!(open_cells(&little).len(), 32);
}

/// A single test, whose events take a second on one side: four rounds in the only block that fitted, of twenty planned.
/// The rates are those seen by a user.
#[test]
fn a_factor_of_two_thousand_is_slower_after_one_block() {
    let mut record = Simulation { blocks: 1, rounds: 4, ..Simulation::MEASURED }.record();
    let only = record.study.cells[0].id;
    record.study.cells.truncate(1);
    record.study.blocks = 20;
    record.slices.retain(|slice| slice.cell == only);
    let seen = [2600.0, 1.02, 2550.0, 1.05, 2710.0, 0.98, 2590.0, 1.1];
    for slice in &mut record.slices {
        let rate = seen[(2 * slice.round) as usize + slice.system];
        slice.work.elapsed_ns = (slice.work.events as f64 / rate * 1e9) as u64;
    }
    let cell = BlockCell { id: only, rounds: 4 };
    record.blocks.push(PlannedBlock { number: 0, run: 0, left: 20, cells: vec![cell] });
    for finished in [false, true] {
        record.finished = finished;
        let judged = judge(&record);
        assert_eq!(judged.cells[1].verdict, Verdict::Slower, "{:?}", judged.cells[1]);
        let low = judged.cells[1].rqps.unwrap();
        assert!(low.high < 1.0 / 2000.0 && low.low > 1.0 / 3200.0, "{low:?}");
    }
}

/// One pass over 32 tests, all slower by about 37%.
#[test]
fn one_pass_over_many_tests_calls_a_third() {
    let mut record = Simulation { blocks: 1, rounds: 2, effect: -0.46, ..Simulation::MEASURED };
    record.spikes = 0.0;
    let mut record = record.record();
    record.study.blocks = 8;
    for finished in [false, true] {
        record.finished = finished;
        let judged = judge(&record);
        let slower = count(&judged, Verdict::Slower);
        assert!(slower >= if finished { 28 } else { 16 }, "{finished}: {slower}");
    }
}

/// Each test runs once, as in preset published.
#[test]
fn a_single_pair_gives_values_without_intervals_and_no_verdict() {
    let mut record = Simulation { blocks: 1, ..Simulation::MEASURED }.record();
    record.slices.retain(|slice| slice.round == 0);
    let judgement = judge(&record);
    assert_eq!(count(&judgement, Verdict::Undecided), 32);
    for cell in others(&judgement) {
        let (qps, rqps) = (cell.qps.unwrap(), cell.rqps.unwrap());
        assert!(qps.value > 0.0 && !qps.has_interval(), "{qps:?}");
        assert!(rqps.value > 0.0 && !rqps.has_interval(), "{rqps:?}");
    }
    assert!(others(&judgement).all(|cell| cell.doubt == Some(VerdictDoubt::SinglePair)));
    assert_eq!(judgement.groups.iter().map(|group| group.n).sum::<u32>(), 32);
    assert!(judgement.groups.iter().all(|group| group.median_interval.is_none()));
}

#[test]
fn the_same_record_gives_the_same_judgement_in_any_slice_order() {
    let record = Simulation::MEASURED.record();
    let mut shuffled = record.clone();
    shuffled.slices.reverse();
    assert_eq!(judge(&record), judge(&shuffled));
}

#[test]
fn nothing_measured_is_undecided_and_open() {
    let mut record = Simulation::MEASURED.record();
    record.slices.clear();
    let judgement = judge(&record);
    assert_eq!(count(&judgement, Verdict::Undecided), 32);
    assert!(others(&judgement).all(|cell| cell.doubt == Some(VerdictDoubt::Unmeasured)));
    assert!(judgement.groups.is_empty());
    assert_eq!(open_cells(&record).len(), 32);
}

#[test]
fn decided_cells_are_closed() {
    let decided =
        Simulation { pair_sd: 0.01, block_sd: 0.002, spikes: 0.0, ..Simulation::MEASURED };
    assert_eq!(open_cells(&decided.record()), []);
    assert!(others(&judge(&decided.record())).all(|cell| cell.verdict == Verdict::Same));
}

#[test]
fn a_failed_slice_fails_its_cell_and_troubled_ones_are_left_out() {
    let mut record = Simulation::MEASURED.record();
    let cell = record.study.cells[3].id;
    let failing = record.slices.iter_mut().find(|s| s.cell == cell && s.system == 1).unwrap();
    failing.outcome = SliceOutcome::Failed("server went away".into());
    let troubled = record.slices.iter_mut().find(|s| s.cell != cell && s.system == 1).unwrap();
    troubled.outcome = SliceOutcome::Troubled;
    troubled.trouble = vec![Trouble::Steal, Trouble::OtherProcess];
    troubled.work.elapsed_ns *= 1000;
    let troubled_cell = troubled.cell;
    let judgement = judge(&record);
    let failed = judgement.cell(cell, 1).unwrap();
    assert_eq!(failed.verdict, Verdict::Failed);
    assert_eq!(failed.failure.as_deref(), Some("server went away"));
    let left_out = judgement.cell(troubled_cell, 1).unwrap();
    assert_eq!((left_out.slices, left_out.troubled), (159, 1));
    let by = TroubleCounts { steal: 1, other_process: 1, clock_jump: 0, throttled: 0 };
    assert_eq!(left_out.troubled_by, by);
    assert_eq!(judgement.groups.iter().map(|group| group.n).sum::<u32>(), 31);
}

#[test]
fn group_statistics_are_those_of_the_ratios() {
    let judgement = judge(&Simulation { effect: 0.1, ..Simulation::MEASURED }.record());
    let sizes: Vec<u32> = judgement.groups.iter().map(|group| group.n).collect();
    assert_eq!(sizes, [9, 5, 8, 10]);
    for group in &judgement.groups {
        let interval = group.median_interval.unwrap();
        assert!(group.min <= group.median && group.median <= group.max);
        assert!(interval.low <= group.median && group.median <= interval.high);
        assert!(interval.low > 1.05 && interval.high < 1.16, "{interval:?}");
    }
}

/// A test and the group that has only this test get the same answer.
#[test]
fn a_group_of_one_test_is_that_test() {
    for blocks in [1, 2, 4] {
        let mut record = Simulation { blocks, ..Simulation::MEASURED }.record();
        record.study.cells.truncate(1);
        let judgement = judge(&record);
        let [group] = &judgement.groups[..] else { panic!("{:?}", judgement.groups) };
        let test = others(&judgement).next().unwrap().rqps.unwrap();
        assert_eq!((group.n, group.median, group.median_interval), (1, test.value, Some(test)));
    }
}

#[test]
fn undecided_cells_say_what_would_help() {
    let noisy = judge(&Simulation { rounds: 10, ..Simulation::MEASURED }.record());
    let undecided = others(&noisy).filter(|cell| cell.verdict == Verdict::Undecided);
    for cell in undecided {
        match cell.doubt {
            Some(VerdictDoubt::Wide { times, .. }) => assert!(times >= 1.0, "{times}"),
            Some(VerdictDoubt::AtThreshold) => {}
            other => panic!("{other:?}"),
        }
    }
    let instances =
        Simulation { pair_sd: 0.005, spikes: 0.0, block_sd: 0.05, ..Simulation::MEASURED };
    let differ = judge(&instances.record());
    assert!(others(&differ).any(|cell| matches!(
        cell.doubt,
        Some(VerdictDoubt::Wide { is_between_blocks: true, .. })
    )));
    let mut short = Simulation::MEASURED.record();
    short.slices.retain(|slice| slice.block < 3);
    let short = judge(&short);
    assert!(others(&short).all(|cell| cell.detectable.is_some()));
    let smoke = Simulation { preset: Preset::Smoke, blocks: 2, rounds: 9, ..Simulation::MEASURED };
    assert!(others(&judge(&smoke.record())).any(|cell| cell.doubt == Some(VerdictDoubt::Smoke)));
    for cell in noisy.cells.iter().filter(|cell| cell.verdict != Verdict::Undecided) {
        assert_eq!(cell.doubt, None);
    }
}

#[test]
fn an_unreadable_histogram_gives_no_latency() {
    let mut record = Simulation::MEASURED.record();
    record.slices[0].work.latency_hdr = vec![1, 2, 3];
    assert!(judge(&record).cells.iter().all(|cell| cell.latency.is_none()));
}

#[test]
fn on_a_machine_that_is_always_busy_the_troubled_slices_are_judged_and_that_is_said() {
    let mut record = Simulation { rounds: 20, ..Simulation::MEASURED }.record();
    let quiet = judge(&record);
    assert!(quiet.cells.iter().all(|cell| !cell.is_disturbed));
    for slice in &mut record.slices {
        slice.outcome = SliceOutcome::Troubled;
        slice.trouble = vec![Trouble::OtherProcess];
    }
    let busy = judge(&record);
    assert!(busy.cells.iter().all(|cell| cell.is_disturbed && cell.slices == cell.troubled));
    for (busy, quiet) in busy.cells.iter().zip(&quiet.cells) {
        assert_eq!((busy.rqps, busy.verdict), (quiet.rqps, quiet.verdict));
    }
    // Rates with a clock jump are meaningless.
    for slice in &mut record.slices {
        slice.trouble = vec![Trouble::ClockJump];
    }
    assert!(judge(&record).cells.iter().all(|cell| cell.slices == 0 && cell.rqps.is_none()));
}
