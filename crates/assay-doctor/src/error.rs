//! Why a machine cannot be examined.

use std::io;
use std::path::PathBuf;

use assay_model::Hint;

/// Why a machine cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A pair of sockets in this process failed.
    #[error("cannot send a message between two sockets")]
    Socket(#[source] io::Error),
    /// A thread could not be bound to a CPU.
    #[error("cannot pin a thread to CPU {cpu}")]
    Pin {
        /// The number of the CPU.
        cpu: usize,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// A thread could not get the priority that it may have.
    #[error("cannot run a thread at real-time priority")]
    Realtime(#[source] io::Error),
    /// The directory for data does not take files.
    #[error("cannot write a file in `{}`", directory.display())]
    Flush {
        /// The directory.
        directory: PathBuf,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
}

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Flush { .. } => vec![
                "`--cache-dir` or `ASSAY_CACHE` selects another directory for the data of servers"
                    .to_owned(),
            ],
            _ => Vec::new(),
        }
    }
}
