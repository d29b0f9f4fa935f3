//! The driver's forecast of what fits in the time of a study.

use assay_model::StudyRecord;
use assay_plan::Request;
use assay_sim::{Scenario, SimMachine, study};
use assay_study::{Driver, Executor as _, Shard, carry_out, forecast};

/// The plan estimates the duration of rounds; a continued study knows it.
#[test]
fn what_fits_in_more_time_is_known_from_what_was_measured() {
    let mut machine = SimMachine::new(Scenario::small().undecided(), Shard::WHOLE);
    carry_out(&mut Driver::new(machine.record(), Shard::WHOLE), &mut machine).unwrap();
    let mut record = machine.into_record();
    let once_s = |record: &StudyRecord| forecast(record, 0.0).fitting.once_s;
    let planned_s = once_s(&StudyRecord { slices: Vec::new(), ..record.clone() });
    let measured_s = once_s(&record);
    assert!((0.3..3.0).contains(&(measured_s / planned_s)), "{planned_s} {measured_s}");
    let began_ms = record.slices.iter().map(|slice| slice.started_ms).min().unwrap();
    for slice in &mut record.slices {
        slice.started_ms = began_ms + 10 * (slice.started_ms - began_ms);
    }
    let slow_s = once_s(&record);
    assert!((slow_s / measured_s - 10.0).abs() < 0.5, "{measured_s} {slow_s}");
    // All planned blocks are done.
    record.study.blocks *= 2;
    let fitting = forecast(&record, record.budget_s() - 40.0 * slow_s).fitting;
    assert!(fitting.blocks >= 1 && (f64::from(fitting.blocks) * fitting.rounds) <= 40.0);
    assert_eq!(forecast(&record, record.budget_s() - slow_s).fitting.blocks, 0);
}

/// Some tests exhaust their rows, and turns may be shorter than planned: other tests get the time.
#[test]
fn the_last_block_uses_the_budget() {
    let scenario = |rounds: Option<u32>| {
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let request = Request {
            tests: ["delete", "scan", "point-query"].map(str::to_owned).into(),
            budget_s: Some(60.0),
            blocks: Some(1),
            rounds,
            ..Request::of_systems(&words)
        };
        Scenario { record: study(&request), ..Scenario::small().undecided() }
    };
    let used_s = |rounds| {
        let mut machine = SimMachine::new(scenario(rounds), Shard::WHOLE);
        carry_out(&mut Driver::new(machine.record(), Shard::WHOLE), &mut machine).unwrap();
        machine.used_s()
    };
    let (free_s, bounded_s) = (used_s(None), used_s(Some(10)));
    assert!((54.0..63.0).contains(&free_s), "{free_s}");
    assert!(bounded_s < 30.0, "{bounded_s}");
}
