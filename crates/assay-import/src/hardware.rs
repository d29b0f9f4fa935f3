//! Hardware per operation from the output of `vmstat` and `iostat`, in the published definitions.

use std::collections::BTreeMap;

use assay_model::Slice;

use crate::samples::{Iostat, Vmstat};

pub type RunMetrics = Vec<(String, f64)>;

/// Decimals of a metric, as published.
const DECIMALS: f64 = 1e6;

/// The device with the most traffic in all runs, and a note if others had any: the files do not name the one with the
/// data.
pub(crate) fn busiest_device<'a>(runs: impl Iterator<Item = &'a Iostat>) -> (String, Vec<String>) {
    let mut traffic: BTreeMap<&str, f64> = BTreeMap::new();
    for (device, samples) in runs.flat_map(|it| &it.devices) {
        let all: f64 = samples.iter().map(|it| it.read_kb + it.write_kb).sum();
        *traffic.entry(device).or_default() += all;
    }
    let busy = traffic.values().filter(|all| **all > 0.0).count();
    // Ties go to the first.
    let busiest = traffic.iter().rev().max_by(|one, other| one.1.total_cmp(other.1));
    let Some((device, _)) = busiest else { return Default::default() };
    let note = (busy > 1).then(|| {
        format!(
            "r/o, rKB/o and wKB/o are those of `{device}`, the busiest of {busy} devices of iostat"
        )
    });
    ((*device).to_owned(), note.into_iter().collect())
}

/// Means of samples divided by operations per second. As published, a repeated header of vmstat counts as a sample of
/// zero.
pub(crate) fn metrics_of_samples(
    vmstat: Option<&Vmstat>,
    iostat: Option<&Iostat>,
    device: &str,
    slice: &Slice,
) -> RunMetrics {
    let Some(rate) = slice.ops_per_second() else { return Vec::new() };
    let of_machine = |of: fn(&crate::VmstatSample) -> f64| Some(vmstat?.published_mean(of)? / rate);
    let of_device = |of: fn(&crate::IostatSample) -> f64| Some(iostat?.mean_of(device, of)? / rate);
    let metrics = [
        ("cpu/o", of_machine(|it| it.us + it.sy)),
        ("cs/o", of_machine(|it| it.cs)),
        ("r/o", of_device(|it| it.reads)),
        ("rKB/o", of_device(|it| it.read_kb)),
        ("wKB/o", of_device(|it| it.write_kb)),
    ];
    let rounded = |value: f64| (value * DECIMALS).round() / DECIMALS;
    let known = metrics.into_iter();
    let known = known.filter_map(|(name, value)| Some((name.to_owned(), rounded(value?))));
    known.collect()
}
