//! Findings of a user's workload in reports: answers that differ, and what servers told of a dump.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own result has failed")]

mod common;

use assay_model::{
    AnswerDifference, AnswerPart, EventKind, Restored, RestoredKind, StudyEvent, StudyRecord,
};
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;
use common::record;
use serde_json::Value;

fn shown(record: &StudyRecord, format: Format) -> String {
    let options = TextOptions { width: 100, color: false, verbose: true };
    render(record, &judge(record), format, &options)
}

fn found() -> StudyRecord {
    let mut record = record(&["11.8"]);
    let differs = |what, base: &str, here: &str| {
        EventKind::AnswerDiffers(AnswerDifference {
            test: "top".to_owned(),
            statement: "SELECT a FROM t WHERE b = ?".to_owned(),
            sent: "SELECT a FROM t WHERE b = 'x'".to_owned(),
            what,
            count: 3,
            of: 40,
            base: base.to_owned(),
            here: here.to_owned(),
        })
    };
    let restored = EventKind::Restored(Restored {
        what: RestoredKind::Error,
        file: "shop.sql".to_owned(),
        line: 12,
        statement: "CREATE TABLE scores (".to_owned(),
        message: "error 1064: near 'rank'".to_owned(),
        count: 2,
    });
    let whats = [
        restored,
        differs(AnswerPart::Rows, "1 row", "0 rows"),
        differs(AnswerPart::Undetermined, "", "`NOW` gives another value each time"),
    ];
    for what in whats {
        record.events.push(StudyEvent { when_ms: 0, system: Some(1), what });
    }
    record
}

#[test]
fn findings_come_first_and_have_tables() {
    let record = found();
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        let text = shown(&record, format);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "refused 2 statements of the dump",
            "answers 1 statement differently from",
            "returns another number of rows",
            "cannot be compared",
            "CREATE TABLE scores (",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn findings_are_values_for_programs() {
    let result: Value = serde_json::from_str(&shown(&found(), Format::JSON)).unwrap();
    let rows = &result["answers"][0];
    assert_eq!((&rows["test"], &rows["what"]), (&"top".into(), &"rows".into()));
    assert_eq!(
        (&rows["base"], &rows["here"], &rows["events"]),
        (&"1 row".into(), &"0 rows".into(), &3.into())
    );
    assert_eq!(result["answers"][1]["what"], "undetermined");
    let told = &result["restored"][0];
    assert_eq!(
        (&told["what"], &told["line"], &told["count"]),
        (&"error".into(), &12.into(), &2.into())
    );
    // Other studies have neither.
    let result: Value = serde_json::from_str(&shown(&record(&["11.8"]), Format::JSON)).unwrap();
    assert_eq!((&result["answers"], &result["restored"]), (&Value::Null, &Value::Null));
}

#[test]
fn settings_that_are_refused_must_be_fixed() {
    let mut record = found();
    let refused = |setting: &str| EventKind::SettingRefused {
        setting: setting.to_owned(),
        modes: Vec::new(),
        message: "error 1193: Unknown system variable".to_owned(),
    };
    let left_out = EventKind::KindLeftOut {
        test: "everything".to_owned(),
        part: "insert-item".to_owned(),
        why: "error 1452".to_owned(),
    };
    // The base refuses the second one too.
    let events = [
        (1, refused("query_cache_type = 'OFF'")),
        (1, refused("time_zone = 'X'")),
        (0, refused("time_zone = 'X'")),
        (0, left_out),
    ];
    for (system, what) in events {
        record.events.push(StudyEvent { when_ms: 0, system: Some(system), what });
    }
    let text = shown(&record, Format::TEXT);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "refuses 1 setting that sessions of the workload set: `query_cache_type = 'OFF'`",
        "must be fixed: settings of sessions: `query_cache_type = 'OFF'`",
        "`time_zone = 'X'`: error 1193",
        "everything is measured without insert-item on all systems, because it fails on at least one",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
