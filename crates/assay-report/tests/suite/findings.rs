//! Findings of a user's workload in reports: answers that differ, and messages about a dump.

use assay_model::{
    AnswerCounts, AnswerDifference, AnswerPart, DumpFinding, DumpFindingKind, EventKind,
    StudyEvent, StudyRecord, UntakenOption,
};
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;
use serde_json::Value;

use crate::common::record;

fn shown(record: &StudyRecord, format: Format) -> String {
    let options = TextOptions { width: 100, color: false, verbose: true };
    render(record, &judge(record), format, &options)
}

fn found() -> StudyRecord {
    let mut record = record(&["11.8"]);
    let differs = |test: &str, what, base: &str, here: &str| {
        EventKind::AnswerDiffers(AnswerDifference {
            test: test.to_owned(),
            statement: format!("SELECT {test} FROM t WHERE b = ?"),
            sent: "SELECT a FROM t WHERE b = 'x'".to_owned(),
            what,
            why: (what == AnswerPart::Order).then(|| "before 8.0, GROUP BY also sorted".to_owned()),
            count: 3,
            of: 40,
            base: base.to_owned(),
            here: here.to_owned(),
        })
    };
    let restored = EventKind::Restored(DumpFinding {
        what: DumpFindingKind::Error,
        file: "shop.sql".to_owned(),
        line: 12,
        statement: "CREATE TABLE scores (".to_owned(),
        message: "error 1064: near 'rank'".to_owned(),
        count: 2,
    });
    let whats = [
        restored,
        differs("top", AnswerPart::Rows, "1 row", "0 rows"),
        differs("now", AnswerPart::Undetermined, "", "`NOW` gives another value each time"),
        differs("groups", AnswerPart::Order, "1 | 5", "3 | 7"),
        EventKind::AnswersCompared(AnswerCounts {
            statements: 41,
            same: 38,
            undetermined: 1,
            least: 1204,
            most: 1204,
            values: 45_752,
        }),
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
            "2 of 40 statements: groups, top; people and programs that read them",
            "2 statements of the dump; what works today fails until it is changed",
            "38 statements answered the same, over 1,204 values each",
            "returns another number of rows",
            "returns the same rows in another order",
            "before 8.0, GROUP BY also sorted",
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
    assert_eq!((&rows["severity"], &rows["why"]), (&"must-fix".into(), &Value::Null));
    assert_eq!(result["answers"][1]["what"], "undetermined");
    let order = &result["answers"][2];
    assert_eq!((&order["what"], &order["severity"]), (&"order".into(), &"look-at".into()));
    assert_eq!(order["why"], "before 8.0, GROUP BY also sorted");
    let compared = &result["answers_compared"][0];
    assert_eq!((&compared["same"], &compared["most"]), (&38.into(), &1204.into()));
    let note = &result["restored"][0];
    assert_eq!(
        (&note["what"], &note["line"], &note["count"]),
        (&"error".into(), &12.into(), &2.into())
    );
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
        "refusals: 1 session setting: `query_cache_type = 'OFF'`, 2 statements of the dump; what works",
        "`time_zone = 'X'`: error 1193",
        "everything is measured without insert-item on all systems, because it fails on at least one",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The second and third system do not accept options of the config file; the base does not accept one of them.
fn with_config() -> StudyRecord {
    let mut record = record(&["11.4", "11.8"]);
    let option = |name: &str, said: Option<&str>| UntakenOption {
        name: name.to_owned(),
        value: "1M".to_owned(),
        said: said.map(str::to_owned),
        place: Some("my.cnf:12".to_owned()),
        remedy: "remove the line".to_owned(),
    };
    let of_plugin = || option("validate_password_length", None);
    let left_out = |options| EventKind::ConfigLeftOut { options };
    let deprecated =
        EventKind::ConfigDeprecated { options: vec![option("binlog_format", Some("old"))] };
    for (system, what) in [
        (Some(0), left_out(vec![of_plugin()])),
        (Some(1), left_out(vec![option("query_cache_size", None), of_plugin()])),
        (Some(2), deprecated),
        (
            None,
            EventKind::SystemMissing {
                system: "12.0".to_owned(),
                why: "no such version".to_owned(),
            },
        ),
    ] {
        record.events.push(StudyEvent { when_ms: 0, system, what });
    }
    record
}

#[test]
fn options_that_keep_a_server_from_starting_come_before_everything_else() {
    let record = with_config();
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        let text = shown(&record, format).replace("\\_", "_");
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        let first = place("will not start with this config file");
        assert!(first < place("are deprecated"), "{text}");
        assert!(format == Format::HTML || first < place(" than "), "{text}");
        for part in
            ["query_cache_size=1M", "line 12 of my.cnf", "remove the line", "no such version"]
        {
            place(part);
        }
    }
    let result: Value = serde_json::from_str(&shown(&record, Format::JSON)).unwrap();
    let rows = result["config"].as_array().unwrap();
    let rows: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["option"].as_str().unwrap(), row["severity"].as_str().unwrap()))
        .collect();
    let expected = [
        ("query_cache_size", "must-fix"),
        ("binlog_format", "look-at"),
        ("validate_password_length", "not-compared"),
        ("validate_password_length", "not-compared"),
    ];
    assert_eq!(rows, expected);
    assert_eq!(result["config"][0]["place"], "my.cnf:12");
    assert_eq!(result["missing"][0]["system"], "12.0");
}
