//! The state of a machine and the noise of its speed, which limit the smallest change it can show; and real-time
//! priority, which protects from other processes.

mod delays;
mod examine;
mod facts;
mod kernel_file;
mod realtime;
mod spectrum;
mod work;

use std::io;
use std::path::PathBuf;

use assay_model::Hint;

pub use examine::{Recording, examine};
pub use realtime::{DelayMonitor, Heirs, PriorityLevel, Throttling, realtime_access, set_level};
pub use spectrum::noise;

#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
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

impl Hint for DoctorError {
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
