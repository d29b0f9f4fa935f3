//! Sections of the work after a study: a table, then what happened second by second.

use super::tables::key;
use crate::charts::{Place, marks};
use crate::document::{Block, Fold, Look, Section, Table, Wish};
use crate::section::{SectionContent, ShownSection};
use crate::view::Report;
use crate::words::{capital, sentence};

/// A short report has only the tables.
pub(super) fn blocks<'r>(
    report: &'r Report<'r>,
    wish: &Wish<'_>,
    is_short: bool,
) -> Vec<Block<'r>> {
    let sections = report.sections.iter();
    match wish.is_page() {
        true => sections.flat_map(page).collect(),
        false => sections.flat_map(|shown| plain(shown, wish, is_short)).collect(),
    }
}

fn page(shown: &ShownSection) -> Vec<Block<'_>> {
    let ShownSection { section, content, systems } = shown;
    let SectionContent { contradictions, tables, notes, charts } = content;
    let look = Look { class: "shaded stack".to_owned(), ..Look::default() };
    let mut blocks = Block::prose("", contradictions.iter().map(|it| sentence(it)));
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
    let title = capital(section.title());
    Block::place(section.key(), title.clone(), title, blocks)
}

fn plain<'r>(shown: &'r ShownSection, wish: &Wish<'_>, is_short: bool) -> Vec<Block<'r>> {
    let SectionContent { tables, notes, .. } = &shown.content;
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
        blocks.push(Block::Images(wish.images.at(&Place::Section(shown.section.key()))));
    }
    blocks
}
