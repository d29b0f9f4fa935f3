//! Simulated searches for the version that made a change: the policy of `wings/bisect` compared with `git bisect`.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result};
use assay_sim::NoiseSource;

use super::search_decisions::{
    BisectAnswer, BisectEnd, BisectNoise, BisectOutcome, BisectPlan, BisectSearch,
};
use super::{expect_only, option};

const RUNS: u64 = 1000;

/// Standard deviation of a comparison with the base.
pub(super) const NOISE: f64 = 0.01;

/// Share of the variance of a comparison that comes from fresh instances.
pub(super) const INSTANCE: f64 = 0.5;

const TURNS: usize = 12;

/// Drift from turn to turn, relative to the noise of a turn; the machine also drifts by `NOISE` from one comparison to
/// the next.
const DRIFT: f64 = 0.3;

/// Error of the estimated noise between instances: standard deviation of its logarithm.
const GUESS: f64 = 0.4;

/// Share of the versions that do not build.
const BROKEN: f64 = 0.1;

/// Durations of a build and of a comparison.
pub(super) const BUILD_S: f64 = 180.0;
pub(super) const COMPARISON_S: f64 = 180.0;

/// The constants of the search were chosen with other seeds.
const SEED: u64 = 10_000;

const BUDGET: u32 = 200;

const ENDS: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Case {
    versions: usize,
    /// In units of the noise.
    steps: &'static [f64],
}

fn cases() -> impl Iterator<Item = Case> {
    let steps: [&[f64]; 5] = [&[3.0], &[3.0, 6.0], &[], &[2.0], &[1.0]];
    let cases_of_steps = |steps| [12, 50, 1000].map(|versions| Case { versions, steps });
    steps.into_iter().flat_map(cases_of_steps)
}

/// Simulates all cases and prints a table: `[--runs N]`.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub(super) fn run(words: &[String]) -> Result<()> {
    expect_only(words, &["--runs"], &[])?;
    let runs = option(words, "--runs")?.map_or(Ok(RUNS), |it| it.replace('_', "").parse());
    let runs: u64 = runs.context("`--runs` needs a number")?;
    println!(
        "| versions | steps ÷ noise | right | wrong | comparisons | builds between the ends | hours \
         | decision | `git bisect` | best of three | once, alone |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for case in cases() {
        println!("{}", row(case, runs));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, Default)]
struct SearchOutcome {
    is_right: bool,
    is_wrong: bool,
    comparisons: f64,
    builds: f64,
    seconds: f64,
    /// Mean time of a decision, seconds.
    decision_s: f64,
    /// Whether each kind of `git bisect` was right, and its comparisons.
    git: [(bool, f64); 3],
}

fn row(case: Case, runs: u64) -> String {
    let (next, (to, from)) = (AtomicU64::new(0), mpsc::channel());
    let next = &next;
    let all: Vec<SearchOutcome> = thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let to = to.clone();
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= runs || to.send(search(case, SEED + seed)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(to);
        from.iter().collect()
    });
    let count = all.len().max(1) as f64;
    let mean = |value: &dyn Fn(&SearchOutcome) -> f64| all.iter().map(value).sum::<f64>() / count;
    let share =
        |holds: &dyn Fn(&SearchOutcome) -> bool| 100.0 * mean(&|it| f64::from(u8::from(holds(it))));
    let steps: Vec<String> = case.steps.iter().map(f64::to_string).collect();
    let git: Vec<String> = (0..3)
        .map(|kind| {
            let right = share(&|it| it.git[kind].0);
            format!("{right:.0}% in {:.1}", mean(&|it| it.git[kind].1))
        })
        .collect();
    let git = if case.steps.len() == 1 { git.join(" | ") } else { "– | – | –".to_owned() };
    format!(
        "| {} | {} | {:.1}% | {:.1}% | {:.1} | {:.1} | {:.1} | {:.1} ms | {git} |",
        case.versions,
        if steps.is_empty() { "none".to_owned() } else { steps.join(" and ") },
        share(&|it| it.is_right),
        share(&|it| it.is_wrong),
        mean(&|it| it.comparisons),
        mean(&|it| it.builds),
        mean(&|it| it.seconds) / 3600.0,
        1000.0 * mean(&|it| it.decision_s),
    )
}

pub(super) struct World {
    pub(super) noise: NoiseSource,
    /// Log speed of each version; `None` if it does not build.
    pub(super) speeds: Vec<Option<f64>>,
    pub(super) steps: Vec<usize>,
    pub(super) machine: f64,
}

impl World {
    fn new(case: Case, seed: u64) -> Self {
        let mut noise = NoiseSource::new(seed);
        let mut steps: Vec<usize> = Vec::new();
        while steps.len() < case.steps.len() {
            let at = 1 + noise.below(case.versions - 1);
            if !steps.contains(&at) {
                steps.push(at);
            }
        }
        let sizes: Vec<f64> =
            case.steps.iter().map(|size| size * NOISE * noise.one_of([-1.0, 1.0])).collect();
        let mut speeds = Vec::new();
        for version in 0..case.versions {
            let is_end = version == 0 || version + 1 == case.versions;
            let is_broken = !is_end && noise.strikes(BROKEN);
            let contribution =
                |(at, size): (&usize, &f64)| if *at <= version { *size } else { 0.0 };
            let speed: f64 = steps.iter().zip(&sizes).map(contribution).sum();
            speeds.push((!is_broken).then_some(speed));
        }
        Self { noise, speeds, steps, machine: 0.0 }
    }

