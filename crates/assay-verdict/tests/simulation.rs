//! Judgement of simulated studies whose truth is known. Seeded, so nothing here is left to chance.

mod common;

use assay_model::{CellId, Preset, SliceOutcome, StudyRecord, Trouble, Verdict};
use assay_verdict::{CellJudgement, Judgement, judge, stop};
use common::Simulation;

fn others(judgement: &Judgement) -> impl Iterator<Item = &CellJudgement> {
    judgement.cells.iter().filter(|cell| cell.system == 1)
}

fn count(judgement: &Judgement, verdict: Verdict) -> usize {
    others(judgement).filter(|cell| cell.verdict == verdict).count()
}

/// Share of true effects inside the 95 % intervals, calls, and mean half-width, over studies of 32 cells.
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
    stop::open_cells(record, &judge(record))
}

#[test]
fn equal_systems_are_covered_and_not_called() {
    let mut report = String::new();
    for (blocks, rounds) in [(2, 40), (4, 10), (4, 40), (6, 40)] {
        let simulation = Simulation { blocks, rounds, ..Simulation::MEASURED };
        let (covered, called, width) = over_studies(simulation, 24);
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

#[test]
fn fewer_than_one_study_in_twenty_has_a_false_call() {
    let with_call = (100..160)
        .filter(|&seed| {
            let judgement =
                judge(&Simulation { seed, rounds: 20, ..Simulation::MEASURED }.record());
            count(&judgement, Verdict::Faster) + count(&judgement, Verdict::Slower) > 0
        })
        .count();
    assert!(with_call < 3, "{with_call} of 60");
}

#[test]
fn smoke_calls_only_gross_changes() {
    let smoke = Simulation { preset: Preset::Smoke, blocks: 2, rounds: 2, ..Simulation::MEASURED };
    let equal = judge(&smoke.record());
    assert_eq!(count(&equal, Verdict::Undecided), 32);
    let gross = judge(&Simulation { effect: -0.7, ..smoke }.record());
    assert!(count(&gross, Verdict::Slower) > 28, "{}", count(&gross, Verdict::Slower));
}

#[test]
fn one_block_of_several_gives_intervals_but_no_verdict() {
    let mut record = Simulation { pair_sd: 0.01, ..Simulation::MEASURED }.record();
    record.slices.retain(|slice| slice.block == 0);
    for slice in record.slices.iter_mut().filter(|slice| slice.system == 1) {
        slice.work.elapsed_ns *= 2;
    }
    let judgement = judge(&record);
    assert_eq!(count(&judgement, Verdict::Undecided), 32);
    assert_eq!(open_cells(&record).len(), 32);
    assert!(others(&judgement).all(|cell| cell.rqps.is_some()));
    assert!(judgement.groups.iter().all(|group| group.median_interval.is_none()));
}

/// As in preset published: each test once.
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
    troubled.work.elapsed_ns *= 1000;
    let troubled_cell = troubled.cell;
    let judgement = judge(&record);
    let failed = judgement.cell(cell, 1).unwrap();
    assert_eq!(failed.verdict, Verdict::Failed);
    assert_eq!(failed.failure.as_deref(), Some("server went away"));
    let left_out = judgement.cell(troubled_cell, 1).unwrap();
    assert_eq!((left_out.slices, left_out.troubled), (159, 1));
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
    // A clock that jumped says nothing about rates.
    for slice in &mut record.slices {
        slice.trouble = vec![Trouble::ClockJump];
    }
    assert!(judge(&record).cells.iter().all(|cell| cell.slices == 0 && cell.rqps.is_none()));
}
