//! A soak of some tests: a table of all of them, then the rates of each second by second.

use super::tables::key;
use crate::charts::{Place, marks};
use crate::document::{Block, Fold, Look, Section, Table, Wish};
use crate::view::Report;
use crate::view::soak::LongerLook;

/// A short report has only the table.
pub(super) fn blocks<'r>(
    report: &'r Report<'r>,
    wish: &Wish<'_>,
    is_short: bool,
) -> Vec<Block<'r>> {
    let Some(LongerLook { contradictions, tables, notes, systems, charts }) = &report.soak else {
        return Vec::new();
    };
    if wish.is_page() {
        let look = Look { class: "shaded stack".to_owned(), ..Look::default() };
        let mut blocks =
            Block::prose("", contradictions.iter().map(|it| crate::words::sentence(it)));
        blocks.extend(tables.first().map(|it| Block::Table(Table { look, ..it.table() })));
        blocks.extend(Block::prose("basis", notes.iter().map(String::as_str)));
        if !charts.is_empty() {
            blocks.push(key(systems));
        }
        blocks.extend(charts.iter().map(|it| {
            let mut drawn = vec![Block::Figures("charts", vec![marks::small(&it.chart)])];
            drawn.extend(Block::prose("basis", [format!("{}.", it.summary)]));
            let heading = format!("{}, second by second", it.test);
            Block::Section(Section {
                class: "seconds",
                blocks: drawn,
                ..Section::new(heading, Fold::Open)
            })
        }));
        return Block::place("soak", "A longer look", "A longer look", blocks);
    }
    let choice = {
        let bare = Wish::of(wish.medium, wish.is_verbose);
        move |number: usize| {
            let table = tables.get(number)?;
            Some(vec![Block::Table(table.titled(&bare))])
        }
    };
    let mut blocks = vec![Block::Fitted(Box::new(choice))];
    if !is_short {
        blocks.push(Block::Lines(notes.clone()));
        blocks.push(Block::Images(wish.images.at(&Place::Soak)));
    }
    blocks
}
