//! Steps of the Insert Benchmark: order, failures, and repetition in a resumed study.

use std::ops::ControlFlow;

use assay_model::{
    BlockCell, EventKind, PlannedBlock, Preset, RateLoss, Slice, SliceOutcome, Statements,
    StepSegment, StepWork, StudyRecord, Verdict, WorkCounters,
};
use assay_plan::{InsertBenchRequest, Request};
use assay_sim::study;
use assay_study::{Driver, Outcome, Shard, StudyAction, StudyEnd};
use assay_verdict::{SliceSample, judge};

fn benchmark() -> StudyRecord {
    let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
    let (repeats, segments) = (Some(2), Some(1));
    let bench = InsertBenchRequest { repeats, segments, ..InsertBenchRequest::default() };
    study(&Request { insert_bench: Some(bench), ..Request::of_systems(&words) })
}

fn in_segments() -> StudyRecord {
    let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
    let insert_bench = Some(InsertBenchRequest::default());
    study(&Request { insert_bench, ..Request::of_systems(&words) })
}

/// A requested segment of a step: block, cell, system, round, and whether it is recorded.
type RequestedStep = (u32, usize, usize, u32, bool);

struct StudyRun {
    record: StudyRecord,
    steps: Vec<RequestedStep>,
    notes: Vec<EventKind>,
    started: Vec<Vec<usize>>,
    rests: u32,
    end: Option<StudyEnd>,
}

/// Runs a study to its end, or until it has requested `most` steps. `fails` selects failing steps.
fn run(
    mut record: StudyRecord,
    shard: Shard,
    most: usize,
    fails: impl Fn(&RequestedStep) -> bool,
) -> StudyRun {
    let mut driver = Driver::new(&record, shard);
    let (mut steps, mut notes, mut started, mut rests) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let end = loop {
        let action = match driver.next() {
            ControlFlow::Break(end) => break Some(end),
            ControlFlow::Continue(_) if steps.len() == most => break None,
            ControlFlow::Continue(action) => action,
        };
        let outcome = match action {
            StudyAction::Load => Outcome::Loaded { rates: Vec::new() },
            StudyAction::Begin { block, left, ref cells, is_recorded, .. } => {
                if !is_recorded {
                    let cells = cells.iter();
                    let cells = cells.map(|&(cell, rounds)| BlockCell {
                        id: record.study.cells[cell].id,
                        rounds,
                    });
                    let cells = cells.collect();
                    record.blocks.push(PlannedBlock { number: block, run: 0, left, cells });
                }
                Outcome::Done
            }
            StudyAction::StartAll { ref order, .. } => {
                let mut order = order.clone();
                order.sort_unstable();
                started.push(order);
                Outcome::Done
            }
            StudyAction::Note { ref what, .. } => {
                notes.push(what.clone());
                Outcome::Done
            }
            StudyAction::Step { cell, system, block, round, segment, is_recorded, .. } => {
                let asked = (block, cell, system, round, is_recorded);
                let slice = slice(&record, asked, segment, fails(&asked));
                steps.push(asked);
                let samples = vec![SliceSample::from_slice(&slice)];
                if is_recorded {
                    record.slices.push(slice);
                }
                Outcome::Measured { samples, seconds: 1.0 }
            }
            StudyAction::Rest { ms } => {
                assert!(ms > 0);
                rests += 1;
                Outcome::Done
            }
            StudyAction::Audit { .. } | StudyAction::EndPhase => Outcome::Done,
            other => panic!("{other:?}"),
        };
        driver.receive(&outcome, 0.0);
    };
    StudyRun { record, steps, notes, started, rests, end }
}

fn slice(
    record: &StudyRecord,
    (block, cell, system, round, _): RequestedStep,
    segment: StepSegment,
    fails: bool,
) -> Slice {
    let failed = || SliceOutcome::Failed("in a test".to_owned());
    // More than any background rate.
    let insert = Statements { rows: 10_000, ..Statements::default() };
    let segment = (segment.count > 1).then_some(segment);
    let step = StepWork { insert, segment, ..StepWork::default() };
    Slice {
        block,
        round,
        outcome: if fails { failed() } else { SliceOutcome::Good },
        work: WorkCounters { read: 100, elapsed_ns: 1_000_000_000, ..WorkCounters::default() },
        step: (!fails).then(|| Box::new(step)),
        ..Slice::new(system, record.study.cells[cell].id)
    }
}

fn never(_: &RequestedStep) -> bool {
    false
}

