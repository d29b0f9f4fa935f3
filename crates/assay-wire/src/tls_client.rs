//! The options of TLS, and the configuration of rustls that follows from them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::tls_problem::TlsProblem;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsMode {
    #[default]
    Disabled,
    /// TLS if the server has it.
    Preferred,
    /// TLS with any certificate.
    Required,
    /// A trusted authority must have signed the certificate.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must be for the host that the user named.
    VerifyIdentity,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustedRoots {
    File(PathBuf),
    /// Those of the machine.
    System,
}

/// The certificate by which a server knows the client, and its key: files in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Whether a login by SCRAM must prove that it goes over this very TLS connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelBindingMode {
    Disabled,
    #[default]
    Preferred,
    Required,
}

/// How a client without TLS gets the public key that encrypts its password for MySQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerKey {
    #[default]
    Unknown,
    /// The server's answer is believed, although anybody in between may have replaced it.
    Requested,
    File(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    pub mode: TlsMode,
    pub roots: Option<TrustedRoots>,
    pub identity: Option<ClientIdentity>,
    /// Whether the name of the host is sent in clear text (SNI).
    pub sends_name: bool,
    /// TLS from the first byte on. Postgres 17 and later.
    pub is_direct: bool,
    /// Postgres only.
    pub channel_binding: ChannelBindingMode,
    /// MySQL only.
    pub server_key: ServerKey,
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self {
            mode: TlsMode::default(),
            roots: None,
            identity: None,
            sends_name: true,
            is_direct: false,
            channel_binding: ChannelBindingMode::default(),
            server_key: ServerKey::default(),
        }
    }
}

/// The name by which servers of Postgres know their protocol within TLS.
pub(crate) const POSTGRES_ALPN: &[u8] = b"postgresql";

/// TLS for all connections with the same options. Files are read once, by the first connection.
#[derive(Clone, Debug, Default)]
pub struct TlsClient {
    options: TlsOptions,
    config: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl TlsClient {
    pub fn new(options: TlsOptions) -> Self {
        Self { options, config: Arc::default() }
    }

    pub fn options(&self) -> &TlsOptions {
        &self.options
    }

    pub fn mode(&self) -> TlsMode {
        self.options.mode
    }

    pub(crate) fn config(&self, is_postgres: bool) -> Result<Arc<ClientConfig>, TlsProblem> {
        if let Some(config) = self.config.get() {
            return Ok(Arc::clone(config));
        }
        let mut config = configure(&self.options)?;
        if is_postgres {
            config.alpn_protocols = vec![POSTGRES_ALPN.to_vec()];
        }
        Ok(Arc::clone(self.config.get_or_init(|| Arc::new(config))))
    }
}

fn configure(options: &TlsOptions) -> Result<ClientConfig, TlsProblem> {
    let provider = Arc::new(ring::default_provider());
    let check = CertificateCheck::new(options, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(check));
    let mut config = match &options.identity {
        None => builder.with_no_client_auth(),
        Some(ClientIdentity { certificate, key }) => {
            let private = PrivateKeyDer::from_pem_file(key).map_err(|why| unusable(key, &why))?;
            builder.with_client_auth_cert(certificates(certificate)?, private)?
        }
    };
    // The clients of both families log in anew each time, with a whole handshake.
    config.resumption = Resumption::disabled();
    config.enable_sni = options.sends_name;
    // `TlsRecords` takes over after the handshake.
    config.enable_secret_extraction = true;
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsProblem> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let all: Vec<_> = read.map_err(|why| unusable(path, &why))?;
    if all.is_empty() {
        return Err(file_problem(path, "it has no certificate in PEM"));
    }
    Ok(all)
}

pub(crate) fn public_key(path: &Path) -> Result<SubjectPublicKeyInfoDer<'static>, TlsProblem> {
    SubjectPublicKeyInfoDer::from_pem_file(path).map_err(|why| unusable(path, &why))
}

fn unusable(path: &Path, why: &pem::Error) -> TlsProblem {
    match why {
        pem::Error::Io(error) => file_problem(path, &error.to_string()),
        pem::Error::NoItemsFound => file_problem(path, "it has no such item in PEM"),
        // The bytes of an error may be those of a private key.
        _ => file_problem(path, "it is not PEM"),
    }
}

fn file_problem(path: &Path, why: &str) -> TlsProblem {
    TlsProblem::File { path: path.display().to_string(), why: why.to_owned() }
}

fn trusted(roots: &TrustedRoots) -> Result<RootCertStore, TlsProblem> {
    let mut store = RootCertStore::empty();
    match roots {
        TrustedRoots::File(path) => {
            for certificate in certificates(path)? {
                let why = "it has a certificate that cannot be read";
                store.add(certificate).map_err(|_| file_problem(path, why))?;
            }
        }
        // A store of a system often has certificates that rustls does not know. The others count.
        TrustedRoots::System => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(store)
}

/// Checks of the server's certificate that the mode asks for.
#[derive(Debug)]
struct CertificateCheck {
    /// `None`: any certificate is accepted.
    authority: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl CertificateCheck {
    fn new(options: &TlsOptions, provider: &Arc<CryptoProvider>) -> Result<Self, TlsProblem> {
        let authority = match &options.roots {
            _ if options.mode < TlsMode::VerifyCa => None,
            None => return Err(TlsProblem::Other("no file of trusted authorities".to_owned())),
            Some(roots) => {
                let roots = Arc::new(trusted(roots)?);
                let provider = Arc::clone(provider);
                let built = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
                Some(built.map_err(|error| TlsProblem::Other(error.to_string()))?)
            }
        };
        Ok(Self {
            authority,
            checks_name: options.mode == TlsMode::VerifyIdentity,
            algorithms: provider.signature_verification_algorithms,
        })
    }
}

impl ServerCertVerifier for CertificateCheck {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        let verified = authority.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // rustls checks the name last, after the signatures and the dates.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    /// Checked in every mode: the channel binding of a login is only as good as this signature.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
