//! Reasons for which TLS fails, in words for people.

use std::fmt;

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsProblem {
    /// The server says that it has no TLS, or somebody in between removed its offer.
    NotOffered,
    UnknownAuthority,
    Expired,
    NotYetValid,
    /// The names that the certificate is for.
    WrongName(Vec<String>),
    /// TLS 1.1 or older.
    OldVersion,
    /// The server requires a certificate of the client, or a different one.
    ClientCertificate,
    /// Bytes that no holder of the keys sent.
    Forged,
    Closed,
    /// A file of certificates or keys cannot be used.
    File {
        path: String,
        why: String,
    },
    Other(String),
}

impl fmt::Display for TlsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::NotOffered => "the server says that it has no TLS",
            Self::UnknownAuthority => "no trusted authority has signed the server's certificate",
            Self::Expired => "the server's certificate has expired",
            Self::NotYetValid => "the server's certificate is not valid yet",
            Self::WrongName(names) if names.is_empty() => {
                "the server's certificate is for another host"
            }
            Self::WrongName(names) => {
                return write!(f, "the server's certificate is for {}", names.join(", "));
            }
            Self::OldVersion => "the server has only TLS 1.1 or older",
            Self::ClientCertificate => "the server does not accept the client's certificate",
            Self::Forged => "a record of the server was damaged or forged",
            Self::Closed => "the server closed the connection",
            Self::File { path, why } => return write!(f, "cannot use `{path}`: {why}"),
            Self::Other(why) => why,
        };
        f.write_str(text)
    }
}

impl From<Error> for TlsProblem {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(certificate) => Self::of_certificate(certificate),
            Error::AlertReceived(alert) => Self::of_alert(alert),
            Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Self::OldVersion,
            Error::InconsistentKeys(_) => {
                Self::Other("the certificate of the client has another key".to_owned())
            }
            other => Self::Other(other.to_string()),
        }
    }
}

impl TlsProblem {
    fn of_certificate(error: CertificateError) -> Self {
        match error {
            // A bad signature is that of another authority with the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                Self::UnknownAuthority
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Self::NotYetValid
            }
            CertificateError::NotValidForName => Self::WrongName(Vec::new()),
            // rustls writes a name as `DnsName("db.example")`.
            CertificateError::NotValidForNameContext { presented, .. } => {
                let name =
                    |text: String| text.split('"').nth(1).map_or(text.clone(), str::to_owned);
                Self::WrongName(presented.into_iter().map(name).collect())
            }
            other => Self::Other(Error::InvalidCertificate(other).to_string()),
        }
    }

    pub(crate) fn of_alert(alert: AlertDescription) -> Self {
        match alert {
            AlertDescription::CloseNotify => Self::Closed,
            AlertDescription::ProtocolVersion => Self::OldVersion,
            AlertDescription::BadCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRequired
            | AlertDescription::UnknownCA => Self::ClientCertificate,
            other => Self::Other(format!("the server ended TLS: {other:?}")),
        }
    }
}
