//! Bounds on profiles.

use assay_model::limits::{NAME_BYTES, PROFILE_NODES};
use assay_model::{CallTree, Profile};

use super::Bounded;
use super::range::within;
use crate::limits::{COUNT_MAX, COUNTER_MAX};

/// Bytes of the name of a function.
const FUNCTION_BYTES: usize = 500;

/// Modules of a server.
const MODULES: usize = 1000;

impl Bounded for CallTree {
    fn check(&self) -> Result<(), String> {
        within("frames", self.frames.len(), &(0..=PROFILE_NODES))?;
        within("nodes", self.nodes.len(), &(0..=PROFILE_NODES))?;
        for frame in &self.frames {
            within("length of a function", frame.function.len(), &(0..=FUNCTION_BYTES))?;
            within("length of a module", frame.module.len(), &(0..=NAME_BYTES))?;
        }
        for (at, node) in self.nodes.iter().enumerate() {
            if node.frame as usize >= self.frames.len() {
                return Err(format!("node {at} has no frame"));
            }
            if node.caller.is_some_and(|caller| caller as usize >= at) {
                return Err(format!("node {at} comes before its caller"));
            }
        }
        let spent = self.nodes.iter().try_fold(0_u64, |all, node| all.checked_add(node.own));
        within("what was spent", spent.unwrap_or(u64::MAX), &(0..=COUNTER_MAX))
    }
}

impl Bounded for Profile {
    fn check(&self) -> Result<(), String> {
        within("frequency", self.frequency, &(1..=1_000_000))?;
        within("ops", self.ops, &(0.0..=COUNT_MAX as f64))?;
        within("length of a module", self.server.len(), &(0..=NAME_BYTES))?;
        self.serving.check()?;
        self.background.check()?;
        if let Some(waits) = &self.waits {
            within("ops", waits.ops, &(0.0..=COUNT_MAX as f64))?;
            waits.calls.check()?;
        }
        within("lost", self.limits.lost, &(0..=COUNT_MAX))?;
        within("broken", self.limits.broken, &(0..=COUNT_MAX))?;
        within("modules", self.limits.stripped.len(), &(0..=MODULES))?;
        let longest = self.limits.stripped.iter().map(String::len).max().unwrap_or(0);
        within("length of a module", longest, &(0..=NAME_BYTES))
    }
}
