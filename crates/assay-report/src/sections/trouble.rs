//! Machine trouble in words: kinds, amounts and remedies.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use assay_model::{EventKind, Priority, RealtimeAccess, SliceOutcome, StudyRecord};
use assay_verdict::{CellJudgement, Judgement, TroubleCounts};

use crate::number::{share, thousands};

const OTHER_PROCESSES: &str = "other processes";

/// Share of slices in one kind of trouble from which on it becomes a warning.
const WARNED: f64 = 0.1;

struct TroubleWords {
    count: u32,
    name: &'static str,
    sentence: &'static str,
    remedy: &'static str,
}

fn kinds(by: TroubleCounts) -> [TroubleWords; 4] {
    [
        TroubleWords {
            count: by.other_process,
            name: OTHER_PROCESSES,
            sentence: "other processes used the CPU in",
            remedy: "stop other programs on this machine",
        },
        TroubleWords {
            count: by.steal,
            name: "CPU steal",
            sentence: "the hypervisor stole CPU time in",
            remedy: "measure while its other guests are idle, or on a machine with dedicated CPUs",
        },
        TroubleWords {
            count: by.clock_jump,
            name: "clock jumps",
            sentence: "the clock jumped in",
            remedy: "do not suspend the machine or set its clock during a study",
        },
        TroubleWords {
            count: by.throttled,
            name: "throttling",
            sentence: "the kernel or the hypervisor stopped real-time threads in",
            remedy: "stop other real-time programs, use shorter turns, or measure with `--priority normal`",
        },
    ]
}

fn sum(judgement: &Judgement) -> TroubleCounts {
    judgement.cells.iter().fold(TroubleCounts::default(), |sum, cell| TroubleCounts {
        steal: sum.steal + cell.troubled_by.steal,
        other_process: sum.other_process + cell.troubled_by.other_process,
        clock_jump: sum.clock_jump + cell.troubled_by.clock_jump,
        throttled: sum.throttled + cell.troubled_by.throttled,
    })
}

/// A sentence for each frequent kind of trouble, with its remedy; the most frequent first.
pub(crate) fn warnings(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let finished =
        record.slices.iter().filter(|it| !matches!(it.outcome, SliceOutcome::Failed(_))).count();
    let mut many: Vec<TroubleWords> = kinds(sum(judgement))
        .into_iter()
        .filter(|kind| kind.count > 0 && f64::from(kind.count) >= WARNED * finished as f64)
        .collect();
    many.sort_by_key(|kind| Reverse(kind.count));
    let sentence = |kind: TroubleWords| {
        let part = share((100.0 * f64::from(kind.count) / finished as f64).round() / 100.0);
        let more = match kind.name {
            OTHER_PROCESSES => format!("{}{}", busiest(record), or_realtime(record)),
            _ => String::new(),
        };
        format!("{} {part} of the slices: {}{more}", kind.sentence, kind.remedy)
    };
    many.into_iter().map(sentence).collect()
}

/// An alternative to stopping other programs: measuring beside them. Empty if assay did so, or if it is unknown whether
/// it may.
pub(crate) fn or_realtime(record: &StudyRecord) -> String {
    let mut cells = record.study.cells.iter();
    if cells.any(|cell| cell.priority == Priority::Realtime) {
        return String::new();
    }
    match record.host().realtime {
        None => String::new(),
        Some(RealtimeAccess::Permitted) => {
            ", or measure beside them: fewer clients than CPUs, and not `--priority normal`"
                .to_owned()
        }
        Some(access) => {
            let grant = access.grant().unwrap_or_default();
            format!(", or measure beside them at real-time priority: {grant}")
        }
    }
}

const NAMED: usize = 3;

/// ` (most CPU: rustc 97%, backup 34%)`: the busiest processes that the study saw; empty without any.
pub(crate) fn busiest(record: &StudyRecord) -> String {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for event in &record.events {
        let EventKind::OtherProcesses { processes } = &event.what else { continue };
        for process in processes {
            let most = seen.entry(&process.name).or_default();
            *most = process.cpu_percent.max(*most);
        }
    }
    let mut seen: Vec<(&str, u32)> = seen.into_iter().collect();
    seen.sort_by_key(|(name, percent)| (Reverse(*percent), *name));
    let named = seen.iter().take(NAMED).map(|(name, percent)| format!("{name} {percent}%"));
    let named: Vec<String> = named.collect();
    if named.is_empty() { String::new() } else { format!(" (most CPU: {})", named.join(", ")) }
}

/// `399 good, 4 in machine trouble (other processes 3, clock jumps 1; not judged, ...)`.
pub(crate) fn slices(record: &StudyRecord, judgement: &Judgement) -> String {
    let count =
        |outcome: &SliceOutcome| record.slices.iter().filter(|it| it.outcome == *outcome).count();
    let (good, troubled) = (count(&SliceOutcome::Good), count(&SliceOutcome::Troubled));
    let fate = if record.study.segments > 0 {
        "judged all the same, because no segment of a step can be repeated"
    } else if record.study.experiment.has_steps() {
        "judged all the same, because a step takes minutes"
    } else if judgement.cells.iter().any(|cell| cell.is_disturbed) {
        "judged only where too few undisturbed slices remain"
    } else {
        "not judged, rounds repeated within limits"
    };
    let kinds = named(sum(judgement)).map_or_else(String::new, |kinds| format!("{kinds}; "));
    format!(
        "{} good, {} in machine trouble ({kinds}{fate})",
        thousands(good as f64),
        thousands(troubled as f64),
    )
}

pub(crate) fn of_cell(cell: &CellJudgement) -> Option<String> {
    let kinds = named(cell.troubled_by)?;
    let (all, fate) = if cell.cell.test.ibench().is_some() {
        (cell.slices, "judged all the same")
    } else if cell.is_disturbed {
        (cell.slices.max(cell.troubled), "judged because too few undisturbed slices remain")
    } else {
        (cell.slices + cell.troubled, "not judged")
    };
    Some(format!("{} of {all} slices in machine trouble, {fate}: {kinds}", cell.troubled))
}

/// `other processes 3, clock jumps 1`.
fn named(by: TroubleCounts) -> Option<String> {
    let there = kinds(by).into_iter().filter(|kind| kind.count > 0);
    let named: Vec<String> =
        there.map(|kind| format!("{} {}", kind.name, thousands(f64::from(kind.count)))).collect();
    (!named.is_empty()).then(|| named.join(", "))
}