#[test]
fn systems_alternate_step_by_step() {
    let done = run(benchmark(), Shard::WHOLE, usize::MAX, never);
    assert_eq!(done.end, Some(StudyEnd::Complete));
    assert_eq!(done.steps.len(), 2 * 10 * 2);
    let places: Vec<(u32, usize)> = done.steps.iter().map(|step| (step.0, step.1)).collect();
    assert!(places.is_sorted());
    // The first system of a step goes last in the next one.
    for four in done.steps.chunks(4) {
        assert_eq!([four[0].2, four[1].2], [four[3].2, four[2].2], "{four:?}");
        assert_ne!(four[0].2, four[1].2);
    }
    assert_eq!((done.started, done.rests), (vec![vec![0, 1]; 2], 0));
    assert_eq!(done.notes, []);
}

fn published() -> StudyRecord {
    let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
    let rows = vec![20_000, 10_000, 1000];
    let bench = InsertBenchRequest { rows, repeats: Some(2), ..InsertBenchRequest::default() };
    study(&Request {
        insert_bench: Some(bench),
        preset: Preset::Published,
        ..Request::of_systems(&words)
    })
}

#[test]
fn in_preset_published_a_system_does_all_steps_before_the_next_one_starts() {
    let done = run(published(), Shard::WHOLE, usize::MAX, never);
    assert_eq!(done.end, Some(StudyEnd::Complete));
    assert!(done.started.iter().all(|systems| systems.len() == 1), "{:?}", done.started);
    assert_eq!((done.started.len(), done.rests), (4, 3));
    assert_eq!(done.steps.len(), 2 * 10 * 2);
    for steps in done.steps.chunks(10) {
        let (block, _, system, ..) = steps[0];
        let expected: Vec<RequestedStep> =
            (0..10).map(|cell| (block, cell, system, 0, true)).collect();
        assert_eq!(steps, expected);
    }
    // Drift of the machine must not look like a change: the first one of a block is the last in the next.
    let order: Vec<usize> = done.started.iter().map(|systems| systems[0]).collect();
    assert_eq!([order[0], order[1]], [order[3], order[2]]);
    // One that fails a step leaves the other as it is.
    let fails = |step: &RequestedStep| (step.0, step.1, step.2) == (0, 4, 1);
    let done = run(published(), Shard::WHOLE, usize::MAX, fails);
    assert_eq!(done.end, Some(StudyEnd::Unfinished));
    assert_eq!(done.steps.len(), 35);
    // A resumed one does not start again what is complete.
    let done = run(done.record, Shard::WHOLE, usize::MAX, never);
    assert_eq!((done.end, done.started), (Some(StudyEnd::Complete), vec![vec![1]]));
    assert_eq!(done.notes, [EventKind::WritesRepeated]);
    assert_eq!(done.steps.iter().filter(|step| step.4).count(), 6);
}

#[test]
fn in_preset_published_a_system_that_does_not_start_leaves_the_others_as_they_are() {
    let record = published();
    let mut driver = Driver::new(&record, Shard::WHOLE);
    let (mut steps, mut notes) = (Vec::new(), Vec::new());
    let end = loop {
        let action = match driver.next() {
            ControlFlow::Break(end) => break end,
            ControlFlow::Continue(action) => action,
        };
        let outcome = match action {
            StudyAction::Load => Outcome::Loaded { rates: Vec::new() },
            StudyAction::StartAll { ref order, .. } if order[..] == [1] => {
                Outcome::Failed { system: 1, why: "in a test".to_owned(), also: Vec::new() }
            }
            StudyAction::Step { cell, system, block, round, segment, is_recorded, .. } => {
                let asked = (block, cell, system, round, is_recorded);
                steps.push(system);
                let slice = slice(&record, asked, segment, false);
                let samples = vec![SliceSample::from_slice(&slice)];
                Outcome::Measured { samples, seconds: 1.0 }
            }
            StudyAction::Note { system, .. } => {
                notes.push(system);
                Outcome::Done
            }
            _ => Outcome::Done,
        };
        driver.receive(&outcome, 0.0);
    };
    assert_eq!(end, StudyEnd::Unfinished);
    assert_eq!(steps, [0; 20]);
    assert_eq!(notes, [Some(1), Some(1)]);
}

#[test]
fn blocks_belong_to_shards() {
    for index in 0..2 {
        let done = run(benchmark(), Shard::new(index, 2).unwrap(), usize::MAX, never);
        assert_eq!(done.steps.len(), 20);
        assert!(done.steps.iter().all(|step| step.0 == index));
    }
}

