//! The largest numbers and the longest values that assay writes to a ledger or reads from one.

/// The largest counter of a slice. The sum of a few such counters does not overflow.
pub(crate) const COUNTER_MAX: u64 = 1 << 60;

/// The largest number of events or errors of a slice. Their sum over all slices does not overflow.
pub(crate) const COUNT_MAX: u64 = 1 << 40;

/// The longest value, MiB. A histogram takes a few KiB, the description of a build some tens of KiB.
pub(crate) const VALUE_MIB: i32 = 16;
