//! Verdicts on the tail of latencies.

use assay_model::{CpuVerdict, counted};
use assay_verdict::{CellJudgement, CpuJudgement};

use super::shades::{ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::document::{Block, Wish};
use crate::number::NONE;
use crate::ratio::Quotient;

/// A row for each test and system whose tail was called different, and the number of the others.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let cells = study.judgement.cells.iter().filter(|cell| study.compared.contains(&cell.system));
    let judged = cells.filter(|cell| cell.p99.is_some() || cell.dispersion.is_some());
    let (called, others): (Vec<_>, Vec<_>) = judged.partition(|cell| is_called(cell));
    let row = |cell: &&CellJudgement| {
        let name = format!("{}, {}", study.cell_name(cell.cell), study.label(cell.system));
        let texts = [cell.p99, cell.dispersion].into_iter().flat_map(words);
        ShadedRow::plain(name, texts)
    };
    let mut blocks = Vec::new();
    if !called.is_empty() {
        let table = ShadedTable {
            title: "tail latencies".to_owned(),
            note: "divided by the base's, with 95% intervals; dispersion: p99 / median".to_owned(),
            corner: "test, system",
            columns: ["p99", "verdict", "dispersion", "verdict"].map(str::to_owned).to_vec(),
            rows: called.iter().map(row).collect(),
        };
        blocks.push(table.block(wish));
    }
    if !others.is_empty() && !wish.is_short() {
        let count = |verdict: CpuVerdict| {
            let has = |cell: &&&CellJudgement| cell.p99.is_some_and(|p99| p99.verdict == verdict);
            others.iter().filter(has).count()
        };
        let tests = counted(others.len() as u64, "other test");
        let [same, undecided] = [CpuVerdict::Same, CpuVerdict::Undecided].map(count);
        let line = format!("p99 of {tests}: same in {same}, undecided in {undecided}");
        blocks.extend(Block::notes([line]));
    }
    if wish.is_page() {
        return Block::place("tails", "Tails", "Tail latencies", blocks);
    }
    blocks
}

fn is_called(cell: &CellJudgement) -> bool {
    let mut tails = [cell.p99, cell.dispersion].into_iter().flatten();
    tails.any(|tail| matches!(tail.verdict, CpuVerdict::More | CpuVerdict::Less))
}

fn words(tail: Option<CpuJudgement>) -> [String; 2] {
    match tail {
        Some(tail) => {
            [Quotient(Some(tail.ratio)).value_with_interval(), tail.verdict.word().to_owned()]
        }
        None => [NONE.to_owned(), NONE.to_owned()],
    }
}