    /// The logs of the turns of versions in alternation on fresh instances.
    fn turns(&mut self, speeds: &[f64]) -> Vec<Vec<f64>> {
        let instance = NOISE * (INSTANCE / 2.0).sqrt();
        let turn = NOISE * ((1.0 - INSTANCE) / 2.0 * TURNS as f64).sqrt();
        self.machine += NOISE * self.noise.normal();
        let mut of_instance = Vec::new();
        for speed in speeds {
            of_instance.push(speed + instance * self.noise.normal());
        }
        let mut turns = vec![Vec::new(); speeds.len()];
        for round in 0..TURNS {
            for position in 0..speeds.len() {
                let system = if round % 2 == 0 { position } else { speeds.len() - 1 - position };
                self.machine += DRIFT * turn * self.noise.normal();
                let value = of_instance[system] + self.machine + turn * self.noise.normal();
                turns[system].push(value);
            }
        }
        turns
    }

    pub(super) fn compare(&mut self, base: usize, version: usize) -> (f64, f64) {
        let speeds = [base, version].map(|it| self.speeds[it].unwrap_or(0.0));
        let turns = self.turns(&speeds);
        let ratios: Vec<f64> = turns[0].iter().zip(&turns[1]).map(|(base, it)| it - base).collect();
        let count = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / count;
        let squares: f64 = ratios.iter().map(|it| (it - mean).powi(2)).sum();
        (mean, (squares / (count - 1.0) / count).sqrt())
    }

    fn alone(&mut self, version: usize) -> f64 {
        let speed = self.speeds[version].unwrap_or(0.0);
        let turns = self.turns(&[speed]);
        turns[0].iter().sum::<f64>() / TURNS as f64
    }

    /// Whether a step is after the first and up to the second version.
    fn has_step(&self, after: usize, at: usize) -> bool {
        self.steps.iter().any(|step| (after + 1..=at).contains(step))
    }
}

fn search(case: Case, seed: u64) -> SearchOutcome {
    let mut world = World::new(case, seed);
    let guess = NOISE * INSTANCE.sqrt() * (GUESS * world.noise.normal()).exp();
    let mut bisect = BisectSearch::new(BisectPlan {
        build_s: vec![BUILD_S; case.versions],
        comparison_s: COMPARISON_S,
        noise: BisectNoise { instance: guess, build: 0.0 },
        source: Vec::new(),
        comparisons_max: BUDGET,
    });
    let (mut decisions, mut deciding_s) = (0.0, 0.0);
    let answer = loop {
        let before = Instant::now();
        let next = bisect.next();
        deciding_s += before.elapsed().as_secs_f64();
        decisions += 1.0;
        let candidate = match next {
            ControlFlow::Break(answer) => break answer,
            ControlFlow::Continue(action) => action.candidate,
        };
        bisect.receive(if world.speeds[candidate].is_none() {
            BisectOutcome::Unusable { candidate }
        } else {
            let (log_ratio, se) = world.compare(0, candidate);
            BisectOutcome::Compared { candidate, log_ratio, se }
        });
    };
    let mut found = judged(&world, &answer);
    found.decision_s = deciding_s / decisions;
    if case.steps.len() == 1 {
        let beside = |world: &mut World, version| world.compare(0, version).0;
        found.git[0] = git_bisect(&mut world, 1, beside);
        found.git[1] = git_bisect(&mut world, 3, beside);
        found.git[2] = git_bisect(&mut world, 1, World::alone);
    }
    found
}

fn judged(world: &World, answer: &BisectAnswer) -> SearchOutcome {
    let is_named =
        |step: usize| answer.steps.iter().any(|it| (it.after + 1..=it.at).contains(&step));
    let is_wrong = answer.steps.iter().any(|it| !world.has_step(it.after, it.at));
    let is_right = match world.steps.as_slice() {
        [] => answer.end == BisectEnd::NoStep,
        steps => steps.iter().all(|step| is_named(*step)),
    };
    let comparisons = f64::from(answer.comparisons);
    let builds = f64::from(answer.builds);
    SearchOutcome {
        is_right: is_right && !is_wrong,
        is_wrong,
        comparisons,
        builds: builds - 2.0,
        seconds: builds * BUILD_S + comparisons * COMPARISON_S,
        decision_s: 0.0,
        git: [(false, 0.0); 3],
    }
}

/// Bisects with a threshold in the middle of the ends; the majority of several measurements decides on a version.
/// Returns whether the right version was named, and the number of measurements of versions other than the first.
fn git_bisect(
    world: &mut World,
    times: usize,
    measure: impl Fn(&mut World, usize) -> f64,
) -> (bool, f64) {
    let (mut low, mut high) = (0, world.speeds.len() - 1);
    let (mut first, mut last) = (0.0, 0.0);
    for _ in 0..ENDS {
        first += measure(world, low) / ENDS as f64;
        last += measure(world, high) / ENDS as f64;
    }
    let mut measured = ENDS;
    loop {
        let middle = low.midpoint(high);
        // The versions in between that build, the one nearest to the middle first.
        let between = (low + 1..high).filter(|it| world.speeds[*it].is_some());
        let Some(version) = between.min_by_key(|it| it.abs_diff(middle)) else {
            return (world.has_step(low, high), measured as f64);
        };
        let mut votes = 0;
        for _ in 0..times {
            let value = measure(world, version);
            votes += usize::from((value - first).abs() > (value - last).abs());
        }
        measured += times;
        if 2 * votes > times {
            high = version;
        } else {
            low = version;
        }
    }
}
