//! The work of a session's clients.

use assay_model::{Dialect, Setup, StatementMode, Test};
use assay_workloads::Program;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Work {
    pub dialect: Dialect,
    pub test: Test,
    pub setup: Setup,
    pub statements: StatementMode,
    pub seed: u64,
}

impl Work {
    /// Places of the separately timed statements of a user's test: numbers of the event kind and of the step. Empty for
    /// other tests, and where there is only one statement.
    #[must_use]
    pub fn places(&self) -> Vec<(u32, u32)> {
        if self.test.user_data().is_none() {
            return Vec::new();
        }
        Program::new(self.dialect, self.test, self.setup, self.statements).places()
    }
}
