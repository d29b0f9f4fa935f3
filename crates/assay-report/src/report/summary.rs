//! The summary of a gate.

use assay_model::StudyRecord;
use assay_verdict::Judgement;

use super::gate::blocks as of_gate;
use super::judged::Judged;
use super::study;
use crate::charts::ChartFile;
use crate::document::{Block, Document, Wish};
use crate::page::{Content, Page};
use crate::view::Report;

/// A summary for people, the whole study for scripts. A study that is not a gate has its report.
#[must_use]
pub fn gate<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(Summary(Judged { record, judgement }))
}

struct Summary<'a>(Judged<'a>);

impl Content for Summary<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        if wish.is_page() {
            return Content::document(&self.0, wish, then);
        }
        self.0.document(wish, summary, then);
    }

    fn json(&self) -> Option<String> {
        self.0.json()
    }

    fn csv(&self) -> Option<String> {
        self.0.csv()
    }

    fn charts(&self) -> Vec<ChartFile> {
        self.0.charts()
    }
}

fn summary<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Document<'r> {
    if report.gate.is_none() {
        return study::document(report, wish);
    }
    let mut blocks = of_gate(report, wish);
    let id = report.again.id;
    blocks.push(Block::Lines(report.warning_lines()));
    blocks.push(Block::Break);
    let (study, stop) = if wish.is_terminal() { ("study", "") } else { ("Study", ".") };
    blocks.push(Block::Command {
        before: format!("{study} {id}: "),
        command: format!("assay report {id}"),
        after: format!(" shows every test{stop}"),
    });
    Document { blocks, ..Document::default() }
}
