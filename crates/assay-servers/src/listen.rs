//! Servers on a TCP port: there is a password before anybody can knock.

use std::io::{ErrorKind, Read as _};
use std::net::{Ipv4Addr, TcpListener};

use fs_err as fs;

use crate::Error;

/// Where a server listens, besides its unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere.
    Socket,
    /// On a TCP port of the loopback interface.
    Loopback(u16),
}

impl Listen {
    /// Fails where another program listens on the port, before anything is done.
    ///
    /// # Errors
    /// [`Error::Port`].
    pub fn check(self) -> Result<(), Error> {
        let Self::Loopback(port) = self else { return Ok(()) };
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => Ok(()),
            Err(source) => Err(Error::Port { port, source }),
        }
    }

    /// The error of a server that has ended, or that the port was taken while it started.
    pub(crate) fn explained(self, error: Error) -> Error {
        match (self, &error) {
            (Self::Loopback(port), Error::Ended { log, .. }) if log.contains(IN_USE) => {
                Error::Port { port, source: ErrorKind::AddrInUse.into() }
            }
            _ => error,
        }
    }
}

/// The kernel's words for it, in the logs of all servers.
const IN_USE: &str = "Address already in use";

/// A password that nobody guesses, of letters and digits.
pub(crate) fn new_password() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
