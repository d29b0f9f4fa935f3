//! `assay report --beside`: a study beside another one, in every format.

mod drawn;
mod rows;
mod words;

use assay_model::{PublishedGroup, StudyRecord};
use assay_verdict::{Agreement, Judged, Judgement};

use crate::charts::{ChartFile, Place, scatter};
use crate::data::json;
use crate::document::{Block, Cell, Column, Document, Fold, Heading, Row, Section, Table, Wish};
use crate::page::{Content, Page};
use crate::view::beside::{Beside, Pair};
use words::{GROUP_HEADINGS, HEADINGS, cells, group_cells, has_several, heading, prose};

#[derive(Debug, Clone, Copy)]
pub struct Other<'a> {
    /// For a table, possibly only systems.
    pub record: &'a StudyRecord,
    pub judgement: &'a Judgement,
    pub groups: &'a [PublishedGroup],
    /// Place of publication and known conditions.
    pub note: Option<&'a str>,
}

/// `None` if `other` lacks a counterpart of the base or of any further system.
#[must_use]
pub fn beside<'a>(
    (record, judgement): (&'a StudyRecord, &'a Judgement),
    theirs: &Other<'a>,
) -> Option<Page<'a>> {
    let there = Judged { record: theirs.record, judgement: theirs.judgement };
    let beside = Beside::new(Judged { record, judgement }, there, theirs.groups, theirs.note);
    (!beside.pairs.is_empty()).then(|| Page::new(beside))
}

impl Content for Beside<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        let (ours, theirs) = (&self.ours.study.id, &self.theirs.study.id);
        let mut blocks = vec![Block::Lines(prose(self))];
        blocks.push(Block::Images(wish.images.at(&Place::Elsewhere)));
        blocks.extend(self.pairs.iter().map(|pair| section(pair, has_several(self), wish)));
        blocks.push(Block::Break);
        blocks.push(Block::Lines(vec![
            wish.sentence(&format!("here: study {ours}; there: study {theirs}")),
        ]));
        let heading = heading_of(self);
        then(&Document {
            title: format!("{}: {ours} beside {theirs}", heading.line()),
            heading,
            about: vec![format!("Study {ours} (here) beside {theirs} (there)")],
            blocks,
            ..Document::default()
        });
    }

    fn json(&self) -> Option<String> {
        Some(json::text(&rows::document(self)))
    }

    fn csv(&self) -> Option<String> {
        Some(rows::table(self))
    }

    fn charts(&self) -> Vec<ChartFile> {
        drawn::charts(self)
    }
}

fn heading_of(beside: &Beside) -> Heading {
    let others: Vec<&str> = beside.pairs.iter().map(|pair| pair.names[1].as_str()).collect();
    beside.pairs.first().map_or_else(Heading::default, |pair| Heading::of(&pair.names[0], &others))
}

fn section(pair: &Pair, several: bool, wish: &Wish<'_>) -> Block<'static> {
    let found = &pair.found;
    let mut blocks = Vec::new();
    if !found.tests.is_empty() {
        let (svg, note) = (drawn::inline(pair), scatter::note(&found.tests));
        blocks.push(Block::Drawing { class: "scatter", svg, note });
    }
    if !found.groups.is_empty() {
        let [count, rest @ ..] = GROUP_HEADINGS;
        let columns = [Column::words("group"), Column::numbers(count)];
        let columns = columns.into_iter().chain(rest.map(Column::words)).collect();
        let rows = found.groups.iter().map(|group| Row::new(group_cells(group, several)));
        blocks.push(Block::Table(Table::new(columns, rows)));
    }
    if !found.tests.is_empty() {
        let columns = std::iter::once("test").chain(HEADINGS).map(Column::words).collect();
        let rows = found.tests.iter().map(|test| {
            let mut row = Row::new(cells(test, several));
            let class = if test.agreement == Agreement::Differs { "v slower" } else { "v same" };
            row.cells
                .last_mut()
                .into_iter()
                .for_each(|cell: &mut Cell| cell.class = class.to_owned());
            row
        });
        blocks.push(Block::Table(Table::new(columns, rows)));
    }
    let disagreements = Block::list(pair.disagreements.iter().cloned());
    blocks.extend(Block::section(
        wish.heading("where they differ, the largest differences first"),
        disagreements,
    ));
    Block::Section(Section { blocks, ..Section::new(heading(pair), Fold::Never) })
}
