//! What can go wrong while loading data or driving work.

use assay_model::{Hint, Product};
use assay_wire::Error as WireError;

/// Why data could not be loaded or work not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection.
    #[error("client {client} cannot connect")]
    Connect {
        /// Number of the client, from 0.
        client: u32,
        /// The cause.
        source: WireError,
    },
    /// The server refused to prepare a statement.
    #[error("cannot prepare `{sql}`")]
    Prepare {
        /// The statement.
        sql: String,
        /// The cause.
        source: WireError,
    },
    /// A statement failed, and not in a way that is retried.
    #[error("query `{sql}` failed: {cause}")]
    Query {
        /// The statement, shortened when long.
        sql: String,
        /// The cause, with the server's code and text.
        cause: WireError,
    },
    /// Something that servers of this product cannot do.
    #[error("{what} is not available for `{product}`")]
    Unsupported {
        /// The product.
        product: Product,
        /// What was asked for.
        what: &'static str,
    },
    /// A client thread could not be confined to its CPU.
    #[error("cannot confine a client to CPU {cpu}")]
    Pin {
        /// Number of the CPU.
        cpu: usize,
        /// The cause.
        source: rustix::io::Errno,
    },
    /// A client thread could not be started.
    #[error("cannot start a client thread")]
    Thread(#[source] std::io::Error),
    /// A client thread ended before its work was done.
    #[error("a client thread ended unexpectedly")]
    ClientLost,
    /// The latency histogram could not be made or written.
    #[error("latency histogram: {0}")]
    Histogram(String),
}

/// Longest part of a statement shown in a message, bytes.
const SHOWN: usize = 200;

impl Error {
    pub(crate) fn query(sql: &[u8], cause: WireError) -> Self {
        let mut shown = String::from_utf8_lossy(&sql[..sql.len().min(SHOWN)]).into_owned();
        if sql.len() > SHOWN {
            shown.push_str(" ...");
        }
        Self::Query { sql: shown, cause }
    }

    /// The server's error code, when the server refused something.
    #[must_use]
    pub fn server_code(&self) -> Option<u32> {
        match self {
            Self::Connect { source, .. }
            | Self::Prepare { source, .. }
            | Self::Query { cause: source, .. } => source.server_code().map(u32::from),
            Self::Unsupported { .. }
            | Self::Pin { .. }
            | Self::Thread(_)
            | Self::ClientLost
            | Self::Histogram(_) => None,
        }
    }
}

/// MySQL's codes for a table, a database that is not there, too many connections, too many prepared
/// statements.
const NO_SUCH_TABLE: u32 = 1146;
const NO_SUCH_DATABASE: u32 = 1049;
const TOO_MANY_CONNECTIONS: u32 = 1040;
const TOO_MANY_PREPARED: u32 = 1461;

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        let hint = match (self, self.server_code()) {
            (Self::Pin { .. }, _) => {
                "choose a CPU that this process may use, or `--placement free`"
            }
            (_, Some(NO_SUCH_TABLE)) => "create and fill the tables first",
            (_, Some(NO_SUCH_DATABASE)) => "create the database first",
            (_, Some(TOO_MANY_CONNECTIONS)) => "use fewer clients, or raise `max_connections`",
            (_, Some(TOO_MANY_PREPARED)) => {
                "use fewer clients or tables, or raise `max_prepared_stmt_count`"
            }
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}
