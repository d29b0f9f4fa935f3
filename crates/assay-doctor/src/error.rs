//! Errors of the examination of a machine.

use std::io;
use std::path::PathBuf;

use assay_model::Hint;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot send a message between two sockets")]
    Socket(#[source] io::Error),
    #[error("cannot pin a thread to CPU {cpu}")]
    Pin {
        cpu: usize,
        #[source]
        source: io::Error,
    },
    #[error("cannot run a thread at real-time priority")]
    Realtime(#[source] io::Error),
    #[error("cannot write a file in `{}`", directory.display())]
    Flush {
        directory: PathBuf,
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
