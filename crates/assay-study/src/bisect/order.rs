//! Usable candidates in order. A *place* is a distinguishable position of a step: between a usable candidate and the
//! previous one.

/// Usable candidates. Place `p` is just before the usable candidate with index `p`; place 0 is the base and has no
/// step.
#[derive(Debug)]
pub(super) struct Order {
    usable: Vec<usize>,
}

impl Order {
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

    pub(super) fn candidate(&self, place: usize) -> Option<usize> {
        self.usable.get(place).copied()
    }

    pub(super) fn place(&self, candidate: usize) -> Option<usize> {
        self.usable.binary_search(&candidate).ok()
    }

    pub(super) fn neighbours(&self, place: usize) -> Option<(usize, usize)> {
        Some((self.candidate(place.checked_sub(1)?)?, self.candidate(place)?))
    }

    /// Candidates in which a step at this place may be: the usable one and unusable ones before it.
    pub(super) fn weight(&self, place: usize) -> f64 {
        self.neighbours(place).map_or(0.0, |(after, at)| (at - after) as f64)
    }
}
