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
