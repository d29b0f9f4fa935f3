//! Simulated watches: 200 commits with five changes, of which a watch measures some each night.

use std::ops::ControlFlow;

use anyhow::{Context as _, Result};
use assay_sim::NoiseSource;

use super::bisect::{BUILD_S, COMPARISON_S, INSTANCE, NOISE, World};
use super::search_decisions::{BisectEnd, BisectNoise, BisectOutcome, BisectPlan, BisectSearch};
use super::watch_decisions::{Suspicion, WatchNoise, WatchSearch, WatchValue, suspect};
use super::{expect_only, option};

const RUNS: u64 = 100;

const COMMITS: usize = 200;
const CHANGES: usize = 5;
const SIZES: [f64; 2] = [0.02, 0.05];

const NIGHTLY: usize = 5;

/// Share of the commits that do not build.
const BROKEN: f64 = 0.03;

/// Standard deviation of a build's random shift, for reasons such as the layout of its code.
const BUILD: f64 = 0.002;

/// A watch's assumption about the variation of a version from study to study, on every machine. Here the true variation
/// is larger.
const ASSUMED: f64 = 0.004;

const BUDGET: u32 = 60;

const SEED: u64 = 20_000;

#[derive(Debug, Clone, Copy, Default)]
struct WatchOutcome {
    named: usize,
    false_alarms: usize,
    searches: usize,
    comparisons: usize,
}

/// Simulates watches and prints their results: `[--runs N]`.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub(super) fn run(words: &[String]) -> Result<()> {
    expect_only(words, &["--runs"], &[])?;
    let runs = option(words, "--runs")?.map_or(Ok(RUNS), |it| it.replace('_', "").parse());
    let runs: u64 = runs.context("`--runs` needs a number")?;
    let all: Vec<WatchOutcome> = (0..runs).map(|run| watch(SEED + run)).collect();
    let share = |holds: &dyn Fn(&WatchOutcome) -> bool| {
        100.0 * all.iter().filter(|it| holds(it)).count() as f64 / runs.max(1) as f64
    };
    let mean = |value: &dyn Fn(&WatchOutcome) -> usize| {
        all.iter().map(value).sum::<usize>() as f64 / runs.max(1) as f64
    };
    println!(
        "{runs} watches over {COMMITS} commits with {CHANGES} changes of 2 to 5%, noise {NOISE}:"
    );
    println!("  at least 4 named at the right commit: {:.1}%", share(&|it| it.named >= 4));
    println!("  at most 1 false alarm: {:.1}%", share(&|it| it.false_alarms <= 1));
    println!(
        "  named {:.2}, false alarms {:.2}",
        mean(&|it| it.named),
        mean(&|it| it.false_alarms)
    );
    let nights = COMMITS.div_ceil(NIGHTLY);
    println!(
        "  comparisons {:.0} in {nights} nights, {:.0} of them in {:.1} searches",
        mean(&|it| it.comparisons) + 2.0 * nights as f64,
        mean(&|it| it.comparisons),
        mean(&|it| it.searches)
    );
    Ok(())
}

fn world(seed: u64) -> World {
    let mut noise = NoiseSource::new(seed);
    let mut steps: Vec<usize> = Vec::new();
    while steps.len() < CHANGES {
        let at = 1 + noise.below(COMMITS - 1);
        if !steps.contains(&at) {
            steps.push(at);
        }
    }
    let size = |noise: &mut NoiseSource| SIZES[0] + (SIZES[1] - SIZES[0]) * noise.uniform();
    let sizes: Vec<f64> =
        steps.iter().map(|_| size(&mut noise) * noise.one_of([-1.0, 1.0])).collect();
    let mut speeds = Vec::new();
    for version in 0..COMMITS {
        let is_broken = !steps.contains(&version) && version > 0 && noise.strikes(BROKEN);
        let contribution = |(at, size): (&usize, &f64)| if *at <= version { *size } else { 0.0 };
        let speed: f64 = steps.iter().zip(&sizes).map(contribution).sum();
        speeds.push((!is_broken).then_some(speed + BUILD * noise.normal()));
    }
    World { noise, speeds, steps, machine: 0.0 }
}

fn watch(seed: u64) -> WatchOutcome {
    let mut world = world(seed);
    let noise = WatchNoise {
        between: ASSUMED,
        build: 1.5 * BUILD,
        source: 0.0,
        least: SIZES[0] / 2.0,
        is_exact: false,
    };
    let mut values = vec![WatchValue { version: 0, log_ratio: 0.0, se: 0.0, source: 0 }];
    let mut searches: Vec<WatchSearch> = Vec::new();
    let mut watched = WatchOutcome::default();
    let mut last = None;
    for night in 1..=COMMITS.div_ceil(NIGHTLY) {
        let newest = (0..(night * NIGHTLY).min(COMMITS)).rev();
        let Some(newest) = newest.into_iter().find(|it| world.speeds[*it].is_some()) else {
            continue;
        };
        for version in last.into_iter().chain([newest]) {
            let (log_ratio, se) = world.compare(0, version);
            values.push(WatchValue { version, log_ratio, se, source: 0 });
        }
        last = Some(newest);
        while let Some(Suspicion { ends, .. }) = suspect(&values, &searches, noise) {
            let has_found = search(&mut world, ends, &mut watched);
            searches.push(WatchSearch { ends, has_found });
        }
    }
    watched.searches = searches.len();
    watched
}

/// Searches between two versions. Returns whether a change was found.
fn search(world: &mut World, [first, last]: [usize; 2], watched: &mut WatchOutcome) -> bool {
    let mut bisect = BisectSearch::new(BisectPlan {
        build_s: vec![BUILD_S; last - first + 1],
        comparison_s: COMPARISON_S,
        noise: BisectNoise { instance: NOISE * INSTANCE.sqrt(), build: 1.5 * BUILD },
        source: Vec::new(),
        comparisons_max: BUDGET,
    });
    loop {
        let candidate = match bisect.next() {
            ControlFlow::Continue(action) => action.candidate,
            ControlFlow::Break(answer) => {
                // A watch reports only certain results of a search.
                if answer.end != BisectEnd::Found {
                    return false;
                }
                for step in &answer.steps {
                    let is_right = (first + step.after + 1..=first + step.at)
                        .any(|at| world.steps.contains(&at));
                    watched.named += usize::from(is_right);
                    watched.false_alarms += usize::from(!is_right);
                }
                return true;
            }
        };
        watched.comparisons += 1;
        bisect.receive(if world.speeds[first + candidate].is_none() {
            BisectOutcome::Unusable { candidate }
        } else {
            let (log_ratio, se) = world.compare(first, first + candidate);
            BisectOutcome::Compared { candidate, log_ratio, se }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The target is four of five in one replay; of many, nine in ten reach it.
    #[test]
    fn most_watches_name_four_of_five_changes_and_raise_no_false_alarm() {
        let all: Vec<WatchOutcome> = (0..40).map(|run| watch(SEED + run)).collect();
        let good = all.iter().filter(|it| it.named >= 4 && it.false_alarms <= 1).count();
        assert!(good >= 34, "{good} of {}", all.len());
    }
}
