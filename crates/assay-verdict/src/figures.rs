//! The figures of a system in a cell. A row is all that there is of a figure: JSON, CSV, the page and the reference
//! follow from the rows.

use assay_model::{RESPONSE_CLASSES, StudyRecord, TpccKind, response_bound_us};

use crate::CellJudgement;
use crate::account::{Account, AccountRest, Latency};
use crate::slice_totals::SliceTotals;

#[derive(Debug, Clone, Copy)]
pub struct CellFigure {
    /// Name in files, which ends with its unit.
    pub key: &'static str,
    /// `µs`, `KiB`; empty for a count.
    pub unit: &'static str,
    pub about: &'static str,
    pub place: FigurePlace,
    /// Heading for a narrow column of a page; empty if the page omits it.
    pub heading: &'static str,
    /// Whether only some tests or machines have it. Pages omit it if no test has it.
    pub is_rare: bool,
    pub(crate) source: FigureSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigurePlace {
    Files,
    /// In all files; in CSV, after all other columns, whose positions are fixed.
    FilesLast,
    /// In no file: it is for pages or input for other figures.
    Nowhere,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum FigureSource {
    Latency(fn(&Latency) -> Option<f64>),
    /// From the slices' summed counters, to be divided by operations. Known if all slices counted it.
    Counted(fn(&SliceTotals) -> Option<f64>),
    /// From summed counters of some tests. Unknown, and hidden, for other tests.
    Whole(fn(&SliceTotals) -> Option<f64>),
    /// Computed from preceding figures, and from the rest of the time per operation, if known.
    Follows(fn(&PerOp, Option<&AccountRest>) -> Option<f64>),
}

impl CellFigure {
    pub fn value(&self, cell: &CellJudgement) -> Option<f64> {
        match self.source {
            FigureSource::Latency(compute) => cell.latency.as_ref().and_then(compute),
            FigureSource::Counted(_) | FigureSource::Whole(_) | FigureSource::Follows(_) => {
                cell.per_op?.get(self.key)
            }
        }
    }

    pub fn of_latency(&self, latency: &Latency) -> Option<f64> {
        match self.source {
            FigureSource::Latency(compute) => compute(latency),
            FigureSource::Counted(_) | FigureSource::Whole(_) | FigureSource::Follows(_) => None,
        }
    }

    pub fn meaning(&self) -> String {
        match self.unit {
            "" => self.about.to_owned(),
            unit => format!("{}, {unit}", self.about),
        }
    }

    /// Whether files have it.
    pub fn is_in_files(&self) -> bool {
        self.place != FigurePlace::Nowhere
    }

    const fn row(
        key: &'static str,
        unit: &'static str,
        about: &'static str,
        source: FigureSource,
    ) -> Self {
        let is_rare = matches!(source, FigureSource::Whole(_));
        Self { key, unit, about, place: FigurePlace::Files, heading: "", is_rare, source }
    }

    const fn at(self, place: FigurePlace) -> Self {
        Self { place, ..self }
    }

    const fn headed(self, heading: &'static str) -> Self {
        Self { heading, ..self }
    }

    const fn rare(self) -> Self {
        Self { is_rare: true, ..self }
    }
}

const fn latency(
    key: &'static str,
    about: &'static str,
    compute: fn(&Latency) -> Option<f64>,
) -> CellFigure {
    CellFigure::row(key, "µs", about, FigureSource::Latency(compute))
}

const fn counted(
    key: &'static str,
    unit: &'static str,
    about: &'static str,
    compute: fn(&SliceTotals) -> Option<f64>,
) -> CellFigure {
    CellFigure::row(key, unit, about, FigureSource::Counted(compute))
}

const fn whole(
    key: &'static str,
    unit: &'static str,
    about: &'static str,
    compute: fn(&SliceTotals) -> Option<f64>,
) -> CellFigure {
    CellFigure::row(key, unit, about, FigureSource::Whole(compute)).at(FigurePlace::FilesLast)
}

const fn follows(
    key: &'static str,
    unit: &'static str,
    about: &'static str,
    compute: fn(&PerOp, Option<&AccountRest>) -> Option<f64>,
) -> CellFigure {
    CellFigure::row(key, unit, about, FigureSource::Follows(compute))
}

pub const LATENCIES: &[CellFigure] = &[
    latency("latency_avg_us", "mean latency of events", |latency| latency.mean)
        .at(FigurePlace::FilesLast),
    latency("latency_p50_us", "median latency of events", |latency| latency.p50).headed("p50 µs"),
    latency("latency_p95_us", "95th percentile of the latency of events", |latency| latency.p95)
        .headed("p95 µs"),
    latency("latency_p99_us", "99th percentile of the latency of events", |latency| latency.p99)
        .headed("p99 µs"),
    latency("latency_max_us", "largest latency of events", |latency| latency.max),
];

/// Time and hardware per operation. For `scan`, an operation is a thousand rows read by any client.
pub const PER_OP: &[CellFigure] = &[
    counted("time_us", "µs", "clients × time per operation", |total| {
        Some(f64::from(total.clients) * us(total.ns))
    }),
    counted("client_cpu_us", "µs", "CPU time per operation of assay's clients", |total| {
        total.counters.get("client_cpu_ns").map(us)
    })
    .headed("client µs/op"),
    counted(
        "server_cpu_us",
        "µs",
        "CPU time per operation of the threads that serve connections",
        |total| total.counters.get("connection_cpu_ns").map(us),
    ),
    counted("server_user_us", "µs", "the part of `server_cpu_us` outside the kernel", |total| {
        total.counters.get("connection_user_ns").map(us)
    }),
    counted("server_sys_us", "µs", "the part of `server_cpu_us` in the kernel", |total| {
        total.counters.get("connection_sys_ns").map(us)
    }),
    counted("scheduled_runq_us", "µs", "time of these threads on the run queue", |total| {
        total.counters.get("connection_runq_ns").map(us)
    })
    .at(FigurePlace::Nowhere),
    follows(
        "runq_us",
        "µs",
        "time that these threads waited for a CPU, per operation",
        |per_op, rest| rest.map(|rest| rest.runq_us).or(per_op.get("scheduled_runq_us")),
    ),
    counted(
        "disk_wait_us",
        "µs",
        "time that these threads waited for disks, per operation",
        |total| total.counters.get("connection_disk_wait_ns").map(us),
    ),
    follows(
        "other_wait_us",
        "µs",
        "the rest of the time per operation",
        |_, rest| Some(rest?.other_us),
    ),
    follows(
        "overlap_us",
        "µs",
        "time per operation that is both in `client_cpu_us` and in a term of the server",
        |_, rest| Some(rest?.overlap_us),
    )
    .at(FigurePlace::FilesLast),
    follows(
        "all_cpu_us",
        "µs",
        "CPU time per operation of all threads of the server, as in the ratio",
        |per_op, _| Some(per_op.get("server_cpu_us")? + per_op.get("background_cpu_us")?),
    )
    .at(FigurePlace::Nowhere)
    .headed("server µs/op"),
    counted(
        "background_cpu_us",
        "µs",
        "CPU time per operation of the server's threads that serve no connection",
        |total| total.counters.get("background_cpu_ns").map(us),
    )
    .headed("backgr. µs/op"),
    counted(
        "short_lived_cpu_us",
        "µs",
        "CPU time per operation of the server's threads that began and ended between two readings, such as those that \
         a statement starts; no part of the other figures",
        |total| total.counters.get("server_short_lived_cpu_ns").map(us),
    )
    .at(FigurePlace::FilesLast),
    follows(
        "cpu_wait_us",
        "µs",
        "time of serving threads on the run queue, except while their own client has the CPU",
        |per_op, _| Some((per_op.get("runq_us")? - per_op.get("overlap_us")?).max(0.0)),
    )
    .at(FigurePlace::Nowhere)
    .headed("CPU wait µs/op"),
    follows(
        "wait_us",
        "µs",
        "all other waiting: locks, network, wake-ups, disk; – if the counters cannot tell, as for CPU wait",
        |per_op, _| {
            Some(per_op.get("other_wait_us")? + per_op.get("disk_wait_us").unwrap_or(0.0))
        },
    )
    .at(FigurePlace::Nowhere)
    .headed("other wait µs/op"),
    counted("client_cs", "", "context switches of assay's clients per operation", |total| {
        total.counters.get("client_context_switches").map(number)
    })
    .at(FigurePlace::Nowhere),
    counted("cs", "", "context switches of the server per operation", |total| {
        let background = total.counters.get("background_context_switches").map(number)?;
        Some(total.counters.get("connection_context_switches").map(number)? + background)
    })
    .headed("cs/op"),
    counted(
        "reads",
        "",
        "reads that the block device completed per operation, for any process",
        |total| total.counters.get("host_device_reads").map(number),
    )
    .headed("reads/op"),
    counted("device_read_kb", "", "KiB read from this device per operation", |total| {
        total.counters.get("host_device_read_kb").map(number)
    })
    .at(FigurePlace::Nowhere),
    counted("device_write_kb", "", "KiB written to this device per operation", |total| {
        total.counters.get("host_device_write_kb").map(number)
    })
    .at(FigurePlace::Nowhere),
    counted("read_kb", "", "KiB that the server read from block devices per operation", |total| {
        total.counters.get("server_read_bytes").map(kb)
    }),
    counted("write_kb", "", "KiB sent to block devices per operation", |total| {
        total.counters.get("server_write_bytes").map(kb)
    })
    .headed("wKB/op"),
    whole(
        "nopm",
        "",
        "new orders that the TPC-C-like workload committed per minute of the measured parts",
        |total| per_minute(total, &[TpccKind::NewOrder]),
    )
    .headed("NOPM"),
    whole(
        "tpm",
        "",
        "transactions of the TPC-C-like workload, committed or rolled back, per minute of the measured parts",
        |total| per_minute(total, &TpccKind::ALL),
    )
    .headed("TPM"),
    whole("new_order_us", "µs", "mean response time of committed new orders", |total| {
        mean_us(total, TpccKind::NewOrder)
    })
    .headed("new order µs"),
    whole("new_order_p95_us", "µs", "95th percentile of the response time of new orders, to about 5%", |total| {
        p95_us(total, TpccKind::NewOrder)
    })
    .headed("new order p95 µs"),
    whole("payment_us", "µs", "mean response time of payments", |total| {
        mean_us(total, TpccKind::Payment)
    })
    .headed("payment µs"),
    whole("payment_p95_us", "µs", "95th percentile of the response time of payments, to about 5%", |total| {
        p95_us(total, TpccKind::Payment)
    })
    .headed("payment p95 µs"),
    whole("order_status_us", "µs", "mean response time of order status", |total| {
        mean_us(total, TpccKind::OrderStatus)
    })
    .headed("order status µs"),
    whole("order_status_p95_us", "µs", "95th percentile of the response time of order status, to about 5%", |total| {
        p95_us(total, TpccKind::OrderStatus)
    })
    .headed("order status p95 µs"),
    whole("delivery_us", "µs", "mean response time of deliveries", |total| {
        mean_us(total, TpccKind::Delivery)
    })
    .headed("delivery µs"),
    whole("delivery_p95_us", "µs", "95th percentile of the response time of deliveries, to about 5%", |total| {
        p95_us(total, TpccKind::Delivery)
    })
    .headed("delivery p95 µs"),
    whole("stock_level_us", "µs", "mean response time of stock level", |total| {
        mean_us(total, TpccKind::StockLevel)
    })
    .headed("stock level µs"),
    whole("stock_level_p95_us", "µs", "95th percentile of the response time of stock level, to about 5%", |total| {
        p95_us(total, TpccKind::StockLevel)
    })
    .headed("stock level p95 µs"),
    counted(
        "server_instructions",
        "",
        "instructions per operation of all threads of the server, outside the kernel, where the processor counts them",
        |total| total.counters.get("server_instructions").map(number),
    )
    .at(FigurePlace::FilesLast)
    .headed("instr./op")
    .rare(),
];

fn per_minute(total: &SliceTotals, kinds: &[TpccKind]) -> Option<f64> {
    let counts = kinds.iter().map(|kind| total.counters.get(kind.counter()));
    let count: u64 = counts.sum::<Option<u64>>()?;
    (total.measured_ns > 0).then(|| count as f64 / (total.measured_ns as f64 / 60e9))
}

fn mean_us(total: &SliceTotals, kind: TpccKind) -> Option<f64> {
    let count = total.counters.get(kind.counter()).filter(|count| *count > 0)?;
    let ns = total.counters.get(&format!("{}_ns", kind.counter()))?;
    Some(us(ns) / count as f64)
}

/// 95th percentile of the response time of transactions of a kind, microseconds, from their numbers by class; `None`
/// without any, or above the last class. Response times are assumed to be log-uniform within a class.
fn p95_us(total: &SliceTotals, kind: TpccKind) -> Option<f64> {
    let count = |class| total.counters.get(&kind.response_counter(class)).map(number);
    let counts: Vec<f64> = (0..RESPONSE_CLASSES).map(count).collect::<Option<_>>()?;
    let wanted = 0.95 * counts.iter().sum::<f64>();
    let mut before = 0.0;
    let (class, part) = counts.iter().enumerate().find_map(|(class, count)| {
        let part = (wanted - before) / count;
        before += count;
        (*count > 0.0 && part <= 1.0).then_some((class, part))
    })?;
    let high = number(response_bound_us(class)?);
    let low = class.checked_sub(1).and_then(response_bound_us).map_or(high / 2.0, number);
    Some(low * (high / low).powf(part))
}

/// Figures per operation: totals over the slices used by a verdict, divided by their operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerOp(pub(crate) [Option<f64>; PER_OP.len()]);

impl PerOp {
    pub fn get(&self, key: &str) -> Option<f64> {
        let at = PER_OP.iter().position(|figure| figure.key == key);
        debug_assert!(at.is_some(), "`{key}` is no figure per operation");
        self.0.get(at?).copied().flatten()
    }

    /// Clients times wall time, microseconds.
    pub fn time_us(&self) -> f64 {
        self.get("time_us").unwrap_or_default()
    }

    /// User-space share of the CPU time of serving threads; `None` if the clock did not distinguish modes.
    pub fn user_part(&self) -> Option<f64> {
        let user_us = self.get("server_user_us")?;
        let part = user_us / (user_us + self.get("server_sys_us")?);
        part.is_finite().then_some(part)
    }

    #[cfg(test)]
    pub(crate) fn of_test(figures: &[(&str, f64)]) -> Self {
        let value =
            |key: &str| figures.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
        let mut all = Self(std::array::from_fn(|at| value(PER_OP[at].key)));
        for (at, figure) in PER_OP.iter().enumerate() {
            if let (FigureSource::Follows(compute), None) = (figure.source, all.0[at]) {
                all.0[at] = compute(&all, None);
            }
        }
        all
    }
}

impl SliceTotals {
    /// Means per operation; `None` without operations. `shares_cpu`: whether a single client shares a CPU with the
    /// threads that serve it.
    pub(crate) fn per_op(&self, shares_cpu: bool) -> Option<PerOp> {
        let mut means = PerOp(std::array::from_fn(|at| match PER_OP[at].source {
            FigureSource::Counted(compute) => Some(compute(self)? / self.ops),
            FigureSource::Whole(compute) => compute(self),
            FigureSource::Latency(_) | FigureSource::Follows(_) => None,
        }));
        let thread = means.get("server_cpu_us").zip(means.get("scheduled_runq_us"));
        let account = thread.map(|(cpu_us, runq_us)| Account {
            time_us: means.time_us(),
            client_us: means.get("client_cpu_us").unwrap_or(0.0),
            thread_us: cpu_us + runq_us + means.get("disk_wait_us").unwrap_or(0.0),
            runq_us,
        });
        let rest = account.and_then(|account| account.rest(shares_cpu));
        for (at, figure) in PER_OP.iter().enumerate() {
            if let FigureSource::Follows(compute) = figure.source {
                means.0[at] = compute(&means, rest.as_ref());
            }
        }
        (self.ops > 0.0).then_some(means)
    }
}

fn number(count: u64) -> f64 {
    count as f64
}

fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

fn us(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// A hardware metric per operation as in the author's files.
#[derive(Debug, Clone, Copy)]
pub struct PublishedMetric {
    pub name: &'static str,
    /// Column in CSV, which has published values only.
    pub column: &'static str,
    pub decimals: usize,
    pub about: &'static str,
    /// assay's counterpart, on a machine with this many CPUs.
    counterpart: fn(&PerOp, f64) -> Option<f64>,
}

impl PublishedMetric {
    /// The published value, or assay's counterpart.
    pub fn value(&self, cell: &CellJudgement, record: &StudyRecord) -> Option<f64> {
        match record.is_reported() {
            true => cell.published(self.name),
            false => (self.counterpart)(cell.per_op.as_ref()?, f64::from(record.host().cpus)),
        }
    }
}

/// The author's metrics, in the order of his files.
pub const METRICS: [PublishedMetric; 5] = [
    PublishedMetric {
        name: "cpu/o",
        column: "published_cpu_o",
        decimals: 6,
        about: "CPU of the machine, client included, in percent of all CPUs, divided by QPS",
        counterpart: |per_op, cpus| {
            let server = per_op.get("server_cpu_us").zip(per_op.get("background_cpu_us"));
            let (serving, background) = server?;
            let cpu_us = per_op.get("client_cpu_us")? + serving + background;
            (cpus > 0.0).then(|| 100.0 * cpu_us / 1e6 / cpus)
        },
    },
    PublishedMetric {
        name: "cs/o",
        column: "published_cs_o",
        decimals: 3,
        about: "context switches of the machine per operation",
        counterpart: |per_op, _| Some(per_op.get("client_cs")? + per_op.get("cs")?),
    },
    PublishedMetric {
        name: "r/o",
        column: "published_r_o",
        decimals: 3,
        about: "reads of the block device per operation",
        counterpart: |per_op, _| per_op.get("reads"),
    },
    PublishedMetric {
        name: "rKB/o",
        column: "published_rkb_o",
        decimals: 3,
        about: "KiB read from the block device per operation",
        counterpart: |per_op, _| per_op.get("device_read_kb"),
    },
    PublishedMetric {
        name: "wKB/o",
        column: "published_wkb_o",
        decimals: 3,
        about: "KiB written to the block device per operation",
        counterpart: |per_op, _| per_op.get("device_write_kb"),
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn keys_are_unique() {
        let all: Vec<&str> = LATENCIES.iter().chain(PER_OP).map(|figure| figure.key).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
    }

    fn payments(counts: &[(usize, u64)]) -> SliceTotals {
        let count = |class| counts.iter().find(|it| it.0 == class).map_or(0, |it| it.1);
        let counters = (0..RESPONSE_CLASSES)
            .map(|class| (TpccKind::Payment.response_counter(class), count(class)));
        SliceTotals { ops: 1.0, clients: 1, ns: 1, measured_ns: 1, counters: counters.collect() }
    }

    #[test]
    fn a_percentile_lies_in_its_class() {
        let p95 = |counts: &[_]| p95_us(&payments(counts), TpccKind::Payment);
        assert_eq!(p95(&[]), None);
        // The bounds around class 4 are 128 and 162 µs. All of the class but a twentieth are below.
        let found = p95(&[(4, 100)]).unwrap();
        assert!((found - 128.0 * (162.0_f64 / 128.0).powf(0.95)).abs() < 1e-9, "{found}");
        assert_eq!(p95(&[(4, 95), (9, 5)]), Some(162.0));
        let found = p95(&[(4, 94), (9, 6)]).unwrap();
        assert!((406.0..406.0 * 1.1).contains(&found), "{found}");
        assert!(p95(&[(0, 7)]).is_some_and(|it| it < 64.0));
        assert_eq!(p95(&[(4, 90), (RESPONSE_CLASSES - 1, 10)]), None);
        assert_eq!(p95_us(&payments(&[(4, 9)]), TpccKind::Delivery), None);
    }
}
