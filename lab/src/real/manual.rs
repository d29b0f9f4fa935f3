//! The design that people use by hand: a server, its data, one run for each test, and then the next server.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::designs::ByHand;
use super::{Assay, rounded};
use crate::lines::text;
use crate::machine;

/// A server that runs until this is dropped.
pub(super) struct Sandbox<'a> {
    assay: &'a Assay,
    name: String,
    pub(super) url: String,
    pub(super) pid: u64,
}

impl<'a> Sandbox<'a> {
    pub(super) fn start(assay: &'a Assay, system: &str) -> Result<Self> {
        Self::start_with(assay, system, &[])
    }

    pub(super) fn start_with(assay: &'a Assay, system: &str, more: &[&str]) -> Result<Self> {
        let start = ["server", "start", system, "--quiet", "--format", "json"];
        let mut command = assay.command(&start);
        let message: Value = serde_json::from_str(&machine::done(command.args(more))?)?;
        Ok(Self {
            assay,
            name: text(&message, "name").to_owned(),
            url: text(&message, "url").to_owned(),
            pid: message["pid"].as_u64().context("the server has no process")?,
        })
    }
}

impl Drop for Sandbox<'_> {
    fn drop(&mut self) {
        // The server is for this measurement only, and `assay server list` shows one that remains.
        drop(machine::done(&mut self.assay.command(&["server", "stop", &self.name])));
    }
}

/// Carries out the manual design once: relative QPS without intervals.
pub(super) fn measure(assay: &Assay, by_hand: &ByHand) -> Result<Value> {
    let mut rates: Vec<Vec<f64>> = Vec::new();
    for system in by_hand.systems {
        let server = Sandbox::start(assay, system)?;
        machine::done(&mut assay.command(&["load", &server.url, "--quiet"]))?;
        let rate = |test: &&str| -> Result<f64> {
            let seconds = by_hand.seconds.to_string();
            let bench = ["bench", &server.url, "--test", test, "--time", &seconds];
            let mut command = assay.command(&bench);
            let message = machine::done(command.args(["--quiet", "--format", "json"]))?;
            let message: Value = serde_json::from_str(&message)?;
            message["qps"].as_f64().with_context(|| format!("{test} has no rate"))
        };
        rates.push(by_hand.tests.iter().map(rate).collect::<Result<_>>()?);
    }
    let [base, other] = rates.as_slice() else { anyhow::bail!("two systems are compared") };
    let cells: Vec<Value> = by_hand
        .tests
        .iter()
        .zip(base.iter().zip(other))
        .map(|(test, (base, other))| {
            let ratio = rounded(other / base);
            json!({"test": test, "rqps": [ratio, ratio, ratio]})
        })
        .collect();
    Ok(json!({
        "words": format!("{} by hand, {} s each", by_hand.systems.join(" "), by_hand.seconds),
        "cells": cells,
    }))
}
