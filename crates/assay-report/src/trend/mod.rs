//! One test over versions and time: `assay trend`.

mod drawn;
mod rows;
mod words;

pub use words::Trend;

use assay_verdict::TrendLine;

use crate::charts::{ChartFile, Place, trend as chart};
use crate::data::json;
use crate::document::{Block, Column, Document, Heading, Row, Table, Wish};
use crate::page::{Content, Page};
use words::{APART, COLUMNS, LEGEND, all, answer, bounds, changes, doubt, row, terms};

#[must_use]
pub fn trend<'a>(trend: &'a Trend<'a>) -> Page<'a> {
    Page::new(trend)
}

impl Content for &Trend<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        let mut blocks = vec![Block::Answer(vec![answer(self)])];
        blocks.extend(Block::notes((self.lines.len() > 1).then(|| APART.to_owned())));
        blocks.push(Block::Images(wish.images.at(&Place::Elsewhere)));
        blocks.extend(self.lines.iter().flat_map(section));
        let has_changes =
            self.lines.iter().any(|line| line.shifts.as_ref().is_some_and(|it| !it.is_empty()));
        let notes = [has_changes.then(|| format!("◆: {LEGEND}")), bounds(self), doubt(self)];
        blocks.extend(Block::notes(notes.into_iter().flatten()));
        then(&Document {
            title: format!("{} over versions and time", self.test),
            heading: Heading {
                before: self.test.to_owned(),
                small: "over versions and time",
                ..Heading::default()
            },
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

fn section(line: &TrendLine) -> Vec<Block<'static>> {
    let [title, rest @ ..] = terms(line);
    let mut columns = vec![Column::words("")];
    columns.extend(COLUMNS.map(|name| match name {
        "relative QPS" | "QPS" => Column::numbers(name),
        _ => Column::words(name),
    }));
    let rows = all(line).map(|(point, is_change)| {
        let mark = if is_change { "◆" } else { "" };
        Row::new(std::iter::once(mark.to_owned()).chain(row(point)))
    });
    let mut blocks = Block::list(rest.to_vec());
    blocks.extend(drawn::inline(line).map(|svg| {
        let note = chart::note(line);
        Block::Drawing { class: "trend", svg, note }
    }));
    blocks.push(Block::Table(Table::new(columns, rows).flush()));
    blocks.extend(Block::list(changes(line)));
    Block::section(title, blocks)
}
