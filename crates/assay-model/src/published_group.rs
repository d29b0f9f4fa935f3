//! Published statistics without underlying data.

/// Relative QPS over the tests of a group, as printed in a post.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedGroup {
    pub base: usize,
    pub system: usize,
    pub word: String,
    pub min: f64,
    pub max: f64,
    pub average: f64,
    pub median: f64,
}
