//! The handshake of TLS on a connection that has sent no secret yet.

use std::io::{self, Read, Write};

use ring::digest::{SHA256, SHA384, SHA512, digest};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ProtocolVersion};

use crate::budget::ReadBudget;
use crate::der::Der;
use crate::error::{WireError, WireResult};
use crate::options::{Address, ConnectOptions, Protocol};
use crate::stream::ServerStream;
use crate::tls_client::POSTGRES_ALPN;
use crate::tls_problem::TlsProblem;
use crate::tls_records::{HEADER, TlsRecords, body_length};

/// Facts about an encrypted connection.
#[derive(Debug)]
pub(crate) struct TlsFacts {
    /// Such as `TLSv1.3 TLS13_AES_256_GCM_SHA384`.
    pub(crate) cipher: String,
    /// Hash of the server's certificate, to which a login can be bound (`tls-server-end-point`, RFC 5929).
    pub(crate) end_point: Option<Vec<u8>>,
}

/// Encrypts the stream. Everything after this call is sent and received in records.
pub(crate) fn start_tls(
    stream: &mut ServerStream,
    options: &ConnectOptions,
    budget: &ReadBudget,
) -> WireResult<TlsFacts> {
    let failed = |problem| tls_error(options, problem);
    let host: &str = match &options.address {
        Address::Unix(_) => "localhost",
        Address::Tcp { host, .. } => host,
    };
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| failed(TlsProblem::Other(format!("`{host}` is no name of a host"))))?;
    let config = options.tls.config(options.protocol == Protocol::Postgres).map_err(failed)?;
    let mut client =
        ClientConnection::new(config, name).map_err(|error| failed(TlsProblem::from(error)))?;
    let mut socket =
        RecordSocket { stream: &mut *stream, budget, header: [0; HEADER], have: 0, left: 0 };
    client.complete_io(&mut socket).map_err(|error| handshake_error(options, error))?;
    if options.tls.options().is_direct && client.alpn_protocol() != Some(POSTGRES_ALPN) {
        let why = "the server does not say that it speaks Postgres' protocol within TLS";
        return Err(failed(TlsProblem::Other(why.to_owned())));
    }
    let version = match client.protocol_version() {
        Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "TLSv1.2",
    };
    let suite = client.negotiated_cipher_suite().map(|suite| suite.suite());
    let facts = TlsFacts {
        cipher: suite.map_or(version.to_owned(), |suite| format!("{version} {suite:?}")),
        end_point: client.peer_certificates().and_then(|all| end_point(all.first()?)),
    };
    let is_13 = version == "TLSv1.3";
    let secrets = client.dangerous_extract_secrets().map_err(TlsProblem::from).map_err(failed)?;
    stream.encrypt(TlsRecords::new(secrets, is_13).map_err(failed)?);
    Ok(facts)
}

pub(crate) fn tls_error(options: &ConnectOptions, problem: TlsProblem) -> WireError {
    WireError::Tls { address: options.address.to_string(), problem: problem.into() }
}

fn handshake_error(options: &ConnectOptions, error: io::Error) -> WireError {
    let error = match error.downcast::<WireError>() {
        Ok(error) => return error,
        Err(error) => error,
    };
    match error.downcast::<rustls::Error>() {
        Ok(error) => tls_error(options, TlsProblem::from(error)),
        Err(error) => tls_error(options, TlsProblem::Other(error.to_string())),
    }
}

/// The stream during the handshake. It never reads past the end of a record: rustls would keep the bytes of the next
/// one, which [`TlsRecords`] must open.
struct RecordSocket<'a> {
    stream: &'a mut ServerStream,
    budget: &'a ReadBudget,
    header: [u8; HEADER],
    /// Bytes of the header that were read.
    have: usize,
    /// Bytes of the record's body that were not read yet.
    left: usize,
}

impl Read for RecordSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let is_body = self.left > 0;
        let wanted = if is_body { self.left } else { HEADER - self.have };
        let room = wanted.min(buffer.len());
        let count = loop {
            self.stream.wait_with(self.budget).map_err(io::Error::other)?;
            let received = self.stream.try_receive(&mut buffer[..room]);
            if let Some(count) = received.map_err(io::Error::other)? {
                break count;
            }
        };
        if is_body {
            self.left -= count;
            return Ok(count);
        }
        self.header[self.have..][..count].copy_from_slice(&buffer[..count]);
        self.have += count;
        if self.have == HEADER {
            self.have = 0;
            self.left = body_length(self.header);
        }
        Ok(count)
    }
}

impl Write for RecordSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.send(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hash of a certificate by the algorithm of its signature, or by SHA-256 in place of MD5 and SHA-1. `None` for
/// signatures without one hash, such as Ed25519.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4];
    let mut parts = Der(certificate).sequence()?;
    let _signed = parts.sequence()?;
    let algorithm = parts.sequence()?.object()?;
    let hash = match (algorithm.strip_prefix(RSA), algorithm.strip_prefix(ECDSA)) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => &SHA256,
        (Some([12]), _) | (_, Some([3, 3])) => &SHA384,
        (Some([13]), _) | (_, Some([3, 4])) => &SHA512,
        _ => return None,
    };
    Some(digest(hash, certificate).as_ref().to_vec())
}
