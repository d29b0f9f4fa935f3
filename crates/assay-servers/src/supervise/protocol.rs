//! Messages between assay and a supervisor.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::binding::ServerBinding;

/// The program to run as a supervisor: one that calls [`super::main`] when given these arguments.
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// Usually the caller's own executable.
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    Code(i32),
    Signal(i32),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerJob {
    pub(crate) argv: Vec<OsString>,
    /// In addition to the common environment.
    pub(crate) env: Vec<(String, OsString)>,
    /// File to read as standard input; empty input if `None`.
    pub(crate) stdin: Option<PathBuf>,
    pub(crate) log: PathBuf,
    pub(crate) run_as: RunAs,
    pub(crate) stop_by: StopBy,
}

impl ServerJob {
    /// A program that runs as the caller, reads nothing, and ends on SIGTERM.
    pub(crate) fn new(argv: Vec<OsString>, log: PathBuf) -> Self {
        let (run_as, stop_by) = (RunAs::Caller, StopBy::Terminate);
        Self { argv, env: Vec::new(), stdin: None, log, run_as, stop_by }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunAs {
    Caller,
    /// The same user, who is `nobody` in a user namespace of the process: for a program that refuses to run as root.
    /// Its files are the caller's.
    Nobody,
    /// The real user `nobody`, who does not own root's files. [`super::hand_over`] changes the owner of its files.
    Unprivileged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopBy {
    Terminate,
    Interrupt,
}

/// One JSON line each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum SupervisorRequest {
    /// Create and lock the run directory `name` below `run_root`, and claim `directories`. All are removed at the end.
    Own {
        run_root: PathBuf,
        name: String,
        directories: Vec<PathBuf>,
        /// CPUs and memory nodes of all processes that the supervisor starts.
        binding: ServerBinding,
    },
    /// Lock the directories that exist by now.
    Hold,
    /// Start a process. The answer is [`SupervisorReply::Started`], and [`SupervisorReply::Ended`] follows later.
    Run(ServerJob),
    /// Stop the process until `Thaw`. The answer comes when all its threads have stopped.
    Freeze,
    Thaw,
    Terminate,
    /// Stay from now on when the other side is gone, and serve clients on the socket [`CONTROL`].
    Stay,
    Tell,
    /// End, even after `Stay`. There is no answer.
    End,
}

pub(super) const CONTROL: &str = "control";

/// The beginning of a supervisor's message if the kernel refuses a user namespace.
pub(crate) const NO_NAMESPACE: &str = "cannot create a user namespace for the server";

/// One JSON line each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum SupervisorReply {
    Done,
    Started {
        pid: i32,
    },
    Ended(Ending),
    /// `None` while the process runs.
    Ending(Option<Ending>),
    Failed(String),
}
