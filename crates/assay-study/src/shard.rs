//! A part of a study that one machine measures.

/// Every `count`-th block of a study, from `index` on: systems that are compared are never parted, and a block finds
/// the same data wherever it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The number of the part, from 0.
    index: u32,
    /// How many there are; at least 1.
    count: u32,
}

impl Shard {
    /// The whole study.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Shard `index` of `count`, from 0; `None` if there is no such shard.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    /// Whether a block is part of it.
    #[must_use]
    pub fn has(self, block: u32) -> bool {
        block % self.count.max(1) == self.index
    }
}
