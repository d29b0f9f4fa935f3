//! What was measured: slices, and their series.

use std::collections::HashMap;

use assay_model::{Slice, SliceId, SliceOutcome, Trouble};

use crate::cells::key;
use crate::exported::Exported;
use crate::studies::system;
use crate::table::Kind::{Integer, Moment, Real, Text};
use crate::table::{Column, Table, Value, column};

const SLICES: &[Column] = &[
    column("study", Text, "name of the study"),
    column(
        "slice",
        Integer,
        "number of the slice in the study, from 1, in the order of measurement",
    ),
    column("test", Text, "name of the test"),
    column("clients", Integer, "number of clients"),
    column("tables", Integer, "number of tables"),
    column("rows", Integer, "rows of each table"),
    column("system", Text, "name of the system"),
    column("run", Integer, "number of the run: 1, and one more each time the study was resumed"),
    column("block", Integer, "number of the set of fresh instances, from 0"),
    column("round", Integer, "number of the round in block and cell, from 0"),
    column("position", Integer, "place of the system in the round, from 0"),
    column("started", Moment, "when it began; null for published results"),
    column("outcome", Text, "good, troubled, failed, unanswered"),
    column("failure", Text, "why it failed, or what was not answered; null otherwise"),
    column(
        "trouble",
        Text,
        "kinds of machine trouble, separated by commas; null if there was none",
    ),
    column("qps", Real, "operations per second; null if nothing was measured"),
    column("ops", Real, "operations of the measured part; null if only a rate was published"),
    column("elapsed_s", Real, "wall time of the measured part, seconds; null as `ops`"),
    column("events", Integer, "completed events"),
    column("read", Integer, "statements that returned a result set"),
    column("write", Integer, "statements that changed a row"),
    column("other", Integer, "statements that did neither"),
    column("rows_received", Integer, "rows received"),
    column("bytes_sent", Integer, "bytes sent"),
    column("bytes_received", Integer, "bytes received"),
    column("errors", Integer, "retried errors"),
    column("latency_avg_us", Real, "mean latency of events, µs; null without events"),
    column(
        "counted_ops",
        Real,
        "operations while the counters below ran, which include warm parts; null for published results",
    ),
];

/// The columns of counters, which come last: the counter, the name of its column, and its meaning.
const COUNTERS: [(&str, &str, &str); 15] = [
    ("client_cpu_ns", "client_cpu_ns", "CPU time of the clients, ns; null if it was not read"),
    (
        "connection_cpu_ns",
        "connection_cpu_ns",
        "CPU time of the server's threads that serve connections, ns",
    ),
    ("connection_runq_ns", "connection_runq_ns", "time that they waited for a CPU, ns"),
    ("connection_disk_wait_ns", "connection_disk_wait_ns", "time that they waited for disks, ns"),
    ("connection_context_switches", "connection_context_switches", "their context switches"),
    ("background_cpu_ns", "background_cpu_ns", "CPU time of the server's other threads, ns"),
    ("background_context_switches", "background_context_switches", "their context switches"),
    ("server_read_bytes", "server_read_bytes", "bytes that the server fetched from block devices"),
    (
        "server_write_bytes",
        "server_write_bytes",
        "bytes that the server sent towards block devices",
    ),
    ("host_busy_ns", "host_busy_ns", "CPU time of the whole machine during the round, ns"),
    ("host_steal_ns", "host_steal_ns", "CPU time that the hypervisor took, ns"),
    ("host_other_ns", "host_other_ns", "CPU time of processes outside of the study, ns"),
    ("host_device_reads", "device_reads", "reads of the block device with the data"),
    ("host_device_writes", "device_writes", "writes of this device"),
    (
        "server_instructions",
        "server_instructions",
        "instructions of the server outside the kernel; null unless the processor counted them all the time",
    ),
];

