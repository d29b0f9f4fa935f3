//! How to connect.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::{Address, Stop};

/// What a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// That of MySQL and MariaDB.
    #[default]
    MySql,
    /// That of Postgres.
    Postgres,
}

/// Character set in which client and MySQL or MariaDB server speak; the same for all servers that are
/// compared. A Postgres server is spoken to in the encoding of its database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// `latin1`, one byte a character: the reference client's, and known to all servers.
    #[default]
    Latin1,
    /// `utf8mb4`.
    Utf8mb4,
}

impl Charset {
    /// Number of the character set's default collation in the protocol.
    pub(crate) fn collation(self) -> u8 {
        match self {
            Self::Latin1 => 8,
            Self::Utf8mb4 => 45,
        }
    }
}

/// How to connect to a server. `Debug` does not show the password.
#[derive(Clone)]
pub struct ConnectOptions {
    /// What the server speaks.
    pub protocol: Protocol,
    /// Where the server listens.
    pub address: Address,
    /// User to log in as.
    pub user: String,
    /// The user's password; `None` is an empty one.
    pub password: Option<String>,
    /// Default database of the session; a Postgres server takes the user's name where there is none.
    pub database: Option<String>,
    /// How long connecting and logging in may take together, and how long the server may stay silent before and in
    /// every reply; a silence before a reply is noticed after twice that time at the latest.
    pub timeout: Duration,
    /// Character set of the session.
    pub charset: Charset,
    /// Ends the connection, whatever it is waiting for.
    pub stop: Stop,
}

impl ConnectOptions {
    /// MySQL's protocol, `user` without password or database, `latin1`, 30 seconds of patience.
    pub fn new(address: Address, user: impl Into<String>) -> Self {
        Self {
            protocol: Protocol::default(),
            address,
            user: user.into(),
            password: None,
            database: None,
            timeout: Duration::from_secs(30),
            charset: Charset::default(),
            stop: Stop::default(),
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
            .field("charset", &self.charset)
            .finish()
    }
}
