//! Servers on a TCP port, which get a password before they listen.

use std::io::{ErrorKind, Read as _};
use std::net::{Ipv4Addr, TcpListener};

use fs_err as fs;

use crate::error::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    Socket,
    Loopback(u16),
}

impl Listen {
    /// Fails if another program listens on the port. Call it before anything is started.
    pub fn check(self) -> Result<(), Error> {
        let Self::Loopback(port) = self else { return Ok(()) };
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => Ok(()),
            Err(source) => Err(Error::Port { port, source }),
        }
    }

    /// Turns the error of a server that has ended into [`Error::Port`] if its log shows that the port was unavailable.
    pub(crate) fn explained(self, error: Error) -> Error {
        let (Self::Loopback(port), Error::Ended { log, .. }) = (self, &error) else { return error };
        match refusal_in(log) {
            Some(kind) => Error::Port { port, source: kind.into() },
            None => error,
        }
    }
}

/// All servers log the kernel's words.
fn refusal_in(log: &str) -> Option<ErrorKind> {
    let mut binding = log.lines().filter(|it| BINDING.iter().any(|words| it.contains(words)));
    binding.find_map(|line| match line {
        _ if line.contains("Address already in use") => Some(ErrorKind::AddrInUse),
        _ if line.contains("Permission denied") => Some(ErrorKind::PermissionDenied),
        _ => None,
    })
}

const BINDING: [&str; 2] = ["Bind on TCP/IP port", "could not bind"];

/// 32 random hexadecimal digits.
pub(crate) fn new_password() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unavailable_port_is_found_in_the_log() {
        for (line, expected) in [
            (
                "[ERROR] Can't start server: Bind on TCP/IP port: Address already in use",
                Some(ErrorKind::AddrInUse),
            ),
            (
                "[1] LOG:  could not bind IPv4 address \"127.0.0.1\": Permission denied",
                Some(ErrorKind::PermissionDenied),
            ),
            ("[ERROR] cannot open `x`: Permission denied", None),
        ] {
            assert_eq!(refusal_in(line), expected);
        }
    }
}
