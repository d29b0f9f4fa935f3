//! Parts of a study: those of a block that are measured on the same instances, and those that one machine measures.

use assay_model::{CellId, DataSet, StartFrom, StudyRecord};

/// The part of a block measured on the same instances, which start from this data set in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase {
    pub data: DataSet,
    pub start_from: StartFrom,
}

impl Phase {
    pub fn new(cell: CellId) -> Self {
        Self { data: cell.setup.data(), start_from: cell.test.start_from }
    }
}

/// Every `count`-th block of a study, from block `index` on.
///
/// A shard is a filter on the driver, which begins only blocks of the shard and decides on its own record. Compared
/// systems are never separated, since a block has all of them, and a block is the same on every machine: its order
/// depends only on seed and number. A sequential study is a single block, so all of it belongs to the first shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    index: u32,
    count: u32,
}

impl From<&StudyRecord> for Shard {
    fn from(record: &StudyRecord) -> Self {
        let shard = record.shard().and_then(|shard| Self::new(shard.first, shard.step));
        shard.unwrap_or(Self::WHOLE)
    }
}

impl Shard {
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Shard `index`, from 0, of `count`; `None` if out of range.
    pub fn new(index: u32, count: u32) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    pub fn has(self, block: u32) -> bool {
        block % self.count.max(1) == self.index
    }
}
