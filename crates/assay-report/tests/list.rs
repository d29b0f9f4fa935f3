//! The list of studies.

use assay_report::{Format, TextOptions};
use serde_json::Value;

#[test]
fn studies_are_listed_newest_first_in_every_format() {
    let study = |id: &str, finished: bool| assay_model::StudySummary {
        id: id.into(),
        name: finished.then(|| "release".to_owned()),
        started_ms: 1_795_000_000_000,
        preset: assay_model::Preset::Quick,
        set: assay_model::TestSet::Set32,
        systems: vec!["mariadb@10.11".into(), "mariadb@11.8+a=b,c".into()],
        cells: 32,
        slices: 6320,
        counts: 0,
        finished,
        elapsed_s: 586.25,
        is_reported: false,
        foreign: false,
    };
    let list = [study("old", true), study("new", false)];
    let options = TextOptions { width: 120, color: false, verbose: true };
    let none = std::collections::BTreeSet::new();
    let all = |format| assay_report::studies(&list, &none).render(format, &options).unwrap();
    insta::assert_snapshot!(all(Format::TEXT));
    let widest = all(Format::TEXT).lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}");
    insta::assert_snapshot!(all(Format::CSV));
    insta::assert_snapshot!(all(Format::MARKDOWN));
    let json: Value = serde_json::from_str(&all(Format::JSON)).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["studies"][0]["id"], "new");
    assert_eq!(json["studies"][0]["running"], false);
    let none = assay_report::studies(&[], &none).render(Format::TEXT, &options).unwrap();
    assert!(none.contains("no studies yet"));
    let running = ["new".to_owned(), "old".to_owned()].into();
    let all = |format| assay_report::studies(&list, &running).render(format, &options).unwrap();
    let text = all(Format::TEXT);
    assert!(text.contains(" running") && !text.contains("unfinished"), "{text}");
    assert!(text.contains(" finished") && !text.contains("assay resume"), "{text}");
    let json: Value = serde_json::from_str(&all(Format::JSON)).unwrap();
    assert_eq!(json["studies"][0]["running"], true);
}
