//! Counters around a slice: usage of clients, server and machine between two [`Snapshot`]s.
//!
//! Nearly everything comes from per-thread kernel files, so a snapshot needs no privilege beyond being the server's
//! user, and costs one `pread` per idle thread. Where the processor counts instructions, it costs another `read` per
//! thread.

mod census;
mod device;
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

pub use census::{ProcessCensus, ProcessLoad};
pub use device::{DeviceCounters, DeviceStatistics};
pub use host::{available_memory_kb, cpus_allowed, cpus_by_core, free_disk_kb, host, memory_nodes};
pub use probe::{ProbeConfig, ProbedServer, Snapshot, Usage, UsageProbe};
pub use processor::{InstructionCounter, ProcessorCounters, counts_instructions};
pub use trouble::{Accounting, SliceInterval};

#[derive(Debug, thiserror::Error)]
pub enum UsageProbeError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("`{}` has no {expected}", path.display())]
    Format { path: PathBuf, expected: &'static str },
    #[error("no process or thread with id {0}")]
    NoSuchTask(i32),
    #[error("the kernel does not provide `{}`", path.display())]
    NotProvided {
        path: PathBuf,
        /// The kernel option that enables it.
        option: &'static str,
    },
    #[error("cannot read facts about the machine")]
    Facts(#[from] procfs::ProcError),
    #[error("cannot ask the kernel for {question}")]
    Kernel {
        question: String,
        #[source]
        source: io::Error,
    },
}

pub type ProbeResult<T> = Result<T, UsageProbeError>;

impl Hint for UsageProbeError {
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