pub(crate) fn slices(studies: &[Exported]) -> Table {
    let rows = studies.iter().flat_map(|it| {
        it.record.slices.iter().zip(1_u64..).map(|(slice, number)| row(it, slice, number))
    });
    let of_counter = |(_, name, about)| column(name, Integer, about);
    let columns = SLICES.iter().cloned().chain(COUNTERS.map(of_counter)).collect();
    let about =
        "One row for each slice, whatever its outcome: what was counted, before any judgement.";
    Table { name: "slices", about, columns, rows: rows.collect() }
}

fn row(it: &Exported, slice: &Slice, number: u64) -> Vec<Value> {
    let work = &slice.work;
    // Published results leave most of it out, and of a published rate nothing else was counted.
    let (is_reported, is_counted) = (it.record.is_reported(), it.record.is_counted(slice));
    let of_slice = |figure: f64| Value::from(is_counted.then_some(figure));
    let counted =
        |number: u64| Some(number).filter(|it| !is_reported || is_counted && *it > 0).into();
    let latency_us = slice.work.event_ns_sum as f64 / 1e3 / slice.work.events as f64;
    let (outcome, failure) = match &slice.outcome {
        SliceOutcome::Good => ("good", None),
        SliceOutcome::Troubled => ("troubled", None),
        SliceOutcome::Failed(why) => ("failed", Some(why.as_str())),
        SliceOutcome::Unanswered(why) => ("unanswered", Some(why.as_str())),
    };
    let mut row = vec![it.record.study.id.as_str().into(), number.into()];
    row.extend(key(slice.cell));
    row.extend([
        system(&it.record, slice.system),
        (slice.run + 1).into(),
        slice.block.into(),
        slice.round.into(),
        slice.position.into(),
        (!is_reported).then_some(slice.started_ms).into(),
        outcome.into(),
        failure.into(),
        trouble(&slice.trouble).into(),
        slice.ops_per_second().into(),
        of_slice(slice.ops()),
        of_slice(work.elapsed_ns as f64 / 1e9),
        counted(work.events),
        counted(work.read),
        counted(work.write),
        counted(work.other),
        counted(work.rows),
        counted(work.bytes_sent),
        counted(work.bytes_received),
        counted(work.error_count()),
        (is_counted && work.event_ns_sum > 0).then_some(latency_us).into(),
        (!is_reported).then(|| slice.counted_ops()).into(),
    ]);
    row.extend(COUNTERS.map(|(name, ..)| slice.counter(name).into()));
    row
}

fn trouble(kinds: &[Trouble]) -> Option<String> {
    let word = |kind: &Trouble| match kind {
        Trouble::Steal => "steal",
        Trouble::OtherProcess => "other-process",
        Trouble::ClockJump => "clock-jump",
        Trouble::Throttled => "throttled",
    };
    (!kinds.is_empty()).then(|| kinds.iter().map(word).collect::<Vec<_>>().join(","))
}

const SERIES: &[Column] = &[
    column("study", Text, "name of the study"),
    column("slice", Integer, "number of the slice, as in `slices`"),
    column("name", Text, "what is counted"),
    column("second", Real, "when the step begins, seconds since the measured part began"),
    column("step_s", Real, "length of the step, seconds"),
    column("count", Integer, "the count of the step"),
];

pub(crate) fn series(studies: &[Exported]) -> Table {
    let mut rows = Vec::new();
    for it in studies {
        let ids = it.record.slices.iter().map(Slice::id).zip(1_u64..);
        let numbers: HashMap<SliceId, u64> = ids.collect();
        for (slice, series) in &it.series {
            let step_s = f64::from(series.step_ms) / 1e3;
            for (count, step) in series.counts.iter().zip(0_u32..) {
                rows.push(vec![
                    it.record.study.id.as_str().into(),
                    numbers.get(slice).copied().into(),
                    series.name.as_str().into(),
                    (f64::from(step) * step_s).into(),
                    step_s.into(),
                    (*count).into(),
                ]);
            }
        }
    }
    let about = "One row for each step of a series of a slice, where series were recorded.";
    Table { name: "series", about, columns: SERIES.into(), rows }
}
