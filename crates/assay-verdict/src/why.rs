//! The cause of a change in one sentence.

use assay_model::Verdict;

use crate::{CellJudgement, PerOp};

/// A counter has changed when its ratio leaves 1 by more than this.
const CHANGED: f64 = 0.10;

/// Fewer reads per operation than this count as none: the data is cached.
const CACHED_READS: f64 = 0.01;

/// Explains every cell that is faster, slower or uneven. A cell comes with all systems, in their order.
pub(crate) fn explain(cells: &mut [CellJudgement], base: usize) {
    for index in 0..cells.len() {
        let one = &cells[index];
        if one.verdict == Verdict::Uneven {
            cells[index].why = stalls(one);
            continue;
        }
        if !matches!(one.verdict, Verdict::Faster | Verdict::Slower) {
            continue;
        }
        let of_base = (index + base).checked_sub(one.system).and_then(|at| cells.get(at));
        let pair = of_base.and_then(|c| c.per_op).zip(one.per_op);
        cells[index].why = pair.and_then(|(before, after)| sentence(&before, &after));
    }
}

/// Says which of the systems stalls.
fn stalls(cell: &CellJudgement) -> Option<String> {
    let (usual, total) = cell.rqps.zip(cell.total)?;
    let which = if total.value < usual.value { "this system" } else { "the base" };
    Some(format!(
        "{which} stalls at times: usual turns have a relative QPS of {:.2}, all work by all time one of {:.2} \
         [{:.2}, {:.2}]",
        usual.value, total.value, total.low, total.high
    ))
}

fn sentence(before: &PerOp, after: &PerOp) -> Option<String> {
    if let Some(io) = reads(before, after) {
        return Some(io);
    }
    let (old, new) = (before.server?, after.server?);
    let cpu = ratio(old.cpu_us + old.background_cpu_us, new.cpu_us + new.background_cpu_us)?;
    let switches = ratio(old.cs, new.cs);
    let switches_changed = switches.is_some_and(|ratio| (ratio - 1.0).abs() > CHANGED);
    let cpu_words = format!("server CPU per operation {}", percent(cpu));
    let switch_words = match switches {
        None => "context switches unknown".to_owned(),
        Some(ratio) if switches_changed => format!("context switches ×{ratio:.1}"),
        Some(_) => "context switches unchanged".to_owned(),
    };
    let cpu_changed =
        (cpu - 1.0).abs() > CHANGED.min(0.5 * (after.time_us / before.time_us - 1.0).abs());
    Some(match (cpu_changed, switches_changed) {
        // The counters do not say what the CPU was used for.
        (true, false) => format!("{cpu_words}, {switch_words}"),
        (false, true) if switches > Some(1.0) => format!("{switch_words}, {cpu_words}: contention"),
        (false, true) => format!("{switch_words}, {cpu_words}: less contention"),
        (true, true) => format!("{cpu_words}, {switch_words}: more than one cause"),
        (false, false) => return waits(before, after),
    })
}

fn reads(before: &PerOp, after: &PerOp) -> Option<String> {
    let (before, after) = before.reads.zip(after.reads)?;
    let words = match (before < CACHED_READS, after < CACHED_READS) {
        (true, false) => "not all data is cached any more",
        (false, true) => "the data is now cached",
        _ => return None,
    };
    Some(format!("reads per operation {:.1} → {:.1}: {words}", before, after))
}

/// Explains a change without changes of CPU and context switches: by the term of the account that moved most.
fn waits(before: &PerOp, after: &PerOp) -> Option<String> {
    let (old, new) = (before.server?, after.server?);
    let other =
        if new.disk_wait_us.is_some() { "other waiting" } else { "waiting (disk included)" };
    let terms = [
        ("client CPU", grown(after.client_cpu_us, before.client_cpu_us)),
        ("waiting for a CPU", grown(new.cpu_wait_us(), old.cpu_wait_us())),
        ("waiting for the disk", grown(new.disk_wait_us, old.disk_wait_us)),
        (other, grown(new.other_wait_us, old.other_wait_us)),
    ];
    let (name, change) = terms.into_iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    Some(format!("server CPU per operation unchanged, {name} {change:+.1} µs per operation"))
}

/// By how much a term grew; 0 if that is not known.
fn grown(after: Option<f64>, before: Option<f64>) -> f64 {
    after.zip(before).map_or(0.0, |(after, before)| after - before)
}

fn ratio(before: f64, after: f64) -> Option<f64> {
    (before > 0.0 && after > 0.0).then(|| after / before)
}

/// A change in percent, or as a factor if that reads better.
fn percent(ratio: f64) -> String {
    match ratio {
        more if more >= 2.0 => format!("×{more:.1}"),
        less if less <= 0.5 => format!("×{less:.2}"),
        _ => format!("{:+.0} %", 100.0 * (ratio - 1.0)).replace('-', "−"),
    }
}
