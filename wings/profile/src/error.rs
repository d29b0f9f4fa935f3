//! Why a server cannot be sampled.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("the kernel does not permit performance events (kernel.perf_event_paranoid is {0})")]
    NotPermitted(String),
    #[error("too little memory may be locked for the samples of all threads")]
    LockedMemory,
    #[error("this kernel has no performance events")]
    NotProvided,
    #[error("the server has ended")]
    NoThread,
    /// A ring of samples cannot be mapped, or the threads cannot be listed.
    #[error("cannot sample the server")]
    Io(#[from] io::Error),
    /// The thread that reads the samples cannot be started, or it panicked.
    #[error("internal error: the thread that reads samples {0}")]
    Thread(&'static str),
}

const IN_A_CONTAINER: &str = "in a container, performance events need the capability CAP_PERFMON and a seccomp profile \
                              that allows `perf_event_open`";

impl ProfileError {
    /// Only refusals by the kernel, which last, have hints.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            // The setting does not bind root.
            Self::NotPermitted(_) if rustix::process::geteuid().is_root() => {
                vec![IN_A_CONTAINER.to_owned()]
            }
            Self::NotPermitted(_) => vec![
                "`sudo sysctl kernel.perf_event_paranoid=1` permits it until the next boot, with the kernel's part"
                    .to_owned(),
                IN_A_CONTAINER.to_owned(),
            ],
            Self::LockedMemory => vec![
                "raise the limit on locked memory (`ulimit -l`) or the setting `kernel.perf_event_mlock_kb`, or set \
                 `kernel.perf_event_paranoid` to -1"
                    .to_owned(),
            ],
            Self::NotProvided => {
                vec!["it needs a kernel built with CONFIG_PERF_EVENTS".to_owned()]
            }
            Self::NoThread | Self::Io(_) | Self::Thread(_) => Vec::new(),
        }
    }
}
