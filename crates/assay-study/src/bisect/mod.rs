//! Which version did it: the search for a change among candidates in order, such as releases or commits.
//!
//! A noisy binary search (Burnashev and Zigangirov 1974; Karp and Kleinberg 2007) on the numbers themselves rather than
//! on "good" and "bad": each comparison updates the probability of every position and size of the step, of two steps
//! and of none (`posterior.rs`), and the next candidate is the one that says most about the position per second
//! (`information.rs`). Like the driver, the search has no clock and no chance of its own: the same comparisons give the
//! same actions, so it is resumed by replaying them.

mod information;
mod order;
mod posterior;

use std::ops::ControlFlow;

use assay_model::Estimate;

use information::best_candidate;
use order::Order;
use posterior::Posterior;

/// The probability at which a statement counts as certain.
const CERTAIN: f64 = 0.95;

/// The probability of no step at which a search ends without one.
const REFUSED: f64 = 0.9;

/// Below this probability of several steps, one step is the answer; above one half, the search goes on to the second
/// one. Between the two, it goes on until it knows.
const SINGLE: f64 = 0.2;

/// The part of the budget after which ends that do not differ with certainty count as equal.
const ENDS_SHARE: u32 = 4;

/// The number of comparisons that the ends get at least.
const ENDS_MIN: u32 = 4;

/// The quantile of the normal distribution for 95% intervals.
const Z_95: f64 = 1.96;

/// How many other places an answer names at most.
const RUNNERS_UP: usize = 3;

/// How comparisons of the same candidate with the base differ, as standard deviations of the log ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectNoise {
    /// Between comparisons that start new instances, beyond their own standard errors. This is the guess before the
    /// first comparison: the search learns from the comparisons how far off it is, up to a factor of about three.
    pub instance: f64,
    /// Between builds of equal speed, which no repetition averages out, such as by the layout of their code. Changes of
    /// this size are not worth naming.
    pub build: f64,
}

impl BisectNoise {
    /// Whether comparisons repeat exactly, as counts of instructions nearly do. One comparison then decides about a
    /// candidate, and the search is a plain binary search: half of what is left is half of the information.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.instance == 0.0
    }
}

/// What is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectPlan {
    /// Seconds to get or build each candidate, in order of version; 0 for what is there already.
    pub build_s: Vec<f64>,
    /// Seconds of a comparison of a candidate with the base.
    pub comparison_s: f64,
    /// The noise of the measure.
    pub noise: BisectNoise,
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

/// A comparison that came to a result.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Comparison {
    candidate: usize,
    log_ratio: f64,
    se: f64,
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

    /// Takes the outcome of an action. Values that are no numbers are left out.
    pub fn came(&mut self, outcome: BisectOutcome) {
        match outcome {
            BisectOutcome::Unusable { candidate } => {
                if let Some(is_usable) = self.is_usable.get_mut(candidate) {
                    *is_usable = false;
                }
            }
            BisectOutcome::Compared { candidate, log_ratio, se } => {
                let is_known = candidate < self.is_usable.len();
                if is_known && log_ratio.is_finite() && se.is_finite() && se >= 0.0 {
                    self.comparisons.push(Comparison { candidate, log_ratio, se });
                }
            }
        }
    }

    /// What to do next, or the answer.
    #[must_use]
    pub fn next(&self) -> ControlFlow<BisectAnswer, BisectAction> {
        let order = Order::new(&self.is_usable);
        let Some((base, last)) = order.ends() else {
            return ControlFlow::Break(self.nothing());
        };
        let posterior = Posterior::new(&order, &self.comparisons, self.plan.noise);
        let used = self.used();
        let compared_ends =
            self.comparisons.iter().filter(|it| it.candidate == last).count() as u32;
        let ends_max = (self.plan.comparisons_max / ENDS_SHARE).max(ENDS_MIN);
        let end = if compared_ends > 0 && posterior.no_step() >= REFUSED {
            Some(BisectEnd::NoStep)
        } else if compared_ends > 0 && is_known(&posterior) {
            Some(BisectEnd::Found)
        } else if used >= self.plan.comparisons_max {
            Some(BisectEnd::Budget)
        } else if used == compared_ends && posterior.no_step() > 1.0 - CERTAIN {
            // Nothing but the ends was compared so far.
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
        let candidate = best_candidate(&order, &posterior, seconds).unwrap_or(last);
        ControlFlow::Continue(BisectAction { base, candidate })
    }

    fn used(&self) -> u32 {
        u32::try_from(self.comparisons.len()).unwrap_or(u32::MAX)
    }

    fn builds(&self) -> u32 {
        let base = self.is_usable.iter().position(|is_usable| *is_usable);
        let is_tried = |candidate: usize| {
            let mut compared = self.comparisons.iter().map(|it| it.candidate);
            self.is_usable.get(candidate) == Some(&false)
                || compared.any(|it| it == candidate || base == Some(candidate))
        };
        let built = self.plan.build_s.iter().enumerate().filter(|(_, seconds)| **seconds > 0.0);
        let built = built.filter(|(candidate, _)| is_tried(*candidate)).count();
        u32::try_from(built).unwrap_or(u32::MAX)
    }

    fn answer(&self, end: BisectEnd, order: &Order, posterior: &Posterior) -> BisectAnswer {
        let step = |(place, probability)| {
            let (after, at) = order.neighbours(place)?;
            let (size, sd) = posterior.size(place);
            Some(BisectStep { after, at, probability, ratio: ratio(size, sd) })
        };
        let mut places: Vec<BisectStep> = posterior.places().filter_map(step).collect();
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
            ends: Estimate::without_interval(1.0),
            no_step: 1.0,
            several: 0.0,
            comparisons: self.used(),
            builds: self.builds(),
        }
    }
}

/// Whether the steps are known: one with certainty where a second one is improbable, two with certainty otherwise.
fn is_known(posterior: &Posterior) -> bool {
    let certain = posterior.places().filter(|&(_, probability)| probability >= CERTAIN).count();
    certain >= 2 || (certain == 1 && posterior.several() <= SINGLE)
}

/// A ratio with its 95% interval from the mean and the standard deviation of its logarithm.
fn ratio(mean: f64, sd: f64) -> Estimate {
    Estimate { value: mean.exp(), low: (mean - Z_95 * sd).exp(), high: (mean + Z_95 * sd).exp() }
}
