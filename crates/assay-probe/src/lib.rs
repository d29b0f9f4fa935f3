//! Counters around a slice: what clients, server and machine used between two [`Snapshot`]s.
//!
//! Nearly everything comes from files that the kernel keeps for every thread, so a snapshot needs no
//! privilege beyond being the server's user, and costs one `pread` per idle thread. Where the processor counts
//! instructions, it costs another `read` per thread.

mod census;
mod counts;
mod device;
mod disk;
mod file;
mod host;
mod instructions;
mod machine;
mod probe;
mod processor;
mod task;
mod tree;
mod trouble;

use std::io;
use std::path::PathBuf;

use assay_model::Hint;

pub use census::{Busy, Census};
pub use device::{DeviceCounters, DeviceStatistics};
pub use host::{available_memory_kb, cpus_allowed, cpus_by_core, free_disk_kb, host};
pub use probe::{Probe, ProbeConfig, Snapshot, Usage, WatchedServer};
pub use processor::{InstructionCounter, ProcessorCounters, counts_instructions};
pub use trouble::{Accounting, Interval};

/// Why counters could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be opened or read; the message names it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file of the kernel does not look as documented.
    #[error("`{}` has no {expected}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: &'static str,
    },
    /// The process or thread to be counted is not there.
    #[error("no process or thread with id {0}")]
    NoSuchTask(i32),
    /// The kernel was built without a file that the counters come from.
    #[error("the kernel does not provide `{}`", path.display())]
    NotProvided {
        /// The missing file.
        path: PathBuf,
        /// The kernel option that brings it.
        option: &'static str,
    },
    /// A fact about the machine could not be read.
    #[error("cannot read facts about the machine")]
    Facts(#[from] procfs::ProcError),
    /// The kernel refused a question about this process or a file system.
    #[error("cannot ask the kernel for {question}")]
    Kernel {
        /// The question.
        question: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
}

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                vec!["run assay as the user that the server runs as, or as root".to_owned()]
            }
            Self::NoSuchTask(_) => {
                vec!["the process has ended: its log should say why".to_owned()]
            }
            Self::NotProvided { option, .. } => {
                vec![format!("use a kernel built with `{option}`")]
            }
            _ => Vec::new(),
        }
    }
}
