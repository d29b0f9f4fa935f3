//! The noise of rounds: the error of a measured second, estimated from the slices of a study.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{Assay, rounded};
use crate::lines::text;

/// The logarithm of a slice's rate, and its measured time, seconds.
type Rate = (f64, f64);

/// Adds to every cell the standard error of its log ratio after one second of measuring, both systems together, without
/// the differences between fresh instances.
pub(super) fn add_errors(assay: &Assay, study: &str, line: &mut Value) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut command = assay.command(&["export"]);
    let output = command.arg(directory.path()).arg(study).output().context("cannot start assay")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let errors = errors(csv::Reader::from_path(directory.path().join("slices.csv"))?)?;
    for cell in line["cells"].as_array_mut().into_iter().flatten() {
        let error = errors.get(text(cell, "test")).copied();
        cell["of_second"] = error.map_or(Value::Null, rounded);
    }
    Ok(())
}

/// The errors by test: the deviations of rounds from the mean of their block, times the square root of the seconds that
/// a round measures.
fn errors(mut slices: csv::Reader<impl std::io::Read>) -> Result<BTreeMap<String, f64>> {
    let head = slices.headers()?.clone();
    let place = |name| head.iter().position(|it| it == name).with_context(|| format!("no {name}"));
    let [test, system, block, round] = ["test", "system", "block", "round"].map(place);
    let (test, system, block, round) = (test?, system?, block?, round?);
    let (qps, elapsed) = (place("qps")?, place("elapsed_s")?);
    let mut rounds: BTreeMap<[String; 3], BTreeMap<String, Rate>> = BTreeMap::new();
    for slice in slices.records() {
        let slice = slice?;
        let field = |at: usize| slice.get(at).unwrap_or_default();
        // A slice that failed has no rate.
        let (Ok(rate), Ok(seconds)) = (field(qps).parse::<f64>(), field(elapsed).parse()) else {
            continue;
        };
        let key = [test, block, round].map(|at| field(at).to_owned());
        rounds.entry(key).or_default().insert(field(system).to_owned(), (rate.ln(), seconds));
    }
    let mut tests: BTreeMap<String, BTreeMap<String, Vec<Rate>>> = BTreeMap::new();
    for ([test, block, _], systems) in rounds {
        let [one, other] = systems.values().copied().collect::<Vec<_>>()[..] else { continue };
        let blocks = tests.entry(test).or_default();
        blocks.entry(block).or_default().push((other.0 - one.0, one.1 + other.1));
    }
    let error = |(test, blocks): (String, BTreeMap<String, Vec<Rate>>)| {
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
    Ok(tests.into_iter().filter_map(error).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_second_is_the_spread_of_rounds_within_blocks() {
        let mut table = "test,system,block,round,qps,elapsed_s\n".to_owned();
        // The second block differs as a whole, which is no noise of rounds.
        for (block, round, qps) in [(0, 0, 100.0), (0, 1, 110.0), (1, 0, 200.0), (1, 1, 220.0)] {
            for (system, qps) in [("a", 100.0), ("b", qps)] {
                table += &format!("scan,{system},{block},{round},{qps},2\n");
            }
        }
        table += "scan,a,2,0,,\n";
        let found = errors(csv::Reader::from_reader(table.as_bytes())).unwrap();
        let spread = 1.1_f64.ln() / 2.0_f64.sqrt();
        assert!((found["scan"] - spread * 4.0_f64.sqrt()).abs() < 1e-12, "{found:?}");
    }
}
