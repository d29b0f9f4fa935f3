//! Which version did it: the search for a change among candidates in order, such as releases or commits.
//!
//! A noisy binary search (Burnashev and Zigangirov 1974; Karp and Kleinberg 2007) on the numbers themselves rather than
//! on "good" and "bad": each comparison updates the probability of every position and size of the step, of two steps
//! and of none (`posterior.rs`), and the next candidate is the one that says most about the position per second
//! (`information.rs`). Like the driver, the search has no clock and no chance of its own: the same comparisons give the
//! same actions, so it is resumed by replaying them.

mod comparison;
mod information;
mod likelihood;
mod order;
mod posterior;

use std::ops::ControlFlow;

use assay_model::Estimate;

use comparison::Comparison;
use information::{Question, best_candidate};
use order::Order;
use posterior::Posterior;

pub use comparison::{BisectNoise, pooled};

/// The probability at which a statement counts as certain.
const CERTAIN: f64 = 0.95;

/// The probability of no step at which a search ends without one.
const REFUSED: f64 = 0.85;

/// The part of the budget after which ends that do not differ with certainty count as equal.
const ENDS_SHARE: u32 = 8;

/// The number of comparisons that the ends get at least.
const ENDS_MIN: u32 = 4;

/// The quantile of the normal distribution for 95% intervals.
const Z_95: f64 = 1.96;

/// How many other places an answer names at most.
const RUNNERS_UP: usize = 3;

/// What is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectPlan {
    /// Seconds to get or build each candidate, in order of version; 0 for what is there already.
    pub build_s: Vec<f64>,
    /// Seconds of a comparison of a candidate with the base.
    pub comparison_s: f64,
    /// The noise of the measure.
    pub noise: BisectNoise,
    /// For each candidate that comes from another source than the base, by how much builds of both may differ: the
    /// standard deviation of the log ratio. 0 for the others, and for those without a value.
    pub source: Vec<f64>,
    /// The number of comparisons after which the search ends.
    pub comparisons_max: u32,
}

/// What to do next: get or build two candidates unless they are there, and compare them in alternation on new
/// instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BisectAction {
    /// The candidate that all others are compared with: the first one that can be used.
    pub base: usize,
    /// The candidate.
    pub candidate: usize,
}

/// What came of an action.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BisectOutcome {
    /// The candidate was compared with the base.
    Compared {
        /// The candidate.
        candidate: usize,
        /// The logarithm of its value divided by that of the base.
        log_ratio: f64,
        /// The standard error of the logarithm within this comparison.
        se: f64,
    },
    /// The candidate does not build or does not start.
    Unusable {
        /// The candidate.
        candidate: usize,
    },
}

/// The end of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BisectEnd {
    /// All steps that the search looks for are known with certainty.
    Found,
    /// The ends do not differ, or not with certainty.
    NoStep,
    /// The comparisons were used up before.
    Budget,
    /// Fewer than two candidates can be used.
    NothingToCompare,
}

/// A change between two candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectStep {
    /// The last candidate before the change. The candidates between it and `at` cannot be used, and the change may be
    /// in any of them.
    pub after: usize,
    /// The first candidate that can be used and has the change.
    pub at: usize,
    /// The probability that a change is here.
    pub probability: f64,
    /// The ratio of what is after the change to what is before it, if it is here.
    pub ratio: Estimate,
}

/// What a search found, also before its end.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectAnswer {
    /// Why the search ended.
    pub end: BisectEnd,
    /// The steps that are known with certainty, in order of version.
    pub steps: Vec<BisectStep>,
    /// Other places, the most probable one first.
    pub runners_up: Vec<BisectStep>,
    /// The probability of a change at each candidate: after the one that can be used before it.
    pub posterior: Vec<f64>,
    /// The ratio of the last candidate to the base.
    pub ends: Estimate,
    /// The probability that there is no step.
    pub no_step: f64,
    /// The probability that there are several steps.
    pub several: f64,
    /// The number of comparisons.
    pub comparisons: u32,
    /// The number of candidates that were got or built, those that cannot be used included.
    pub builds: u32,
}

/// The state of a search.
#[derive(Debug, Clone)]
pub struct Bisect {
    plan: BisectPlan,
    is_usable: Vec<bool>,
    comparisons: Vec<Comparison>,
}

