//! Names and messages made to command terminals and readers' eyes.

use assay_model::{Artifact, Origin, Product, ReportedServer, SameOption, SameReason, SystemSpec};

use super::*;

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

fn system() -> System {
    let server = ReportedServer {
        reported_in: EVIL.to_owned(),
        product: None,
        version: EVIL.to_owned(),
        notes: Vec::new(),
    };
    System {
        name: EVIL.to_owned(),
        spec: SystemSpec::new(Product::MariaDb, Origin::Version(EVIL.to_owned())),
        artifact: Artifact::Reported(server),
        is_base: false,
        is_twin: false,
        options: Vec::new(),
    }
}

#[test]
fn names_and_values_neither_control_a_terminal_nor_add_lines() {
    let finding = AuditFinding {
        setting: EVIL.to_owned(),
        values: vec![Some(EVIL.to_owned()); 2],
        class: AuditClass::Suspicious,
        why: EVIL.to_owned(),
        is_asked: false,
        statements: Vec::new(),
    };
    let option = SameOption {
        setting: EVIL.to_owned(),
        value: EVIL.to_owned(),
        without: Some(usize::MAX),
        because: SameReason::NoEffect(EVIL.to_owned()),
    };
    let same = SameSystems { other: usize::MAX, terms: EVIL.to_owned(), options: vec![option] };
    let text = audit_text(AuditResult {
        systems: &[system(), system()],
        findings: &[finding],
        same: &[(1, same)],
        compared: ComparedCounts { settings: 1, plans: 0 },
        files: &[Some(file()), None],
    });
    assert_harmless(&text);
    assert!(!text.lines().any(|line| line.starts_with("hint:")), "{text}");
}

fn file() -> FileSummary {
    let (version, notes) = (Some(EVIL.to_owned()), vec![EVIL.to_owned()]);
    FileSummary { form: "my.cnf", version, settings: 3, is_whole: false, notes }
}

#[test]
fn a_file_comes_with_its_limits() {
    let system = System { name: "a.cnf".to_owned(), ..system() };
    let file = FileSummary { version: None, notes: vec!["a note".to_owned()], ..file() };
    let result = AuditResult {
        systems: &[system],
        findings: &[],
        same: &[],
        compared: ComparedCounts { settings: 3, plans: 0 },
        files: &[Some(file)],
    };
    let text = audit_text(result);
    let line = text.lines().nth(1).unwrap();
    assert!(line.contains("(version unknown): 3 settings; only these are compared"), "{line}");
    assert!(line.ends_with("; a note"), "{line}");
    let json = audit_json(result);
    assert!(json.contains("\"is_whole\": false") && json.contains("\"version\": null"), "{json}");
}
