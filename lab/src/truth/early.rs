//! Large changes on a busy machine: after how many passes they are called.

use std::collections::BTreeMap;

use assay_model::{Class, Slice, StudyRecord, Verdict};
use assay_plan::Request;
use assay_verdict::judge;
use serde_json::{Value, json};

use assay_sim::{Scenario, SimFaults, SimulatedEnd, SpeedModel, Truth, simulate, study};

/// The factors by which one test of the last system changes, each in every fifth study. In half of the studies it is
/// slower.
const FACTORS: [(&str, f64); 5] =
    [("10", 1.1), ("30", 1.3), ("x2", 2.0), ("x100", 100.0), ("x2000", 2000.0)];

const TESTS: [&str; 8] = [
    "point-query",
    "hot-points",
    "range-covered-pk",
    "range-notcovered-si",
    "read-only_range=100",
    "read-only_range=10000",
    "update-index",
    "insert",
];

/// A kind of study to simulate many times.
#[derive(Debug, Clone)]
pub struct EarlyCase {
    /// `early/BUDGET/SYSTEMS`, with `/taken` on a machine of which a neighbour takes most of a CPU.
    pub name: String,
    model: SpeedModel,
    record: StudyRecord,
}

#[derive(Debug, Clone, Copy, Default)]
struct CallTally {
    studies: u64,
    /// Studies whose first pass reached the changed test.
    reached: u64,
    /// Called after the first pass, after the second one, and at the end.
    after: [u64; 3],
    wrong: u64,
}

#[derive(Debug, Clone, Default)]
pub struct EarlyTally {
    studies: u64,
    changes: BTreeMap<&'static str, CallTally>,
    false_share: f64,
    intervals: u64,
    covered: u64,
    blocks: u64,
    over_budget: u64,
}

pub fn early_cases() -> Vec<EarlyCase> {
    let budgets = [("30s", 30.0), ("1m", 60.0), ("2m", 120.0), ("5m", 300.0), ("10m", 600.0)];
    let case = |(word, budget_s): (&str, f64), systems: usize, (suffix, model)| {
        let words: Vec<String> = (0..systems).map(|it| format!("mariadb@10.{it}")).collect();
        let request = Request {
            budget_s: Some(budget_s),
            tests: TESTS.map(str::to_owned).into(),
            ..Request::of_systems(&words)
        };
        let name = format!("early/{word}/{systems}{suffix}");
        EarlyCase { name, model, record: study(&request) }
    };
    // A neighbour is busy now and then.
    let bursts = ("", SpeedModel { neighbour_every_s: 20.0, ..SpeedModel::VIRTUAL });
    let all = |budget| [2, 4, 12].map(|systems| case(budget, systems, bursts));
    let mut cases: Vec<EarlyCase> = budgets.into_iter().flat_map(all).collect();
    // It is busy in phases of two seconds, 70% of the time, on a machine that is itself noisy.
    let taken = ("/taken", SpeedModel { neighbour_every_s: 0.86, ..SpeedModel::NOISY });
    let few =
        budgets.into_iter().take(3).flat_map(|it| [2, 4].map(|systems| case(it, systems, taken)));
    cases.extend(few);
    cases
}

impl EarlyCase {
    /// The change of the study with this seed: its word, the cell, and the logarithm of the relative rate.
    fn change(&self, seed: u64) -> (&'static str, usize, f64) {
        let (word, factor) = FACTORS[(seed % FACTORS.len() as u64) as usize];
        let turn = seed / FACTORS.len() as u64;
        let reads: Vec<usize> = self.cells_of(Class::Read);
        let all: Vec<usize> = (0..self.record.study.cells.len()).collect();
        // A write that is slower by a hundred times would take longer than the budget.
        let cells = if factor > 10.0 { &reads } else { &all };
        let cell = cells[(turn / 2) as usize % cells.len()];
        let log = factor.ln();
        (word, cell, if turn.is_multiple_of(2) { -log } else { log })
    }

    fn cells_of(&self, class: Class) -> Vec<usize> {
        let cells = self.record.study.cells.iter().enumerate();
        cells.filter(|(_, it)| it.id.test.class == class).map(|(cell, _)| cell).collect()
    }