impl Bisect {
    /// A search without comparisons so far.
    #[must_use]
    pub fn new(plan: BisectPlan) -> Self {
        let is_usable = vec![true; plan.build_s.len()];
        Self { plan, is_usable, comparisons: Vec::new() }
    }

    /// Takes the outcome of an action. A comparison without a plausible value counts against the budget and says
    /// nothing.
    pub fn came(&mut self, outcome: BisectOutcome) {
        match outcome {
            BisectOutcome::Unusable { candidate } => {
                if let Some(is_usable) = self.is_usable.get_mut(candidate) {
                    *is_usable = false;
                }
            }
            BisectOutcome::Compared { candidate, log_ratio, se } => {
                let base = self.is_usable.iter().position(|is_usable| *is_usable).unwrap_or(0);
                self.comparisons.push(Comparison { base, candidate, log_ratio, se });
            }
        }
    }

    /// What to do next, or the answer.
    pub fn next(&self) -> ControlFlow<BisectAnswer, BisectAction> {
        let order = Order::new(&self.is_usable);
        let Some((base, last)) = order.ends() else {
            return ControlFlow::Break(self.nothing());
        };
        let posterior =
            Posterior::new(&order, &self.comparisons, self.plan.noise, &self.plan.source);
        let used = self.used();
        let of_ends = |it: &&Comparison| it.base == base && it.candidate == last;
        let compared_ends = count(self.comparisons.iter().filter(of_ends));
        let ends_max = match self.plan.noise.is_exact() {
            // They would say the same again.
            true => 1,
            false => (self.plan.comparisons_max / ENDS_SHARE).max(ENDS_MIN),
        };
        let end = if compared_ends > 0 && posterior.no_step() >= REFUSED {
            Some(BisectEnd::NoStep)
        } else if compared_ends > 0 && is_known(&posterior) {
            Some(BisectEnd::Found)
        } else if used >= self.plan.comparisons_max {
            Some(BisectEnd::Budget)
        } else if compared_ends == 0
            || (used == compared_ends && posterior.no_step() > 1.0 - CERTAIN)
        {
            // Nothing but the ends was compared so far, or the former end cannot be used any more.
            if compared_ends < ends_max {
                return ControlFlow::Continue(BisectAction { base, candidate: last });
            }
            Some(BisectEnd::NoStep)
        } else {
            None
        };
        if let Some(end) = end {
            return ControlFlow::Break(self.answer(end, &order, &posterior));
        }
        let seconds = |candidate: usize| {
            let is_built = self.comparisons.iter().any(|it| it.candidate == candidate);
            let build_s = self.plan.build_s.get(candidate).copied().unwrap_or(0.0);
            self.plan.comparison_s + if is_built { 0.0 } else { build_s }
        };
        let is_one_known = posterior.places().any(|(_, probability)| probability >= CERTAIN);
        // What is left to know is then whether it is the only one.
        let is_single = is_one_known && posterior.several() < 0.5;
        let question = if is_single { Question::Several } else { Question::Where };
        let candidate = best_candidate(&order, &posterior, question, seconds).unwrap_or(last);
        ControlFlow::Continue(BisectAction { base, candidate })
    }

    fn used(&self) -> u32 {
        count(self.comparisons.iter())
    }

    fn builds(&self) -> u32 {
        let base = self.is_usable.iter().position(|is_usable| *is_usable);
        let is_tried = |candidate: usize| {
            let mut compared = self.comparisons.iter().map(|it| it.candidate);
            self.is_usable.get(candidate) == Some(&false)
                || compared.any(|it| it == candidate || base == Some(candidate))
        };
        let built = self.plan.build_s.iter().enumerate().filter(|(_, seconds)| **seconds > 0.0);
        count(built.filter(|(candidate, _)| is_tried(*candidate)))
    }

