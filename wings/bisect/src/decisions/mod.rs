//! Bisection: the search for a change among ordered candidates, such as releases or commits.
//!
//! A noisy binary search (Burnashev and Zigangirov 1974; Karp and Kleinberg 2007) on the numbers themselves rather than
//! on "good" and "bad": each comparison updates the probability of every position and size of the step, of two steps
//! and of none (`posterior.rs`), and the next candidate is the most informative about the position per second
//! (`information.rs`). Like the driver of a study, the search has no clock or randomness: the same comparisons give
//! the same actions, so it is resumed by replaying them.

pub(crate) mod comparison;
mod information;
mod likelihood;
mod posterior;

use std::ops::ControlFlow;

use assay_model::Estimate;

use comparison::{BisectComparison, CandidateOrder};
use information::{Question, best_candidate};
use posterior::Posterior;

pub(crate) use comparison::BisectNoise;

const CERTAIN: f64 = 0.95;

/// Probability of no step at which a search ends without one.
const REFUSED: f64 = 0.85;

/// Share of the budget (1/n) after which ends that do not differ with certainty count as equal.
const ENDS_SHARE: u32 = 8;

const ENDS_MIN: u32 = 4;

/// A search ends if it needs more than this many times the comparisons that are left.
const TOO_MANY: f64 = 1.5;

/// Share of the budget (1/n) after which the information of later comparisons is expected to be that of earlier ones.
const LEARNED_SHARE: u32 = 4;

/// Entropy of the place at which a search ends, nats: 95% for one place, the rest for a few others.
const CERTAIN_NATS: f64 = 0.3;

const Z_95: f64 = 1.96;

const RUNNERS_UP: usize = 3;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BisectPlan {
    /// Seconds to get or build each candidate, in order of version; 0 if available.
    pub(crate) build_s: Vec<f64>,
    pub(crate) comparison_s: f64,
    pub(crate) noise: BisectNoise,
    /// Possible difference of builds between a candidate's source and the base's: standard deviation of the log ratio.
    /// 0 for the same source, and for candidates without an entry.
    pub(crate) source: Vec<f64>,
    pub(crate) comparisons_max: u32,
}

