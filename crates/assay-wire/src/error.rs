//! What can go wrong between a client and a server.

use std::io;
use std::time::Duration;

/// An error of a connection or of a statement sent over it.
///
/// After [`Error::Server`] and [`Error::Usage`] the connection is in order and can be used again;
/// after anything else the reply that belongs to a statement is lost: drop the connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No connection could be made.
    #[error("cannot connect to `{address}`")]
    Connect {
        /// Where to: a socket path or `host:port`.
        address: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The connection broke, or the server closed it.
    #[error("cannot {action} `{address}`")]
    Io {
        /// A socket path or `host:port`.
        address: String,
        /// What was tried, such as `receive from`.
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// The server neither took nor sent a byte for the time allowed.
    #[error("no answer from `{address}` within {limit:?}")]
    Timeout {
        /// A socket path or `host:port`.
        address: String,
        /// The time allowed.
        limit: Duration,
    },
    /// The server refused a statement or the login.
    #[error("server error {code} (`{state}`): {message}")]
    Server {
        /// The server's error number, such as 1213 for a deadlock.
        code: u16,
        /// SQL state, `HY000` where the server sent none.
        state: String,
        /// The server's own words.
        message: String,
    },
    /// Bytes that the protocol does not allow at this place.
    #[error("malformed reply: {0}")]
    Protocol(&'static str),
    /// A login method that this client does not have, or not over this kind of connection.
    #[error("cannot log in by `{plugin}`: {reason}")]
    Auth {
        /// The server's name for the method.
        plugin: String,
        /// Why not.
        reason: &'static str,
    },
    /// A call that does not fit the state or the statement; nothing was sent.
    #[error("wrong use of the connection: {0}")]
    Usage(&'static str),
}

impl Error {
    /// The server's error number, if it was the server that refused.
    pub fn server_code(&self) -> Option<u16> {
        match self {
            Self::Server { code, .. } => Some(*code),
            _ => None,
        }
    }
}
