//! Sums of counters over slices.

use assay_model::{Counters, Slice};

/// Sums over slices of a cell. A counter missing in one slice is omitted, because its share is unknown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SliceTotals {
    pub(crate) ops: f64,
    pub(crate) clients: u32,
    pub(crate) ns: u64,
    /// Measured part of `ns`.
    pub(crate) measured_ns: u64,
    pub(crate) counters: Counters,
}

impl SliceTotals {
    pub(crate) fn of_slices<'a>(mut slices: impl Iterator<Item = &'a Slice>) -> Option<Self> {
        let first = slices.next()?;
        let mut total = Self {
            ops: first.counted_ops(),
            clients: first.cell.setup.clients.max(1),
            ns: first.counted_ns(),
            measured_ns: first.work.elapsed_ns,
            counters: first.counters.clone(),
        };
        for slice in slices {
            let ns = [slice.counted_ns(), slice.work.elapsed_ns];
            total.add(slice.counted_ops(), ns, &slice.counters);
        }
        Some(total)
    }

    pub(crate) fn sum<'a>(mut totals: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let mut sum = totals.next()?.clone();
        for Self { ops, ns, measured_ns, counters, .. } in totals {
            sum.add(*ops, [*ns, *measured_ns], counters);
        }
        Some(sum)
    }

    fn add(&mut self, ops: f64, [ns, measured_ns]: [u64; 2], counters: &Counters) {
        self.ops += ops;
        self.ns = self.ns.saturating_add(ns);
        self.measured_ns = self.measured_ns.saturating_add(measured_ns);
        self.counters.add(counters);
    }
}
