//! Largest numbers and longest values in a ledger.

pub(crate) use assay_model::limits::{COUNT_MAX, COUNTER_MAX};

/// Longest request. It is rewritten as a study file and parsed, which takes many times its size.
pub(crate) const REQUEST_BYTES: usize = 1 << 20;

/// Maximum events and audit findings of a study. Each takes some KiB in memory.
pub(crate) const EVENTS: usize = 200_000;
pub(crate) const FINDINGS: usize = 50_000;

/// Maximum documents of a study, of all names.
pub(crate) const DOCUMENTS: usize = 8 * assay_model::limits::RESULTS;

/// Longest value, MiB. A histogram takes a few KiB, the description of a build some tens of KiB.
pub(crate) const VALUE_MIB: i32 = 16;
