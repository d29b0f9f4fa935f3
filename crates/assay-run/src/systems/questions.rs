//! The questions of an audit.

use assay_model::{DataSet, Setup, StatementMode, Test};

use super::study_tables::Warm;

pub struct Questions<'a> {
    pub data: DataSet,
    pub tests: &'a [Test],
    pub statements: StatementMode,
    pub seed: u64,
    /// Proof of filled caches; without it, no statement is explained.
    pub warm: Option<&'a Warm>,
}

/// Clients and tables do not affect plans.
pub(super) fn setup(data: DataSet) -> Setup {
    Setup { clients: 1, tables: 1, rows: data.rows }
}
