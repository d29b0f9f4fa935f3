//! What slices counted, added up.

use std::borrow::Borrow;

use assay_model::{Counters, Slice};

/// Sums over slices of a cell. A counter that one of them lacks is missing, because the share of the others is not
/// known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Totals {
    pub(crate) ops: f64,
    /// The clients of the cell.
    pub(crate) clients: u32,
    /// Time for which they worked, nanoseconds.
    pub(crate) ns: u64,
    /// The part of it that was measured, nanoseconds.
    pub(crate) measured_ns: u64,
    pub(crate) counters: Counters,
}

impl Totals {
    /// The counters of a slice.
    pub(crate) fn of(slice: &Slice) -> Self {
        Self {
            ops: slice.counted_ops(),
            clients: slice.cell.setup.clients.max(1),
            ns: slice.counted_ns(),
            measured_ns: slice.work.elapsed_ns,
            counters: slice.counters.clone(),
        }
    }

    /// The sum of several; `None` of nothing.
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

    /// The sum of several slices; `None` of nothing.
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
