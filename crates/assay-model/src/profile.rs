//! Profiles of server threads: call trees from samples.

use serde::{Deserialize, Serialize};

use crate::limits::{
    COUNT_MAX, COUNTER_MAX, DISPERSION_MAX, FUNCTION_BYTES, MODULES, NAME_BYTES, PROFILE_NODES,
    within,
};
use crate::{CellId, StudyDocument, words};

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

pub const KERNEL: &str = "[kernel]";

/// Function and module of calls too small to keep individually.
pub const SMALL_CALLS: &str = "[small calls]";

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(String, String)", into = "(String, String)")]
pub struct StackFrame {
    /// Its name, or the start address of the code, such as `0x8a40f0`, if the module has no name for it.
    pub function: String,
    /// File that holds its code, without directories, or [`KERNEL`].
    pub module: String,
}

impl StackFrame {
    pub fn check(&self) -> Result<(), String> {
        within("length of a function", self.function.len(), &(0..=FUNCTION_BYTES))?;
        within("length of a module", self.module.len(), &(0..=NAME_BYTES))
    }
}

impl From<(String, String)> for StackFrame {
    fn from((function, module): (String, String)) -> Self {
        Self { function, module }
    }
}

impl From<StackFrame> for (String, String) {
    fn from(frame: StackFrame) -> Self {
        (frame.function, frame.module)
    }
}

impl StackFrame {
    pub fn is_named(&self) -> bool {
        // Code without a name gets that of its container in brackets.
        !self.function.starts_with("0x") && (self.function != self.module)
    }

    /// Placeholder for the functions of small calls.
    pub(crate) fn of_small_calls() -> Self {
        Self { function: SMALL_CALLS.to_owned(), module: SMALL_CALLS.to_owned() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u64)", into = "(u32, u32, u64)")]
pub struct CallNode {
    /// Index of the caller's node, always smaller; `None` for a root.
    pub caller: Option<u32>,
    pub frame: u32,
    /// Cost of the function itself, without callees.
    pub own: u64,
}

impl From<(u32, u32, u64)> for CallNode {
    fn from((caller, frame, own): (u32, u32, u64)) -> Self {
        Self { caller: caller.checked_sub(1), frame, own }
    }
}

impl From<CallNode> for (u32, u32, u64) {
    /// Serialized callers count from 1; 0 means none.
    fn from(node: CallNode) -> Self {
        (node.caller.map_or(0, |caller| caller.saturating_add(1)), node.frame, node.own)
    }
}

/// All stacks as a tree: callers precede callees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTree {
    pub frames: Vec<StackFrame>,
    pub nodes: Vec<CallNode>,
}

/// Deepest calls.
const DEPTH: usize = 1000;

impl CallTree {
    pub fn check(&self) -> Result<(), String> {
        within("frames", self.frames.len(), &(0..=PROFILE_NODES))?;
        within("nodes", self.nodes.len(), &(0..=PROFILE_NODES))?;
        self.frames.iter().try_for_each(StackFrame::check)?;
        let mut depths: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            if node.frame as usize >= self.frames.len() {
                return Err(format!("node {at} has no frame"));
            }
            if node.caller.is_some_and(|caller| caller as usize >= at) {
                return Err(format!("node {at} comes before its caller"));
            }
            let caller = node.caller.and_then(|caller| depths.get(caller as usize));
            depths.push(caller.map_or(1, |depth| depth + 1));
            within("depth of calls", depths.last().copied().unwrap_or(0), &(0..=DEPTH))?;
        }
        let spent = self.nodes.iter().try_fold(0_u64, |all, node| all.checked_add(node.own));
        within("what was spent", spent.unwrap_or(u64::MAX), &(0..=COUNTER_MAX))
    }

    pub fn total(&self) -> u64 {
        self.nodes.iter().map(|node| node.own).fold(0, u64::saturating_add)
    }

    pub fn inclusive(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.nodes.iter().map(|node| node.own).collect();
        // Callees come after their callers.
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

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileLimits {
    pub no_kernel: bool,
    /// The kernel showed its functions without names, so reasons for waiting are unknown.
    pub unnamed_kernel: bool,
    /// CPU samples that did not fit into the buffers.
    pub lost: u64,
    /// Records of waits that did not fit into the buffers. A waiting thread makes at least two.
    pub lost_waits: u64,
    pub broken: u64,
    pub stripped: Vec<String>,
}

impl ProfileLimits {
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    pub ops: f64,
    /// Waiting time by stack, nanoseconds.
    pub calls: CallTree,
}

/// Processor counters of the threads that serve clients, for one counting period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProcessorPart {
    pub ops: f64,
    pub instructions: u64,
    pub cycles: u64,
}

/// Where a server spent its time in a cell, sampled in extra slices that no verdict uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub frequency: u32,
    pub ops: f64,
    pub server: String,
    pub serving: CallTree,
    /// Variance of the functions' shares between parts of the sampling, divided by the variance expected from the
    /// number of samples; at least 1. Sampling in one part cannot estimate it and has 1.
    pub dispersion: f64,
    pub background: CallTree,
    /// Waits of the serving threads; `None` if the kernel did not report them.
    pub waits: Option<Waits>,
    pub processor: Vec<ProcessorPart>,
    pub limits: ProfileLimits,
}

impl Profile {
    /// Sampled CPU time of a tree per operation, microseconds.
    pub fn sampled_us(&self, tree: &CallTree) -> f64 {
        tree.total() as f64 / f64::from(self.frequency.max(1)) / self.ops.max(1.0) * 1e6
    }
}

/// Parts of the counting of processor counters.
const PARTS: usize = 1000;

impl StudyDocument for Profile {
    const NAME: &'static str = "profile";

    fn check(&self) -> Result<(), String> {
        within("frequency", self.frequency, &(1..=1_000_000))?;
        within("ops", self.ops, &(0.0..=COUNT_MAX as f64))?;
        within("length of a module", self.server.len(), &(0..=NAME_BYTES))?;
        self.serving.check()?;
        within("dispersion", self.dispersion, &(1.0..=DISPERSION_MAX))?;
        self.background.check()?;
        if let Some(waits) = &self.waits {
            within("ops", waits.ops, &(0.0..=COUNT_MAX as f64))?;
            waits.calls.check()?;
        }
        within("parts", self.processor.len(), &(0..=PARTS))?;
        for part in &self.processor {
            within("ops", part.ops, &(0.0..=COUNT_MAX as f64))?;
            within("instructions", part.instructions, &(0..=COUNTER_MAX))?;
            within("cycles", part.cycles, &(0..=COUNTER_MAX))?;
        }
        within("lost", self.limits.lost, &(0..=COUNT_MAX))?;
        within("lost_waits", self.limits.lost_waits, &(0..=COUNT_MAX))?;
        within("broken", self.limits.broken, &(0..=COUNT_MAX))?;
        within("modules", self.limits.stripped.len(), &(0..=MODULES))?;
        let longest = self.limits.stripped.iter().map(String::len).max().unwrap_or(0);
        within("length of a module", longest, &(0..=NAME_BYTES))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellProfile {
    pub system: usize,
    pub cell: CellId,
    pub profile: Profile,
}
