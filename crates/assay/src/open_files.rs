//! How many files this process and the servers that it starts may have open.

use assay_model::{Hint, counted};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files of one client: its socket, its timer, what waits for both.
pub(crate) const OF_A_CLIENT: u64 = 3;

/// The same, and the counters of its thread and of the one that serves it, which a study reads.
pub(crate) const OF_A_MEASURED_CLIENT: u64 = 5;

/// Files that are open whatever is measured.
const SPARE: u64 = 256;

/// Files that a server needs besides its connections: MariaDB and MySQL take fewer connections where they have less.
const OF_A_SERVER: u64 = 850;

/// The hard limit is too low.
#[derive(Debug, thiserror::Error)]
#[error("{} would need {needed} open files, but this process may open only {limit}", counted(*.clients, "client"))]
pub(crate) struct TooFewFiles {
    clients: u32,
    needed: u64,
    limit: u64,
}

impl Hint for TooFewFiles {
    fn hints(&self) -> Vec<String> {
        vec![format!(
            "use fewer clients, or raise the hard limit to {} or more (`ulimit -Hn`; `LimitNOFILE=` of a service, \
             `--ulimit nofile=` of a container)",
            self.needed
        )]
    }
}

/// Raises the soft limit to what so many clients of each of so many servers need; servers that are started later
/// inherit it. To be called before anything is started.
pub(crate) fn raise(
    clients: u32,
    files_of_a_client: u64,
    servers: usize,
) -> Result<(), TooFewFiles> {
    let ours = u64::from(clients) * files_of_a_client * servers as u64 + SPARE;
    let needed = ours.max(u64::from(clients) + OF_A_SERVER);
    let limits = getrlimit(Resource::Nofile);
    match raised(limits.current, limits.maximum, needed) {
        Ok(None) => Ok(()),
        Ok(current) => {
            let limits = Rlimit { current, maximum: limits.maximum };
            // It is below the hard limit, so nothing can forbid it.
            setrlimit(Resource::Nofile, limits).map_err(|_| TooFewFiles {
                clients,
                needed,
                limit: limits.current.unwrap_or(0),
            })
        }
        Err(limit) => Err(TooFewFiles { clients, needed, limit }),
    }
}

/// The new soft limit, if it must be another; the hard limit where that is too low.
fn raised(soft: Option<u64>, hard: Option<u64>, needed: u64) -> Result<Option<u64>, u64> {
    match (soft, hard) {
        (_, Some(hard)) if hard < needed => Err(hard),
        (Some(soft), _) if soft < needed => Ok(Some(needed)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_as_far_as_needed_and_allowed() {
        assert_eq!(raised(Some(1024), Some(4096), 1000), Ok(None));
        assert_eq!(raised(Some(1024), Some(4096), 4000), Ok(Some(4000)));
        assert_eq!(raised(Some(1024), None, 4000), Ok(Some(4000)));
        assert_eq!(raised(None, None, 4000), Ok(None));
        assert_eq!(raised(Some(1024), Some(4096), 5000), Err(4096));
    }
}
