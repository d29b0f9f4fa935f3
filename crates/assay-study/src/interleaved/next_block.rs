//! Selects the cells of an interleaved study's next block, and what fits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use assay_model::{Block, CellId, Class};
use assay_plan::Fitting;

use super::Interleaved;
use crate::budget::{BlocksLeft, NextBlock, Wish};
use crate::{Forecast, Phase};

impl Interleaved {
    /// The next block and its number. It never exceeds the plan, so its number is valid in a ledger.
    pub(super) fn next_block(&mut self, used_s: f64) -> Option<(u32, NextBlock)> {
        let wishes = self.wishes();
        let mut left = (self.blocks_done..self.blocks_max).filter(|block| self.shard.has(*block));
        let number = left.next()?;
        let blocks = self.blocks_left(number);
        let next = self.budget.rounds(&self.study, &wishes, blocks, used_s)?;
        self.blocks_done = number.saturating_add(1);
        self.taken.clear();
        Some((number, next))
    }

    pub(super) fn blocks_left(&self, number: u32) -> BlocksLeft {
        let count = |blocks: Range<u32>| blocks.filter(|it| self.shard.has(*it)).count() as u32;
        BlocksLeft { done: count(0..number), left: count(number..self.blocks_max) }
    }

    pub(crate) fn forecast(mut self, used_s: f64) -> Forecast {
        let of_begun = |begun: &Block| -> BTreeMap<usize, u32> {
            let rounds: BTreeMap<CellId, u32> =
                begun.cells.iter().map(|cell| (cell.id, cell.rounds)).collect();
            self.cells().filter_map(|(cell, id)| Some((cell, *rounds.get(&id)?))).collect()
        };
        let rounds = self.begun.as_ref().map(of_begun).unwrap_or_default();
        let is_begun = rounds.keys().any(|cell| self.is_left(*cell, &rounds));
        let wishes = self.wishes();
        let cells: Vec<usize> = wishes.iter().map(|(cell, _)| *cell).collect();
        let blocks = self.blocks_left(self.blocks_done);
        let next = self.budget.rounds(&self.study, &wishes, blocks, used_s);
        let rounds = next.iter().flat_map(|next| next.cells.iter().map(|(_, rounds)| *rounds));
        let count = cells.len().max(1) as f64;
        let fitting = Fitting {
            systems: self.systems,
            start_s: self.budget.start_s(),
            once_s: self.budget.once_s(cells.iter().copied()),
            left_s: self.budget.left_s(used_s),
            blocks: next.as_ref().map_or(0, |next| next.fitting),
            rounds: rounds.map(f64::from).sum::<f64>() / count,
        };
        Forecast { cells, is_begun, fitting }
    }

    fn wishes(&mut self) -> Vec<(usize, Wish)> {
        let mut open: BTreeMap<CellId, Wish> = BTreeMap::new();
        if self.blocks_done == 0 {
            open.extend(self.cells().map(|(_, id)| (id, Wish::Share)));
        } else {
            let standings = self.samples.standings();
            let compared = standings.iter().filter(|it| self.left.compares(it.system));
            self.so_far = compared.map(|it| it.verdict).collect();
            for standing in standings.iter().filter(|it| it.is_open) {
                let wish = Wish::of(self.blocks_done, standing);
                let known = open.entry(standing.cell).or_insert(wish);
                *known = known.larger(wish);
            }
            // A gate has its own limits to decide.
            if let Some(gate) = self.samples.gate() {
                open = gate.open_cells().into_iter().map(|cell| (cell, Wish::Share)).collect();
            }
        }
        let is_open =
            |&(cell, id): &(usize, CellId)| open.contains_key(&id) && !self.left.is_closed(cell);
        // A write test must find the data left by earlier writes, so all on the same instances continue while one is
        // open.
        let is_write = |id: CellId| id.test.class == Class::Write;
        let writes = self.cells().filter(is_open).map(|(_, id)| id).filter(|id| is_write(*id));
        let writing: BTreeSet<Phase> = writes.map(Phase::of).collect();
        let takes_part = |it: &(usize, CellId)| {
            let (cell, id) = *it;
            let is_of_writes = is_write(id) && writing.contains(&Phase::of(id));
            is_open(it) || (is_of_writes && !self.left.is_closed(cell))
        };
        let wish = |(cell, id)| (cell, open.get(&id).copied().unwrap_or(Wish::Nothing));
        self.cells().filter(takes_part).map(wish).collect()
    }
}
