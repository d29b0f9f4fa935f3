//! The ranking of three or more systems in reports.

use assay_model::StudyRecord;
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;

use crate::common::record;

/// The last two are equal, and slower by a tenth.
fn ranked() -> StudyRecord {
    let mut record = record(&["11.4", "11.8"]);
    for slice in record.slices.iter_mut().filter(|slice| slice.system == 0) {
        slice.work.elapsed_ns = slice.work.elapsed_ns / 10 * 8;
    }
    record
}

fn shown(record: &StudyRecord, format: Format, verbose: bool) -> String {
    let options = TextOptions { width: 160, color: false, verbose };
    render(record, &judge(record), format, &options)
}

#[test]
fn the_first_line_says_which_systems_are_the_fastest() {
    let text = shown(&ranked(), Format::TEXT, false);
    let first = text.lines().next().unwrap();
    assert_eq!(
        first,
        "fastest over 5 tests: mariadb@10.11.19; then mariadb@11.4.4 and mariadb@11.8.4, which are the same within 2%"
    );
    assert!(
        text.contains("\nranking: geometric mean over 5 tests")
            && text.contains("QPS relative to the first"),
        "{text}"
    );
    assert!(!text.contains("fastest in each test"), "{text}");
    let all = shown(&ranked(), Format::TEXT, true);
    assert!(all.contains("fastest in each test"), "{all}");
    for format in [Format::HTML, Format::MARKDOWN] {
        let page = shown(&ranked(), format, false);
        assert!(page.contains("astest over 5 tests: mariadb@10.11.19; then"), "{page}");
        assert!(page.contains("the intervals of all 3 pairs hold at once"), "{page}");
    }
    assert!(!shown(&record(&["11.8"]), Format::TEXT, true).contains("fastest"));
}

#[test]
fn json_has_groups_and_all_pairs_by_the_names_of_the_systems() {
    let json: serde_json::Value =
        serde_json::from_str(&shown(&ranked(), Format::JSON, false)).unwrap();
    let overall = &json["ranking"]["overall"];
    let groups = serde_json::json!([["mariadb@10.11"], ["mariadb@11.4", "mariadb@11.8"]]);
    assert_eq!((&overall["groups"], &overall["tests"]), (&groups, &5.into()));
    assert_eq!(overall["pairs"].as_array().unwrap().len(), 3);
    assert_eq!(overall["pairs"][0]["verdict"], "slower");
    assert_eq!(overall["systems"][2]["rank"], 2);
    assert_eq!(json["ranking"]["tests"].as_array().unwrap().len(), 5);
    assert_eq!(json["systems"][0]["spec"], "mariadb@10.11");
    let two: serde_json::Value =
        serde_json::from_str(&shown(&record(&["11.8"]), Format::JSON, false)).unwrap();
    assert!(two["ranking"].is_null());
}

#[test]
fn a_title_has_exact_versions_whatever_the_names_are() {
    let mut record = record(&["11.8"]);
    record.systems[1].name = "new".to_owned();
    let text = shown(&record, Format::TEXT, false);
    assert!(text.starts_with("new (mariadb 11.8.4) is slower than mariadb@10.11.19 in "), "{text}");
    let page = shown(&record, Format::HTML, false);
    let title = page.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
    assert!(
        title.contains("mariadb@10.11.19") && title.contains("new (mariadb 11.8.4)"),
        "{title}"
    );
    assert!(shown(&record, Format::TEXT, true).contains("new: mariadb@11.8, mariadb 11.8.4"));
}
