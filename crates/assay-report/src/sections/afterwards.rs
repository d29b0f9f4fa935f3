//! Sections of the work after a study: a table, then what happened second by second.

use super::study::JudgedStudy;
use crate::charts::{Place, marks};
use crate::document::{Block, Fold, Look, Section, Table, Wish};
use crate::section::{SectionContent, ShownSection, sections};
use crate::words::{capital, sentence};

/// Sentences of a section in a short report.
const SENTENCES: usize = 3;

/// A short report has only the tables and the first sentences.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let sections = sections(study).into_iter();
    let blocks = |shown| if wish.is_page() { page(shown) } else { plain(shown, wish) };
    sections.flat_map(blocks).collect()
}

fn page(shown: ShownSection) -> Vec<Block<'static>> {
    let ShownSection { section, content, systems } = shown;
    let SectionContent { contradictions, sentences, tables, notes, charts, .. } = content;
    let look = Look { class: "shaded stack".to_owned(), ..Look::default() };
    let lines = contradictions.iter().chain(&sentences);
    let mut blocks = Block::prose("", lines.map(|line| sentence(line)));
    blocks.extend(tables.first().map(|it| Block::Table(Table { look, ..it.table() })));
    blocks.extend(Block::prose("basis", notes));
    if !charts.is_empty() {
        blocks.push(Block::key(&systems));
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

fn plain(shown: ShownSection, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let SectionContent { sentences, tables, notes, .. } = shown.content;
    let mut blocks = Vec::new();
    if !sentences.is_empty() {
        let first = sentences.iter().take(wish.at_most(SENTENCES));
        let title = shown.section.title();
        blocks.push(Block::Lines(first.map(|line| format!("{title}: {line}")).collect()));
    }
    let bare = Wish::without_images(wish.medium, wish.is_verbose);
    let choice = move |number: usize| {
        let table = tables.get(number)?;
        Some(vec![Block::Table(table.titled(&bare))])
    };
    blocks.push(Block::Fitted(Box::new(choice)));
    if !wish.is_short() {
        blocks.push(Block::Lines(notes));
        blocks.push(Block::Images(wish.images.at(&Place::Section(shown.section.key()))));
    }
    blocks
}
