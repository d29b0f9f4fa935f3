//! Connections to running servers.

use std::io::ErrorKind;

use assay_model::Dialect;
use assay_plan::{ServerPlace, ServerUrl, TlsDemand};
use assay_wire::{
    Address, ChannelBindingMode, ClientIdentity, ConnectOptions, Protocol, ServerKey, Stop,
    TlsClient, TlsMode, TlsOptions, TlsProblem, TrustedRoots, WireError,
};

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
        tls: TlsClient::new(tls_options(url)),
        ..ConnectOptions::new(address, &url.user)
    }
}

fn tls_options(url: &ServerUrl) -> TlsOptions {
    let mode = match url.tls_demand() {
        TlsDemand::Disabled => TlsMode::Disabled,
        TlsDemand::Preferred => TlsMode::Preferred,
        TlsDemand::Required => TlsMode::Required,
        TlsDemand::VerifyCa => TlsMode::VerifyCa,
        TlsDemand::VerifyIdentity => TlsMode::VerifyIdentity,
    };
    let roots = url
        .tls
        .roots(url.dialect)
        .map(|path| path.map_or(TrustedRoots::System, |path| TrustedRoots::File(path.into())));
    let identity = url.tls.identity(url.dialect).map(|(certificate, key)| ClientIdentity {
        certificate: certificate.into(),
        key: key.into(),
    });
    let channel_binding = match url.tls.get("channel_binding") {
        Some("disable") => ChannelBindingMode::Disabled,
        Some("require") => ChannelBindingMode::Required,
        _ => ChannelBindingMode::Preferred,
    };
    let is_requested = url.tls.get("get-server-public-key") == Some("true");
    let server_key = match url.tls.get("server-public-key-path") {
        Some(path) => ServerKey::File(path.into()),
        None if is_requested => ServerKey::Requested,
        None => ServerKey::Unknown,
    };
    TlsOptions {
        mode,
        roots,
        identity,
        sends_name: url.tls.get("sslsni") != Some("0"),
        is_direct: url.tls.get("sslnegotiation") == Some("direct"),
        channel_binding,
        server_key,
    }
}

/// `ER_SECURE_TRANSPORT_REQUIRED`, of MySQL and MariaDB.
const SECURE_TRANSPORT: u32 = 3159;

/// Whether `pg_hba.conf` refuses a login because of its encryption or certificate. Servers may translate the message.
fn is_about_tls(message: &str) -> bool {
    message.contains("no encryption") || message.contains("client certificate")
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
        WireError::Tls { problem, .. } => return tls_hint(problem).map(str::to_owned),
        WireError::OtherProtocol { spoken: "Postgres", .. } => "begin the URL with `postgres://`",
        WireError::OtherProtocol { .. } => "begin the URL with `mysql://`",
        WireError::Server { code: SECURE_TRANSPORT, .. } => "add `ssl-mode=required` to the URL",
        WireError::Server { state, message, .. } if state == "28000" && is_about_tls(message) => {
            "add `sslmode=require` to the URL, with `sslcert=FILE&sslkey=FILE` if the server asks for a certificate"
        }
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

fn tls_hint(problem: &TlsProblem) -> Option<&'static str> {
    Some(match problem {
        TlsProblem::NotOffered => {
            "the URL asks for TLS. If the server has it, somebody in between may have removed its offer: do not go on \
             without TLS. Otherwise turn it on in the server, or remove the word from the URL"
        }
        TlsProblem::UnknownAuthority => {
            "give the file of the authority that signed it: `ssl-ca=FILE`, or `sslrootcert=FILE` for Postgres. If that \
             is what you gave, another server may have answered"
        }
        TlsProblem::Expired | TlsProblem::NotYetValid => {
            "renew the server's certificate; if it is valid, check the clock of this machine"
        }
        TlsProblem::WrongName(_) => {
            "use a host name for which the certificate is (a common name alone does not count), or check only its \
             authority: `ssl-mode=verify-ca`, or `sslmode=verify-ca` for Postgres"
        }
        TlsProblem::OldVersion => {
            "assay needs TLS 1.2: connect without TLS by `ssl-mode=disabled`, if nobody can listen in between"
        }
        TlsProblem::ClientCertificate => {
            "give a certificate that the server accepts, and its key: `ssl-cert=FILE&ssl-key=FILE`, or \
             `sslcert=FILE&sslkey=FILE` for Postgres"
        }
        TlsProblem::File { .. } => "check the path, and that the file is in PEM",
        TlsProblem::Other(why) if why.contains("CaUsedAsEndEntity") => {
            "the server's certificate is marked as that of an authority: let it sign another one for the server"
        }
        _ => return None,
    })
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
