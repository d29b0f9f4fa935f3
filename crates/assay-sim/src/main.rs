//! Simulates many studies: `quick N [SEED]` or `faults N [SEED]`, from seed SEED on.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use assay_model::Verdict;
use assay_sim::{Scenario, simulate};
use assay_verdict::Samples;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: u64| match words.get(at) {
        Some(word) => word.replace('_', "").parse().context("a number is expected"),
        None => Ok(or),
    };
    let scenario: fn(u64) -> Scenario = match words.first().map(String::as_str) {
        Some("quick") => Scenario::quick,
        Some("faults") => Scenario::faulty,
        _ => bail!("usage: assay-sim quick|faults [COUNT] [SEED]"),
    };
    let (count, first) = (number(1, 1000)?, number(2, 1)?);
    let began = Instant::now();
    let (mut runs, mut slices, mut verdicts) = (0_u64, 0_u64, [0_u64; 5]);
    for seed in first..first.saturating_add(count) {
        let ended =
            simulate(scenario(seed)).map_err(|what| anyhow::anyhow!("seed {seed}: {what}"))?;
        runs += u64::from(ended.runs);
        slices += ended.record.slices.len() as u64;
        for (_, system, verdict) in Samples::of(&ended.record).verdicts() {
            verdicts[verdict as usize] += u64::from(system > 0);
        }
    }
    let all =
        [Verdict::Slower, Verdict::Faster, Verdict::Same, Verdict::Undecided, Verdict::Failed];
    let told: Vec<_> =
        all.map(|verdict| format!("{} {verdict:?}", verdicts[verdict as usize])).into();
    println!(
        "{count} studies in {:.1} s: {runs} runs, {slices} slices; {}",
        began.elapsed().as_secs_f64(),
        told.join(", ").to_lowercase(),
    );
    Ok(())
}
