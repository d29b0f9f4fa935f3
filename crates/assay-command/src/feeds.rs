//! Writes studies in formats of other programs.

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{Hint, StudyRecord};
use assay_report::{Fed, Feed, Judged, Made};
use assay_verdict::Judgement;

use crate::args::Output;
use crate::base;
use crate::form::{Form, form};
use assay_run::progress::print;
use assay_run::recorded;

#[derive(Debug, thiserror::Error)]
pub enum NoFeed {
    #[error("the format `{0}` holds the results of a study, and this is something else")]
    NotAStudy(&'static str),
    #[error("the format `{0}` is a history of studies, and this command writes one study")]
    OneStudy(&'static str),
    /// No study has values that are comparable with others.
    #[error("study `{0}` has no values for a history")]
    NoHistory(String),
}

impl Hint for NoFeed {
    fn hints(&self) -> Vec<String> {
        vec![match self {
            Self::NotAStudy(word) | Self::OneStudy(word) => {
                format!("the study stays in the ledger: `assay report --format {word}`")
            }
            Self::NoHistory(_) => {
                "a history needs measured values against a base; published results have no time of \
                                   measurement"
                    .to_owned()
            }
        }]
    }
}

/// Refuses a history before anything is measured: the command writes one study.
pub fn check(output: &Output) -> Result<()> {
    match form(output)? {
        Form::Feed(Feed { word, made: Made::History(_), .. }) => Err(NoFeed::OneStudy(word).into()),
        _ => Ok(()),
    }
}

pub fn of_study(feed: &Feed, record: &StudyRecord, judgement: &Judgement) -> Result<String> {
    match feed.made {
        Made::Study(render) => Ok(message(feed, render(record, judgement))),
        Made::History(_) => Err(NoFeed::OneStudy(feed.word).into()),
    }
}

pub fn of_history(
    feed: &Feed,
    render: fn(&[Judged<'_>], &str) -> Fed,
    study: &str,
    base: Option<&str>,
    ledger: &Ledger,
) -> Result<String> {
    let mut judged: Vec<(StudyRecord, Judgement)> = Vec::new();
    for record in recorded::readable(ledger)? {
        let rebased = match base {
            None => Some(record),
            Some(words) => base::rebased(record, words).ok(),
        };
        judged.extend(rebased.map(|record| {
            let judgement = assay_verdict::judge(&record);
            (record, judgement)
        }));
    }
    let all: Vec<Judged<'_>> =
        judged.iter().map(|(record, judgement)| (record, judgement)).collect();
    let fed = render(&all, study);
    if fed.text.lines().nth(1).is_none() && fed.left_out.is_empty() {
        return Err(NoFeed::NoHistory(study.to_owned()).into());
    }
    Ok(message(feed, fed))
}

/// Prints what the feed leaves out, and returns its text.
fn message(feed: &Feed, fed: Fed) -> String {
    for line in fed.left_out {
        print(&format!("note: left out of {}: {line}", feed.word));
    }
    fed.text
}
