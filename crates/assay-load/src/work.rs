//! What the clients of a session are to do.

use assay_model::{Dialect, Setup, StatementMode, Test};
use assay_workloads::Program;

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

impl Work {
    /// Where a user's test has each of the statements that are timed apart: the numbers of the kind of events and of
    /// the step. None in other tests, and where there is one statement only.
    #[must_use]
    pub fn places(&self) -> Vec<(u32, u32)> {
        if self.test.user_data().is_none() {
            return Vec::new();
        }
        Program::new(self.dialect, self.test, self.setup, self.statements).places()
    }
}
