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
    /// Ends the connection, whatever it is waiting for.
    pub stop: Stop,
}

impl ConnectOptions {
    /// MySQL's protocol, `user` without password or database, 30 seconds of patience.
    pub fn new(address: Address, user: impl Into<String>) -> Self {
        Self {
            protocol: Protocol::default(),
            address,
            user: user.into(),
            password: None,
            database: None,
            timeout: Duration::from_secs(30),
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
            .finish()
    }
}
