//! Comparisons of a candidate with the base, their noise, and the candidates in order.

/// Smallest standard deviation of a comparison. Below it, numbers differ too much for the precision of computations.
pub(super) const SD_MIN: f64 = 1e-5;

/// Noise of comparisons of a candidate with the base, as standard deviations of the log ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BisectNoise {
    /// Between comparisons on new instances, beyond their standard errors. A prior guess: the search learns its error,
    /// up to a factor of about three.
    pub instance: f64,
    /// Between builds of equal speed, which no repetition averages out, such as by code layout. Changes of this size
    /// are not worth naming.
    pub build: f64,
}

impl BisectNoise {
    /// Whether comparisons repeat exactly except for the shifts of builds, as instruction counts nearly do. One
    /// comparison then decides about a candidate, and the search is a plain binary search.
    pub fn is_exact(self) -> bool {
        self.instance == 0.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BisectComparison {
    pub(super) base: usize,
    pub(super) candidate: usize,
    pub(super) log_ratio: f64,
    pub(super) se: f64,
}

/// Precision-weighted mean of a candidate's log ratios and its standard error, which grows if they differ by more than
/// their own errors explain. `None` without any.
pub fn pooled(comparisons: &[(f64, f64)]) -> Option<(f64, f64)> {
    let weight = |se: f64| 1.0 / (se * se).max(SD_MIN * SD_MIN);
    let usable = || comparisons.iter().filter(|(value, se)| value.is_finite() && se.is_finite());
    let weights: f64 = usable().map(|(_, se)| weight(*se)).sum();
    let mean = usable().map(|(value, se)| weight(*se) * value).sum::<f64>() / weights;
    let squares: f64 = usable().map(|(value, se)| weight(*se) * (value - mean).powi(2)).sum();
    let freedom = (usable().count() as f64 - 1.0).max(1.0);
    let se = ((squares / freedom).max(1.0) / weights).sqrt();
    mean.is_finite().then_some((mean, se))
}

/// Usable candidates in order. A *place* is a distinguishable position of a step: place `p` is between the usable
/// candidate with index `p` and the previous one. Place 0 is the base and has no step.
#[derive(Debug)]
pub(super) struct CandidateOrder {
    usable: Vec<usize>,
}

impl CandidateOrder {
    pub(super) fn new(is_usable: &[bool]) -> Self {
        let usable = is_usable.iter().enumerate();
        Self { usable: usable.filter(|(_, is_usable)| **is_usable).map(|(at, _)| at).collect() }
    }

    /// Usable candidates: one more than the places of a step.
    pub(super) fn len(&self) -> usize {
        self.usable.len()
    }

    pub(super) fn ends(&self) -> Option<(usize, usize)> {
        match self.usable.as_slice() {
            &[first, .., last] => Some((first, last)),
            _ => None,
        }
    }

    pub(super) fn candidate(&self, place: usize) -> usize {
        self.usable[place]
    }

    pub(super) fn place(&self, candidate: usize) -> Option<usize> {
        self.usable.binary_search(&candidate).ok()
    }

    /// The usable candidates before and at a place from 1 on.
    pub(super) fn neighbours(&self, place: usize) -> (usize, usize) {
        (self.usable[place - 1], self.usable[place])
    }

    /// Candidates in which a step at this place may be: the usable one and unusable ones before it.
    pub(super) fn weight(&self, place: usize) -> f64 {
        if place == 0 {
            return 0.0;
        }
        let (after, at) = self.neighbours(place);
        (at - after) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_that_disagree_widen_the_error() {
        assert_eq!(pooled(&[]), None);
        assert_eq!(pooled(&[(f64::NAN, 0.1), (0.1, f64::INFINITY)]), None);
        let (mean, se) = pooled(&[(0.1, 0.01), (0.1, 0.01)]).unwrap();
        assert!((mean - 0.1).abs() < 1e-12 && (se - 0.01 / 2.0_f64.sqrt()).abs() < 1e-12);
        let (mean, wide) = pooled(&[(0.0, 0.01), (0.2, 0.01)]).unwrap();
        assert!((mean - 0.1).abs() < 1e-12 && wide > 10.0 * se, "{wide}");
    }
}
