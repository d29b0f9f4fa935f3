//! Instructions that the operations of a test take on a system.

use serde::{Deserialize, Serialize};

use crate::{CallTree, CellId, FunctionCount, words};

/// The smallest relative change of instructions that is called, unless the user sets another: what layout and chance
/// add to equal code is smaller.
pub const COUNT_THRESHOLD: f64 = 0.005;

words! {
    /// Whether a study counts instructions.
    pub enum Counting (default: None) {
        /// No.
        None = "none",
        /// After the measurements.
        After = "after",
        /// In place of measurements.
        Only = "only",
    }
}

words! {
    /// What counted instructions.
    pub enum CountedBy (default: Callgrind) {
        /// The processor's own counter.
        Hardware = "hardware",
        /// Valgrind's tool callgrind, which executes the server's code itself.
        Callgrind = "callgrind",
    }
}

words! {
    /// A verdict on instructions per operation.
    pub enum CountVerdict (default: Undecided) {
        /// More than the base.
        More = "more",
        /// Fewer than the base.
        Fewer = "fewer",
        /// As many, within the threshold.
        Same = "same",
        /// The counts do not tell.
        Undecided = "undecided",
    }
}

/// What was counted while one client carried out so many events.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountBatch {
    /// Number of events. Batches of the same place among those of an instance have the same events on all systems.
    pub events: u64,
    /// Operations of these events.
    pub ops: f64,
    /// Instructions of the thread that serves the client, outside the kernel.
    pub serving: u64,
    /// Instructions of the server's other threads meanwhile; `None` if they were not counted.
    pub background: Option<u64>,
}

/// The smallest part of all instructions that a call of a stored tree has. A drawing leaves out calls that are three
/// times as large.
pub const CALLS_PART: f64 = 1e-3;

/// The instructions of a system in a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// What counted.
    pub by: CountedBy,
    /// Its version, if it is a program.
    pub version: Option<String>,
    /// The batches of each fresh instance, in order.
    pub instances: Vec<Vec<CountBatch>>,
    /// Instructions of the serving thread by function, over all batches.
    pub functions: Vec<FunctionCount>,
    /// The same as a tree of calls; those below [`CALLS_PART`] of all instructions are told together.
    pub calls: CallTree,
    /// Operations of these batches.
    pub ops: u64,
    /// The module of the server's own code.
    pub server: String,
    /// Modules without a table of all their functions.
    pub stripped: Vec<String>,
}

/// The instructions of a system in a cell of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellCount {
    /// Index into the systems.
    pub system: usize,
    /// The cell.
    pub cell: CellId,
    /// The count.
    pub count: Count,
}
