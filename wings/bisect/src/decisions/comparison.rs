//! Comparisons of a candidate with the base, their noise, and the candidates in order.

/// Smallest standard deviation of a comparison. Below it, numbers differ too much for the precision of computations.
pub(crate) const SD_MIN: f64 = 1e-5;

/// Noise of comparisons of a candidate with the base, as standard deviations of the log ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BisectNoise {
    /// Between comparisons on new instances, beyond their standard errors. A prior guess: the search learns its error,
    /// up to a factor of about three.
    pub(crate) instance: f64,
    /// Between builds of equal speed, which no repetition averages out, such as by code layout. Changes of this size
    /// are not worth naming.
    pub(crate) build: f64,
}

impl BisectNoise {
    /// Whether comparisons repeat exactly except for the shifts of builds, as instruction counts nearly do. One
    /// comparison then decides about a candidate, and the search is a plain binary search.
    pub(crate) fn is_exact(self) -> bool {
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
