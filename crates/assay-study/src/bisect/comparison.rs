//! A comparison of a candidate with the base, and how such comparisons differ.

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
    /// Whether comparisons repeat exactly but for the shifts of builds, as counts of instructions nearly do. One
    /// comparison then decides about a candidate, and the search is a plain binary search: half of what is left has
    /// most information.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.instance == 0.0
    }
}

/// A comparison that came to an end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Comparison {
    pub(super) base: usize,
    pub(super) candidate: usize,
    pub(super) log_ratio: f64,
    pub(super) se: f64,
}
