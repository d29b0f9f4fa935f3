//! A study and its judgement, as pages have them.

use assay_model::StudyRecord;
use assay_verdict::Judgement;

use crate::charts;
use crate::document::{Block, Document, Heading, Wish};
use crate::view::{Report, with_report};

/// A study and its judgement.
#[derive(Clone, Copy)]
pub(super) struct Judged<'a> {
    pub(super) record: &'a StudyRecord,
    pub(super) judgement: &'a Judgement,
}

impl Judged<'_> {
    /// The document of these blocks.
    pub(super) fn document(
        &self,
        wish: &Wish<'_>,
        blocks: impl for<'r> Fn(&'r Report<'r>, &Wish<'_>) -> (Vec<String>, Vec<Block<'r>>),
        then: &mut dyn FnMut(&Document<'_>),
    ) {
        with_report(self.record, self.judgement, |report| {
            let others = charts::compared(report);
            let heading = Heading::of(report.base, &others);
            let (about, blocks) = blocks(report, wish);
            let title = heading.line();
            let repeats_answer = wish.is_terminal() && wish.is_verbose;
            then(&Document {
                title,
                heading,
                about,
                repeats_answer,
                blocks,
                ..Document::default()
            });
        });
    }
}
