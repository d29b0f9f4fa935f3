//! Exit codes and their meanings. The reference page takes them from here.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Undecided cells are a normal result.
    Done = 0,
    LimitExceeded = 1,
    Error = 2,
    Incomplete = 3,
    Interrupted = assay_run::interrupt::INTERRUPTED as isize,
}

impl Exit {
    pub const ALL: [Self; 5] =
        [Self::Done, Self::LimitExceeded, Self::Error, Self::Incomplete, Self::Interrupted];

    /// Commands add their own reasons (`Arguments::EXITS`).
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "Done. Undecided tests are a normal result of a comparison",
            Self::LimitExceeded => "What the command checks is not as it should be",
            Self::Error => {
                "Wrong use, or the environment does not permit the run. What was measured before is kept, and \
                 `assay resume` continues the study"
            }
            Self::Incomplete => {
                "Finished, but incomplete: a test could not be measured, or a system could not be obtained"
            }
            Self::Interrupted => {
                "Interrupted. What was measured is in the ledger, and `assay resume` continues the study"
            }
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
