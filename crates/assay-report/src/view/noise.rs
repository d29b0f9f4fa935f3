//! The main source of the noise of undecided tests.

use assay_model::StudyRecord;
use assay_verdict::{CellJudgement, PerOp};

use super::trouble::or_realtime;
use crate::number::share;

/// Minimum share of slices in trouble, or of time spent waiting, to be called the main source of noise.
const MAIN: f64 = 0.5;

/// With its remedy; `None` if no source stands out.
pub(super) fn main_source(record: &StudyRecord, cells: &[&CellJudgement]) -> Option<String> {
    let slices: u32 = cells.iter().map(|cell| cell.slices).sum();
    let of_slices = |count: fn(&CellJudgement) -> u32| {
        let troubled: u32 = cells.iter().map(|cell| count(cell)).sum();
        f64::from(troubled) / f64::from(slices.max(1))
    };
    let others = of_slices(|cell| cell.troubled_by.other_process);
    let stolen = of_slices(|cell| cell.troubled_by.steal);
    if others.max(stolen) >= MAIN {
        let (who, part, remedy) = match others >= stolen {
            true => ("other programs", others, format!("stop them{}", or_realtime(record))),
            false => ("other guests of the host", stolen, "use dedicated CPUs".to_owned()),
        };
        let part = share(part.min(1.0));
        return Some(format!(
            "the main noise is {who}, which used the CPU in {part} of these slices: {remedy}"
        ));
    }
    let waiting: Vec<(f64, f64)> =
        cells.iter().filter_map(|cell| waiting_us(cell.per_op.as_ref()?)).collect();
    let (waited, time) = waiting.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    (time > 0.0 && waited / time >= MAIN).then(|| {
        format!(
            "{} of their time is waiting, for the disk or for other threads, and that varies: a faster disk, or terms \
             that flush less (`--terms lean`), narrows it",
            share(waited / time)
        )
    })
}

/// Time per operation of waiting for anything but a CPU, and total time, microseconds.
fn waiting_us(per_op: &PerOp) -> Option<(f64, f64)> {
    Some((per_op.get("wait_us")?, per_op.time_us()))
}
