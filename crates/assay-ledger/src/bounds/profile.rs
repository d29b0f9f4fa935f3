//! Bounds on profiles, counts and soaks.

use assay_model::limits::{DISPERSION_MAX, NAME_BYTES, PROFILE_NODES, SERIES_COUNTS};
use assay_model::{CallTree, Count, CountBatch, FunctionCount, Profile, Soak};

use super::Bounded;
use super::range::within;
use crate::limits::{COUNT_MAX, COUNTER_MAX};

const FUNCTION_BYTES: usize = 500;

const DEPTH: usize = 1000;

const MODULES: usize = 1000;

const FEATURES: usize = 1000;

const PARTS: usize = 1000;

impl Bounded for CallTree {
    fn check(&self) -> Result<(), String> {
        within("frames", self.frames.len(), &(0..=PROFILE_NODES))?;
        within("nodes", self.nodes.len(), &(0..=PROFILE_NODES))?;
        for frame in &self.frames {
            within("length of a function", frame.function.len(), &(0..=FUNCTION_BYTES))?;
            within("length of a module", frame.module.len(), &(0..=NAME_BYTES))?;
        }
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
}

const TURNS: usize = 1000;
const TURN_MS: u64 = 1 << 40;

impl Bounded for Soak {
    fn check(&self) -> Result<(), String> {
        within("rounds", self.rounds as usize, &(0..=TURNS))?;
        within("turns", self.turns.len(), &(0..=TURNS))?;
        let seconds = self.turns.iter().map(|turn| turn.seconds.len()).sum();
        within("seconds", seconds, &(0..=SERIES_COUNTS))?;
        for turn in &self.turns {
            within("round", turn.round as usize, &(0..=TURNS))?;
            within("instance", turn.instance as usize, &(0..=TURNS))?;
            within("length of a turn", turn.elapsed_ms, &(0..=TURN_MS))?;
            within("events", turn.events, &(0..=COUNT_MAX))?;
            within("ops", turn.ops, &(0.0..=COUNT_MAX as f64))?;
            turn.seconds.iter().try_for_each(|it| within("events", *it, &(0..=COUNT_MAX)))?;
        }
        Ok(())
    }
}

const INSTANCES: usize = 100;
const BATCHES: usize = 1000;

impl Bounded for Count {
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
            for CountBatch { events, ops, serving, background, kernel } in batches {
                within("events", *events, &(0..=COUNT_MAX))?;
                within("ops", *ops, &(0.0..=COUNT_MAX as f64))?;
                within("instructions", *serving, &(0..=COUNTER_MAX))?;
                for other in [background, kernel] {
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
        within("functions", self.functions.len(), &(0..=PROFILE_NODES))?;
        for function in &self.functions {
            let FunctionCount { frame, own, calls, callers } = function;
            within("length of a function", frame.function.len(), &(0..=FUNCTION_BYTES))?;
            within("length of a module", frame.module.len(), &(0..=NAME_BYTES))?;
            within("instructions", *own, &(0..=COUNTER_MAX))?;
            within("calls", *calls, &(0..=COUNTER_MAX))?;
            if callers.iter().any(|caller| *caller as usize >= self.functions.len()) {
                return Err("a function has a caller that there is not".to_owned());
            }
        }
        self.calls.check()
    }
}

impl Bounded for Profile {
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
