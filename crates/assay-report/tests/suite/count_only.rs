//! Reports of studies that only count instructions.

use assay_model::{
    CallTree, CellCount, CellId, Count, CountBatch, CountSource, EventKind, Experiment,
    MatchedNames, RegressionLimits, StudyDocument as _, StudyEvent, StudyRecord,
};
use assay_report::{Format, TextOptions, junit, render};
use assay_verdict::{LimitVerdict, judge};
use serde_json::Value;

use crate::common::record;

/// Instructions per operation of the base.
const BASE: f64 = 40_000.0;

fn count(each: f64) -> Count {
    let batch = |events: u64| CountBatch {
        events,
        ops: events as f64,
        serving: (each * events as f64) as u64,
        background: Some(events),
        idle: None,
        kernel: None,
    };
    let instance = [100, 300, 300, 100, 100, 300].map(batch).to_vec();
    Count {
        by: CountSource::Callgrind,
        version: Some("3.19.0".to_owned()),
        hidden: vec!["avx512f".to_owned(), "sha_ni".to_owned()],
        instances: vec![instance.clone(), instance],
        functions: Vec::new(),
        calls: CallTree::default(),
        ops: 2400,
        server: "mariadbd".to_owned(),
        stripped: Vec::new(),
        matched: MatchedNames::default(),
    }
}

/// Tests with 8% more instructions, 0.6% more, as many and 3% fewer, and one that could not be counted.
fn counted() -> StudyRecord {
    let mut record = record(&["11.8"]);
    record.slices.clear();
    record.blocks.clear();
    record.study.experiment = Experiment::Counted;
    record.study.threshold = 0.005;
    let cells: Vec<_> = record.study.cells.iter().map(|cell| cell.id).collect();
    for (cell, ratio) in cells.iter().zip([1.08, 1.006, 1.0, 0.97]) {
        for (system, each) in [(0, BASE), (1, ratio * BASE)] {
            record.counts.push(CellCount { system, cell: *cell, count: count(each) });
        }
    }
    record.events.push(not_counted(cells[4], "`mariadb@11.8`: it ended"));
    record
}

fn not_counted(cell: CellId, why: &str) -> StudyEvent {
    let test = cell.test.name.clone();
    let what = EventKind::NotDone {
        afterward: Count::NAME.to_owned(),
        what: format!("the instructions of {test} were not counted"),
        test,
        data: cell.setup.data(),
        why: why.to_owned(),
    };
    StudyEvent { when_ms: 0, system: None, what }
}

fn shown(record: &StudyRecord, format: Format) -> String {
    let options = TextOptions { width: 100, color: false, verbose: true };
    render(record, &judge(record), format, &options)
}

#[test]
fn a_measured_study_without_counts_says_why() {
    let mut record = record(&["11.8"]);
    let cell = record.study.cells[0].id;
    record.events.push(not_counted(cell, "this machine has no valgrind"));
    let text = shown(&record, Format::TEXT);
    let warning =
        "warning: the instructions of 1 test were not counted: this machine has no valgrind";
    assert!(text.replace("\n  ", " ").contains(warning), "{text}");
}

#[test]
fn a_failure_of_all_systems_is_told_once() {
    let text = shown(&counted(), Format::TEXT);
    assert_eq!(text.matches("✗ insert").count(), 1, "{text}");
}

#[test]
fn the_answer_is_in_instructions_and_says_nothing_of_rates() {
    let record = counted();
    let text = shown(&record, Format::TEXT);
    let answer = "mariadb@11.8.4 executes more instructions than mariadb@10.11.19 in 2 of 5 tests, fewer in 1, as \
    many in 1, not counted in 1";
    assert!(text.replace("\n  ", " ").starts_with(answer), "{text}");
    assert!(
        text.contains("it ended") && !text.contains("QPS") && !text.contains("slices"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&shown(&record, Format::JSON)).unwrap();
    let verdicts: Vec<&Value> = (0..10).map(|cell| &json["cells"][cell]["verdict"]).collect();
    assert!(verdicts[..8].iter().all(|it| it.is_null()), "{verdicts:?}");
    assert_eq!(verdicts[9], "failed");
    let words = [1, 3, 5, 7].map(|cell: usize| json["cells"][cell]["count"]["verdict"].clone());
    assert_eq!(words, ["more", "more", "same", "fewer"]);
    let page = shown(&record, Format::HTML);
    assert!(page.contains("Instructions per operation") && !page.contains("Relative QPS"));
}

#[test]
fn a_gate_limits_instructions() {
    let mut record = counted();
    let verdicts = |record: &StudyRecord| {
        let gate = judge(record).limits.unwrap();
        gate.cells.iter().map(|cell| cell.verdict).collect::<Vec<_>>()
    };
    record.study.limits = Some(RegressionLimits { margins: vec![0.01; 5], allow_undecided: false });
    use LimitVerdict::{Exceeded, Failed, Passed};
    assert_eq!(verdicts(&record), [Exceeded, Passed, Passed, Passed, Failed]);
    let text = shown(&record, Format::TEXT);
    assert!(
        text.starts_with("gate failed: 1 of 5 tests of mariadb@11.8.4 with more instr"),
        "{text}"
    );
    assert!(text.contains("+8.00% [") && text.contains("limit +1%"), "{text}");
    let xml = junit(&record, &judge(&record));
    assert!(
        xml.contains("failures=\"1\" errors=\"1\"") && xml.contains("instructions +8.00%"),
        "{xml}"
    );
    let json: Value = serde_json::from_str(&shown(&record, Format::JSON)).unwrap();
    let cell = &json["gate"]["cells"][0];
    assert_eq!((&cell["max_more"], &cell["rqps"]), (&0.01.into(), &Value::Null));
    record.study.limits = Some(RegressionLimits { margins: vec![0.09; 5], allow_undecided: false });
    assert_eq!(verdicts(&record)[0], Passed);
    let text = shown(&record, Format::TEXT);
    assert!(
        text.starts_with("gate undecided: 1 of 5 tests of mariadb@11.8.4 could not be counted"),
        "{text}"
    );
    record.events.clear();
    let text = shown(&record, Format::TEXT);
    assert!(text.contains("not counted yet") && !text.contains("vary too much"), "{text}");
}

#[test]
fn what_was_not_counted_is_not_compared_with_the_base() {
    let mut record = counted();
    record.counts.clear();
    let answer =
        |record: &StudyRecord| shown(record, Format::TEXT).lines().next().map(str::to_owned);
    let failed = answer(&record).unwrap();
    assert!(failed.starts_with("mariadb@11.8.4 could not be counted in 1 of 5 tests"), "{failed}");
    record.events.clear();
    assert_eq!(answer(&record).as_deref(), Some("mariadb@11.8.4 is not counted yet"));
}
