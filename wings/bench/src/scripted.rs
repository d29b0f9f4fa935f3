//! Reports by a script itself, through sysbench's hooks.

use std::time::Duration;

use assay_load::{Reporter, RunProgress};

use super::result::Measured;

/// The script's report of an interval, which ended after `elapsed` and took `passed`; `None` if it makes none.
pub(super) fn of_interval(
    reporter: Option<&mut Reporter>,
    clients: u32,
    (elapsed, passed): (Duration, Duration),
    done: &RunProgress,
    latency: Duration,
) -> Option<String> {
    let numbers = [
        ("threads_running", f64::from(clients)),
        ("time_interval", passed.as_secs_f64()),
        ("time_total", elapsed.as_secs_f64()),
        ("latency_pct", latency.as_secs_f64()),
        ("events", done.events as f64),
        ("reads", done.read as f64),
        ("writes", done.write as f64),
        ("other", done.other as f64),
        ("errors", done.errors as f64),
        ("reconnects", done.reconnects as f64),
        ("queue_length", 0.0),
        ("concurrency", f64::from(clients)),
    ];
    message(reporter?.intermediate(&numbers))
}

pub(super) fn of_run(reporter: Option<&mut Reporter>, measured: &Measured) -> Option<String> {
    message(reporter?.cumulative(&measured.numbers()))
}

/// A failed report is only a warning: the measurement does not depend on it.
fn message(report: assay_load::Result<Option<String>>) -> Option<String> {
    report.unwrap_or_else(|error| Some(format!("the script's report failed: {error}")))
}
