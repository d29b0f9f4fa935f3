//! CPU time per operation beside time: remarks of the answer and of the rows, and the answer of a study that judges
//! nothing else.

use std::cmp::Ordering;

use assay_model::{CpuVerdict, JudgedFigures, Verdict, counted};
use assay_verdict::{CellJudgement, CpuSummary, JudgedFigure, SystemSummary};

use super::study::JudgedStudy;

/// Explains the remarks in rows of tests.
const KEY: &str =
    "CPU more, less, same: CPU time per operation of the threads that serve connections";

/// Remarks of an answer by time.
pub(super) struct CpuRemarks {
    /// Why tests are undecided by time: `because other programs took this machine`.
    pub(super) because: Option<&'static str>,
    /// `By CPU per operation, which they hardly touch: more in 4, less in 3, undecided in 25`.
    pub(super) sentence: String,
}

/// `None` if CPU says no more than time, and if it is not judged. `is_counted`: whether the answer states the
/// instructions of undecided tests, which say more than their CPU time.
pub(super) fn remarks(
    study: &JudgedStudy,
    summary: &SystemSummary,
    cells: &[&CellJudgement],
    is_counted: bool,
) -> Option<CpuRemarks> {
    let cpu = summary.cpu.filter(|_| study.record.study.judge == JudgedFigures::Both)?;
    let is_firm = |cell: &CellJudgement| {
        let is_known = cell.cpu.is_some_and(|cpu| cpu.verdict != CpuVerdict::Undecided);
        cell.verdict == Verdict::Undecided && is_known
    };
    let differing = differing(cells);
    if is_counted || !cells.iter().any(|cell| is_firm(cell)) {
        let sentence = format!("Time and CPU per operation differ: {}", differing?);
        return Some(CpuRemarks { because: None, sentence });
    }
    let because = because(cells);
    let clause = match because {
        Some(_) => ", which they hardly touch",
        None if cpu.undecided < summary.undecided => ", which varies less",
        None => "",
    };
    let differing = differing.map_or_else(String::new, |text| format!("; {text}"));
    let sentence = format!("By CPU per operation{clause}: {}{differing}", tests(cpu));
    Some(CpuRemarks { because, sentence })
}

/// `more in 4, less in 3, same in 2, undecided in 23`.
fn tests(cpu: CpuSummary) -> String {
    let CpuSummary { more, less, same, undecided } = cpu;
    let parts = [(more, "more"), (less, "less"), (same, "same"), (undecided, "undecided")];
    let parts = parts.into_iter().filter(|(tests, _)| *tests > 0);
    parts.map(|(tests, word)| format!("{word} in {tests}")).collect::<Vec<_>>().join(", ")
}

/// Whether a decided CPU time contradicts a decided time.
fn differs(cell: &CellJudgement) -> bool {
    let Some(cpu) = cell.cpu else { return false };
    match cell.verdict {
        Verdict::Slower => matches!(cpu.verdict, CpuVerdict::Less | CpuVerdict::Same),
        Verdict::Faster => matches!(cpu.verdict, CpuVerdict::More | CpuVerdict::Same),
        Verdict::Same => matches!(cpu.verdict, CpuVerdict::More | CpuVerdict::Less),
        Verdict::Uneven | Verdict::Undecided | Verdict::Failed => false,
    }
}

