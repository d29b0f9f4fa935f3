//! The messages between assay and a supervisor.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The program to run as a supervisor: one that calls [`super::main`] when given these arguments.
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// Path of the executable, usually the caller's own.
    pub program: PathBuf,
    /// Arguments that make it call [`super::main`].
    pub args: Vec<OsString>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
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

/// A process to run under a supervisor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Program and arguments.
    pub(crate) argv: Vec<OsString>,
    /// What its environment has besides what all have.
    pub(crate) env: Vec<(String, OsString)>,
    /// File to read as standard input; empty input if there is none.
    pub(crate) stdin: Option<PathBuf>,
    /// File that standard output and standard error are written to.
    pub(crate) log: PathBuf,
    /// The user that it runs as.
    pub(crate) run_as: RunAs,
    /// The signal for a clean shutdown.
    pub(crate) stop_by: StopBy,
}

impl Job {
    /// A program that runs as the caller, reads nothing, and ends on SIGTERM.
    pub(crate) fn new(argv: Vec<OsString>, log: PathBuf) -> Self {
        let (run_as, stop_by) = (RunAs::Caller, StopBy::Terminate);
        Self { argv, env: Vec::new(), stdin: None, log, run_as, stop_by }
    }
}

/// The user that a process runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunAs {
    /// The user who runs assay.
    Caller,
    /// The same user, who is `nobody` in a user namespace of the process: for a program that refuses to run as root.
    /// Its files are the caller's.
    Nobody,
    /// The real user `nobody`, who does not own root's files. [`super::hand_over`] gives it its own.
    Unprivileged,
}

/// The signal that asks a process for a clean shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopBy {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}

/// A request to a supervisor, one JSON line each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Request {
    /// Create and lock the run directory `name` below `run_root`, and claim `directories`. All are removed at the end.
    Own { run_root: PathBuf, name: String, directories: Vec<PathBuf> },
    /// Lock the directories that exist by now.
    Hold,
    /// Start a process. The answer is [`Reply::Started`], and [`Reply::Ended`] follows unasked.
    Run(Job),
    /// Stop the process until `Thaw`. The answer comes when all its threads have stopped.
    Freeze,
    /// Resume the process.
    Thaw,
    /// Ask the process for a clean shutdown.
    Terminate,
    /// Stay from now on when the other side is gone, and serve clients on the socket [`CONTROL`].
    Stay,
    /// Report the state of the process.
    Tell,
    /// End, even if asked to stay before. There is no answer.
    End,
}

/// Socket of a supervisor that stays, in its run directory.
pub(super) const CONTROL: &str = "control";

/// An answer of a supervisor, one JSON line each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Reply {
    Done,
    Started {
        pid: i32,
    },
    Ended(Ending),
    /// How the process ended; `None` while it runs.
    Told(Option<Ending>),
    Failed(String),
}
