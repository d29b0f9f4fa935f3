//! Supervisors: small processes that end their server and remove its directories when assay is gone.
//!
//! Each server has one: assay re-executed, connected by a socket that is its standard input. It does one
//! request at a time. At end-of-file, however it came about, it kills whatever runs below it, frozen or not,
//! removes the directories it was given, and exits. Its run directory holds a lock for as long as it lives,
//! so that what even a killed supervisor leaves is found by [`collect_garbage`]. It also holds a lock beside each of
//! those directories, for assays elsewhere that share the cache but not the run directories: see [`collect_unheld`].
//!
//! A server that is to outlive the command that started it has a supervisor that was asked to stay: it listens on a
//! socket in its run directory, and ends when it is told to.

mod children;
mod claim;
mod file_size;
mod keeper;
mod namespace;
mod run_dir;
mod sandbox;
mod shared_memory;
mod stop;
mod unprivileged;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use children::below;
pub use claim::{Claim, collect_unheld, is_at};
pub use file_size::fail_at_the_limit_of_file_sizes;
pub use keeper::{kill_descendants, main};
pub(crate) use namespace::REFUSED as NO_NAMESPACE;
pub use namespace::leave_root_where_needed;
pub use run_dir::{collect_garbage, narrow_umask};
pub(crate) use run_dir::{create_own, prepare_root};
pub(crate) use sandbox::{Sandbox, unique_name};
pub(crate) use unprivileged::{hand_over, is_called_for};

/// The program to run as a supervisor: one that calls [`main`] when given these arguments.
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// Path of the executable, usually the caller's own.
    pub program: PathBuf,
    /// Arguments that make it call [`main`].
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
    /// As `nobody`, in truth: root's files are not its own. See [`hand_over`] for what is.
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
enum Request {
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
const CONTROL: &str = "control";

/// What a supervisor answers, one JSON line each.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Reply {
    Done,
    Started {
        pid: i32,
    },
    Ended(Ending),
    /// What became of the process: how it ended, none while it runs.
    Told(Option<Ending>),
    Failed(String),
}