#[test]
fn a_resumed_study_repeats_the_steps_before_the_next_one() {
    // The first system has done three steps, the second two.
    let stopped = run(benchmark(), Shard::WHOLE, 5, never);
    let ahead = stopped.steps[4].2;
    let done = run(stopped.record, Shard::WHOLE, usize::MAX, never);
    assert_eq!(done.end, Some(StudyEnd::Complete));
    assert_eq!(done.notes, [EventKind::WritesRepeated]);
    let repeated = done.steps.iter().filter(|step| !step.4).count();
    assert_eq!(repeated, 5);
    let of_third: Vec<_> = done.steps.iter().filter(|step| step.0 == 0 && step.1 == 2).collect();
    assert!(of_third.iter().all(|step| step.4 == (step.2 != ahead)), "{of_third:?}");
    assert_eq!(done.record.slices.len(), 40);
    let again = run(done.record, Shard::WHOLE, usize::MAX, never);
    assert_eq!((again.end, again.steps.len()), (Some(StudyEnd::Complete), 0));
}

#[test]
fn a_system_that_fails_a_step_leaves_out_the_rest_until_the_study_is_resumed() {
    let fails = |step: &RequestedStep| (step.0, step.1, step.2, step.3) == (0, 4, 1, 0);
    let done = run(benchmark(), Shard::WHOLE, usize::MAX, fails);
    assert_eq!(done.end, Some(StudyEnd::Unfinished));
    let of_block = |system, block| {
        done.steps.iter().filter(|step| (step.2, step.0) == (system, block)).count()
    };
    assert_eq!([of_block(0, 0), of_block(1, 0)], [10, 5]);
    assert_eq!([of_block(0, 1), of_block(1, 1)], [10, 10]);
    let verdict = |record: &StudyRecord| {
        let cell = record.study.cells[4].id;
        judge(record).cell(cell, 1).unwrap().verdict
    };
    assert_eq!(verdict(&done.record), Verdict::Failed);
    // Only the failed system is restarted. Its failed step is attempted once more.
    let resumed = run(done.record, Shard::WHOLE, usize::MAX, never);
    assert_eq!(resumed.end, Some(StudyEnd::Complete));
    assert_eq!(resumed.started, [[1]]);
    assert_eq!(resumed.steps[4], (0, 4, 1, 1, true));
    assert!(resumed.steps[..4].iter().all(|step| !step.4));
    assert_eq!(resumed.record.slices.len(), 41);
    assert_ne!(verdict(&resumed.record), Verdict::Failed);
    // It is compared with the step of the other system.
    let judgement = judge(&resumed.record);
    let retried = judgement.cell(resumed.record.study.cells[4].id, 1).unwrap();
    assert_eq!((retried.blocks, retried.rqps.is_some()), (2, true));
}

#[test]
fn a_step_behind_its_background_rate_has_failed_and_is_not_compared() {
    let mut record = run(benchmark(), Shard::WHOLE, usize::MAX, never).record;
    let cell = record.study.cells[4].id;
    for slice in record.slices.iter_mut().filter(|it| it.cell == cell && it.system == 1) {
        let step = slice.step.as_mut().unwrap();
        step.insert.rows = 94;
        step.broke = Some(RateLoss { second: 7, insert_us: 1_234_000, delete_us: 5000 });
    }
    let judgement = judge(&record);
    let judged = judgement.cell(cell, 1).unwrap();
    assert_eq!((judged.verdict, judged.rqps), (Verdict::Failed, None));
    assert_eq!(judged.step.as_ref().unwrap().sla_met, Some(false));
    let why = judged.failure.as_deref().unwrap();
    let expected = "missed its SLA: 94 inserts/s, 94% of the background rate of 100 from second 7 on, in which an \
                    insert took up to 1.23 s and a delete up to 0.01 s";
    assert_eq!(why, expected);
    // The system continued with later steps.
    let next = judgement.cell(record.study.cells[5].id, 1).unwrap();
    assert_ne!(next.verdict, Verdict::Failed);
}

#[test]
fn systems_take_turns_by_segments() {
    let record = in_segments();
    let count = |cell: usize| record.study.segments_of(record.study.cells[cell].id.test);
    // All but l.x, which cannot be divided.
    assert!((0..10).all(|cell| if cell == 1 { count(cell) == 1 } else { count(cell) >= 20 }));
    let all: u32 = (0..10).map(count).sum();
    let done = run(record.clone(), Shard::WHOLE, usize::MAX, never);
    assert_eq!((done.end, done.notes), (Some(StudyEnd::Complete), vec![]));
    assert_eq!((done.steps.len(), done.started), (2 * all as usize, vec![vec![0, 1]]));
    let places: Vec<(usize, u32)> = done.steps.iter().map(|step| (step.1, step.3)).collect();
    assert!(places.is_sorted());
    for (segment, both) in done.steps.chunks(2).enumerate() {
        assert_eq!(places[2 * segment], places[2 * segment + 1]);
        assert_ne!(both[0].2, both[1].2);
    }
    // The first system of a segment goes last in the next one.
    for four in done.steps.chunks_exact(4) {
        assert_eq!([four[0].2, four[1].2], [four[3].2, four[2].2], "{four:?}");
    }
    let rounds = done.record.blocks[0].cells.iter().map(|cell| cell.rounds);
    assert!(rounds.eq((0..10).map(count)));
}

