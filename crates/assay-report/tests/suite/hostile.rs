//! Names and messages made to command terminals, spreadsheets and readers' eyes, through every format.

use assay_model::{
    EventKind, SameOption, SameReason, SameSystems, SliceOutcome, StudyEvent, StudyRecord, System,
    Test,
};
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;

use crate::common::{event_of, prefix_of, record, suspicious};

const EVIL: &str = concat!(
    "=1+1\u{1b}[2J\u{9b}31m\u{7}\r\n\nhint: run this\u{202e}txt\u{2066}\u{200f}\u{61c}\u{2028}x",
    "\n::error::a ##[group]b"
);

fn renamed(test: Test) -> Test {
    let mut definition = test.definition().clone();
    definition.name.insert_str(0, EVIL);
    for group in definition.groups.iter_mut().map(|(_, group)| group).chain([&mut definition.group])
    {
        group.word.insert_str(0, EVIL);
        group.title.insert_str(0, EVIL);
    }
    Test::intern(definition)
}

fn hostile() -> StudyRecord {
    let mut record = suspicious(record(&["11.8"]));
    for system in &mut record.systems {
        system.name = EVIL.to_owned();
        let prefix = prefix_of(system);
        let build = &mut prefix.build;
        let texts = [&mut prefix.version, &mut prefix.sha256, &mut build.source];
        for text in texts.into_iter().chain([&mut build.channel, &mut build.package_version]) {
            *text = EVIL.to_owned();
        }
        build.notes = vec![EVIL.to_owned()];
        system.options = vec![EVIL.to_owned()];
        system.spec.overrides = vec![(EVIL.to_owned(), EVIL.to_owned())];
    }
    for finding in &mut record.audit {
        (finding.setting, finding.why) = (EVIL.to_owned(), EVIL.to_owned());
        finding.values.fill(Some(EVIL.to_owned()));
    }
    let host = &mut record.runs[0].host;
    for text in [&mut host.cpu, &mut host.os, &mut host.kernel, &mut host.filesystem] {
        *text = EVIL.to_owned();
    }
    host.hypervisor = Some(EVIL.to_owned());
    record.events[0].what = event_of(EVIL);
    let what = EventKind::Same(same(&record).1);
    record.events.push(StudyEvent { when_ms: 0, system: Some(1), what });
    for slice in record.slices.iter_mut().filter(|slice| slice.system == 1) {
        slice.outcome = SliceOutcome::Failed(EVIL.to_owned());
    }
    for cell in &mut record.study.cells {
        cell.id.test = renamed(cell.id.test);
    }
    for slice in &mut record.slices {
        slice.cell.test = renamed(slice.cell.test);
    }
    record.study.id = EVIL.to_owned();
    record.study.recipe = EVIL.to_owned();
    record
}

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

/// With names as long as allowed.
fn planned(systems: usize, cells: u32) -> StudyRecord {
    let mut record = record(&["11.8"]);
    record.slices.clear();
    record.blocks.clear();
    let (cell, system) = (record.study.cells[0].clone(), record.systems[1].clone());
    let cell_of = |clients| {
        let mut cell = cell.clone();
        cell.id.setup.clients = clients;
        cell
    };
    record.study.cells = (1..=cells).map(cell_of).collect();
    record.study.setups = record.study.cells.iter().map(|cell| cell.id.setup).collect();
    record.systems.truncate(1);
    record.systems.extend((1..systems).map(|number| {
        let name = format!("{number:0>width$}", width = assay_model::limits::NAME_BYTES);
        System { name, ..system.clone() }
    }));
    record
}

/// Four times the cells are four times the text, and so are four times the systems.
#[test]
fn reports_grow_with_what_they_show() {
    let options = TextOptions { width: 120, color: false, verbose: true };
    for format in [Format::TEXT, Format::HTML, Format::MARKDOWN, Format::CSV, Format::JSON] {
        let bytes = |systems, cells| {
            let record = planned(systems, cells);
            render(&record, &judge(&record), format, &options).len()
        };
        let (few, cells, systems) = (bytes(10, 25), bytes(10, 100), bytes(40, 25));
        for many in [cells, systems] {
            assert!(many < 5 * few, "{}: {few} {cells} {systems}", format.word);
        }
    }
}

#[test]
fn no_format_passes_on_terminal_control_characters() {
    let record = hostile();
    let judgement = judge(&record);
    let options = TextOptions { width: 120, color: false, verbose: true };
    for format in [Format::TEXT, Format::HTML, Format::MARKDOWN, Format::JSON] {
        assert_harmless(&render(&record, &judgement, format, &options));
    }
    let csv = render(&record, &judgement, Format::CSV, &options);
    assert_harmless(&csv.replace("\r\n", "\n"));
    // Colours may add style sequences, nothing else.
    let colored =
        render(&record, &judgement, Format::TEXT, &TextOptions { color: true, ..options });
    let is_style = |rest: &str| {
        let code = rest.split_once('m').map(|(code, _)| code);
        code.is_some_and(|code| code.chars().all(|c| c.is_ascii_digit() || c == ';'))
    };
    assert!(colored.split("\u{1b}[").skip(1).all(is_style), "{colored}");
    assert_eq!(colored.matches('\u{1b}').count(), colored.matches("\u{1b}[").count());
}

/// Refers to a missing system, as a damaged ledger may.
fn same(record: &StudyRecord) -> (usize, SameSystems) {
    let option = SameOption {
        setting: EVIL.to_owned(),
        value: EVIL.to_owned(),
        without: Some(usize::MAX),
        because: SameReason::NoEffect(EVIL.to_owned()),
    };
    let same = SameSystems { other: usize::MAX, terms: EVIL.to_owned(), options: vec![option] };
    (record.systems.len() - 1, same)
}

#[test]
fn names_cannot_add_lines() {
    let record = hostile();
    let judgement = judge(&record);
    let options = TextOptions { width: 200, color: false, verbose: true };
    let text = render(&record, &judgement, Format::TEXT, &options);
    // The recipe is a file, shown line by line with an indentation.
    assert!(!text.lines().any(|line| line.starts_with("hint:")), "{text}");
}

#[test]
fn json_keeps_all_content() {
    let record = hostile();
    let options = TextOptions { width: 120, color: false, verbose: true };
    let json = render(&record, &judge(&record), Format::JSON, &options);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["study"]["id"], EVIL);
}

#[test]
fn no_field_of_csv_is_a_formula() {
    let record = hostile();
    let options = TextOptions { width: 120, color: false, verbose: true };
    let csv = render(&record, &judge(&record), Format::CSV, &options);
    let is_formula = |field: &&str| {
        let text = field.trim_start_matches(['"', ' ']);
        text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err()
    };
    assert_eq!(csv.split([',', '\n']).find(is_formula), None);
    assert!(csv.contains("'=1+1"));
}