    fn scenario(&self, seed: u64) -> Scenario {
        let mut record = self.record.clone();
        record.study.seed = seed;
        let (_, cell, log) = self.change(seed);
        let mut changes = vec![Vec::new(); record.systems.len() - 1];
        if let Some(last) = changes.last_mut() {
            *last = (0..record.study.cells.len())
                .map(|it| if it == cell { log } else { 0.0 })
                .collect();
        }
        let truth = Truth { changes, slice_sd: 1.0, speed: Some(self.model), ..Truth::default() };
        Scenario { seed, record, truth, faults: SimFaults::default() }
    }
}

/// Simulates the study of a case with this seed and adds its result to a tally.
pub fn add_early(tally: &mut EarlyTally, case: &EarlyCase, seed: u64) -> Result<(), String> {
    let (word, cell, log) = case.change(seed);
    let ended = simulate(case.scenario(seed))?;
    let judged = judge(&ended.record);
    let others = ended.record.systems.len() - 1;
    let place = cell * others + others - 1;
    let right = if log < 0.0 { Verdict::Slower } else { Verdict::Faster };
    let (mut calls, mut wrong) = (0, 0);
    let compared = judged.cells.iter().filter(|it| it.system > 0);
    for (index, it) in compared.enumerate() {
        let truth = if index == place { log } else { 0.0 };
        let is_call = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
        for verdict in [Some(it.verdict), it.cpu_verdict].into_iter().flatten() {
            calls += u64::from(is_call(verdict));
            wrong += u64::from(is_call(verdict) && !(index == place && verdict == right));
        }
        if let Some(rqps) = it.rqps.filter(|it| it.has_interval()) {
            tally.intervals += 1;
            tally.covered += u64::from(rqps.low.ln() <= truth && truth <= rqps.high.ln());
        }
    }
    let last = judged.cells.iter().filter(|it| it.system > 0).nth(place).map(|it| it.verdict);
    let called = tally.changes.entry(word).or_default();
    called.studies += 1;
    let changed = ended.record.study.cells.get(cell).map(|it| it.id);
    let is_reached = |it: &Slice| it.block == 0 && Some(it.cell) == changed && it.system == others;
    called.reached += u64::from(ended.record.slices.iter().any(is_reached));
    for (number, after) in called.after.iter_mut().enumerate() {
        // The decision before the following block, or the verdict after the last one.
        let seen = ended.looks.get(number + 1).filter(|_| number < 2);
        let verdict = seen.and_then(|(_, verdicts)| verdicts.get(place).copied()).or(last);
        *after += u64::from(verdict == Some(right));
    }
    called.wrong += wrong;
    tally.studies += 1;
    tally.false_share += wrong as f64 / calls.max(1) as f64;
    tally.blocks += ended.record.blocks.len() as u64;
    tally.over_budget += u64::from(is_over(&ended));
    Ok(())
}

/// Whether a study exceeded its budget by more than a tenth.
fn is_over(ended: &SimulatedEnd) -> bool {
    ended.used_s > 1.1 * ended.record.study.budget_s
}

impl EarlyTally {
    pub fn json(&self, case: &str, first: u64, fingerprint: u64) -> Value {
        let call_json = |it: &CallTally| {
            json!({
                "studies": it.studies, "reached": it.reached, "first": it.after[0], "second": it.after[1],
                "end": it.after[2], "wrong": it.wrong,
            })
        };
        let changes: serde_json::Map<String, Value> =
            self.changes.iter().map(|(word, it)| ((*word).to_owned(), call_json(it))).collect();
        json!({
            "case": case,
            "first": first,
            "studies": self.studies,
            "fingerprint": format!("{fingerprint:016x}"),
            "changes": changes,
            "false_share": self.false_share,
            "intervals": self.intervals,
            "covered": self.covered,
            "blocks": self.blocks,
            "over_budget": self.over_budget,
        })
    }

    /// Share of the studies with this change that called it after this number of passes, from 1; 3 means the end.
    pub fn called(&self, change: &str, passes: usize) -> f64 {
        let it = self.changes.get(change).copied().unwrap_or_default();
        let called = passes.checked_sub(1).and_then(|at| it.after.get(at)).copied();
        called.unwrap_or(0) as f64 / it.studies.max(1) as f64
    }
}
