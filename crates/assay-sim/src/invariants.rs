//! Invariants of every completed study, whatever went wrong before.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{BlockCell, CellId, PlannedBlock, Slice, SliceOutcome, StudyRecord, Verdict};
use assay_study::Executor as _;
use assay_verdict::{CellStanding, JudgedFigure, Samples, judge};

use crate::machine::{SimMachine, closed, failed_systems};

/// Seconds a block may exceed its plan: failed starts of instances, hanging slices.
const SLACK_S: f64 = 120.0;

/// Largest standard deviation of a log rate at which no verdict may be wrong.
const QUIET_SD: f64 = 0.001;

pub(crate) fn check(machine: &SimMachine) -> Result<(), String> {
    let record = machine.record();
    if machine.scenario().is_sequential() {
        return each_slice_once(record);
    }
    let standings = Samples::from_record(record).standings();
    same_verdicts(machine, &standings)?;
    true_verdicts(machine, &standings)?;
    complete_blocks(machine)?;
    if record.study.limits.is_some() {
        return Ok(());
    }
    let open: Vec<CellId> =
        standings.iter().filter(|cell| cell.is_open).map(|cell| cell.cell).collect();
    no_early_end(machine, &open)
}

fn each_slice_once(record: &StudyRecord) -> Result<(), String> {
    let keys: BTreeSet<_> = record.slices.iter().map(|slice| (slice.system, slice.cell)).collect();
    let wanted = record.study.cells.len() * record.systems.len();
    if keys.len() == wanted && record.slices.len() == wanted {
        return Ok(());
    }
    Err(format!("{} slices of {wanted}", record.slices.len()))
}

fn same_verdicts(machine: &SimMachine, standings: &[CellStanding]) -> Result<(), String> {
    if machine.scenario().has_costly_checks() {
        let figure = JudgedFigure::from(machine.record().study.judge);
        let judged = judge(machine.record()).cells;
        let judged = judged.iter().map(|cell| (cell.cell, cell.system, cell.verdict_by(figure)));
        if !judged.eq(standings.iter().map(|cell| (cell.cell, cell.system, cell.verdict))) {
            return Err("the judgement and the decisions give different verdicts".to_owned());
        }
    }
    Ok(())
}

/// No verdict contradicts the truth when noise is negligible.
fn true_verdicts(machine: &SimMachine, standings: &[CellStanding]) -> Result<(), String> {
    let scenario = machine.scenario();
    if scenario.truth.slice_sd > QUIET_SD {
        return Ok(());
    }
    let cells = machine.record().study.cells.iter().enumerate();
    let indices: BTreeMap<CellId, usize> = cells.map(|(index, cell)| (cell.id, index)).collect();
    for &CellStanding { cell, system, verdict, .. } in standings {
        let change = scenario.change(system, indices[&cell]);
        let is_true = match verdict {
            Verdict::Faster => change > 0.0,
            Verdict::Slower => change < 0.0,
            Verdict::Same => change == 0.0,
            Verdict::Uneven | Verdict::Undecided | Verdict::Failed => true,
        };
        if !is_true {
            let test = cell.test;
            return Err(format!("{test} of system {system} is called {verdict:?}: {change}"));
        }
    }
    Ok(())
}

/// No block lacks rounds unless a system did not start for it or its time was used up.
fn complete_blocks(machine: &SimMachine) -> Result<(), String> {
    let record = machine.record();
    let (closed, failed) = (closed(record), failed_systems(record));
    let mut rounds: BTreeMap<(u32, CellId), BTreeMap<u32, usize>> = BTreeMap::new();
    for slice in &record.slices {
        let round = rounds.entry((slice.block, slice.cell)).or_default().entry(slice.round);
        *round.or_default() += usize::from(slice.outcome == SliceOutcome::Good);
    }
    // A block may end with the budget.
    let last = record
        .blocks
        .last()
        .map(|block| block.number)
        .filter(|_| machine.used_s() >= 0.9 * record.budget_s() - 2.0);
    let systems = record.systems.len();
    let ended_early = |number: u32| machine.left_out().contains(&number) || Some(number) == last;
    for block in record.blocks.iter().filter(|block| !ended_early(block.number)) {
        for &BlockCell { id: cell, rounds: wanted } in &block.cells {
            if closed.contains(&cell) {
                continue;
            }
            let failed = failed.get(&cell).map_or(0, BTreeSet::len);
            let Some(taken) = rounds.get(&(block.number, cell)) else {
                return Err(format!("block {} lacks {}", block.number, cell.test));
            };
            let good = taken.values().filter(|good| **good + failed >= systems).count();
            let most = taken.keys().next_back().map_or(0, |last| last + 1);
            let wanted = if cell.test.planning.uses_up_rows { 2 } else { wanted };
            // Spoiled rounds are repeated only while time remains.
            let is_complete = good >= wanted as usize || most.next_multiple_of(2) >= wanted;
            let is_enough = cell.test.planning.uses_up_rows && most >= 2;
            let is_short = most > 0 && may_shorten(machine, block);
            if !is_complete && !is_enough && !is_short {
                return Err(format!(
                    "block {} lacks rounds of {}: {good} of {wanted} are good after {most}",
                    block.number, cell.test
                ));
            }
        }
    }
    Ok(())
}

/// Whether a block may take fewer rounds than planned to leave time for later tests and blocks: when it used most of
/// its part of the budget, and when restarts and failures, which start the servers again, made the driver overestimate
/// start times.
fn may_shorten(machine: &SimMachine, block: &PlannedBlock) -> bool {
    const PART: f64 = 0.6;
    let is_failed = |slice: &Slice| matches!(slice.outcome, SliceOutcome::Failed(_));
    if machine.is_restarted() || machine.record().slices.iter().any(is_failed) {
        return true;
    }
    let Some(begun_s) = machine.begun_s().get(&block.number) else { return false };
    let later = machine.begun_s().range(block.number.saturating_add(1)..).next();
    let end_s = later.map_or(machine.used_s(), |(_, begun_s)| *begun_s);
    let part_s = (machine.record().budget_s() - begun_s) / f64::from(block.left.max(1));
    end_s - begun_s >= PART * part_s
}

fn no_early_end(machine: &SimMachine, open: &[CellId]) -> Result<(), String> {
    let record = machine.record();
    let blocks = record.blocks.last().map_or(0, |block| block.number + 1);
    let closed = closed(record);
    let is_open = open.iter().any(|cell| !closed.contains(cell));
    let left_s = record.budget_s() - machine.used_s();
    let per_cell = |ms: u32| 2.0 * f64::from(ms) / 1000.0 * record.systems.len() as f64;
    let pass_s: f64 = record
        .study
        .cells
        .iter()
        .map(|cell| {
            per_cell(cell.turns() * cell.warm_time_us().div_ceil(1000) as u32 + cell.slice_ms + 20)
        })
        .sum();
    if is_open && blocks < record.blocks_max() && left_s > SLACK_S + 3.0 * pass_s {
        return Err(format!("ends after {blocks} blocks with {left_s:.0} s left"));
    }
    Ok(())
}
