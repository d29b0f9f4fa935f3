//! Connections to running servers.

use std::io::ErrorKind;

use assay_model::Dialect;
use assay_plan::{ServerPlace, ServerUrl};
use assay_wire::{Address, ConnectOptions, Protocol, Stop, WireError};

/// Environment variable for the password, which keeps it out of the URL that others can see.
const PASSWORD: &str = "ASSAY_PASSWORD";

/// Options to connect to the server of a URL. A stop ends the connection.
pub fn connect_options(url: &ServerUrl, stop: Stop) -> ConnectOptions {
    let address = match &url.place {
        ServerPlace::Socket(path) => Address::Unix(path.clone()),
        ServerPlace::Tcp { host, port } => Address::Tcp { host: host.clone(), port: *port },
    };
    let protocol = match url.dialect {
        Dialect::MySql => Protocol::MySql,
        Dialect::Postgres => Protocol::Postgres,
    };
    let given = url.password.as_ref().map(|password| password.reveal().to_owned());
    ConnectOptions {
        protocol,
        password: given.or_else(|| std::env::var(PASSWORD).ok()),
        database: Some(url.database.clone()),
        stop,
        ..ConnectOptions::new(address, &url.user)
    }
}

pub fn connection_hint(error: &WireError) -> Option<String> {
    let hint = match error {
        WireError::Connect { source, .. } => match source.kind() {
            ErrorKind::ConnectionRefused => {
                "nothing listens there: start the server, or check the host and the port"
            }
            ErrorKind::PermissionDenied => "run assay as a user who may use the socket",
            // The OS error of a missing path. A host without an address is an error of the resolver.
            ErrorKind::NotFound if source.raw_os_error().is_some() => {
                "is the server running? check the socket's path (`?socket=PATH`)"
            }
            ErrorKind::NotFound => "check the host name",
            ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                "check the host, the port and any firewall in between"
            }
            _ if source.raw_os_error().is_none() => "check the host name",
            _ => "check the host, the port and any firewall in between",
        },
        WireError::OtherProtocol { spoken: "Postgres", .. } => "begin the URL with `postgres://`",
        WireError::OtherProtocol { .. } => "begin the URL with `mysql://`",
        // Both families use the same states for these errors, except for a wrong password and a missing database.
        WireError::Server { state, .. } if ["28000", "28P01"].contains(&state.as_str()) => {
            "check the user and the password (also read from `ASSAY_PASSWORD`)"
        }
        WireError::Server { code, state, .. } if *code == 1049 || state == "3D000" => {
            "create the database first, or name another one in the URL"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Error as IoError;

    use super::*;

    #[test]
    fn a_missing_host_and_a_missing_socket_have_different_hints() {
        let hint = |source| {
            connection_hint(&WireError::Connect { address: "x".to_owned(), source }).unwrap()
        };
        let (socket, host) =
            ("is the server running? check the socket's path", "check the host name");
        assert!(hint(IoError::from_raw_os_error(2)).starts_with(socket));
        assert_eq!(hint(IoError::other("failed to lookup address information")), host);
        assert_eq!(hint(IoError::new(ErrorKind::NotFound, "the host has no address")), host);
        assert!(hint(IoError::from_raw_os_error(113)).contains("firewall"));
        assert!(hint(ErrorKind::TimedOut.into()).contains("firewall"));
    }
}
