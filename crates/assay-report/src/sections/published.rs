//! Relative QPS as in published posts, and hardware per operation.

use assay_model::StudyRecord;
use assay_verdict::{BesideStudy, Judgement};

use super::matrix::{Matrix, MatrixCell, MatrixSection, heading};
use super::metrics;
use super::report::with_heading;
use super::shaded::{ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::charts::{self, ChartFile, Place};
use crate::document::{Block, Fold, PageDocument, Wish};
use crate::number::NONE;
use crate::page::{Page, PageContent};
use crate::words::sentence;

#[must_use]
pub fn published<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(PublishedPage(BesideStudy { record, judgement }))
}

struct PublishedPage<'a>(BesideStudy<'a>);

impl PageContent for PublishedPage<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let study = JudgedStudy::new(self.0.record, self.0.judgement);
        let (about, blocks) = (vec![sentence(&about(&study))], blocks(&study, wish));
        let document = PageDocument { about, blocks, ..PageDocument::default() };
        then(&with_heading(&study, wish, document));
    }

    fn json(&self) -> Option<String> {
        None
    }

    fn charts(&self) -> Vec<ChartFile> {
        charts::published::charts(&JudgedStudy::new(self.0.record, self.0.judgement))
    }
}

fn about(study: &JudgedStudy) -> String {
    format!(
        "study {}, in the form of published posts: ratios of QPS with two decimals, without intervals and verdicts",
        study.record.study.id
    )
}

fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let matrix = Matrix::new(study);
    let base = study.base_label();
    let mut blocks = Vec::new();
    // A page has it in its heading.
    if !wish.is_page() {
        let answer = format!("{base} against {}", matrix.labels[1..].join(", "));
        blocks.extend((!wish.is_terminal()).then(|| Block::Answer(vec![answer])));
        blocks.push(Block::Lines(vec![wish.sentence(&about(study))]));
    }
    for section in &matrix.sections {
        let place = Place::Tests(section.setup, section.group.word.clone());
        let mut table = table(study, &matrix, section).table();
        table.groups.iter_mut().for_each(|group| group.images = wish.images.at(&place));
        if wish.is_post() {
            // A single note follows the tables.
            table.caption.iter_mut().for_each(|caption| caption.note.clear());
        }
        blocks.push(Block::Table(table));
    }
    let note = format!("QPS divided by that of {base}");
    blocks.extend(Block::notes(wish.is_post().then_some(note)));
    let metrics = metrics::tables(study);
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

fn table(study: &JudgedStudy, matrix: &Matrix, section: &MatrixSection) -> ShadedTable {
    let cell = |cell: &MatrixCell| ShadedCell {
        text: Some(cell.text()).filter(|it| !it.is_empty()).unwrap_or(NONE.to_owned()),
        shade: cell.shade(),
    };
    let rows = section.rows.iter().map(|row| ShadedRow {
        name: row.test.to_owned(),
        cells: row.cells.iter().map(cell).collect(),
    });
    ShadedTable {
        title: heading(study, section),
        note: format!("QPS divided by that of {}", study.base_label()),
        corner: "test",
        columns: matrix.short.clone(),
        rows: rows.collect(),
    }
}
