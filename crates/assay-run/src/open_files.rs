//! Limits of open files, for this process and the servers it starts.

use assay_model::counted;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::advice::HintedError;

/// Files of one client: its socket, its timer, and the poll that waits for both.
const OF_A_CLIENT: u64 = 3;

/// The same, plus the counters of its thread and of the server thread, which a study reads.
const OF_A_MEASURED_CLIENT: u64 = 5;

const SPARE: u64 = 64;

const SPARE_TO_START: u64 = 256;

/// Files that a server needs besides its connections. With fewer, MariaDB and MySQL accept fewer connections.
const OF_A_SERVER: u64 = 850;

#[derive(Debug, Clone, Copy)]
pub struct Demand {
    clients: u32,
    of_a_client: u64,
    servers: usize,
    starts_any: bool,
}

impl Demand {
    pub fn of_bench(clients: u32, reconnects: bool) -> Self {
        // A new connection opens before the former one is closed.
        let of_a_client = OF_A_CLIENT * if reconnects { 2 } else { 1 };
        Self { clients, of_a_client, servers: 1, starts_any: false }
    }

    pub fn of_study(clients: u32, servers: usize, starts_any: bool) -> Self {
        Self { clients, of_a_client: OF_A_MEASURED_CLIENT, servers, starts_any }
    }

    pub fn of_server(connections: u32) -> Self {
        Self { clients: connections, of_a_client: 0, servers: 1, starts_any: true }
    }

    /// Raises the soft limit as needed. Servers inherit it, so call it before anything is started.
    pub fn raise(self) -> Result<(), HintedError> {
        let limits = getrlimit(Resource::Nofile);
        match raised(limits.current, limits.maximum, self.needed()) {
            Ok(None) => Ok(()),
            Ok(current) => {
                let limits = Rlimit { current, maximum: limits.maximum };
                // The new limit is below the hard limit, so nothing can forbid it.
                setrlimit(Resource::Nofile, limits)
                    .map_err(|_| self.unmet(limits.current.unwrap_or(0)))
            }
            Err(limit) => Err(self.unmet(limit)),
        }
    }

    /// The larger need: that of this process, or of a server that it starts.
    fn needed(self) -> u64 {
        let clients = u64::from(self.clients);
        let spare = if self.starts_any { SPARE_TO_START } else { SPARE };
        let ours = clients * self.of_a_client * self.servers as u64 + spare;
        if self.starts_any { ours.max(clients + OF_A_SERVER) } else { ours }
    }

    fn unmet(self, limit: u64) -> HintedError {
        let what = match self.clients {
            0 | 1 if self.starts_any => "a server".to_owned(),
            clients => counted(clients, "client"),
        };
        let (needed, least) = (self.needed(), Self { clients: 1, ..self }.needed());
        let may_be_fewer = self.clients > 1 && least <= limit;
        let fewer = if may_be_fewer { "use fewer clients, or " } else { "" };
        HintedError::new(
            format!(
                "{what} would need {needed} open files, but this process may open only {limit}"
            ),
            format!(
                "{fewer}raise the hard limit to {needed} or more (`ulimit -Hn`; `LimitNOFILE=` of a service, \
                 `--ulimit nofile=` of a container)"
            ),
        )
    }
}

/// Connections of a server within the limit, 1 to `most`.
pub fn connections_of_a_server(most: u32) -> u32 {
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    u32::try_from(limit.saturating_sub(OF_A_SERVER)).unwrap_or(u32::MAX).clamp(1, most)
}

/// The new soft limit; `None` if it need not change. The error is a hard limit that is too low.
fn raised(soft: Option<u64>, hard: Option<u64>, needed: u64) -> Result<Option<u64>, u64> {
    match (soft, hard) {
        (_, Some(hard)) if hard < needed => Err(hard),
        (Some(soft), _) if soft < needed => Ok(Some(needed)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

    use super::*;

    #[test]
    fn only_what_is_started_here_needs_the_files_of_a_server() {
        assert!(Demand::of_bench(1, false).needed() <= 256);
        assert!(Demand::of_study(1, 2, false).needed() <= 256);
        assert_eq!(Demand::of_study(1, 2, true).needed(), 1 + OF_A_SERVER);
        assert_eq!(Demand::of_server(1).needed(), 1 + OF_A_SERVER);
        assert_eq!(Demand::of_server(4160).needed(), 4160 + OF_A_SERVER);
        assert_eq!(Demand::of_study(1024, 2, true).needed(), 1024 * 5 * 2 + SPARE_TO_START);
    }

    #[test]
    fn fewer_clients_are_suggested_only_where_that_helps() {
        let message = |demand: Demand, limit| {
            let error = demand.unmet(limit);
            (error.to_string(), error.hints().concat())
        };
        let (error, hint) = message(Demand::of_study(1, 2, true), 300);
        let expected = "a server would need 851 open files, but this process may open only 300";
        assert_eq!(error, expected);
        assert!(hint.starts_with("raise the hard limit to 851 or more"), "{hint}");
        let (error, hint) = message(Demand::of_study(64, 2, true), 300);
        assert!(error.starts_with("64 clients would need 914 open files"), "{error}");
        assert!(hint.starts_with("raise the hard limit to 914"), "{hint}");
        let (_, hint) = message(Demand::of_bench(64, false), 128);
        assert!(hint.starts_with("use fewer clients, or raise the hard limit to 256"), "{hint}");
        let (_, hint) = message(Demand::of_bench(1, false), 60);
        assert!(hint.starts_with("raise the hard limit to 67"), "{hint}");
    }

    #[test]
    fn the_soft_limit_is_raised_as_far_as_needed_and_allowed() {
        assert_eq!(raised(Some(1024), Some(4096), 1000), Ok(None));
        assert_eq!(raised(Some(1024), Some(4096), 4000), Ok(Some(4000)));
        assert_eq!(raised(Some(1024), None, 4000), Ok(Some(4000)));
        assert_eq!(raised(None, None, 4000), Ok(None));
        assert_eq!(raised(Some(1024), Some(4096), 5000), Err(4096));
    }
}
