//! Instruction counts per operation.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::limits::{COUNT_MAX, COUNTER_MAX, MODULES, NAME_BYTES, PROFILE_NODES, within};
use crate::{CallTree, CellId, FunctionCount, GrowingTree, StackFrame, StudyDocument, words};

/// Default threshold for relative changes in instructions. Layout and chance change equal code by less than this.
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
    /// Source of instruction counts.
    pub enum CountSource (default: Callgrind) {
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

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountBatch {
    /// Number of events. The n-th batch of every instance has the same events on all systems.
    pub events: u64,
    pub ops: f64,
    /// User-space instructions of the thread that serves the client.
    pub serving: u64,
    /// Instructions of the server's other threads meanwhile; `None` if not counted.
    pub background: Option<u64>,
    /// Instructions that the other threads would have executed in the same time if no client had sent anything; `None`
    /// if unknown.
    #[serde(default)]
    pub idle: Option<u64>,
    /// Kernel instructions on behalf of the serving thread; `None` if not counted.
    pub kernel: Option<u64>,
}

/// Smallest share of all instructions that a call in a stored tree has. Drawings omit calls below three times this
/// share.
pub const CALLS_PART: f64 = 1e-3;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    pub by: CountSource,
    pub version: Option<String>,
    /// CPU features of this machine that the counting program hid from servers, by their names in `/proc/cpuinfo`.
    #[serde(default)]
    pub hidden: Vec<String>,
    pub instances: Vec<Vec<CountBatch>>,
    pub functions: Vec<FunctionCount>,
    /// Instructions as a call tree; calls below [`CALLS_PART`] of all instructions are merged.
    pub calls: CallTree,
    pub ops: u64,
    pub server: String,
    /// Modules without a complete symbol table.
    pub stripped: Vec<String>,
    #[serde(default, skip_serializing_if = "MatchedNames::is_empty")]
    pub matched: MatchedNames,
}

/// Functions that have their names from matching code of other builds. Such a name may be wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchedNames {
    /// The other builds, such as `mariadb 11.8.2 (maven)`, sorted.
    pub builds: Vec<String>,
    /// Sorted indices among the functions of the same count.
    pub functions: Vec<u32>,
}

impl MatchedNames {
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Adds those of another count, whose functions have these places here.
    fn add(&mut self, other: Self, places: &[usize]) {
        self.builds.extend(other.builds);
        self.builds.sort_unstable();
        self.builds.dedup();
        let added = other.functions.iter().filter_map(|&at| places.get(at as usize));
        self.functions.extend(added.map(|&place| place as u32));
        self.functions.sort_unstable();
        self.functions.dedup();
    }
}

impl Count {
    pub fn add(&mut self, other: Self) {
        self.instances.extend(other.instances);
        self.ops = self.ops.saturating_add(other.ops);
        let known = |(at, function): (usize, &FunctionCount)| (function.frame.clone(), at);
        let mut places: HashMap<StackFrame, usize> =
            self.functions.iter().enumerate().map(known).collect();
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
        self.matched.add(other.matched, &here);
    }
}

const INSTANCES: usize = 100;
const BATCHES: usize = 1000;
const FEATURES: usize = 1000;

impl StudyDocument for Count {
    const NAME: &'static str = "count";

    fn check(&self) -> Result<(), String> {
        within("instances", self.instances.len(), &(0..=INSTANCES))?;
        let version = self.version.as_ref().map_or(0, String::len);
        within("length of a version", version, &(0..=NAME_BYTES))?;
        within("features", self.hidden.len(), &(0..=FEATURES))?;
        for feature in &self.hidden {
            within("length of a feature", feature.len(), &(0..=NAME_BYTES))?;
        }
        for batches in &self.instances {
            within("batches", batches.len(), &(0..=BATCHES))?;
            for CountBatch { events, ops, serving, background, idle, kernel } in batches {
                within("events", *events, &(0..=COUNT_MAX))?;
                within("ops", *ops, &(0.0..=COUNT_MAX as f64))?;
                within("instructions", *serving, &(0..=COUNTER_MAX))?;
                for other in [background, idle, kernel] {
                    within("instructions", other.unwrap_or(0), &(0..=COUNTER_MAX))?;
                }
            }
        }
        within("ops", self.ops, &(0..=COUNT_MAX))?;
        within("length of a module", self.server.len(), &(0..=NAME_BYTES))?;
        within("modules", self.stripped.len(), &(0..=MODULES))?;
        for module in &self.stripped {
            within("length of a module", module.len(), &(0..=NAME_BYTES))?;
        }
        within("builds", self.matched.builds.len(), &(0..=MODULES))?;
        for build in &self.matched.builds {
            within("length of a build", build.len(), &(0..=NAME_BYTES))?;
        }
        within("matched functions", self.matched.functions.len(), &(0..=self.functions.len()))?;
        within("functions", self.functions.len(), &(0..=PROFILE_NODES))?;
        for FunctionCount { frame, own, calls, callers } in &self.functions {
            frame.check()?;
            within("instructions", *own, &(0..=COUNTER_MAX))?;
            within("calls", *calls, &(0..=COUNTER_MAX))?;
            if callers.iter().any(|caller| *caller as usize >= self.functions.len()) {
                return Err("a function has a caller that there is not".to_owned());
            }
        }
        self.calls.check()
    }
}

impl CountBatch {
    /// Instructions of the other threads without those that they execute when idle. Negative if chance made them
    /// execute less than usual.
    pub fn background_work(&self) -> Option<f64> {
        Some(self.background? as f64 - self.idle.unwrap_or(0) as f64)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellCount {
    pub system: usize,
    pub cell: CellId,
    pub count: Count,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(functions: &[(&str, u64, &[u32])]) -> Count {
        let function = |&(name, own, callers): &(&str, u64, &[u32])| FunctionCount {
            frame: StackFrame { function: name.to_owned(), module: "server".to_owned() },
            own,
            calls: 1,
            callers: callers.to_vec(),
        };
        Count {
            by: CountSource::Callgrind,
            version: None,
            hidden: Vec::new(),
            instances: vec![Vec::new()],
            functions: functions.iter().map(function).collect(),
            calls: CallTree::default(),
            ops: 5,
            server: "server".to_owned(),
            stripped: Vec::new(),
            matched: MatchedNames::default(),
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

    #[test]
    fn a_sum_knows_which_names_are_from_other_builds() {
        let matched = |build: &str, functions: &[u32]| MatchedNames {
            builds: vec![build.to_owned()],
            functions: functions.to_vec(),
        };
        let mut sum = count(&[("main", 1, &[]), ("parse", 20, &[0])]);
        sum.matched = matched("one", &[1]);
        let other = count(&[("read", 7, &[1]), ("run", 3, &[]), ("parse", 40, &[0])]);
        sum.add(Count { matched: matched("other", &[0, 2]), ..other });
        assert_eq!(sum.matched.builds, ["one", "other"]);
        assert_eq!(sum.matched.functions, [1, 2]);
        assert_eq!(sum.check(), Ok(()));
        let json = serde_json::to_string(&count(&[])).unwrap();
        assert!(!json.contains("matched"), "{json}");
    }
}
