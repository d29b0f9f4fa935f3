//! Connection options.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::stop::Stop;
use crate::tls_client::TlsClient;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    #[default]
    MySql,
    Postgres,
}

/// `Debug` does not show the password.
#[derive(Clone)]
pub struct ConnectOptions {
    pub protocol: Protocol,
    pub address: Address,
    pub user: String,
    /// `None` is an empty password.
    pub password: Option<String>,
    /// Default database of the session. Without one, Postgres uses the user's name.
    pub database: Option<String>,
    /// The only schema in the search path of the session, on Postgres. An SQL identifier.
    pub schema: Option<String>,
    /// Limit for connecting and logging in together, and for each silence of the server before and within a reply. A
    /// silence before a reply is noticed after at most twice that time.
    pub timeout: Duration,
    pub stop: Stop,
    pub pace: RequestDelay,
    /// Whether MySQL and MariaDB may receive rows to copy ([`Connection::copy_in`](crate::Connection::copy_in)). Files
    /// are never sent, whatever a server requests.
    pub may_copy: bool,
    pub tls: TlsClient,
}

impl ConnectOptions {
    /// MySQL's protocol, `user` without password or database, a timeout of 30 seconds, no TLS.
    pub fn new(address: Address, user: impl Into<String>) -> Self {
        Self {
            protocol: Protocol::default(),
            address,
            user: user.into(),
            password: None,
            database: None,
            schema: None,
            timeout: Duration::from_secs(30),
            stop: Stop::default(),
            pace: RequestDelay::default(),
            may_copy: false,
            tls: TlsClient::default(),
        }
    }

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
            .field("schema", &self.schema)
            .field("timeout", &self.timeout)
            .field("tls", self.tls.options())
            .finish()
    }
}

/// Delays the requests of a connection; not by default.
#[derive(Clone, Default)]
pub struct RequestDelay(Option<Arc<dyn Fn() + Send + Sync>>);

impl RequestDelay {
    /// Calls this function before each request.
    pub fn new(wait: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(wait)))
    }

    pub(crate) fn wait(&self) {
        if let Some(wait) = &self.0 {
            wait();
        }
    }
}

impl fmt::Debug for RequestDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "RequestDelay(waits)" } else { "RequestDelay" })
    }
}
