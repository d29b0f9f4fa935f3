//! What the clients of a session are to do.

use assay_model::{Dialect, Setup, StatementMode, Test};

/// The work of a session's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Work {
    /// Family of the server.
    pub dialect: Dialect,
    /// The test.
    pub test: Test,
    /// How many clients, on what data.
    pub setup: Setup,
    /// How statements are sent.
    pub statements: StatementMode,
    /// Seed of all parameters.
    pub seed: u64,
}
