//! A study beside another one of the same servers.

use assay_model::{Artifact, StudyRecord};
use assay_report::{Format, OtherStudy, TextOptions, beside};
use serde_json::Value;

use crate::common::record;

fn shown(ours: &StudyRecord, theirs: &StudyRecord, format: Format) -> String {
    let [here, there] = [ours, theirs].map(assay_verdict::judge);
    let options = TextOptions { width: 120, color: false, verbose: true };
    let other = OtherStudy { record: theirs, judgement: &there, groups: &[], note: None };
    let page = beside((ours, &here), &other);
    page.and_then(|page| page.render(format, &options)).unwrap_or_default()
}

fn json(ours: &StudyRecord, theirs: &StudyRecord) -> Value {
    serde_json::from_str(&shown(ours, theirs, Format::JSON)).unwrap()
}

/// The same study under another name, with its systems in another order.
fn other() -> StudyRecord {
    let mut other = record(&["11.4", "11.8"]);
    other.study.id = "20261101-0000".to_owned();
    other
}

#[test]
fn a_study_agrees_with_itself() {
    let ours = record(&["11.8"]);
    let found = json(&ours, &ours);
    let [pair] = found["pairs"].as_array().unwrap().as_slice() else { panic!("{found:#}") };
    assert_eq!((&pair["agrees"], &pair["differs"]), (&5.into(), &0.into()));
    assert!(pair["correlation"]["value"].as_f64().unwrap() > 0.999_999);
    assert_eq!(pair["rms_log"], 0);
    assert_eq!(pair["tests"][0]["quotient"]["value"], 1);
}

#[test]
fn counterparts_are_found_by_product_and_series() {
    let (ours, mut theirs) = (record(&["11.8"]), other());
    let names = |found: &Value| {
        let pairs = found["pairs"].as_array().unwrap().clone();
        pairs.iter().map(|it| it["their_system"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let found = json(&ours, &theirs);
    assert_eq!(names(&found), [theirs.systems[2].name.clone()]);
    assert_eq!(found["pairs"][0]["tests"].as_array().unwrap().len(), 5);
    assert_eq!(names(&json(&other(), &ours)).len(), 1);
    theirs.systems.iter_mut().for_each(|system| {
        let Artifact::Prefix(prefix) = &mut system.artifact else { return };
        prefix.version = "12.1.1".to_owned();
    });
    assert!(shown(&ours, &theirs, Format::TEXT).is_empty());
}

#[test]
fn disagreements_are_named_in_every_format() {
    let (ours, mut theirs) = (record(&["11.8"]), record(&["11.8"]));
    theirs.systems[1].name = "<script>\u{1b}[31m11.8".to_owned();
    for slice in theirs.slices.iter_mut().filter(|it| it.system == 1) {
        if slice.cell.test.name() == "insert" {
            slice.work.elapsed_ns *= 2;
        }
    }
    let text = shown(&ours, &theirs, Format::TEXT);
    assert!(text.contains("both studies agree in 4 of 5 tests"), "{text}");
    assert!(text.contains("where they differ") && text.contains("  insert: "), "{text}");
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML, Format::CSV] {
        let shown = shown(&ours, &theirs, format);
        assert!(!shown.contains('\u{1b}') && shown.contains("insert"), "{format:?}: {shown}");
    }
    let page = shown(&ours, &theirs, Format::HTML);
    assert!(!page.contains("<script>") && page.contains("&#60;script&#62;"), "{page}");
    assert_eq!(page.matches("<circle").count(), 5);
    let csv = shown(&ours, &theirs, Format::CSV);
    assert_eq!((csv.lines().count(), csv.matches(",differs").count()), (6, 1), "{csv}");
}

#[test]
fn studies_of_one_machine_are_not_said_to_be_of_two() {
    let (ours, mut theirs) = (record(&["11.8"]), record(&["11.8"]));
    let message = "the studies ran on different machines";
    // Another kernel, with a little less memory.
    let host = &mut theirs.runs[0].host;
    (host.kernel, host.memory_kb) = ("6.12.9".to_owned(), host.memory_kb - 100_000);
    assert!(!shown(&ours, &theirs, Format::TEXT).contains(message));
    theirs.runs[0].host.cpus = 64;
    assert!(shown(&ours, &theirs, Format::TEXT).contains(message));
}
