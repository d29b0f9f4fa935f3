//! Why cells changed or failed, the most important first.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_model::Verdict;
use assay_verdict::CellJudgement;

use super::counted;
use super::study::JudgedStudy;
use super::to_do::ToDo;
use super::undecided::silence;

pub(crate) struct ExplainedCause<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) name: String,
    pub(crate) why: Cow<'a, str>,
}

/// Failures first, then the largest changes.
pub(crate) fn causes<'a>(study: &JudgedStudy<'a>) -> Vec<ExplainedCause<'a>> {
    let to_do: BTreeMap<usize, ToDo> =
        study.compared.iter().map(|system| (*system, ToDo::of(study, *system))).collect();
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
    let count = study.counts_only().then(|| counted::called(cell)).flatten();
    let of_count = count.and_then(|_| counted::causes(cell)).map(Cow::Owned);
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
