//! Instructions that the operations of a test take on a system.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{CallTree, CellId, Frame, FunctionCount, GrowingTree, words};

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
    /// Instructions that the kernel executed for the serving thread; `None` if they were not counted.
    pub kernel: Option<u64>,
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
    /// Features of this machine's CPU that it hid from servers, by their names in `/proc/cpuinfo`.
    #[serde(default)]
    pub hidden: Vec<String>,
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

impl Count {
    /// Adds what was counted on other instances of the same system in the same cell.
    pub fn add(&mut self, other: Self) {
        self.instances.extend(other.instances);
        self.ops = self.ops.saturating_add(other.ops);
        let known = |(at, function): (usize, &FunctionCount)| (function.frame.clone(), at);
        let mut places: HashMap<Frame, usize> =
            self.functions.iter().enumerate().map(known).collect();
        // Where each of the other functions is among all.
        let mut here = Vec::with_capacity(other.functions.len());
        for function in &other.functions {
            let place = *places.entry(function.frame.clone()).or_insert_with(|| {
                let none =
                    FunctionCount { own: 0, calls: 0, callers: Vec::new(), ..function.clone() };
                self.functions.push(none);
                self.functions.len() - 1
            });
            here.push(place);
        }
        for (function, &place) in other.functions.iter().zip(&here) {
            let Some(sum) = self.functions.get_mut(place) else { continue };
            sum.own = sum.own.saturating_add(function.own);
            sum.calls = sum.calls.saturating_add(function.calls);
            let callers = function.callers.iter().filter_map(|&caller| here.get(caller as usize));
            sum.callers.extend(callers.map(|&caller| caller as u32));
            sum.callers.sort_unstable();
            sum.callers.dedup();
        }
        let mut calls = GrowingTree::default();
        calls.add(&self.calls);
        calls.add(&other.calls);
        self.calls = calls.into_tree();
        self.stripped.extend(other.stripped);
        self.stripped.sort_unstable();
        self.stripped.dedup();
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn count(functions: &[(&str, u64, &[u32])]) -> Count {
        let of = |&(name, own, callers): &(&str, u64, &[u32])| FunctionCount {
            frame: Frame { function: name.to_owned(), module: "server".to_owned() },
            own,
            calls: 1,
            callers: callers.to_vec(),
        };
        Count {
            by: CountedBy::Callgrind,
            version: None,
            hidden: Vec::new(),
            instances: vec![Vec::new()],
            functions: functions.iter().map(of).collect(),
            calls: CallTree::default(),
            ops: 5,
            server: "server".to_owned(),
            stripped: Vec::new(),
        }
    }

    #[test]
    fn a_sum_has_every_function_once_with_all_its_callers() {
        let mut sum = count(&[("main", 1, &[]), ("parse", 20, &[0])]);
        sum.add(count(&[("read", 7, &[1]), ("run", 3, &[]), ("parse", 40, &[0, 1])]));
        let expected = count(&[
            ("main", 1, &[]),
            ("parse", 60, &[0, 2, 3]),
            ("read", 7, &[3]),
            ("run", 3, &[]),
        ]);
        let expected = expected.functions.into_iter();
        let twice = |it: FunctionCount| match it.frame.function.as_str() {
            "parse" => FunctionCount { calls: 2, ..it },
            _ => it,
        };
        assert_eq!(sum.functions, expected.map(twice).collect::<Vec<_>>());
        assert_eq!((sum.ops, sum.instances.len()), (10, 2));
    }
}
