//! Relative QPS as in published posts.

use assay_model::StudyRecord;
use assay_verdict::{BesideStudy, Judgement};

use super::study::laid_out;
use crate::charts::{self, ChartFile, Place};
use crate::document::{Block, Fold, PageDocument, Wish};
use crate::page::{Page, PageContent};
use crate::view::{Report, matrix, metrics, with_report};
use crate::words::sentence;

#[must_use]
pub fn published<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(PublishedPage(BesideStudy { record, judgement }))
}

struct PublishedPage<'a>(BesideStudy<'a>);

impl PageContent for PublishedPage<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        laid_out(&self.0, wish, document, then);
    }

    fn json(&self) -> Option<String> {
        None
    }

    fn charts(&self) -> Vec<ChartFile> {
        with_report(self.0.record, self.0.judgement, charts::published::charts)
    }
}

fn document<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> PageDocument<'r> {
    let about = vec![sentence(&about(report))];
    PageDocument { about, blocks: blocks(report, wish), ..PageDocument::default() }
}

fn about(report: &Report) -> String {
    format!("study {}, {}", report.id(), matrix::PUBLISHED_NOTE)
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
    let tables = matrix::published_tables(&report.matrix, report.several_setups);
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
    let metrics = metrics::tables(report.study);
    let note = (!metrics.is_empty()).then(|| metrics::NOTE.to_owned());
    if wish.is_terminal() {
        blocks.extend(note.map(|note| Block::Lines(vec![note])));
        blocks.extend(metrics.iter().map(|shown| Block::Table(shown.table())));
        return blocks;
    }
    let mut hardware = Block::notes(note);
    hardware.extend(metrics.iter().flat_map(|shown| {
        let table = Block::Table(shown.table().untitled());
        Block::folded(shown.title.clone(), Fold::Closed, vec![table])
    }));
    blocks.extend(Block::section("Hardware per operation", hardware));
    blocks
}
