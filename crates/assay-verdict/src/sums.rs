//! Sums of counters over slices.

use std::borrow::Borrow;

use assay_model::{Counters, Slice};

/// Sums over slices of a cell. A counter missing in one slice is omitted, because its share is unknown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Totals {
    pub(crate) ops: f64,
    pub(crate) clients: u32,
    pub(crate) ns: u64,
    /// Measured part of `ns`.
    pub(crate) measured_ns: u64,
    pub(crate) counters: Counters,
}

impl Totals {
    pub(crate) fn of(slice: &Slice) -> Self {
        Self {
            ops: slice.counted_ops(),
            clients: slice.cell.setup.clients.max(1),
            ns: slice.counted_ns(),
            measured_ns: slice.work.elapsed_ns,
            counters: slice.counters.clone(),
        }
    }

    pub(crate) fn sum<T: Borrow<Self>>(mut all: impl Iterator<Item = T>) -> Option<Self> {
        let mut sum = all.next()?.borrow().clone();
        for more in all {
            let Self { ops, ns, measured_ns, counters, .. } = more.borrow();
            sum.ops += ops;
            sum.ns = sum.ns.saturating_add(*ns);
            sum.measured_ns = sum.measured_ns.saturating_add(*measured_ns);
            sum.counters.add(counters);
        }
        Some(sum)
    }

    pub(crate) fn of_all<'a>(mut slices: impl Iterator<Item = &'a Slice>) -> Option<Self> {
        let mut sum = Self::of(slices.next()?);
        for slice in slices {
            sum.ops += slice.counted_ops();
            sum.ns = sum.ns.saturating_add(slice.counted_ns());
            sum.measured_ns = sum.measured_ns.saturating_add(slice.work.elapsed_ns);
            sum.counters.add(&slice.counters);
        }
        Some(sum)
    }
}
