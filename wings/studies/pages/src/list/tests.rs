//! The list of studies.

use assay_report::{Format, TextOptions};
use serde_json::Value;

use super::*;

const OPTIONS: TextOptions = TextOptions { width: 120, color: false, verbose: true };

fn study(id: &str, finished: bool) -> StudySummary {
    StudySummary {
        id: id.into(),
        name: finished.then(|| "release".to_owned()),
        started_ms: 1_795_000_000_000,
        preset: assay_model::Preset::Quick,
        set: TestSet::Set32,
        systems: vec!["mariadb@10.11".into(), "mariadb@11.8+a=b,c".into()],
        cells: 32,
        slices: 6320,
        counts: 0,
        finished,
        elapsed_s: 586.25,
        is_reported: false,
        foreign: false,
    }
}

#[test]
fn studies_are_listed_newest_first_in_every_format() {
    let list = [study("old", true), study("new", false)];
    let none = BTreeSet::new();
    let all = |format| studies(&list, &none).render(format, &OPTIONS).unwrap();
    insta::assert_snapshot!(all(Format::TEXT));
    let widest = all(Format::TEXT).lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}");
    insta::assert_snapshot!(all(Format::CSV));
    insta::assert_snapshot!(all(Format::MARKDOWN));
    let json: Value = serde_json::from_str(&all(Format::JSON)).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["studies"][0]["id"], "new");
    assert_eq!(json["studies"][0]["running"], false);
    let none = studies(&[], &none).render(Format::TEXT, &OPTIONS).unwrap();
    assert!(none.contains("no studies yet"));
    let running = ["new".to_owned(), "old".to_owned()].into();
    let all = |format| studies(&list, &running).render(format, &OPTIONS).unwrap();
    let text = all(Format::TEXT);
    assert!(text.contains(" running") && !text.contains("unfinished"), "{text}");
    assert!(text.contains(" finished") && !text.contains("assay resume"), "{text}");
    let json: Value = serde_json::from_str(&all(Format::JSON)).unwrap();
    assert_eq!(json["studies"][0]["running"], true);
}

const EVIL: &str = concat!(
    "=1+1\u{1b}[2J\u{9b}31m\u{7}\r\n\nhint: run this\u{202e}txt\u{2066}\u{200f}\u{61c}\u{2028}x",
    "\n::error::a ##[group]b"
);

/// Characters that no output may contain, apart from line ends.
fn harmful(c: char) -> bool {
    c != '\n' && (c.is_control() || "\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}".contains(c))
}

#[track_caller]
fn assert_harmless(text: &str) {
    assert!(text.contains("run this"), "it is shown all the same: {text}");
    let at = text.find(harmful);
    assert_eq!(at, None, "{:?}", at.map(|at| &text[at..]));
    // The log of a CI system would execute these.
    let command = text.lines().find(|line| {
        line.trim_start().starts_with("::") || line.contains("##[") || line.contains(" ::error")
    });
    assert_eq!(command, None);
}

#[test]
fn the_list_of_studies_is_harmless_too() {
    let systems = vec![EVIL.into(), EVIL.into()];
    let study = StudySummary { name: Some(EVIL.into()), systems, ..study(EVIL, false) };
    for format in [Format::TEXT, Format::MARKDOWN, Format::CSV, Format::JSON] {
        let text = studies(std::slice::from_ref(&study), &[EVIL.to_owned()].into());
        let text = text.render(format, &OPTIONS).unwrap();
        assert_harmless(&text.replace("\r\n", "\n"));
    }
}
