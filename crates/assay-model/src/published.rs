//! Published statistics that no data are known for.

/// Relative QPS over the tests of a group, as it was printed in a post.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedGroup {
    /// Index of the base among the systems of the table.
    pub base: usize,
    /// Index of the system that is compared with it.
    pub system: usize,
    /// The group, as the set of 42 tests has it.
    pub word: String,
    /// Smallest relative QPS.
    pub min: f64,
    /// Largest relative QPS.
    pub max: f64,
    /// Arithmetic mean of relative QPS.
    pub average: f64,
    /// Median of relative QPS.
    pub median: f64,
}
