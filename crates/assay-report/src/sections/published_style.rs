//! Relative QPS as in published posts: statistics of groups, tests, and hardware per operation.

use assay_model::{Setup, StudyRecord};
use assay_verdict::{BesideStudy, GroupSummary, Judgement};

use super::matrix::{Matrix, MatrixCell, MatrixSection, heading};
use super::report::with_heading;
use super::shades::{ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use super::{groups, metrics};
use crate::charts::{self, ChartFile, Place};
use crate::document::{Block, Caption, Column, Fold, PageDocument, Row, RowGroup, Table, Wish};
use crate::number::NONE;
use crate::page::{Page, PageContent};
use crate::ratio::short;
use crate::words::sentence;

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
        charts::columns::charts(&JudgedStudy::new(self.0.record, self.0.judgement))
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
    blocks.extend(statistics(study, wish));
    for section in &matrix.sections {
        let place = Place::Tests(section.setup, section.group.word.clone());
        let mut table = table(study, &matrix, section).table();
        table.groups.iter_mut().for_each(|group| group.images = wish.images.at(&place));
        if wish.is_page() {
            let mut shown = charts::columns::drawings(study, &matrix, section);
            shown.push(Block::Table(table.untitled()));
            blocks.extend(Block::section(wish.heading(&heading(study, section)), shown));
            continue;
        }
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

const STATISTICS: [&str; 6] = ["tests", "min", "max", "average", "median", "stddev"];

const STATISTICS_NOTE: &str = "QPS of the first system divided by that of the second, over the tests of a group. These \
    statistics of ratios have no intervals. The standard deviation is that of the sample";

/// Statistics of groups: first each system with the base, then the pairs without it.
fn statistics(study: &JudgedStudy, wish: &Wish<'_>) -> Option<Block<'static>> {
    let with_base = study.judgement.groups.iter();
    let with_base = with_base.filter(|it| study.others().any(|other| other == it.system));
    let mut all: Vec<&GroupSummary> = with_base.chain(&study.judgement.group_pairs).collect();
    // A stable sort keeps the order of the groups.
    all.sort_by_key(|it| place_of_pair(study, it));
    let pairs = all.chunk_by(|one, next| place_of_pair(study, one) == place_of_pair(study, next));
    let groups = pairs.map(|groups| {
        let [system, than] = [groups[0].system, groups[0].than].map(|it| study.label(it));
        let heading = format!("{system} / {than}{}", study.of_setup(groups[0].setup));
        let rows = groups.iter().map(|group| statistics_row(group)).collect();
        RowGroup { heading: heading.into(), rows, ..RowGroup::default() }
    });
    let (title, note) = (wish.heading("relative QPS by group"), STATISTICS_NOTE.to_owned());
    let columns = std::iter::once(Column::words("group"));
    let table = Table {
        caption: Some(Caption { title, note, ..Caption::default() }),
        columns: columns.chain(STATISTICS.map(Column::numbers)).collect(),
        groups: groups.collect(),
        ..Table::default()
    };
    (!all.is_empty()).then_some(Block::Table(table))
}

fn place_of_pair(study: &JudgedStudy, group: &GroupSummary) -> (Setup, bool, usize, usize) {
    (group.setup, group.than != study.base, group.than, group.system)
}

fn statistics_row(group: &GroupSummary) -> Row {
    let [min, max, average, median] = [group.min, group.max, group.avg, group.median].map(short);
    let stddev = group.stddev.map_or_else(|| NONE.to_owned(), |it| format!("{it:.2}"));
    Row::new([group.group.word.clone(), groups::tests(group), min, max, average, median, stddev])
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
