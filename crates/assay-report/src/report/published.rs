//! Relative QPS as in published posts.

use assay_model::StudyRecord;
use assay_verdict::Judgement;

use super::judged::Judged;
use crate::charts::{self, ChartFile, Place};
use crate::document::{Block, Document, Fold, Wish};
use crate::page::{Content, Page};
use crate::view::{Report, metrics, published, with_report};
use crate::words::sentence;

#[must_use]
pub fn published<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(Published(Judged { record, judgement }))
}

struct Published<'a>(Judged<'a>);

impl Content for Published<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        self.0.document(wish, document, then);
    }

    fn json(&self) -> Option<String> {
        None
    }

    fn charts(&self) -> Vec<ChartFile> {
        with_report(self.0.record, self.0.judgement, charts::published::charts)
    }
}

fn document<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Document<'r> {
    let about = vec![sentence(&about(report))];
    Document { about, blocks: blocks(report, wish), ..Document::default() }
}

fn about(report: &Report) -> String {
    format!("study {}, {}", report.again.id, published::NOTE)
}

fn blocks<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    let others: Vec<&str> = report.matrix.labels.iter().skip(1).copied().collect();
    let answer = format!("{} against {}", report.base, others.join(", "));
    let mut blocks = Vec::new();
    // A page has it in its heading.
    if !wish.is_page() {
        blocks.extend((!wish.is_terminal()).then(|| Block::Answer(vec![answer])));
        blocks.push(Block::Lines(vec![wish.sentence(&about(report))]));
    }
    let tables = published::tables(&report.matrix, report.several_setups);
    for (section, shown) in report.matrix.sections.iter().zip(&tables) {
        let place = Place::Tests(section.setup, section.group.word.clone());
        let mut table = shown.table();
        table.groups.iter_mut().for_each(|group| group.images = wish.images.at(&place));
        if wish.is_post() {
            // A single note follows the tables.
            table.caption.iter_mut().for_each(|caption| caption.note.clear());
        }
        blocks.push(Block::Table(table));
    }
    let note = format!("QPS divided by that of {}", report.base);
    blocks.extend(Block::notes(wish.is_post().then_some(note)));
    let metrics = report.metrics.iter().map(|shown| Block::Table(shown.table()));
    if wish.is_terminal() {
        blocks.extend(
            (!report.metrics.is_empty()).then(|| Block::Lines(vec![metrics::NOTE.to_owned()])),
        );
        blocks.extend(metrics);
        return blocks;
    }
    let mut hardware = Block::notes((!report.metrics.is_empty()).then(|| metrics::NOTE.to_owned()));
    hardware.extend(report.metrics.iter().flat_map(|shown| {
        Block::folded(
            shown.title.clone(),
            Fold::Closed,
            vec![Block::Table(shown.table().untitled())],
        )
    }));
    blocks.extend(Block::section("Hardware per operation", hardware));
    blocks
}
