//! The result of a gate in every format.

use assay_model::{RegressionLimits, SliceOutcome, StudyRecord};
use assay_report::{Format, TextOptions, junit, render};
use assay_verdict::judge;
use roxmltree::{Document, Node};
use serde_json::Value;

use crate::common::{record, suspicious};

/// The changes are −20%, −1%, +15%, −7% and +0.4%.
fn gate(others: &[&str], margins: [f64; 5], allow_undecided: bool) -> StudyRecord {
    let mut record = record(others);
    record.study.limits = Some(RegressionLimits { margins: margins.to_vec(), allow_undecided });
    record
}

const WITHIN: [f64; 5] = [0.3, 0.05, 0.03, 0.1, 0.03];

/// The second test is exactly at its limit.
const AT_LIMIT: [f64; 5] = [0.3, 0.01, 0.03, 0.1, 0.03];

fn summary(record: &StudyRecord, format: Format) -> String {
    let options = TextOptions { width: 100, color: false, verbose: true };
    assay_report::limits(record, &judge(record)).render(format, &options).unwrap_or_default()
}

#[test]
fn text_of_every_outcome() {
    let mut failed = gate(&["11.8"], WITHIN, false);
    failed.slices.last_mut().unwrap().outcome = SliceOutcome::Failed("deadlock".to_owned());
    let all = [
        gate(&["11.8"], WITHIN, false),
        gate(&["11.8"], [0.03; 5], false),
        gate(&["11.8"], AT_LIMIT, false),
        gate(&["11.8"], AT_LIMIT, true),
        suspicious(gate(&["11.4", "11.8"], [0.03; 5], false)),
        failed,
    ];
    let texts: Vec<String> = all.iter().map(|it| summary(it, Format::TEXT)).collect();
    insta::assert_snapshot!(texts.join("\n----\n"));
}

#[test]
fn markdown_for_a_pull_request() {
    let exceeded = summary(&gate(&["11.8"], [0.03; 5], false), Format::MARKDOWN);
    let undecided = summary(&gate(&["11.4", "11.8"], AT_LIMIT, false), Format::MARKDOWN);
    insta::assert_snapshot!(format!("{exceeded}\n----\n{undecided}"));
}

#[test]
fn the_whole_report_begins_with_the_gate() {
    let record = gate(&["11.8"], [0.03; 5], false);
    let options = TextOptions { width: 100, color: false, verbose: true };
    let whole = |format| render(&record, &judge(&record), format, &options);
    let text = whole(Format::TEXT);
    assert!(text.starts_with("gate failed: 2 of 5 tests of mariadb@11.8.4 slower than"), "{text}");
    assert!(text.contains("base QPS") && text.contains("reproduce"), "{text}");
    let html = whole(Format::HTML);
    assert!(html.contains("Gate failed: 2 of 5 tests"), "{html}");
    assert_eq!(summary(&record, Format::HTML), html);
    assert!(whole(Format::MARKDOWN).starts_with("### assay gate failed"));
}

#[test]
fn json_has_the_limits_and_the_bounds() {
    let json = |record: &StudyRecord| -> Value {
        serde_json::from_str(&summary(record, Format::JSON)).unwrap()
    };
    let found = json(&gate(&["11.8"], AT_LIMIT, true));
    let gate_of = &found["gate"];
    assert_eq!((&gate_of["verdict"], &gate_of["passed"]), (&"undecided".into(), &4.into()));
    assert_eq!(gate_of["allow_undecided"], true);
    let cell = &gate_of["cells"][1];
    assert_eq!(
        (&cell["test"], &cell["verdict"]),
        (&"range-covered-pk".into(), &"undecided".into())
    );
    assert_eq!((&cell["system"], &cell["max_slowdown"]), (&"mariadb@11.8".into(), &0.01.into()));
    let [low, high] = ["low", "high"].map(|end| cell["rqps"][end].as_f64().unwrap());
    assert!(low < 0.99 && 0.99 < high, "{cell}");
    assert!(cell["why"].as_str().unwrap().contains("about as large as the limit"), "{cell}");
    assert!(json(&record(&["11.8"])).get("gate").is_none());
}

#[test]
fn junit_is_read_back() {
    let xml = |record: &StudyRecord| junit(record, &judge(record));
    let found = xml(&gate(&["11.8<&\"'"], [0.03, 0.01, 0.03, 0.03, 0.03], false));
    let document = Document::parse(&found).unwrap();
    let suite = one(&document, "testsuite");
    assert_eq!(suite.attribute("name"), Some("mariadb@11.8<&\"'"));
    let count = |name: &str| suite.attribute(name).unwrap().parse::<usize>().unwrap();
    assert_eq!(
        (count("tests"), count("failures"), count("errors"), count("skipped")),
        (5, 2, 1, 0)
    );
    let cases: Vec<Node> = suite.children().filter(|it| it.has_tag_name("testcase")).collect();
    let names: Vec<_> = cases.iter().map(|it| it.attribute("name").unwrap()).collect();
    assert_eq!(names[..2], ["point-query", "range-covered-pk"]);
    let outcome = |case: &Node| {
        let mut elements = case.children().filter(Node::is_element);
        elements.next().map(|it| it.tag_name().name().to_owned()).unwrap()
    };
    let outcomes: Vec<String> = cases.iter().map(outcome).collect();
    assert_eq!(outcomes, ["failure", "error", "system-out", "failure", "system-out"]);
    let message = cases[0].first_element_child().unwrap().attribute("message").unwrap();
    assert!(message.starts_with("exceeded: QPS −20.0% [−2"), "{message}");
    assert!(message.contains("limit −3%"), "{message}");

    let allowed = xml(&gate(&["11.8"], AT_LIMIT, true));
    let document = Document::parse(&allowed).unwrap();
    let suite = one(&document, "testsuite");
    assert_eq!((suite.attribute("errors"), suite.attribute("skipped")), (Some("0"), Some("1")));
    let none = xml(&record(&["11.8"]));
    assert_eq!(one(&Document::parse(&none).unwrap(), "testsuites").children().count(), 1);
}

fn one<'a>(document: &'a Document<'a>, name: &str) -> Node<'a, 'a> {
    document.descendants().find(|it| it.has_tag_name(name)).unwrap()
}