    fn answer(&self, end: BisectEnd, order: &Order, posterior: &Posterior) -> BisectAnswer {
        let step = |(place, probability)| {
            let (after, at) = order.neighbours(place)?;
            let (size, sd) = posterior.size(place);
            Some(BisectStep { after, at, probability, ratio: ratio(size, sd) })
        };
        let mut places: Vec<BisectStep> = posterior.places().filter_map(step).collect();
        let mut probabilities = vec![0.0; self.is_usable.len()];
        for step in &places {
            if let Some(probability) = probabilities.get_mut(step.at) {
                *probability = step.probability;
            }
        }
        places.sort_by(|one, other| other.probability.total_cmp(&one.probability));
        let certain = places.partition_point(|step| step.probability >= CERTAIN);
        let mut runners_up = places.split_off(if end == BisectEnd::NoStep { 0 } else { certain });
        runners_up.truncate(RUNNERS_UP);
        places.sort_by_key(|step| step.at);
        let (size, sd) = posterior.ends();
        BisectAnswer {
            end,
            steps: places,
            runners_up,
            posterior: probabilities,
            ends: ratio(size, sd),
            no_step: posterior.no_step(),
            several: posterior.several(),
            comparisons: self.used(),
            builds: self.builds(),
        }
    }

    fn nothing(&self) -> BisectAnswer {
        BisectAnswer {
            end: BisectEnd::NothingToCompare,
            steps: Vec::new(),
            runners_up: Vec::new(),
            posterior: vec![0.0; self.is_usable.len()],
            ends: Estimate::without_interval(1.0),
            no_step: 1.0,
            several: 0.0,
            comparisons: self.used(),
            builds: self.builds(),
        }
    }
}

fn count(of: impl Iterator) -> u32 {
    u32::try_from(of.count()).unwrap_or(u32::MAX)
}

/// Whether the steps are known: one with certainty where a second one is improbable, two with certainty otherwise.
fn is_known(posterior: &Posterior) -> bool {
    let certain = posterior.places().filter(|&(_, probability)| probability >= CERTAIN).count();
    certain >= 2 || (certain == 1 && posterior.several() <= 1.0 - CERTAIN)
}

