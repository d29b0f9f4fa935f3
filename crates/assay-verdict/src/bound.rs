//! Bounds on rates from events that were killed because they took too long.

use assay_model::{Estimate, Verdict};

use crate::sample::{Fitness, SliceSample};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventPace {
    events: u64,
    elapsed_s: f64,
    is_unanswered: bool,
    /// Whether a slice was completed. A single stall then bounds nothing, as slices show the speed.
    is_measured: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RatioBound {
    /// Only the first did not answer.
    AtMost(f64),
    /// Only the second did not answer.
    AtLeast(f64),
    Neither,
    /// One did not answer, and the other was not measured.
    Unmeasured,
}

impl EventPace {
    pub(crate) fn add(&mut self, sample: &SliceSample) {
        match sample.fitness {
            Fitness::Failed | Fitness::Mistimed => return,
            Fitness::Good | Fitness::Troubled => self.is_measured = true,
            Fitness::Missed => {}
            Fitness::Unanswered => self.is_unanswered = true,
        }
        self.events = self.events.saturating_add(sample.events);
        self.elapsed_s += sample.elapsed_s;
    }

    pub(crate) fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }

    fn is_bounded(&self) -> bool {
        self.is_unanswered && !self.is_measured
    }

    fn rate(&self) -> Option<f64> {
        (self.events > 0 && self.elapsed_s > 0.0).then(|| self.events as f64 / self.elapsed_s)
    }

    /// Maximum events per second: each client might have completed its current one.
    fn most(&self, clients: u32) -> f64 {
        (self.events as f64 + f64::from(clients)) / self.elapsed_s
    }
}

impl RatioBound {
    pub(crate) fn from_paces(one: &EventPace, other: &EventPace, clients: u32) -> Option<Self> {
        let unmeasured = Some(Self::Unmeasured);
        let ratio = |most: f64, rate: Option<f64>| Some(most / rate?).filter(|it| it.is_finite());
        match (one.is_bounded(), other.is_bounded()) {
            (false, false) => None,
            (true, true) => Some(Self::Neither),
            (true, false) => {
                ratio(one.most(clients), other.rate()).map(Self::AtMost).or(unmeasured)
            }
            (false, true) => {
                let inverse = ratio(other.most(clients), one.rate());
                inverse.map(|most| Self::AtLeast(1.0 / most)).or(unmeasured)
            }
        }
    }

    pub(crate) fn estimate(self) -> Option<Estimate> {
        match self {
            Self::AtMost(most) => Some(Estimate::at_most(most)),
            Self::AtLeast(least) => Some(Estimate::at_least(least)),
            Self::Neither | Self::Unmeasured => None,
        }
    }

    /// `None` before the other system is measured.
    pub(crate) fn verdict(self, threshold: f64) -> Option<Verdict> {
        Some(match self {
            Self::AtMost(most) if most < 1.0 - threshold => Verdict::Slower,
            Self::AtLeast(least) if least > 1.0 + threshold => Verdict::Faster,
            Self::AtMost(_) | Self::AtLeast(_) => Verdict::Undecided,
            Self::Neither => Verdict::Failed,
            Self::Unmeasured => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(events: u64, elapsed_s: f64, is_unanswered: bool) -> EventPace {
        EventPace { events, elapsed_s, is_unanswered, is_measured: false }
    }

    #[test]
    fn an_event_that_does_not_end_bounds_the_ratio() {
        let (slow, fast) = (pace(0, 32.0, true), pace(128, 32.0, false));
        let bound = RatioBound::from_paces(&slow, &fast, 1).unwrap();
        assert_eq!(bound, RatioBound::AtMost(1.0 / 128.0));
        assert_eq!(bound.verdict(0.02), Some(Verdict::Slower));
        let bound = RatioBound::from_paces(&fast, &slow, 1).unwrap();
        assert_eq!(bound, RatioBound::AtLeast(128.0));
        assert_eq!(bound.verdict(0.02), Some(Verdict::Faster));
        assert_eq!(RatioBound::from_paces(&fast, &fast, 1), None);
        assert_eq!(
            RatioBound::from_paces(&slow, &slow, 1).unwrap().verdict(0.02),
            Some(Verdict::Failed)
        );
    }

    #[test]
    fn events_that_ended_before_count_as_do_those_of_all_clients() {
        let slow = pace(52, 30.0, true);
        assert_eq!(
            RatioBound::from_paces(&slow, &pace(100, 20.0, false), 8),
            Some(RatioBound::AtMost(0.4))
        );
    }

    /// A stall of half a minute after 20 s of usual work is no change of speed.
    #[test]
    fn a_system_that_was_measured_is_not_bounded_by_one_stall() {
        let stalled = EventPace { is_measured: true, ..pace(20_000, 50.0, true) };
        assert_eq!(RatioBound::from_paces(&stalled, &pace(50_000, 50.0, false), 1), None);
    }

    #[test]
    fn a_bound_beyond_one_decides_nothing() {
        let slow = pace(0, 30.0, true);
        let bound = RatioBound::from_paces(&slow, &pace(2, 62.0, false), 1).unwrap();
        assert!(matches!(bound, RatioBound::AtMost(most) if most > 1.0));
        assert_eq!(bound.verdict(0.02), Some(Verdict::Undecided));
        let unmeasured = RatioBound::from_paces(&slow, &EventPace::default(), 1).unwrap();
        assert_eq!(unmeasured, RatioBound::Unmeasured);
        assert_eq!(unmeasured.verdict(0.02), None);
    }
}
