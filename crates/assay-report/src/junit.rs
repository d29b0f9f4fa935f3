//! A study with limits as JUnit XML for CI systems: a suite per system, a case per test.
//!
//! An exceeded limit is a failure. A test that failed to run is an error. An undecided test is an error, or is skipped
//! if the study allows undecided tests, so that the file and the exit code agree.

use assay_model::{LIMITED_STUDY, StudyRecord, printable_lines};
use assay_verdict::{Judgement, LimitVerdict, LimitedCell};

use crate::formats::markup::escaped;
use crate::sections::limits::{change, limit, limited, why};
use crate::sections::study::JudgedStudy;

struct Case {
    test: String,
    /// XML element and message of a case that did not pass.
    outcome: Option<(&'static str, String)>,
    measured: String,
}

/// Without suites if the study has no limits.
pub fn junit(record: &StudyRecord, judgement: &Judgement) -> String {
    let study = JudgedStudy::new(record, judgement);
    let cells = judgement.limits.iter().flat_map(|limits| &limits.cells);
    let cells: Vec<&LimitedCell> = cells.collect();
    let allows = record.study.limits.as_ref().is_some_and(|limits| limits.allow_undecided);
    let suites = study.compared.iter().map(|&system| {
        let cells = cells.iter().filter(|cell| cell.system == system);
        let cases: Vec<Case> = cells.map(|cell| case(&study, cell, allows)).collect();
        suite(record.systems.get(system).map_or("?", |it| it.name.as_str()), &cases)
    });
    let xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay {LIMITED_STUDY} {}\" time=\"{:.3}\">{}\n\
         </testsuites>",
        escaped(&record.study.id),
        record.elapsed_s(),
        suites.collect::<String>()
    );
    printable_lines(&xml).into_owned() + "\n"
}

fn suite(system: &str, cases: &[Case]) -> String {
    if cases.is_empty() {
        return String::new();
    }
    let system = escaped(system);
    let count = |element: &str| {
        let is_it = |case: &&Case| case.outcome.as_ref().is_some_and(|(it, _)| *it == element);
        cases.iter().filter(is_it).count()
    };
    let shown = cases.iter().map(|Case { test, outcome, measured }| {
        let (test, measured) = (escaped(test), escaped(measured));
        let outcome = outcome.as_ref().map(|(element, message)| {
            format!("\n      <{element} message=\"{}\"/>", escaped(message))
        });
        format!(
            "\n    <testcase classname=\"{system}\" name=\"{test}\">{}\n      <system-out>{measured}</system-out>\n    \
             </testcase>",
            outcome.unwrap_or_default()
        )
    });
    format!(
        "\n  <testsuite name=\"{system}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">{}\n  </testsuite>",
        cases.len(),
        count("failure"),
        count("error"),
        count("skipped"),
        shown.collect::<String>()
    )
}

fn case(study: &JudgedStudy, cell: &LimitedCell, allows_undecided: bool) -> Case {
    let element = match cell.verdict {
        LimitVerdict::Passed => None,
        LimitVerdict::Exceeded => Some("failure"),
        LimitVerdict::Undecided if allows_undecided => Some("skipped"),
        LimitVerdict::Undecided | LimitVerdict::Failed => Some("error"),
    };
    let measured =
        format!("{} {}, limit {}", limited(study), change(study, cell), limit(study, cell));
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