/// A ratio with its 95% interval from the mean and the standard deviation of its logarithm.
fn ratio(mean: f64, sd: f64) -> Estimate {
    Estimate { value: mean.exp(), low: (mean - Z_95 * sd).exp(), high: (mean + Z_95 * sd).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search over versions with these log speeds; `None` for those that do not build.
    struct World {
        speeds: Vec<Option<f64>>,
        noise: f64,
        /// The state of a linear congruential generator.
        state: u64,
    }

    impl World {
        fn new(count: usize, steps: &[(usize, f64)], noise: f64) -> Self {
            let of = |version: usize| {
                let before = steps.iter().filter(|(at, _)| *at <= version);
                Some(before.map(|(_, size)| size).sum())
            };
            Self { speeds: (0..count).map(of).collect(), noise, state: 1 }
        }

        /// A number with mean 0 and standard deviation 1: the sum of twelve uniform ones.
        fn normal(&mut self) -> f64 {
            let mut sum = -6.0;
            for _ in 0..12 {
                self.state =
                    self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1 << 60 | 1);
                sum += (self.state >> 11) as f64 / (1_u64 << 53) as f64;
            }
            sum
        }

        fn outcome(&mut self, candidate: usize) -> BisectOutcome {
            let noise = self.noise * self.normal();
            match self.speeds[candidate] {
                None => BisectOutcome::Unusable { candidate },
                Some(speed) => {
                    let base = self.speeds.iter().flatten().next().unwrap();
                    let log_ratio = speed - base + noise;
                    BisectOutcome::Compared { candidate, log_ratio, se: self.noise / 10.0 }
                }
            }
        }

        fn plan(&self) -> BisectPlan {
            BisectPlan {
                build_s: vec![100.0; self.speeds.len()],
                comparison_s: 100.0,
                noise: BisectNoise { instance: self.noise, build: 0.0 },
                source: Vec::new(),
                comparisons_max: 100,
            }
        }

        fn search(&mut self) -> BisectAnswer {
            let mut bisect = Bisect::new(self.plan());
            loop {
                match bisect.next() {
                    ControlFlow::Break(answer) => return answer,
                    ControlFlow::Continue(it) => bisect.came(self.outcome(it.candidate)),
                }
            }
        }
    }

    fn places(answer: &BisectAnswer) -> Vec<(usize, usize)> {
        answer.steps.iter().map(|step| (step.after, step.at)).collect()
    }

    #[test]
    fn exact_measures_make_it_a_binary_search() {
        let mut comparisons = 0;
        for at in 1..33 {
            let answer = World::new(33, &[(at, -0.02)], 0.0).search();
            assert_eq!((answer.end, places(&answer)), (BisectEnd::Found, vec![(at - 1, at)]));
            // The possibility of a second step makes some halves unequal.
            assert!(answer.comparisons <= 7, "{at}: {answer:?}");
            comparisons += answer.comparisons;
            let ratio = answer.steps[0].ratio;
            assert!((ratio.value - (-0.02_f64).exp()).abs() < 1e-4, "{ratio:?}");
        }
        // One for the ends, and five for 32 places.
        assert!(comparisons <= 32 * 6 + 3, "{comparisons}");
    }

    #[test]
    fn both_of_two_steps_are_found() {
        let answer = World::new(64, &[(10, 0.02), (41, -0.05)], 0.0).search();
        assert_eq!(places(&answer), [(9, 10), (40, 41)]);
        let answer = World::new(64, &[(10, 0.04), (41, 0.06)], 0.01).search();
        assert_eq!(places(&answer), [(9, 10), (40, 41)], "{answer:?}");
    }

    #[test]
    fn a_step_among_versions_that_do_not_build_is_between_those_that_do() {
        let mut world = World::new(40, &[(21, 0.05)], 0.01);
        for broken in [0, 5, 20, 21, 22, 39] {
            world.speeds[broken] = None;
        }
        let answer = world.search();
        assert_eq!((answer.end, places(&answer)), (BisectEnd::Found, vec![(19, 23)]));
        let ratio = answer.steps[0].ratio;
        assert!(ratio.low < 0.05_f64.exp() && 0.05_f64.exp() < ratio.high, "{ratio:?}");
    }

    #[test]
    fn equal_ends_are_refused_before_anything_else_is_built() {
        let answer = World::new(1000, &[], 0.01).search();
        assert_eq!((answer.end, answer.builds, answer.steps.len()), (BisectEnd::NoStep, 2, 0));
        assert!(answer.ends.low < 1.0 && 1.0 < answer.ends.high, "{:?}", answer.ends);
    }

    #[test]
    fn what_is_there_already_is_preferred() {
        let world = World::new(101, &[(50, 0.05)], 0.01);
        let mut plan = world.plan();
        plan.build_s[40] = 0.0;
        let mut bisect = Bisect::new(plan);
        bisect.came(BisectOutcome::Compared { candidate: 100, log_ratio: 0.05, se: 0.001 });
        assert_eq!(bisect.next(), ControlFlow::Continue(BisectAction { base: 0, candidate: 40 }));
    }

    #[test]
    fn a_search_resumes_where_it_was() {
        let mut world = World::new(50, &[(33, 0.03)], 0.01);
        world.speeds[20] = None;
        let plan = world.plan();
        let mut whole = Bisect::new(plan.clone());
        let mut outcomes = Vec::new();
        while let ControlFlow::Continue(action) = whole.next() {
            let mut resumed = Bisect::new(plan.clone());
            outcomes.iter().for_each(|outcome| resumed.came(*outcome));
            assert_eq!(resumed.next(), ControlFlow::Continue(action));
            let outcome = world.outcome(action.candidate);
            outcomes.push(outcome);
            whole.came(outcome);
        }
        assert_eq!(whole.next().break_value().map(|it| places(&it)), Some(vec![(32, 33)]));
    }

    #[test]
    fn values_that_say_nothing_end_a_search_all_the_same() {
        for (log_ratio, se) in [(f64::NAN, 0.0), (0.1, f64::INFINITY), (1e300, 0.0), (0.0, -1.0)] {
            let mut bisect = Bisect::new(World::new(9, &[], 0.01).plan());
            while let ControlFlow::Continue(BisectAction { candidate, .. }) = bisect.next() {
                bisect.came(BisectOutcome::Compared { candidate, log_ratio, se });
                bisect.came(BisectOutcome::Compared { candidate: 77, log_ratio, se });
                bisect.came(BisectOutcome::Unusable { candidate: 77 });
            }
        }
        let mut bisect = Bisect::new(World::new(3, &[], 0.01).plan());
        for candidate in 0..2 {
            bisect.came(BisectOutcome::Unusable { candidate });
        }
        let answer = bisect.next().break_value();
        assert_eq!(answer.map(|it| it.end), Some(BisectEnd::NothingToCompare));
    }
}
