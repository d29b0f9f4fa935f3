//! How clients treat errors and connections.

use std::num::NonZeroU64;

use assay_lua::IgnoredErrors;
use assay_wire::WireError;

use crate::error::{LoadError, TOO_MANY_CONNECTIONS as FULL, sqlstate};

/// Errors after which an event is retried, as in sysbench. MySQL and MariaDB: record changed, lock wait timeout,
/// deadlock. Postgres: deadlock, serialization failure, and a unique key violated by a deleted and reinserted row.
pub(crate) const USUAL: [u32; 6] =
    [1020, 1205, 1213, sqlstate("40P01"), sqlstate("40001"), sqlstate("23505")];

/// For a user's events: a violated unique key is a mistake, on every server.
pub(crate) const USUAL_OWN: [u32; 6] =
    [1020, 1205, 1213, sqlstate("40P01"), sqlstate("40001"), sqlstate("55P03")];

/// MySQL client library codes for a lost connection. If the ignored codes include one of them, the client reconnects.
const LOST: [u32; 4] = [2006, 2011, 2013, 2055];

/// Errors of a server that ends the connection or is about to: killed, or shutting down.
const ENDING: [u32; 8] =
    [1053, 1317, 1927, 3169, 4031, sqlstate("57P01"), sqlstate("57P02"), sqlstate("57P03")];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientPolicy {
    pub ignored: IgnoredErrors,
    /// Events after which a client reconnects; `None` for one connection for all events.
    pub reconnect_every: Option<NonZeroU64>,
    /// Whether [`crate::ClientSession::interval_latencies`] can be read while the clients work.
    pub shows_latencies: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    Retry(u32),
    Reconnect,
    Fail,
}

impl ClientPolicy {
    /// `usual` are the codes after which the event is retried by default.
    pub(crate) fn remedy(&self, error: &WireError, usual: &[u32]) -> Remedy {
        let reconnects = match &self.ignored {
            IgnoredErrors::Usual => false,
            IgnoredErrors::All => true,
            IgnoredErrors::These(codes) => LOST.iter().any(|code| codes.contains(code)),
        };
        match error {
            WireError::Server { code, .. } if reconnects && ENDING.contains(code) => {
                Remedy::Reconnect
            }
            WireError::Server { code, .. } if self.ignored.contain(*code, usual) => {
                Remedy::Retry(*code)
            }
            WireError::Connect { .. } | WireError::Io { .. } | WireError::Timeout { .. }
                if reconnects =>
            {
                Remedy::Reconnect
            }
            _ => Remedy::Fail,
        }
    }

    /// Whether a client that failed to reconnect tries again: while the server starts, shuts down, or has too many
    /// connections.
    pub(crate) fn tries_again(&self, error: &LoadError) -> bool {
        let (LoadError::Connect { source, .. } | LoadError::Prepare { source, .. }) = error else {
            return false;
        };
        let is_full = source.server_code().is_some_and(|code| FULL.contains(&code));
        is_full || self.remedy(source, &[]) == Remedy::Reconnect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u32) -> WireError {
        WireError::Server { code, state: String::new(), message: String::new() }
    }

    fn lost() -> WireError {
        let source = std::io::ErrorKind::ConnectionReset.into();
        WireError::Io { address: String::new(), action: "receive from", source }
    }

    #[test]
    fn deadlocks_are_retried_and_lost_connections_end_the_run() {
        let usual = ClientPolicy::default();
        assert_eq!(usual.remedy(&refused(1213), &USUAL), Remedy::Retry(1213));
        let (unique, locked) = (sqlstate("23505"), sqlstate("55P03"));
        assert_eq!(usual.remedy(&refused(unique), &USUAL), Remedy::Retry(unique));
        assert_eq!(usual.remedy(&refused(unique), &USUAL_OWN), Remedy::Fail);
        assert_eq!(usual.remedy(&refused(locked), &USUAL_OWN), Remedy::Retry(locked));
        assert_eq!(usual.remedy(&refused(1062), &USUAL), Remedy::Fail);
        assert_eq!(usual.remedy(&lost(), &USUAL), Remedy::Fail);
    }

    #[test]
    fn a_list_replaces_the_usual_errors() {
        let policy = |codes: &[u32]| ClientPolicy {
            ignored: IgnoredErrors::These(codes.to_vec()),
            ..ClientPolicy::default()
        };
        assert_eq!(policy(&[1062]).remedy(&refused(1062), &USUAL), Remedy::Retry(1062));
        assert_eq!(policy(&[1062]).remedy(&refused(1213), &USUAL), Remedy::Fail);
        assert_eq!(policy(&[1062]).remedy(&lost(), &USUAL), Remedy::Fail);
        assert_eq!(policy(&[2013]).remedy(&lost(), &USUAL), Remedy::Reconnect);
        assert_eq!(policy(&[2013]).remedy(&refused(1927), &USUAL), Remedy::Reconnect);
        assert_eq!(policy(&[1927]).remedy(&refused(1927), &USUAL), Remedy::Retry(1927));
        let all = ClientPolicy { ignored: IgnoredErrors::All, ..ClientPolicy::default() };
        assert_eq!(all.remedy(&refused(1146), &USUAL), Remedy::Retry(1146));
        assert_eq!(all.remedy(&lost(), &USUAL), Remedy::Reconnect);
    }
}
