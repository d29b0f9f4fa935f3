//! What assay and a supervisor tell each other.

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
    /// File to read as standard input, nothing when none.
    pub(crate) stdin: Option<PathBuf>,
    /// File that standard output and standard error are written to.
    pub(crate) log: PathBuf,
    /// As whom.
    pub(crate) run_as: RunAs,
    /// What asks it to end in good order.
    pub(crate) stop_by: StopBy,
}

impl Job {
    /// A program that runs as the caller, reads nothing, and ends on SIGTERM.
    pub(crate) fn new(argv: Vec<OsString>, log: PathBuf) -> Self {
        Self { argv, stdin: None, log, run_as: RunAs::Caller, stop_by: StopBy::Terminate }
    }
}

/// As whom a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RunAs {
    /// As whoever runs assay.
    Caller,
    /// As the same, who in a user namespace of its own is called `nobody`: for a program that refuses to be root.
    /// Its files are the caller's.
    Nobody,
    /// As `nobody`, in truth: root's files are not its own. See [`super::hand_over`] for what is.
    Unprivileged,
}

/// The signal that asks a process to end in good order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopBy {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}

/// What a supervisor is asked, one JSON line each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Request {
    /// Create and lock the run directory `name` below `run_root`, and claim `directories`; remove all in the end.
    Own { run_root: PathBuf, name: String, directories: Vec<PathBuf> },
    /// Hold those of the directories that have been made by now.
    Hold,
    /// Start a process; answered by [`Reply::Started`], and later by [`Reply::Ended`] unasked.
    Run(Job),
    /// Stop the process until `Thaw`; answered when every thread of it has stopped.
    Freeze,
    /// Let it go on.
    Thaw,
    /// Ask it to end in good order.
    Terminate,
    /// From now on stay when the other side is gone, and serve whoever connects to the socket [`CONTROL`].
    Stay,
    /// Tell what became of the process.
    Tell,
    /// End as if the other side were gone and nobody else would come; not answered.
    End,
}

/// Socket, in the run directory, of a supervisor that stays.
pub(super) const CONTROL: &str = "control";

/// What a supervisor answers, one JSON line each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Reply {
    Done,
    Started {
        pid: i32,
    },
    Ended(Ending),
    /// What became of the process: how it ended, none while it runs.
    Told(Option<Ending>),
    Failed(String),
}