/// `slower without more CPU in 2 (longer waits, such as for locks or the disk)`.
fn differing(cells: &[&CellJudgement]) -> Option<String> {
    let count = |verdict, more: Option<bool>| {
        let is_meant = |cell: &&&CellJudgement| {
            let is_more = || cell.cpu.is_some_and(|cpu| cpu.verdict == CpuVerdict::More);
            cell.verdict == verdict && differs(cell) && more.is_none_or(|more| more == is_more())
        };
        cells.iter().filter(is_meant).count()
    };
    let all = [
        (
            count(Verdict::Slower, None),
            "slower without more CPU",
            " (longer waits, such as for locks or the disk)",
        ),
        (count(Verdict::Faster, None), "faster without less CPU", " (shorter waits)"),
        (count(Verdict::Same, Some(true)), "the same speed with more CPU", ""),
        (count(Verdict::Same, Some(false)), "the same speed with less CPU", ""),
    ];
    let parts = all.into_iter().filter(|(tests, ..)| *tests > 0);
    let parts: Vec<String> =
        parts.map(|(tests, what, why)| format!("{what} in {tests}{why}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What took the CPU in most of the undecided tests; `None` if the machine was quiet in these.
fn because(cells: &[&CellJudgement]) -> Option<&'static str> {
    let undecided = cells.iter().filter(|cell| cell.verdict == Verdict::Undecided);
    let disturbed = undecided.clone().filter(|cell| cell.is_disturbed);
    if 2 * disturbed.clone().count() < undecided.count() {
        return None;
    }
    let slices =
        |count: fn(&CellJudgement) -> u32| disturbed.clone().map(|cell| count(cell)).sum::<u32>();
    let programs = slices(|cell| cell.troubled_by.other_process);
    let guests = slices(|cell| cell.troubled_by.steal);
    match programs.cmp(&guests) {
        Ordering::Greater => Some("because other programs took this machine"),
        Ordering::Less => Some("because other guests of the host took CPU time"),
        Ordering::Equal => None,
    }
}

/// `CPU more`, beside the verdict by time: always if CPU decides the study, otherwise if time is undecided or differs.
pub(super) fn beside(study: &JudgedStudy, cell: &CellJudgement) -> Option<&'static str> {
    let is_shown = match study.record.study.judge {
        JudgedFigures::Time => false,
        JudgedFigures::Cpu => true,
        JudgedFigures::Both => cell.verdict == Verdict::Undecided || differs(cell),
    };
    match cell.cpu.filter(|_| is_shown)?.verdict {
        CpuVerdict::More => Some("CPU more"),
        CpuVerdict::Less => Some("CPU less"),
        CpuVerdict::Same => Some("CPU same"),
        CpuVerdict::Undecided => None,
    }
}

/// [`KEY`], if a row of a compared system has such a remark.
pub(super) fn key(study: &JudgedStudy) -> Option<&'static str> {
    let mut cells = study.judgement.cells.iter();
    let is_any =
        cells.any(|cell| study.compared.contains(&cell.system) && beside(study, cell).is_some());
    is_any.then_some(KEY)
}

/// Whether a change by time, or by CPU if that is judged, was called.
pub(super) fn is_called(study: &JudgedStudy, cell: &CellJudgement) -> bool {
    let by = |figure| matches!(cell.verdict_by(figure), Verdict::Slower | Verdict::Faster);
    match study.record.study.judge {
        JudgedFigures::Time => by(JudgedFigure::Time),
        JudgedFigures::Cpu => by(JudgedFigure::Cpu),
        JudgedFigures::Both => by(JudgedFigure::Time) || by(JudgedFigure::Cpu),
    }
}

/// The answer of a study that judges nothing else, behind the name of the system, and its tendency.
pub(super) fn answer(study: &JudgedStudy, summary: &SystemSummary) -> (String, Verdict) {
    let base = study.titled(study.base);
    let cpu = summary.cpu.unwrap_or_default();
    // The words for the first outcome, and for the others.
    let mut outcomes = [
        (cpu.more, format!("needs more CPU per operation than {base}"), "more in"),
        (cpu.less, format!("needs less CPU per operation than {base}"), "less in"),
        (cpu.same, format!("needs as much CPU per operation as {base}"), "same in"),
        (cpu.undecided, format!("against {base}: CPU per operation is undecided"), "undecided in"),
        (summary.failed, format!("against {base}: failed"), "failed in"),
        (
            summary.cells().saturating_sub(cpu.cells() + summary.failed),
            format!("against {base}: CPU per operation was not measured"),
            "not measured in",
        ),
    ];
    if cpu.less > cpu.more {
        outcomes.swap(0, 1);
    }
    let tests = counted(summary.cells(), "test");
    let mut found = outcomes.into_iter().filter(|(number, ..)| *number > 0);
    let words = match found.next() {
        None => format!("was not compared with {base}"),
        Some((number, first, _)) => {
            let rest = found.map(|(number, _, words)| format!(", {words} {number}"));
            let rest = rest.collect::<String>();
            format!("{first} in {number} of {tests}{rest}")
        }
    };
    let tendency = match cpu.more.cmp(&cpu.less) {
        Ordering::Greater => Verdict::Slower,
        Ordering::Less => Verdict::Faster,
        Ordering::Equal => Verdict::Same,
    };
    (words, tendency)
}

/// Tests by verdict, as a card shows them.
pub(super) fn verdicts(summary: &SystemSummary) -> [(Verdict, &'static str, u32); 5] {
    let cpu = summary.cpu.unwrap_or_default();
    [
        (Verdict::Slower, CpuVerdict::More.word(), cpu.more),
        (Verdict::Same, CpuVerdict::Same.word(), cpu.same),
        (Verdict::Faster, CpuVerdict::Less.word(), cpu.less),
        (Verdict::Undecided, CpuVerdict::Undecided.word(), cpu.undecided),
        (Verdict::Failed, Verdict::Failed.word(), summary.failed),
    ]
}
