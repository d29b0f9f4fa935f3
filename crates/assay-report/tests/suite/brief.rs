//! Half a page: of every kind of study, with the same verdicts as the other formats.

use assay_model::{AnswerPart, EventKind, RegressionLimits, StudyRecord, TestSet};
use assay_report::{Format, TextOptions};
use assay_verdict::judge;

use crate::common::count_study::{changed, counted};
use crate::common::ibench::benchmark;
use crate::common::studies::{ONE, failed, study};
use crate::common::{record, suspicious};
use crate::upgrade::{Logs, differs, note, of_log};

fn brief(record: &StudyRecord) -> String {
    let options = TextOptions { width: 400, color: true, verbose: true };
    let text =
        assay_report::limits(record, &judge(record)).render(Format::BRIEF, &options).unwrap();
    assert!(text.lines().count() <= 25, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in ["\nfindings", "\nwhere the numbers are\n", "`assay report "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    text
}

#[test]
fn every_study_fits_half_a_page() {
    let large = || study(&["11.4", "11.8", "12.3"], TestSet::Set32, &[ONE], true);
    let mut gate = record(&["11.8"]);
    gate.study.limits = Some(RegressionLimits { margins: vec![0.03; 5], allow_undecided: false });
    let mut long = record(&["11.8"]);
    long.systems[1].name = format!("mariadb@11.8+{}", "x".repeat(300));
    let mut unmeasured = record(&["11.8"]);
    unmeasured.slices.clear();
    let all = [
        record(&["11.8"]),
        large(),
        suspicious(large()),
        failed(large(), 1),
        gate.clone(),
        long,
        unmeasured,
        benchmark(),
        counted(&[(0, changed())]),
    ];
    all.iter().for_each(|record| drop(brief(record)));
    let text = brief(&gate);
    assert!(text.contains("\ngate failed: 2 of 5 tests of mariadb@11.8.4 slower than"), "{text}");
    assert!(text.contains("▼ point-query: QPS −20") && text.contains("limit −3%"), "{text}");
}

#[test]
fn a_comparison_has_its_largest_slowdown_first_with_its_percentage() {
    let text = brief(&record(&["11.8"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "mariadb@10.11.19 (base) against mariadb@11.8.4");
    assert!(lines[1].starts_with("mariadb@11.8.4 is slower than mariadb@10.11.19 in 2 of 5"));
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let first = place("\n  ▼ point-query: rQPS 0.80 [0.80, 0.80] −20");
    assert!(first < place("\n  ▼ points-notcovered-pk: rQPS "), "{text}");
}

#[test]
fn what_changes_for_the_application_comes_first() {
    let tests: [Logs<'_>; 3] =
        [("top", "SELECT 1", &[]), ("ranks", "SELECT rank", &[]), ("new", "SELECT 2", &[])];
    let mut record = of_log(&["11.8"], &tests);
    let differences = [
        differs("ranks", "SELECT rank", AnswerPart::Error),
        differs("new", "SELECT 2", AnswerPart::Warnings),
        differs("top", "SELECT 1", AnswerPart::Rows),
    ];
    for difference in differences {
        note(&mut record, 1, EventKind::AnswerDiffers(difference));
    }
    let text = brief(&record);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let order = [
        "1 statement changes its answer, 1 is refused; speed: slower in 1",
        "changed answers: 1 statement: top; ",
        "refusals: 1 statement: ranks; ",
        "new warnings: 1 statement: new; ",
    ];
    assert!(order.map(place).is_sorted(), "{text}");
    record.slices.clear();
    assert!(brief(&record).contains("; speed: not decided yet\n"));
}
