//! The part of a study that one machine measures.

use assay_model::StudyRecord;

/// Every `count`-th block of a study, from block `index` on.
///
/// A shard is a filter on the driver: a driver of a shard begins only blocks of the shard, and decides on the record
/// that it received. Systems that are compared are never separated, since a block has all of them, and a block is the
/// same whichever machine measures it: its order depends on seed and number alone. A sequential study is a single
/// block, so it belongs to the first shard as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The number of the shard, from 0.
    index: u32,
    /// The number of shards; at least 1.
    count: u32,
}

impl From<&StudyRecord> for Shard {
    /// The blocks that a study measures itself.
    fn from(record: &StudyRecord) -> Self {
        let shard = record.shard().and_then(|it| Self::new(it.first, it.step));
        shard.unwrap_or(Self::WHOLE)
    }
}

impl Shard {
    /// The whole study.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Shard `index` of `count`, from 0; `None` if there is no such shard.
    #[must_use]
    pub fn new(index: u32, count: u32) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    /// Whether a block is part of the shard.
    #[must_use]
    pub fn has(self, block: u32) -> bool {
        block % self.count.max(1) == self.index
    }
}
