//! Simulates many studies: `quick COUNT SEED` or `faults COUNT SEED`, with consecutive seeds from SEED.
#![expect(clippy::print_stdout, reason = "the totals go to stdout")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use assay_model::Verdict;
use assay_sim::{Scenario, simulate};
use assay_verdict::Samples;

#[derive(Debug, Default)]
struct SimTotals {
    studies: u64,
    runs: u64,
    slices: u64,
    verdicts: [u64; 6],
}

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
    let next = AtomicU64::new(first);
    let work = || simulate_seeds(scenario, &next, first.saturating_add(count));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let parts: Vec<Result<SimTotals>> = thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = started.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|totals| totals.unwrap_or_else(|_| bail!("a study panicked"))).collect()
    });
    let mut all = SimTotals::default();
    for part in parts {
        all.add(&part?);
    }
    let names = [
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Same,
        Verdict::Uneven,
        Verdict::Undecided,
        Verdict::Failed,
    ];
    let verdicts = names.map(|name| format!("{} {name:?}", all.verdicts[name as usize]));
    println!(
        "{} studies in {:.1} s: {} runs, {} slices; {}",
        all.studies,
        began.elapsed().as_secs_f64(),
        all.runs,
        all.slices,
        verdicts.join(", ").to_lowercase(),
    );
    Ok(())
}

/// Simulates studies with seeds claimed from `next`.
fn simulate_seeds(scenario: fn(u64) -> Scenario, next: &AtomicU64, end: u64) -> Result<SimTotals> {
    let mut totals = SimTotals::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return Ok(totals);
        }
        let ended =
            simulate(scenario(seed)).map_err(|what| anyhow::anyhow!("seed {seed}: {what}"))?;
        let mut one = SimTotals {
            studies: 1,
            runs: ended.runs.into(),
            slices: ended.record.slices.len() as u64,
            ..SimTotals::default()
        };
        for standing in Samples::from_record(&ended.record).standings() {
            one.verdicts[standing.verdict as usize] += u64::from(standing.system > 0);
        }
        totals.add(&one);
    }
}

impl SimTotals {
    fn add(&mut self, other: &Self) {
        self.studies += other.studies;
        self.runs += other.runs;
        self.slices += other.slices;
        for (mine, others) in self.verdicts.iter_mut().zip(other.verdicts) {
            *mine += others;
        }
    }
}
