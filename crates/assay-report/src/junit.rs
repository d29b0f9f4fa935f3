//! A gate as JUnit XML, which CI systems show: a suite for each system, a case for each test.
//!
//! An exceeded limit is a failure. A test that failed to run is an error. An undecided test is an error, or is skipped
//! if the gate allows undecided tests, so that the file and the exit code agree.

use askama::Template;
use assay_model::{StudyRecord, printable_lines};
use assay_verdict::{GateCell, GateVerdict, Judgement};

use crate::view::gate::{change, limit, why};
use crate::view::study::JudgedStudy;

#[derive(Template)]
#[template(path = "junit.xml")]
struct Document {
    study: String,
    seconds: String,
    suites: Vec<Suite>,
}

struct Suite {
    system: String,
    cases: Vec<Case>,
}

struct Case {
    test: String,
    /// The element for a case that did not pass, and its message.
    outcome: Option<(&'static str, String)>,
    /// What was measured.
    measured: String,
}

impl Suite {
    fn count(&self, element: &str) -> usize {
        let is_it = |case: &&Case| case.outcome.as_ref().is_some_and(|(it, _)| *it == element);
        self.cases.iter().filter(is_it).count()
    }
}

/// Renders what a gate says as JUnit XML; a document without suites if the study is no gate.
#[must_use]
pub fn junit(record: &StudyRecord, judgement: &Judgement) -> String {
    let study = JudgedStudy::new(record, judgement);
    let gate = judgement.gate.iter();
    let cells: Vec<&GateCell> = gate.flat_map(|gate| &gate.cells).collect();
    let allows = record.study.gate.as_ref().is_some_and(|gate| gate.allow_undecided);
    let suites = study.compared.iter().map(|&system| {
        let cells = cells.iter().filter(|cell| cell.system == system);
        let name = record.systems.get(system).map_or("?", |it| it.name.as_str());
        Suite {
            system: name.to_owned(),
            cases: cells.map(|cell| case(&study, cell, allows)).collect(),
        }
    });
    let document = Document {
        study: record.study.id.clone(),
        seconds: format!("{:.3}", record.elapsed_s()),
        suites: suites.filter(|suite| !suite.cases.is_empty()).collect(),
    };
    printable_lines(&document.to_string()).into_owned() + "\n"
}

fn case(study: &JudgedStudy, cell: &GateCell, allows_undecided: bool) -> Case {
    let element = match cell.verdict {
        GateVerdict::Passed => None,
        GateVerdict::Exceeded => Some("failure"),
        GateVerdict::Undecided if allows_undecided => Some("skipped"),
        GateVerdict::Undecided | GateVerdict::Failed => Some("error"),
    };
    let measured = format!("QPS {}, limit {}", change(cell), limit(cell));
    let message = || {
        let why = why(study, cell).map_or_else(String::new, |why| format!("; {why}"));
        format!("{}: {measured}{why}", cell.verdict.word())
    };
    Case {
        test: study.cell_name(cell.cell),
        outcome: element.map(|element| (element, message())),
        measured,
    }
}
