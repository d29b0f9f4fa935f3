//! What an audit asks.

use assay_model::{DataSet, Setup, StatementMode, Test};

use super::study_tables::Warm;

/// The questions of an audit.
pub(crate) struct Questions<'a> {
    /// The data in the tables.
    pub(crate) data: DataSet,
    /// The tests whose statements are explained.
    pub(crate) tests: &'a [Test],
    /// How statements are sent.
    pub(crate) statements: StatementMode,
    /// Seed of the values in statements.
    pub(crate) seed: u64,
    /// That the server's caches are filled. Without it, no statement can be explained.
    pub(crate) warm: Option<&'a Warm>,
}

/// Clients and tables do not affect plans.
pub(super) fn setup(data: DataSet) -> Setup {
    Setup { clients: 1, tables: 1, rows: data.rows }
}
