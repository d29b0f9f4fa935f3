//! The candidates that can be used, in order. A *place* is where a step can be told apart from others: between a usable
//! candidate and the one before it.

/// The usable candidates. Place `p` is just before the usable candidate with index `p`; place 0 is the base and has no
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

    /// Usable candidates, which is also one more than the places of a step.
    pub(super) fn len(&self) -> usize {
        self.usable.len()
    }

    /// The base and the last candidate, if there are two.
    pub(super) fn ends(&self) -> Option<(usize, usize)> {
        match self.usable.as_slice() {
            &[first, .., last] => Some((first, last)),
            _ => None,
        }
    }

    /// The usable candidate with this index.
    pub(super) fn candidate(&self, place: usize) -> Option<usize> {
        self.usable.get(place).copied()
    }

    /// The index of a usable candidate.
    pub(super) fn place(&self, candidate: usize) -> Option<usize> {
        self.usable.binary_search(&candidate).ok()
    }

    /// The usable candidates before and after a place.
    pub(super) fn neighbours(&self, place: usize) -> Option<(usize, usize)> {
        Some((self.candidate(place.checked_sub(1)?)?, self.candidate(place)?))
    }

    /// Candidates in which a step at this place may be: the usable one and those before it that cannot be used.
    pub(super) fn weight(&self, place: usize) -> f64 {
        self.neighbours(place).map_or(0.0, |(after, at)| (at - after) as f64)
    }
}