/// The next action: get or build both candidates if necessary, and compare them in alternation on new instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BisectAction {
    /// The candidate for all comparisons: the first usable one.
    pub(crate) base: usize,
    pub(crate) candidate: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum BisectOutcome {
    Compared {
        candidate: usize,
        /// Log of its value divided by the base's.
        log_ratio: f64,
        se: f64,
    },
    Unusable {
        candidate: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BisectEnd {
    Found,
    NoStep,
    /// Comparisons are so noisy that those left would not find the place of the step.
    TooNoisy,
    Budget,
    NothingToCompare,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BisectStep {
    /// Last candidate before the change. Those between it and `at` are unusable, and the change may be in any of them.
    pub(crate) after: usize,
    pub(crate) at: usize,
    pub(crate) probability: f64,
    /// Ratio of the levels after and before the change, if it is here.
    pub(crate) ratio: Estimate,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BisectAnswer {
    pub(crate) end: BisectEnd,
    pub(crate) steps: Vec<BisectStep>,
    /// Other places, the most probable first.
    pub(crate) runners_up: Vec<BisectStep>,
    /// Probability of a change at each candidate: after the usable one before it.
    pub(crate) posterior: Vec<f64>,
    pub(crate) ends: Estimate,
    pub(crate) no_step: f64,
    pub(crate) several: f64,
    pub(crate) comparisons: u32,
    /// Candidates obtained or built, including unusable ones.
    pub(crate) builds: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct BisectSearch {
    plan: BisectPlan,
    is_usable: Vec<bool>,
    comparisons: Vec<BisectComparison>,
}

impl BisectSearch {
    pub(crate) fn new(plan: BisectPlan) -> Self {
        let is_usable = vec![true; plan.build_s.len()];
        Self { plan, is_usable, comparisons: Vec::new() }
    }

    /// Processes an outcome. A comparison with an implausible value counts against the budget, without further effect.
    pub(crate) fn receive(&mut self, outcome: BisectOutcome) {
        match outcome {
            BisectOutcome::Unusable { candidate } => {
                if let Some(is_usable) = self.is_usable.get_mut(candidate) {
                    *is_usable = false;
                }
            }
            BisectOutcome::Compared { candidate, log_ratio, se } => {
                let base = self.is_usable.iter().position(|is_usable| *is_usable).unwrap_or(0);
                self.comparisons.push(BisectComparison { base, candidate, log_ratio, se });
            }
        }
    }

    pub(crate) fn next(&self) -> ControlFlow<BisectAnswer, BisectAction> {
        let order = CandidateOrder::new(&self.is_usable);
        let Some((base, last)) = order.ends() else {
            return ControlFlow::Break(self.nothing());
        };
        let posterior =
            Posterior::new(&order, &self.comparisons, self.plan.noise, &self.plan.source);
        let used = self.used();
        let is_of_ends = |comparison: &&BisectComparison| {
            comparison.base == base && comparison.candidate == last
        };
        let compared_ends = self.comparisons.iter().filter(is_of_ends).count() as u32;
        let ends_max = if self.plan.noise.is_exact() {
            // They would repeat their answer.
            1
        } else {
            (self.plan.comparisons_max / ENDS_SHARE).max(ENDS_MIN)
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
            // Only the ends were compared so far, or the former end became unusable.
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
            let mut compared = self.comparisons.iter().map(|comparison| comparison.candidate);
            let is_built = compared.any(|compared| compared == candidate);
            self.plan.comparison_s + if is_built { 0.0 } else { self.plan.build_s[candidate] }
        };
        let is_one_known = posterior.places().any(|(_, probability)| probability >= CERTAIN);
        // It remains open whether it is the only one.
        let is_single = is_one_known && posterior.several() < 0.5;
        let question = if is_single { Question::Several } else { Question::Where };
        let best = best_candidate(&order, &posterior, question, seconds);
        if let (Some((_, nats)), Question::Where) = (best, question)
            && self.is_in_vain(&posterior, used - compared_ends, nats)
        {
            return ControlFlow::Break(self.answer(BisectEnd::TooNoisy, &order, &posterior));
        }
        let candidate = best.map_or(last, |(candidate, _)| candidate);
        ControlFlow::Continue(BisectAction { base, candidate })
    }

    /// Whether the comparisons that are left would not find the place, even if each had as much information as the next
    /// one (`nats`) and as the `others` so far, which were not of the ends. An exact measure has fewer candidates than
    /// comparisons.
    fn is_in_vain(&self, posterior: &Posterior, others: u32, nats: f64) -> bool {
        if self.plan.noise.is_exact() {
            return false;
        }
        let left = f64::from(self.plan.comparisons_max.saturating_sub(self.used()));
        let entropy = posterior.entropy();
        let learned = (posterior.entropy_of_any() - entropy).max(0.0) / f64::from(others.max(1));
        let is_known = others >= (self.plan.comparisons_max / LEARNED_SHARE).max(1);
        let each = if is_known { nats.min(learned) } else { nats };
        entropy - CERTAIN_NATS > TOO_MANY * left * each
    }

    fn used(&self) -> u32 {
        self.comparisons.len() as u32
    }

    fn builds(&self) -> u32 {
        let base = self.is_usable.iter().position(|is_usable| *is_usable);
        let is_tried = |candidate: usize| {
            let mut compared = self.comparisons.iter().map(|comparison| comparison.candidate);
            !self.is_usable[candidate]
                || compared.any(|compared| compared == candidate || base == Some(candidate))
        };
        let built = self.plan.build_s.iter().enumerate().filter(|(_, seconds)| **seconds > 0.0);
        built.filter(|(candidate, _)| is_tried(*candidate)).count() as u32
    }

    fn answer(
        &self,
        end: BisectEnd,
        order: &CandidateOrder,
        posterior: &Posterior,
    ) -> BisectAnswer {
        let step = |(place, probability)| {
            let (after, at) = order.neighbours(place);
            let (size, sd) = posterior.size(place);
            BisectStep { after, at, probability, ratio: ratio(size, sd) }
        };
        let mut places: Vec<BisectStep> = posterior.places().map(step).collect();
        let mut probabilities = vec![0.0; self.is_usable.len()];
        for step in &places {
            probabilities[step.at] = step.probability;
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

/// Whether the steps are known: one with certainty where a second is improbable, else two with certainty.
fn is_known(posterior: &Posterior) -> bool {
    let certain = posterior.places().filter(|&(_, probability)| probability >= CERTAIN).count();
    certain >= 2 || (certain == 1 && posterior.several() <= 1.0 - CERTAIN)
}

fn ratio(mean: f64, sd: f64) -> Estimate {
    Estimate { value: mean.exp(), low: (mean - Z_95 * sd).exp(), high: (mean + Z_95 * sd).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions with these log speeds; `None` for those that do not build.
    struct World {
        speeds: Vec<Option<f64>>,
        noise: f64,
        state: u64,
    }

    impl World {
        fn new(count: usize, steps: &[(usize, f64)], noise: f64) -> Self {
            let speed = |version: usize| {
                let before = steps.iter().filter(|(at, _)| *at <= version);
                Some(before.map(|(_, size)| size).sum())
            };
            Self { speeds: (0..count).map(speed).collect(), noise, state: 1 }
        }

        /// Approximately standard normal: the sum of twelve uniforms.
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
            let mut bisect = BisectSearch::new(self.plan());
            loop {
                match bisect.next() {
                    ControlFlow::Break(answer) => return answer,
                    ControlFlow::Continue(action) => bisect.receive(self.outcome(action.candidate)),
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
        let mut bisect = BisectSearch::new(plan);
        bisect.receive(BisectOutcome::Compared { candidate: 100, log_ratio: 0.05, se: 0.001 });
        assert_eq!(bisect.next(), ControlFlow::Continue(BisectAction { base: 0, candidate: 40 }));
    }

    /// The ends differ with certainty, and comparisons with the version in the middle say nothing.
    #[test]
    fn a_search_ends_where_the_comparisons_that_are_left_would_not_find_the_place() {
        let mut bisect = BisectSearch::new(BisectPlan {
            noise: BisectNoise { instance: 0.02, build: 0.0 },
            comparisons_max: 60,
            ..World::new(30, &[], 0.0).plan()
        });
        for _ in 0..6 {
            bisect.receive(BisectOutcome::Compared { candidate: 29, log_ratio: 0.3, se: 0.02 });
        }
        assert!(bisect.next().is_continue());
        for _ in 0..20 {
            bisect.receive(BisectOutcome::Compared { candidate: 15, log_ratio: 0.15, se: 1.0 });
        }
        let Some(answer) = bisect.next().break_value() else { panic!("it goes on") };
        assert_eq!(answer.end, BisectEnd::TooNoisy, "{answer:?}");
        assert_eq!((answer.comparisons, answer.steps.len()), (26, 0));
        assert!(answer.no_step < 0.05, "{answer:?}");
        let places = answer.posterior.iter().sum::<f64>();
        assert!(places > 0.95, "{places}");
    }

    #[test]
    fn a_search_resumes_where_it_was() {
        let mut world = World::new(50, &[(33, 0.03)], 0.01);
        world.speeds[20] = None;
        let plan = world.plan();
        let mut whole = BisectSearch::new(plan.clone());
        let mut outcomes = Vec::new();
        while let ControlFlow::Continue(action) = whole.next() {
            let mut resumed = BisectSearch::new(plan.clone());
            outcomes.iter().for_each(|outcome| resumed.receive(*outcome));
            assert_eq!(resumed.next(), ControlFlow::Continue(action));
            let outcome = world.outcome(action.candidate);
            outcomes.push(outcome);
            whole.receive(outcome);
        }
        assert_eq!(whole.next().break_value().map(|answer| places(&answer)), Some(vec![(32, 33)]));
    }

    #[test]
    fn values_that_say_nothing_end_a_search_all_the_same() {
        for (log_ratio, se) in [(f64::NAN, 0.0), (0.1, f64::INFINITY), (1e300, 0.0), (0.0, -1.0)] {
            let mut bisect = BisectSearch::new(World::new(9, &[], 0.01).plan());
            while let ControlFlow::Continue(BisectAction { candidate, .. }) = bisect.next() {
                bisect.receive(BisectOutcome::Compared { candidate, log_ratio, se });
                bisect.receive(BisectOutcome::Compared { candidate: 77, log_ratio, se });
                bisect.receive(BisectOutcome::Unusable { candidate: 77 });
            }
        }
        let mut bisect = BisectSearch::new(World::new(3, &[], 0.01).plan());
        for candidate in 0..2 {
            bisect.receive(BisectOutcome::Unusable { candidate });
        }
        let answer = bisect.next().break_value();
        assert_eq!(answer.map(|answer| answer.end), Some(BisectEnd::NothingToCompare));
    }
}
