//! Why cells changed or failed, the most important first.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_model::Verdict;
use assay_verdict::CellJudgement;

use super::counts;
use super::doubts::silence;
use super::study::JudgedStudy;
use super::to_do::ToDo;
use crate::document::{Block, Fold, Wish, and_more};
use crate::words::Symbol as _;

/// Maximum number of causes above the tables of a terminal, and in a short report. The rest are below the tables.
const ABOVE: usize = 8;
const SHORT: usize = 5;

struct ExplainedCause<'a> {
    verdict: Verdict,
    name: String,
    why: Cow<'a, str>,
}

const LARGEST: &str = "why, the largest changes first";

/// The largest changes. A page has them in its cards.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if wish.is_page() {
        return Vec::new();
    }
    let most = if wish.is_terminal() { wish.at_most(SHORT).min(ABOVE) } else { usize::MAX };
    let causes = causes(study);
    let (largest, smaller) = causes.split_at(causes.len().min(most));
    let more = if wish.is_short() { smaller.len() } else { 0 };
    list(wish.heading(LARGEST), largest, more)
}

/// Those that a terminal does not have above its tables.
pub(super) fn smaller(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if !wish.is_terminal() {
        return Vec::new();
    }
    let causes = causes(study);
    let (_, smaller) = causes.split_at(causes.len().min(ABOVE));
    list(wish.heading("why, the smaller changes"), smaller, 0)
}

/// Tests that were not counted, and the largest changes of instructions.
pub(super) fn counted(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let causes = causes(study);
    // Failures come first.
    let failed = causes.partition_point(|it| it.verdict == Verdict::Failed);
    let (failed, changed) = causes.split_at(failed);
    let mut blocks = list(wish.heading("not counted"), failed, 0);
    if !wish.is_page() {
        let (largest, smaller) = changed.split_at(changed.len().min(wish.at_most(SHORT)));
        blocks.extend(list(wish.heading(LARGEST), largest, smaller.len()));
    }
    blocks
}

fn list(heading: String, causes: &[ExplainedCause], more: usize) -> Vec<Block<'static>> {
    let line = |it: &ExplainedCause| format!("{} {}: {}", it.verdict.symbol(), it.name, it.why);
    let lines = causes.iter().map(line).chain(and_more(more));
    Block::folded(heading, Fold::Open, Block::list(lines))
}

/// Failures first, then the largest changes.
fn causes<'a>(study: &JudgedStudy<'a>) -> Vec<ExplainedCause<'a>> {
    let to_do: BTreeMap<usize, ToDo> =
        study.compared.iter().map(|system| (*system, ToDo::for_system(study, *system))).collect();
    // The list of things to fix shows these failures.
    let is_told = |cell: &&CellJudgement| {
        let of_system = to_do.get(&cell.system).filter(|_| cell.failure.is_some());
        of_system.is_some_and(|it| it.tells(cell.cell.test.name(), cell.failure.as_deref()))
    };
    let cells = study.judgement.cells.iter().filter(|cell| !is_told(cell));
    let mut causes: Vec<(f64, ExplainedCause)> =
        cells.filter_map(|cell| cause(study, cell)).collect();
    causes.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    causes.into_iter().map(|(_, cause)| cause).collect()
}

fn cause<'a>(study: &JudgedStudy, cell: &'a CellJudgement) -> Option<(f64, ExplainedCause<'a>)> {
    // If the base did not answer, the systems compared with it report that.
    let is_compared = cell.system != study.base;
    let silence = silence(study.record, cell).filter(|_| is_compared).map(Cow::Owned);
    let has_failed = cell.failure.is_some();
    let message = cell.failure.as_deref().or(cell.why.as_deref()).map(Cow::Borrowed);
    let count = study.counts_only().then(|| counts::called(cell)).flatten();
    let of_count = count.and_then(|_| counts::causes(cell)).map(Cow::Owned);
    let why = silence.or(message).or(of_count)?;
    // A twin has no changes to explain, but its failure matters.
    if !has_failed && !study.compared.contains(&cell.system) {
        return None;
    }
    // A failure common to all systems is reported once.
    let alike = |it: &&CellJudgement| (it.cell, &it.failure) == (cell.cell, &cell.failure);
    let mut same = study.judgement.cells.iter().filter(alike);
    let is_first = same.next().is_some_and(|it| it.system == cell.system);
    let is_everywhere = has_failed && same.count() + 1 == study.record.systems.len();
    if is_everywhere && !is_first {
        return None;
    }
    let mut name = study.cell_name(cell.cell);
    if is_everywhere {
        name += " on all systems";
    } else if study.compared.len() > 1 || has_failed {
        name += &format!(" {}", study.label(cell.system));
    }
    // If QPS do not decide, instructions may.
    let counted = cell.count.as_ref().and_then(|count| count.ratio);
    let message = match cell.verdict {
        Verdict::Same | Verdict::Undecided => counted,
        _ => cell.rqps,
    };
    let size = match message {
        _ if has_failed => f64::INFINITY,
        Some(ratio) => ratio.value.ln().abs(),
        None => 0.0,
    };
    Some((size, ExplainedCause { verdict: count.unwrap_or(cell.verdict), name, why }))
}
