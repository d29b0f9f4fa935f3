//! Instructions per operation: a table of all tests, then the functions and calls of each.

use super::profiles::calls;
use crate::document::{Block, Fold, Frame, Look, Section, Table, Wish};
use crate::view::Report;
use crate::view::counts::{CountedTest, Counts};
use crate::view::shaded::ShadedTable;

/// A short report omits the functions.
pub(super) fn blocks<'r>(
    report: &'r Report<'r>,
    wish: &Wish<'_>,
    is_short: bool,
) -> Vec<Block<'r>> {
    let Some(Counts { tables, limits, tests }) = &report.counts else { return Vec::new() };
    if wish.is_page() {
        let look = Look { class: "shaded stack".to_owned(), ..Look::default() };
        let widest = tables.first().map(|it| Block::Table(Table { look, ..it.table() }));
        let mut blocks: Vec<Block> = widest.into_iter().collect();
        blocks.extend(Block::prose("basis", limits.iter().map(String::as_str)));
        let sections = tests.iter().enumerate();
        blocks.extend(sections.filter_map(|(number, test)| section(report, test, number)));
        return Block::place("counts", "Instructions", "Instructions per operation", blocks);
    }
    let bare = Wish::of(wish.medium, wish.is_verbose);
    let choice = move |number| {
        let table: &ShadedTable = tables.get(number)?;
        Some(vec![Block::Table(table.titled(&bare))])
    };
    let mut blocks = vec![Block::Fitted(Box::new(choice))];
    if !is_short {
        blocks.push(Block::Lines(limits.clone()));
        let functions = tests.iter().filter_map(|test| test.functions.as_ref());
        blocks.extend(functions.map(|table| Block::Table(table.titled(wish))));
    }
    blocks
}

fn section(report: &Report, test: &CountedTest, number: usize) -> Option<Block<'static>> {
    let table = test.functions.iter().map(|table| Block::Table(table.table()));
    let calls = test.calls.iter().map(|it| {
        let words = ["more instructions", "fewer"];
        calls(report, it, &format!("Calls of {} by instructions", test.system), words)
    });
    let blocks: Vec<Block> = table.chain(calls).collect();
    let several = report.several_systems().then(|| test.system.clone());
    let heading = std::iter::once(test.test.clone()).chain(several).collect::<Vec<_>>().join(", ");
    (!blocks.is_empty()).then(|| {
        Block::Section(Section {
            id: format!("count-{}", number + 1),
            class: "profile",
            blocks: Block::part(Frame::Plain, "sampled", blocks),
            ..Section::new(heading, if number == 0 { Fold::Open } else { Fold::Closed })
        })
    })
}
