//! How to connect.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::pace::Pace;
use crate::stop::Stop;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Unix(PathBuf),
    /// TCP.
    Tcp {
        /// Name or number of the host.
        host: String,
        /// Port.
        port: u16,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// A client protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// The protocol of MySQL and MariaDB.
    #[default]
    MySql,
    /// The protocol of Postgres.
    Postgres,
}

/// How to connect to a server. `Debug` does not show the password.
#[derive(Clone)]
pub struct ConnectOptions {
    /// The server's protocol.
    pub protocol: Protocol,
    /// Where the server listens.
    pub address: Address,
    /// User to log in as.
    pub user: String,
    /// The user's password; `None` is an empty one.
    pub password: Option<String>,
    /// Default database of the session. Without one, a Postgres server takes the user's name.
    pub database: Option<String>,
    /// Limit for connecting and logging in together, and for each silence of the server before and within a reply. A
    /// silence before a reply is noticed after at most twice that time.
    pub timeout: Duration,
    /// Ends the connection when asked, whatever it waits for.
    pub stop: Stop,
    /// What the connection waits for before it sends a request.
    pub pace: Pace,
    /// Whether MySQL and MariaDB may be given rows to copy ([`Connection::copy_in`](crate::Connection::copy_in)). Files
    /// are never sent, whatever a server asks for.
    pub may_copy: bool,
}

impl ConnectOptions {
    /// MySQL's protocol, `user` without password or database, a timeout of 30 seconds.
    pub fn new(address: Address, user: impl Into<String>) -> Self {
        Self {
            protocol: Protocol::default(),
            address,
            user: user.into(),
            password: None,
            database: None,
            timeout: Duration::from_secs(30),
            stop: Stop::default(),
            pace: Pace::default(),
            may_copy: false,
        }
    }

    /// [`ConnectOptions::new`] for a unix socket.
    pub fn unix(path: impl Into<PathBuf>, user: impl Into<String>) -> Self {
        Self::new(Address::Unix(path.into()), user)
    }
}

impl fmt::Debug for ConnectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectOptions")
            .field("protocol", &self.protocol)
            .field("address", &self.address)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "..."))
            .field("database", &self.database)
            .field("timeout", &self.timeout)
            .finish()
    }
}
