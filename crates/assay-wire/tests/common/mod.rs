//! A scripted peer, for faults that no real server can be made to produce.

#![allow(dead_code, clippy::unwrap_used, reason = "a part of each test and bench")]

use std::io::{Read, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use assay_wire::mysql::codec::{HEADER, frame, parse_header};
use assay_wire::{ConnectOptions, TlsClient, TlsMode, TlsOptions, TrustedRoots};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};
use tempfile::TempDir;

pub(crate) type TlsStream = StreamOwned<ServerConnection, UnixStream>;

pub(crate) struct Peer {
    pub(crate) options: ConnectOptions,
    thread: JoinHandle<()>,
    _directory: TempDir,
}

impl Peer {
    /// Logs one client in, then runs `script` on the connection.
    pub(crate) fn new(script: impl FnOnce(UnixStream) + Send + 'static) -> Self {
        Self::raw(|mut stream| {
            log_in(&mut stream);
            script(stream);
        })
    }

    pub(crate) fn raw(script: impl FnOnce(UnixStream) + Send + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let thread = std::thread::spawn(move || script(listener.accept().unwrap().0));
        let mut options = ConnectOptions::unix(path, "root");
        options.timeout = Duration::from_secs(20);
        Self { options, thread, _directory: directory }
    }

    /// Logs one client in over TLS, unless the client ends the handshake.
    pub(crate) fn over_tls(
        config: Arc<ServerConfig>,
        script: impl FnOnce(TlsStream) + Send + 'static,
    ) -> Self {
        let mut peer = Self::raw(move |mut stream| {
            stream.write_all(&packet(&tls_greeting(), 0)).unwrap();
            assert_eq!(read_packet(&mut stream).unwrap().len(), 32);
            let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
            if read_packet(&mut stream).is_some() {
                stream.write_all(&packet(OK, 3)).unwrap();
                script(stream);
            }
        });
        peer.options.tls = tls(TlsMode::VerifyIdentity, "authority.pem");
        peer
    }

    pub(crate) fn join(self) {
        self.thread.join().unwrap();
    }
}

pub(crate) fn greeting() -> Vec<u8> {
    let mut greeting = b"\x0a10.11.0-Peer\0\x01\0\0\0abcdefgh\0".to_vec();
    greeting.extend_from_slice(&[0xfe, 0xf7, 8, 2, 0, 0xff, 0x81, 21]);
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    greeting
}

pub(crate) fn tls_greeting() -> Vec<u8> {
    let mut greeting = greeting();
    let at = greeting.windows(2).position(|pair| pair == [0xfe, 0xf7]).unwrap();
    greeting[at + 1] |= 1 << 3;
    greeting
}

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates").join(name)
}

pub(crate) fn tls(mode: TlsMode, authority: &str) -> TlsClient {
    let roots = Some(TrustedRoots::File(file(authority)));
    TlsClient::new(TlsOptions { mode, roots, ..TlsOptions::default() })
}

pub(crate) fn server_config(
    certificate: &str,
    version: &'static SupportedProtocolVersion,
) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(file(certificate)).unwrap().map(Result::unwrap);
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth();
    Arc::new(builder.with_single_cert(chain.collect(), key).unwrap())
}

pub(crate) fn log_in(stream: &mut UnixStream) {
    stream.write_all(&packet(&greeting(), 0)).unwrap();
    read_packet(stream).unwrap();
    stream.write_all(&packet(OK, 2)).unwrap();
}

/// An OK packet's payload: 3 rows changed.
pub(crate) const OK: &[u8] = &[0, 3, 0, 2, 0, 0, 0];
pub(crate) const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

pub(crate) fn packet(payload: &[u8], sequence: u8) -> Vec<u8> {
    let mut out = Vec::new();
    frame(payload, sequence, &mut out);
    out
}

pub(crate) fn reply(payloads: &[&[u8]]) -> Vec<u8> {
    let mut sequence = 1_u8;
    let mut out = Vec::new();
    for payload in payloads {
        let before = out.len();
        frame(payload, sequence, &mut out);
        let packets = (out.len() - before - payload.len()) / HEADER;
        sequence = sequence.wrapping_add(packets as u8);
    }
    out
}

/// One packet's payload; `None` at the end of the stream.
pub(crate) fn read_packet(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).ok()?;
    let mut payload = vec![0; parse_header(header).0];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}
