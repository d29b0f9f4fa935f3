//! What slices counted, added up and divided by their operations.

use std::borrow::Borrow;

use assay_model::{Counters, Slice};

use crate::account::Account;
use crate::figures::{Of, PER_OP, PerOp};

/// Sums over slices of a cell. A counter that one of them lacks is missing, because the share of the others is not
/// known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Totals {
    ops: f64,
    /// The clients of the cell.
    pub(crate) clients: u32,
    /// Time for which they worked, nanoseconds.
    pub(crate) ns: u64,
    pub(crate) counters: Counters,
}

impl Totals {
    /// The counters of a slice.
    pub(crate) fn of(slice: &Slice) -> Self {
        Self {
            ops: slice.counted_ops(),
            clients: slice.cell.setup.clients.max(1),
            ns: slice.counted_ns(),
            counters: slice.counters.clone(),
        }
    }

    /// The sum of several; `None` of nothing.
    pub(crate) fn sum<T: Borrow<Self>>(mut all: impl Iterator<Item = T>) -> Option<Self> {
        let mut sum = all.next()?.borrow().clone();
        for more in all {
            let Self { ops, ns, counters, .. } = more.borrow();
            sum.ops += ops;
            sum.ns = sum.ns.saturating_add(*ns);
            sum.counters.add(counters);
        }
        Some(sum)
    }

    /// The sum of several slices; `None` of nothing.
    pub(crate) fn of_all<'a>(mut slices: impl Iterator<Item = &'a Slice>) -> Option<Self> {
        let mut sum = Self::of(slices.next()?);
        for slice in slices {
            sum.ops += slice.counted_ops();
            sum.ns = sum.ns.saturating_add(slice.counted_ns());
            sum.counters.add(&slice.counters);
        }
        Some(sum)
    }

    /// Means per operation; `None` without operations. `shares_cpu` says whether a single client shares a CPU with the
    /// threads that serve it.
    pub(crate) fn per_op(&self, shares_cpu: bool) -> Option<PerOp> {
        let mean = |at: usize| match PER_OP.get(at)?.of {
            Of::Counted(of) => Some(of(self)? / self.ops),
            Of::Latency(_) | Of::Follows(_) => None,
        };
        let means = PerOp(std::array::from_fn(mean));
        (self.ops > 0.0).then(|| followed(means, shares_cpu))
    }
}

/// Means over slices; `None` without operations. `shares_cpu` is that of [`Totals::per_op`].
pub(crate) fn per_op<'a>(
    slices: impl Iterator<Item = &'a Slice>,
    shares_cpu: bool,
) -> Option<PerOp> {
    Totals::of_all(slices)?.per_op(shares_cpu)
}

/// These figures, and those that follow from them. `shares_cpu` is that of [`Totals::per_op`].
fn followed(mut means: PerOp, shares_cpu: bool) -> PerOp {
    let thread = means.get("server_cpu_us").zip(means.get("scheduled_runq_us"));
    let account = thread.map(|(cpu_us, runq_us)| Account {
        time_us: means.time_us(),
        client_us: means.get("client_cpu_us").unwrap_or(0.0),
        thread_us: cpu_us + runq_us + means.get("disk_wait_us").unwrap_or(0.0),
        runq_us,
    });
    let rest = account.and_then(|account| account.rest(shares_cpu));
    for (at, figure) in PER_OP.iter().enumerate() {
        let Of::Follows(of) = figure.of else { continue };
        let value = of(&means, rest.as_ref());
        if let Some(place) = means.0.get_mut(at) {
            *place = value;
        }
    }
    means
}
