//! Exit codes and their meanings. The reference page takes them from here.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Undecided cells are a normal result.
    Done = 0,
    /// A limit of a gate was exceeded, a claim does not hold, or a count differs from the map.
    LimitExceeded = 1,
    Error = 2,
    /// Finished, but a cell could not be measured, a gate or a claim is undecided, or a verification found differences.
    Incomplete = 3,
    Interrupted = assay_run::interrupt::INTERRUPTED as isize,
}

impl Exit {
    pub const ALL: [Self; 5] =
        [Self::Done, Self::LimitExceeded, Self::Error, Self::Incomplete, Self::Interrupted];

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => {
                "Done. Undecided tests are a normal result of a comparison. A gate passed."
            }
            Self::LimitExceeded => {
                "A test is slower than the limit of a gate, a claim does not hold, or a count differs from the map."
            }
            Self::Error => {
                "Wrong use, or the environment does not permit the run. What was measured before is kept, and \
                 `assay resume` continues the study."
            }
            Self::Incomplete => {
                "Finished, but incomplete: a test could not be measured, or a system could not be had; `bisect` \
                 found no change, or is not certain; `watch` could not measure or search something, or a search of it \
                 is not certain; \
                 `verify` found a difference; an import left something out; `collect` lacks a shard or its end; \
                 `workload` found nothing to measure; the server refused a statement of a dump that `load` restores; \
                 a gate has undecided tests or a claim cannot be decided, without `--allow-undecided`; `bench` sent \
                 fewer events than `--rate` asked for."
            }
            Self::Interrupted => {
                "Interrupted. What was measured is in the ledger, and `assay resume` continues the study."
            }
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
