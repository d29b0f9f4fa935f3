//! Where time and hardware went, per operation, and latency.

use assay_model::{Host, Slice};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// Means per operation: a counter's total over good slices divided by their operations. Microseconds unless named.
///
/// For `scan` an operation is a thousand rows read by any client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerOp {
    /// Clients times wall time.
    pub time_us: f64,
    /// CPU of assay's clients; none when never measured.
    pub client_cpu_us: Option<f64>,
    /// What the server used; none when never measured.
    pub server: Option<ServerPerOp>,
    /// Reads completed by the block device that holds the data; none when there is none that counts.
    pub reads: Option<f64>,
    /// KiB that the server fetched from block devices; none when never measured.
    pub read_kb: Option<f64>,
    /// KiB that the server sent towards block devices; none when never measured.
    pub write_kb: Option<f64>,
}

/// The server's part of [`PerOp`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerPerOp {
    /// CPU of the threads that serve the connections.
    pub cpu_us: f64,
    /// User part of it, at the resolution of the kernel's tick.
    pub user_us: f64,
    /// System part of it, at the resolution of the kernel's tick.
    pub sys_us: f64,
    /// Those threads runnable but waiting for a CPU.
    pub runq_us: f64,
    /// Those threads waiting for block devices; none where the kernel does not account it.
    pub disk_wait_us: Option<f64>,
    /// The rest of the time per operation: locks, network, waking up, and the disk where that is unknown. Overlap can
    /// make it negative.
    pub other_wait_us: f64,
    /// CPU of all other threads of the server.
    pub background_cpu_us: f64,
    /// Context switches of the whole server.
    pub cs: f64,
}

/// Latency of events, microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Operations of all clients together.
pub(crate) fn operations(slice: &Slice) -> f64 {
    slice.ops()
}

/// Server CPU per operation, connections and background together, nanoseconds.
pub(crate) fn server_cpu_per_op(slice: &Slice) -> Option<f64> {
    let cpu = slice.server.connections.cpu_ns + slice.server.background.cpu_ns;
    let ops = operations(slice);
    (cpu > 0 && ops > 0.0).then(|| cpu as f64 / ops)
}

/// Sums counters over slices; none without operations.
pub(crate) fn per_op<'a>(slices: impl Iterator<Item = &'a Slice>, host: &Host) -> Option<PerOp> {
    let slices: Vec<&Slice> = slices.collect();
    let ops: f64 = slices.iter().map(|slice| operations(slice)).sum();
    if ops <= 0.0 {
        return None;
    }
    let per_op =
        |counter: &dyn Fn(&Slice) -> f64| slices.iter().map(|s| counter(s)).sum::<f64>() / ops;
    let us = |counter: fn(&Slice) -> u64| per_op(&|slice| counter(slice) as f64 / 1e3);
    let time_us =
        per_op(&|s| f64::from(s.cell.setup.clients.max(1)) * s.work.elapsed_ns as f64 / 1e3);
    let client_cpu_us = measured(us(|s| s.client.tasks.cpu_ns));
    let server = measured(us(|s| s.server.connections.cpu_ns)).map(|cpu_us| {
        let runq_us = us(|s| s.server.connections.runq_ns);
        let disk_wait_us = host.counts_disk_wait.then(|| us(|s| s.server.connections.disk_wait_ns));
        let known_us = client_cpu_us.unwrap_or(0.0) + cpu_us + runq_us;
        ServerPerOp {
            cpu_us,
            user_us: us(|s| s.server.connections.user_ns),
            sys_us: us(|s| s.server.connections.sys_ns),
            runq_us,
            disk_wait_us,
            other_wait_us: time_us - known_us - disk_wait_us.unwrap_or(0.0),
            background_cpu_us: us(|s| s.server.background.cpu_ns),
            cs: per_op(&|s| {
                (s.server.connections.context_switches + s.server.background.context_switches)
                    as f64
            }),
        }
    });
    Some(PerOp {
        time_us,
        client_cpu_us,
        server,
        // Of a server elsewhere the device is not this machine's.
        reads: (host.counts_device && server.is_some())
            .then(|| per_op(&|s| s.host.device_reads as f64)),
        read_kb: server.map(|_| per_op(&|s| s.server.read_bytes as f64 / 1024.0)),
        write_kb: server.map(|_| per_op(&|s| s.server.write_bytes as f64 / 1024.0)),
    })
}

/// Nothing runs without CPU: a total of zero was never measured.
fn measured(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

/// Merges the histograms of slices; none when one is missing or unreadable.
pub(crate) fn latency<'a>(slices: impl Iterator<Item = &'a Slice>) -> Option<Latency> {
    let mut merged = Histogram::<u64>::new(3).ok()?;
    let mut deserializer = Deserializer::new();
    for slice in slices {
        let histogram: Histogram<u64> =
            deserializer.deserialize(&mut slice.work.latency_hdr.as_slice()).ok()?;
        merged.add(histogram).ok()?;
    }
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    (!merged.is_empty()).then(|| Latency {
        p50: us(merged.value_at_quantile(0.50)),
        p95: us(merged.value_at_quantile(0.95)),
        p99: us(merged.value_at_quantile(0.99)),
        max: us(merged.max()),
    })
}
