//! Largest numbers and longest values in a ledger.

/// Maximum counter of a slice. The sum of a few does not overflow.
pub(crate) const COUNTER_MAX: u64 = 1 << 60;

/// Maximum events or errors of a slice. The sum over all slices does not overflow.
pub(crate) const COUNT_MAX: u64 = 1 << 40;

/// Longest value, MiB. A histogram takes a few KiB, the description of a build some tens of KiB.
pub(crate) const VALUE_MIB: i32 = 16;
