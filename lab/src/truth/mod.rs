//! Calibrates the statistics: judges many simulated studies whose truth is known, and counts right and wrong verdicts.

mod cases;
mod early;
mod tally;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use assay_model::{Estimate, Verdict};
use assay_verdict::{CellJudgement, judge};

pub use cases::{Case, cases};
pub use early::{EarlyCase, EarlyTally, add_early, early_cases};
pub use tally::{Counts, Kind, Quantity, Tally};

use assay_sim::{SimulatedEnd, simulate};

/// Case and seed of the studies in a fingerprint.
const REFERENCE: [(&str, u64); 2] = [("virtual/one-3/5m", 1), ("stalls/null/5m", 2)];

/// Simulates the study of a case with this seed and adds its result to a tally.
pub fn add_study(tally: &mut Tally, case: &Case, seed: u64) -> Result<(), String> {
    let scenario = case.scenario(seed);
    let changes = case.changes(seed);
    let ended = simulate(scenario)?;
    let judgement = judge(&ended.record);
    let others: Vec<&CellJudgement> =
        judgement.cells.iter().filter(|cell| cell.system == 1).collect();
    let truths = |of_cell: fn(&Case, f64, usize) -> f64| -> Vec<f64> {
        changes.iter().enumerate().map(|(cell, change)| of_cell(case, *change, cell)).collect()
    };
    let (rates, costs) = (truths(Case::true_rate), truths(Case::true_cpu));
    let kinds: Vec<Kind> =
        changes.iter().enumerate().map(|(cell, change)| case.kind(*change, cell)).collect();
    let mut study = tally::Study::new(case.threshold);
    for (index, cell) in others.iter().enumerate() {
        let (Some(&kind), Some(&rate), Some(&cost)) =
            (kinds.get(index), rates.get(index), costs.get(index))
        else {
            continue;
        };
        study.qps.add(kind, rate, cell.verdict, cell.rqps);
        if let Some(verdict) = cell.cpu_verdict {
            // More CPU per operation is slower.
            study.cpu.add(kind, -cost, verdict, cell.cpu_ratio.map(inverse));
        }
        if let Some(seconds) = decided_s(&ended, index, cell.verdict) {
            study.decided(kind, seconds);
        }
    }
    tally.add_study(study, ended.used_s);
    Ok(())
}

fn inverse(estimate: Estimate) -> Estimate {
    Estimate { value: 1.0 / estimate.value, low: 1.0 / estimate.high, high: 1.0 / estimate.low }
}

/// Seconds until a cell was decided; `None` if it is not.
fn decided_s(ended: &SimulatedEnd, cell: usize, verdict: Verdict) -> Option<f64> {
    let is_decided = |it: Verdict| !matches!(it, Verdict::Undecided | Verdict::Failed);
    let at = ended
        .looks
        .iter()
        .find(|(_, verdicts)| verdicts.get(cell).is_some_and(|verdict| is_decided(*verdict)));
    is_decided(verdict).then(|| at.map_or(ended.used_s, |(seconds, _)| *seconds))
}

/// A number that changes whenever the statistics, the driver or the simulation do: results with different ones must not
/// be added up.
pub fn fingerprint() -> Result<u64, String> {
    let mut hasher = DefaultHasher::new();
    for (name, seed) in REFERENCE {
        let case = cases().into_iter().find(|case| case.name == name);
        let case = case.ok_or_else(|| format!("there is no case `{name}`"))?;
        let ended = simulate(case.scenario(seed))?;
        for cell in judge(&ended.record).cells {
            cell.verdict.word().hash(&mut hasher);
            cell.cpu_verdict.map(Verdict::word).hash(&mut hasher);
            for estimate in [cell.rqps, cell.cpu_ratio].into_iter().flatten() {
                [estimate.value, estimate.low, estimate.high].map(f64::to_bits).hash(&mut hasher);
            }
        }
    }
    Ok(hasher.finish())
}
