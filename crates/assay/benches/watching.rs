//! Prints what it costs to watch a server: its QPS while it is sampled, divided by that in the same seconds without,
//! and the time that reading its status counters takes. Names of systems, such as `mysql@8.0`, replace the usual ones.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench fails by panicking")]

#[allow(dead_code, reason = "each bench uses a part")]
mod common;

use std::time::{Duration, Instant};

use assay_load::RunBound;
use assay_profiles::StackSampler;
use assay_servers::ServerStatus;
use assay_symbols::Symbols;
use common::{Side, named_systems, side};

const SYSTEMS: [&str; 3] = ["mariadb@11.8", "mysql@8.0", "postgres@16"];

/// Pairs of runs, with and without sampling.
const PAIRS: u64 = 20;

/// Time of a run.
const RUN: Duration = Duration::from_millis(250);

/// Reads of the status counters.
const READS: usize = 200;

fn main() {
    if assay_testkit::is_supervisor() {
        return assay_testkit::supervise_if_asked();
    }
    println!("QPS while sampled / QPS without, median [lowest, highest] of {PAIRS} pairs of runs");
    println!("status: time to read the counters, median of {READS}");
    let mut symbols = Symbols::new(false, || false);
    for system in &named_systems(&SYSTEMS) {
        for test in ["point-query", "update-index"] {
            let mut side = side(system, test);
            let cpu = ratios(&mut side, &mut symbols, 0, |pid, serving, symbols| {
                StackSampler::cpu(pid, Some(serving), symbols).unwrap()
            });
            let waits = ratios(&mut side, &mut symbols, 1, |pid, serving, symbols| {
                StackSampler::waits(pid, serving, symbols).unwrap()
            });
            println!(
                "{system:14} {test:12} CPU time {}, waits {}, status {:.0} \u{b5}s",
                message(cpu),
                message(waits),
                status_us(&side)
            );
        }
    }
}

/// The ratios of pairs of runs.
fn ratios(
    side: &mut Side,
    symbols: &mut Symbols,
    kind: u64,
    start: impl Fn(i32, &[i32], &mut Symbols) -> StackSampler,
) -> Vec<f64> {
    let pid = side.server.pid();
    let mut run = |number: u64| {
        let work = side.session.run(((kind << 16) + number) << 24, RunBound::Time(RUN)).unwrap();
        work.events as f64 / work.elapsed_ns as f64
    };
    run(0);
    let pair = |pair: u64| {
        let mut rates = [0.0; 2];
        for place in 0..2 {
            // Each of them comes first in every other pair.
            let is_sampled = (pair + place) % 2 == 1;
            let sampler = is_sampled.then(|| start(pid, &side.serving, symbols));
            rates[usize::from(is_sampled)] = run(1 + 2 * pair + place);
            drop(sampler.map(|it| it.stop().unwrap()));
        }
        rates[1] / rates[0]
    };
    (0..PAIRS).map(pair).collect()
}

fn message(mut ratios: Vec<f64>) -> String {
    ratios.sort_by(f64::total_cmp);
    let [low, high] = [ratios[0], ratios[ratios.len() - 1]];
    format!("{:.2} [{low:.2}, {high:.2}]", ratios[ratios.len() / 2])
}

/// How long a study reads the status counters after each round.
fn status_us(side: &Side) -> f64 {
    let options = side.server.connect_options();
    let mut status = ServerStatus::open(&options, side.product).unwrap().unwrap();
    let mut times: Vec<f64> = (0..READS)
        .map(|_| {
            let began = Instant::now();
            if let Some(statement) = status.publish() {
                side.session.execute_on_all(statement).unwrap();
            }
            status.read().unwrap();
            began.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[READS / 2]
}
