//! Counters of slices divided by operations.

use assay_model::Slice;

use crate::account::Account;
use crate::figures::{Of, PER_OP, PerOp};
use crate::sums::Totals;

impl Totals {
    /// Means per operation; `None` without operations. `shares_cpu`: whether a single client shares a CPU with the
    /// threads that serve it.
    pub(crate) fn per_op(&self, shares_cpu: bool) -> Option<PerOp> {
        let mean = |at: usize| match PER_OP.get(at)?.of {
            Of::Counted(of) => Some(of(self)? / self.ops),
            Of::Whole(of) => of(self),
            Of::Latency(_) | Of::Follows(_) => None,
        };
        let means = PerOp(std::array::from_fn(mean));
        (self.ops > 0.0).then(|| followed(means, shares_cpu))
    }
}

/// Means over slices; `None` without operations. `shares_cpu`: see [`Totals::per_op`].
pub(crate) fn per_op<'a>(
    slices: impl Iterator<Item = &'a Slice>,
    shares_cpu: bool,
) -> Option<PerOp> {
    Totals::of_all(slices)?.per_op(shares_cpu)
}

/// Adds derived figures. `shares_cpu`: see [`Totals::per_op`].
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