#[test]
fn a_study_resumed_in_the_middle_of_a_step_repeats_its_segments() {
    let all = run(in_segments(), Shard::WHOLE, usize::MAX, never).record.slices.len();
    // Within l.i1, the third step.
    let most = 2 * 30 + 7;
    let stopped = run(in_segments(), Shard::WHOLE, most, never);
    let done = run(stopped.record, Shard::WHOLE, usize::MAX, never);
    assert_eq!((done.end, done.notes), (Some(StudyEnd::Complete), vec![EventKind::WritesRepeated]));
    assert_eq!(done.steps.iter().filter(|step| !step.4).count(), most);
    assert_eq!(done.steps.len(), all);
    let mut measured: Vec<_> =
        done.record.slices.iter().map(|slice| (slice.system, slice.cell, slice.round)).collect();
    measured.sort_unstable();
    measured.dedup();
    assert_eq!((measured.len(), done.record.slices.len()), (all, all));
}

#[test]
fn a_failed_segment_ends_its_step_which_is_attempted_once_more() {
    let record = in_segments();
    let count = record.study.segments_of(record.study.cells[2].id.test);
    let fails = |step: &RequestedStep| (step.1, step.2, step.3) == (2, 1, 5);
    let failed = run(record, Shard::WHOLE, usize::MAX, fails);
    assert_eq!(failed.end, Some(StudyEnd::Unfinished));
    let cell = failed.record.study.cells[2].id;
    let verdict = |record: &StudyRecord| judge(record).cell(cell, 1).unwrap().verdict;
    assert_eq!(verdict(&failed.record), Verdict::Failed);
    let done = run(failed.record, Shard::WHOLE, usize::MAX, never);
    assert_eq!((done.end, done.started), (Some(StudyEnd::Complete), vec![vec![1]]));
    let rounds: Vec<u32> =
        done.steps.iter().filter(|step| step.1 == 2 && step.4).map(|step| step.3).collect();
    assert_eq!(rounds, (count + 5..2 * count).collect::<Vec<_>>());
    assert_ne!(verdict(&done.record), Verdict::Failed);
    // Every segment has its counterpart.
    let judgement = judge(&done.record);
    let judged = judgement.cell(cell, 1).unwrap();
    assert_eq!((judged.slices, judged.verdict), (count, Verdict::Same));
}

#[test]
fn one_run_in_segments_has_verdicts() {
    let mut record = run(in_segments(), Shard::WHOLE, usize::MAX, never).record;
    let changed = [1, 2, 5].map(|cell: usize| record.study.cells[cell].id);
    for (number, slice) in record.slices.iter_mut().enumerate() {
        let noise = number as u64 * 7 % 11 * 500_000;
        let by = if slice.system == 1 && changed.contains(&slice.cell) { 100_000_000 } else { 0 };
        slice.work.elapsed_ns += noise + by;
    }
    let judgement = judge(&record);
    for (number, planned) in record.study.cells.iter().enumerate() {
        let judged = judgement.cell(planned.id, 1).unwrap();
        let expected = match number {
            // A single statement, without an interval.
            1 => Verdict::Undecided,
            2 | 5 => Verdict::Slower,
            _ => Verdict::Same,
        };
        assert_eq!(judged.verdict, expected, "{number}: {judged:?}");
        let (summary, slices) = (judged.step.as_ref().unwrap(), f64::from(judged.slices));
        assert!((slices..1.2 * slices).contains(&summary.seconds), "{summary:?}");
        assert_eq!(summary.insert.rows, 10_000 * u64::from(judged.slices));
    }
}

/// A segment takes so little time that one hiccup would seem to lose the rate of its step.
#[test]
fn the_background_rate_is_that_of_all_segments() {
    let mut record = run(in_segments(), Shard::WHOLE, usize::MAX, never).record;
    let cell = record.study.cells[4].id;
    let mut lose = |lost: usize| {
        let of_cell =
            record.slices.iter_mut().filter(|slice| slice.cell == cell && slice.system == 1);
        for (number, slice) in of_cell.enumerate() {
            slice.step.as_mut().unwrap().insert.rows = if number < lost { 0 } else { 100 };
        }
        let judgement = judge(&record);
        let judged = judgement.cell(cell, 1).unwrap();
        (judged.verdict == Verdict::Failed, judged.step.as_ref().unwrap().sla_met)
    };
    assert_eq!(lose(1), (false, Some(true)));
    assert_eq!(lose(2), (true, Some(false)));
}
