//! A study with its judgement, as content of pages.

use assay_model::StudyRecord;
use assay_verdict::Judgement;

use crate::charts;
use crate::document::{Document, Heading, Wish};
use crate::view::{Report, with_report};

#[derive(Clone, Copy)]
pub(super) struct Judged<'a> {
    pub(super) record: &'a StudyRecord,
    pub(super) judgement: &'a Judgement,
}

impl Judged<'_> {
    pub(super) fn document(
        &self,
        wish: &Wish<'_>,
        content: impl for<'r> Fn(&'r Report<'r>, &Wish<'_>) -> Document<'r>,
        then: &mut dyn FnMut(&Document<'_>),
    ) {
        with_report(self.record, self.judgement, |report| {
            let others = charts::compared(report).into_iter().map(|it| report.titled(it));
            let heading = Heading::of(report.titled(report.base), &others.collect::<Vec<_>>());
            let title = heading.line();
            let repeats_answer = wish.is_terminal() && wish.is_verbose;
            then(&Document { title, heading, repeats_answer, ..content(report, wish) });
        });
    }
}
