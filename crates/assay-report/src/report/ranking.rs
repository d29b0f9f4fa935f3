//! The ranking of three or more systems: over all tests, and in each of them.

use crate::document::{Block, Fold, Wish};
use crate::view::ranking::RankingSection;

pub(super) fn blocks(
    ranking: &RankingSection,
    wish: &Wish<'_>,
    most: usize,
) -> Vec<Block<'static>> {
    let table = ranking.overall.iter();
    let mut blocks: Vec<Block> = table
        .map(|shown| {
            Block::Table(if wish.is_page() { shown.table().untitled() } else { shown.titled(wish) })
        })
        .collect();
    if ranking.tests.len() <= most {
        let facts = ranking.tests.iter();
        let facts: Vec<_> =
            facts.map(|(test, order)| (test.clone(), order.as_str().into())).collect();
        let heading = wish.heading("fastest in each test");
        if !facts.is_empty() {
            blocks.extend(Block::folded(heading, Fold::Closed, vec![Block::Facts(facts)]));
        }
    }
    if wish.is_page() {
        return Block::place("ranking", "Ranking", "Which is the fastest", blocks);
    }
    blocks
}
