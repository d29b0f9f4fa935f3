//! Writes studies in formats of other programs.

use anyhow::{Result, bail};
use assay_ledger::Ledger;
use assay_model::StudyRecord;
use assay_report::{Feed, FeedRender, FeedStudy, FeedText};
use assay_run::advice::HintedError;
use assay_run::progress::print;
use assay_run::study_records;
use assay_verdict::Judgement;

use crate::args::Output;
use crate::base;
use crate::form::{ResultForm, form};

pub fn not_a_study(word: &str) -> HintedError {
    HintedError::new(
        format!("the format `{word}` holds the results of a study, and this is something else"),
        in_the_ledger(word),
    )
}

fn one_study(word: &str) -> HintedError {
    HintedError::new(
        format!("the format `{word}` is a history of studies, and this command writes one study"),
        in_the_ledger(word),
    )
}

fn in_the_ledger(word: &str) -> String {
    format!("the study stays in the ledger: `assay report --format {word}`")
}

/// Refuses a history before anything is measured: the command writes one study.
pub fn check(output: &Output) -> Result<()> {
    match form(output)? {
        ResultForm::Feed(Feed { word, render: FeedRender::History(_), .. }) => {
            Err(one_study(word).into())
        }
        _ => Ok(()),
    }
}

pub fn of_study(feed: &Feed, record: &StudyRecord, judgement: &Judgement) -> Result<String> {
    match feed.render {
        FeedRender::Study(render) => Ok(message(feed, render(record, judgement))),
        FeedRender::History(_) => Err(one_study(feed.word).into()),
    }
}

pub fn of_history(
    feed: &Feed,
    render: fn(&[FeedStudy<'_>], &str) -> FeedText,
    study: &str,
    base: Option<&str>,
    ledger: &Ledger,
) -> Result<String> {
    let mut judged: Vec<(StudyRecord, Judgement)> = Vec::new();
    for record in study_records::readable(ledger)? {
        let rebased = match base {
            None => Some(record),
            Some(words) => base::rebased(record, words).ok(),
        };
        judged.extend(rebased.map(|record| {
            let judgement = assay_verdict::judge(&record);
            (record, judgement)
        }));
    }
    let all: Vec<FeedStudy<'_>> =
        judged.iter().map(|(record, judgement)| (record, judgement)).collect();
    let fed = render(&all, study);
    if fed.text.lines().nth(1).is_none() && fed.left_out.is_empty() {
        bail!(HintedError::new(
            format!("study `{study}` has no values for a history"),
            "a history needs measured values against a base; published results have no time of measurement"
        ));
    }
    Ok(message(feed, fed))
}

/// Prints what the feed leaves out, and returns its text.
fn message(feed: &Feed, fed: FeedText) -> String {
    for line in fed.left_out {
        print(&format!("note: left out of {}: {line}", feed.word));
    }
    fed.text
}
