//! The noise of rounds: the error of a measured second, estimated from the slices of a study.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::Slice;
use serde_json::Value;

use super::rounded;
use crate::lines::text;

/// The logarithm of a slice's rate, and its measured time, seconds.
type Rate = (f64, f64);

/// A round: test, block and number.
type Round<'a> = (&'a str, u32, u32);

/// Adds to every cell the standard error of its log ratio after one second of measuring, both systems together, if
/// fresh instances did not differ.
pub(super) fn add_errors(ledger: &Path, study: &str, line: &mut Value) -> Result<()> {
    let record = Ledger::open_read_only(ledger)?.read(study)?;
    let mut rounds: BTreeMap<Round<'_>, BTreeMap<usize, Rate>> = BTreeMap::new();
    for slice in &record.slices {
        if let Some(rate) = rate(slice) {
            let round = (slice.cell.test.name(), slice.block, slice.round);
            rounds.entry(round).or_default().insert(slice.system, rate);
        }
    }
    let errors = errors(rounds);
    for cell in line["cells"].as_array_mut().into_iter().flatten() {
        let error = errors.get(text(cell, "test")).copied();
        cell["of_second"] = error.map_or(Value::Null, rounded);
    }
    Ok(())
}

fn rate(slice: &Slice) -> Option<Rate> {
    Some((slice.ops_per_second()?.ln(), slice.work.elapsed_ns as f64 / 1e9))
}

/// The errors by test: the deviations of rounds from the mean of their block, times the square root of the seconds
/// that a round measures.
fn errors(rounds: BTreeMap<Round<'_>, BTreeMap<usize, Rate>>) -> BTreeMap<String, f64> {
    let mut tests: BTreeMap<String, BTreeMap<u32, Vec<Rate>>> = BTreeMap::new();
    for ((test, block, _), systems) in rounds {
        let [one, other] = systems.values().copied().collect::<Vec<_>>()[..] else { continue };
        let blocks = tests.entry(test.to_owned()).or_default();
        blocks.entry(block).or_default().push((other.0 - one.0, one.1 + other.1));
    }
    let error = |(test, blocks): (String, BTreeMap<u32, Vec<Rate>>)| {
        let (mut squares, mut freedom, mut seconds, mut count) = (0.0, 0.0, 0.0, 0.0);
        for ratios in blocks.values() {
            let mean = ratios.iter().map(|it| it.0).sum::<f64>() / ratios.len() as f64;
            squares += ratios.iter().map(|it| (it.0 - mean).powi(2)).sum::<f64>();
            freedom += ratios.len() as f64 - 1.0;
            seconds += ratios.iter().map(|it| it.1).sum::<f64>();
            count += ratios.len() as f64;
        }
        (freedom > 0.0).then(|| (test, (squares / freedom * seconds / count).sqrt()))
    };
    tests.into_iter().filter_map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_second_is_the_spread_of_rounds_within_blocks() {
        let mut rounds = BTreeMap::new();
        // The second block differs as a whole, which is no noise of rounds.
        for (block, round, qps) in
            [(0, 0, 100.0_f64), (0, 1, 110.0), (1, 0, 200.0), (1, 1, 220.0)]
        {
            let rates = BTreeMap::from([(0, (100.0_f64.ln(), 2.0)), (1, (qps.ln(), 2.0))]);
            rounds.insert(("scan", block, round), rates);
        }
        rounds.insert(("scan", 2, 0), BTreeMap::from([(0, (100.0_f64.ln(), 2.0))]));
        let found = errors(rounds);
        let spread = 1.1_f64.ln() / 2.0_f64.sqrt();
        assert!((found["scan"] - spread * 4.0_f64.sqrt()).abs() < 1e-12, "{found:?}");
    }
}
