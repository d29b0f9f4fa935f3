//! Counters of slices, added up and divided by their operations.

use assay_model::{ServerCounters, Slice};

use crate::account::{Account, PerOp, ServerPerOp};

/// Sums over slices. A counter that one of them lacks is `None`, because the share of the others is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Totals {
    ops: f64,
    /// Clients times wall time, microseconds, as all times here.
    time: f64,
    client: Option<ClientTotals>,
    server: Option<ServerTotals>,
    device: Option<DeviceTotals>,
}

/// Sums of the clients' counters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ClientTotals {
    cpu: f64,
    switches: f64,
}

/// Sums of the counters of the block device that holds the data.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DeviceTotals {
    reads: f64,
    read_kb: f64,
    write_kb: f64,
}

/// Sums of the server's counters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ServerTotals {
    cpu: f64,
    user: f64,
    sys: f64,
    runq: f64,
    disk_wait: Option<f64>,
    background_cpu: f64,
    switches: f64,
    read_kb: f64,
    write_kb: f64,
}

impl Totals {
    /// The counters of a slice.
    pub(crate) fn of(slice: &Slice) -> Self {
        Self {
            ops: slice.counted_ops(),
            time: f64::from(slice.cell.setup.clients.max(1)) * us(slice.counted_ns()),
            client: slice.client.map(|it| ClientTotals {
                cpu: us(it.tasks.cpu_ns),
                switches: it.tasks.context_switches as f64,
            }),
            server: slice.server.as_ref().map(ServerTotals::of),
            device: slice.host.and_then(|it| it.device).map(|it| DeviceTotals {
                reads: it.reads as f64,
                read_kb: it.read_kb as f64,
                write_kb: it.write_kb as f64,
            }),
        }
    }

    /// The sum of several; `None` of nothing.
    pub(crate) fn sum(all: impl Iterator<Item = Self>) -> Option<Self> {
        all.reduce(|one, other| Self {
            ops: one.ops + other.ops,
            time: one.time + other.time,
            client: one.client.zip(other.client).map(|(one, other)| ClientTotals {
                cpu: one.cpu + other.cpu,
                switches: one.switches + other.switches,
            }),
            server: one.server.zip(other.server).map(|(one, other)| one.plus(other)),
            device: one.device.zip(other.device).map(|(one, other)| DeviceTotals {
                reads: one.reads + other.reads,
                read_kb: one.read_kb + other.read_kb,
                write_kb: one.write_kb + other.write_kb,
            }),
        })
    }

    /// Means per operation; `None` without operations. `shares_cpu` says whether a single client shares a CPU with the
    /// threads that serve it.
    pub(crate) fn per_op(&self, shares_cpu: bool) -> Option<PerOp> {
        let ops = self.ops;
        if ops <= 0.0 {
            return None;
        }
        let of = |sum: f64| sum / ops;
        let server = |totals: ServerTotals| {
            let disk_wait = totals.disk_wait.map(of);
            let rest = Account {
                time_us: of(self.time),
                client_us: self.client.map_or(0.0, |it| of(it.cpu)),
                thread_us: of(totals.cpu) + of(totals.runq) + disk_wait.unwrap_or(0.0),
                runq_us: of(totals.runq),
            }
            .rest(shares_cpu);
            ServerPerOp {
                cpu_us: of(totals.cpu),
                user_us: of(totals.user),
                sys_us: of(totals.sys),
                runq_us: rest.map_or(of(totals.runq), |rest| rest.runq_us),
                disk_wait_us: disk_wait,
                overlap_us: rest.map(|rest| rest.overlap_us),
                other_wait_us: rest.map(|rest| rest.other_us),
                background_cpu_us: of(totals.background_cpu),
                cs: of(totals.switches),
            }
        };
        Some(PerOp {
            time_us: of(self.time),
            client_cpu_us: self.client.map(|it| of(it.cpu)),
            client_cs: self.client.map(|it| of(it.switches)),
            server: self.server.map(server),
            reads: self.device.map(|it| of(it.reads)),
            device_read_kb: self.device.map(|it| of(it.read_kb)),
            device_write_kb: self.device.map(|it| of(it.write_kb)),
            read_kb: self.server.map(|it| of(it.read_kb)),
            write_kb: self.server.map(|it| of(it.write_kb)),
        })
    }
}

/// Means over slices; `None` without operations. `shares_cpu` is that of [`Totals::per_op`].
pub(crate) fn per_op<'a>(
    slices: impl Iterator<Item = &'a Slice>,
    shares_cpu: bool,
) -> Option<PerOp> {
    Totals::sum(slices.map(Totals::of))?.per_op(shares_cpu)
}

impl ServerTotals {
    fn of(server: &ServerCounters) -> Self {
        let (connections, background) = (server.connections, server.background);
        Self {
            cpu: us(connections.cpu_ns),
            user: us(connections.user_ns),
            sys: us(connections.sys_ns),
            runq: us(connections.runq_ns),
            disk_wait: connections.disk_wait_ns.map(us),
            background_cpu: us(background.cpu_ns),
            switches: connections.context_switches as f64 + background.context_switches as f64,
            read_kb: server.read_bytes as f64 / 1024.0,
            write_kb: server.write_bytes as f64 / 1024.0,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            user: self.user + other.user,
            sys: self.sys + other.sys,
            runq: self.runq + other.runq,
            disk_wait: self.disk_wait.zip(other.disk_wait).map(|(one, other)| one + other),
            background_cpu: self.background_cpu + other.background_cpu,
            switches: self.switches + other.switches,
            read_kb: self.read_kb + other.read_kb,
            write_kb: self.write_kb + other.write_kb,
        }
    }
}

fn us(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}
