//! Where the threads of a server spend their time: call trees from samples.

use serde::{Deserialize, Serialize};

use crate::{CellId, words};

words! {
    /// The tests of which a study takes profiles.
    pub enum Profiling (default: None) {
        /// No test.
        None = "none",
        /// Tests in which a system is faster, slower or uneven, or takes more or less CPU time per operation.
        Changed = "changed",
        /// All tests.
        All = "all",
    }
}

/// The module of the kernel's functions.
pub const KERNEL: &str = "[kernel]";

/// Function and module of all calls that were too small to be kept one by one.
pub const SMALL_CALLS: &str = "[small calls]";

/// A function on a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(String, String)", into = "(String, String)")]
pub struct Frame {
    /// Its name; the beginning of the code, such as `0x8a40f0`, if the module does not tell one.
    pub function: String,
    /// The file that holds its code, without directories, or [`KERNEL`].
    pub module: String,
}

impl From<(String, String)> for Frame {
    fn from((function, module): (String, String)) -> Self {
        Self { function, module }
    }
}

impl From<Frame> for (String, String) {
    fn from(frame: Frame) -> Self {
        (frame.function, frame.module)
    }
}

impl Frame {
    /// Whether the module tells its name.
    #[must_use]
    pub fn is_named(&self) -> bool {
        // Code that nobody names has the name of what holds it in brackets.
        !self.function.starts_with("0x") && (self.function != self.module)
    }

    /// Stands for the functions of small calls.
    pub(crate) fn of_small_calls() -> Self {
        Self { function: SMALL_CALLS.to_owned(), module: SMALL_CALLS.to_owned() }
    }
}

/// A call in a tree of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u64)", into = "(u32, u32, u64)")]
pub struct CallNode {
    /// Index of the caller among the nodes, before this one; `None` if nothing called it.
    pub caller: Option<u32>,
    /// Index of the function among the frames.
    pub frame: u32,
    /// What was spent in the function itself, without what it called.
    pub own: u64,
}

impl From<(u32, u32, u64)> for CallNode {
    fn from((caller, frame, own): (u32, u32, u64)) -> Self {
        Self { caller: caller.checked_sub(1), frame, own }
    }
}

impl From<CallNode> for (u32, u32, u64) {
    /// The caller is counted from 1, and 0 is none.
    fn from(node: CallNode) -> Self {
        (node.caller.map_or(0, |caller| caller.saturating_add(1)), node.frame, node.own)
    }
}

/// All stacks that were seen, as a tree: callers come before what they call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTree {
    /// The functions.
    pub frames: Vec<Frame>,
    /// The calls.
    pub nodes: Vec<CallNode>,
}

impl CallTree {
    /// What was spent in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.nodes.iter().map(|node| node.own).fold(0, u64::saturating_add)
    }

    /// What was spent in each call and in what it called, in the order of the nodes.
    #[must_use]
    pub fn inclusive(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.nodes.iter().map(|node| node.own).collect();
        // What is called comes after its caller.
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let here = all.get(at).copied().unwrap_or(0);
            let caller = node.caller.and_then(|caller| all.get_mut(caller as usize));
            if let Some(caller) = caller {
                *caller = caller.saturating_add(here);
            }
        }
        all
    }
}

/// What a profile could not see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileLimits {
    /// The kernel refused to show its own functions.
    pub no_kernel: bool,
    /// The kernel showed its own functions without their names, so it is unknown what threads wait for.
    pub unnamed_kernel: bool,
    /// Samples of CPU time that did not fit into the buffers.
    pub lost: u64,
    /// Records of waits that did not fit into the buffers. A thread that waits makes at least two of them.
    pub lost_waits: u64,
    /// Samples whose stack could not be followed to its beginning.
    pub broken: u64,
    /// Modules without a table of all their functions.
    pub stripped: Vec<String>,
}

impl ProfileLimits {
    /// Adds what another part of the same profile could not see.
    pub fn add(&mut self, other: Self) {
        self.no_kernel |= other.no_kernel;
        self.unnamed_kernel |= other.unnamed_kernel;
        self.lost = self.lost.saturating_add(other.lost);
        self.lost_waits = self.lost_waits.saturating_add(other.lost_waits);
        self.broken = self.broken.saturating_add(other.broken);
        self.stripped.extend(other.stripped);
        self.stripped.sort_unstable();
        self.stripped.dedup();
    }
}

/// What threads wait for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Operations that the clients did while it was sampled.
    pub ops: f64,
    /// How long they waited, by stack, nanoseconds.
    pub calls: CallTree,
}

/// What the processor did for the threads that serve the clients, in a part of the time in which it was counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProcessorPart {
    /// Operations that the clients did meanwhile.
    pub ops: f64,
    /// Instructions that were executed.
    pub instructions: u64,
    /// Cycles that they took.
    pub cycles: u64,
}

/// Where a server spent its time in a cell, sampled in slices of their own, which no verdict uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Samples per second of CPU time.
    pub frequency: u32,
    /// Operations that the clients did meanwhile.
    pub ops: f64,
    /// The module of the server's own code.
    pub server: String,
    /// Samples of the threads that serve the clients' connections.
    pub serving: CallTree,
    /// By how much their functions vary from part to part of the sampling, divided by what the number of samples alone
    /// explains; at least 1. A sampling of one part cannot tell, and has 1.
    pub dispersion: f64,
    /// Samples of all other threads of the server.
    pub background: CallTree,
    /// What the serving threads wait for; `None` if the kernel did not tell.
    pub waits: Option<Waits>,
    /// Instructions and cycles; empty if the processor did not count them.
    pub processor: Vec<ProcessorPart>,
    /// What it could not see.
    pub limits: ProfileLimits,
}

impl Profile {
    /// CPU time per operation that one of its trees has, as sampled, microseconds.
    #[must_use]
    pub fn sampled_us(&self, tree: &CallTree) -> f64 {
        tree.total() as f64 / f64::from(self.frequency.max(1)) / self.ops.max(1.0) * 1e6
    }
}

/// The profile of a system in a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellProfile {
    /// Index into the systems.
    pub system: usize,
    /// The cell.
    pub cell: CellId,
    /// The profile.
    pub profile: Profile,
}
