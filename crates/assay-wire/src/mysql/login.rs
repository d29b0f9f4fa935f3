//! The login without sockets: the answer to each packet until the server accepts the client.

use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;

use super::codec::{ServerGreeting, parse_auth_switch, parse_error, parse_greeting};
use super::constants::CapabilityFlags;
use super::password::{NONCE, caching_sha2, ed25519, native, parsec, sealed_password};
use crate::error::{WireError, WireResult};
use crate::options::{Address, ConnectOptions};
use crate::tls_client::{ServerKey, TlsMode, public_key};
use crate::tls_problem::TlsProblem;

const NATIVE: &str = "mysql_native_password";
const CACHING_SHA2: &str = "caching_sha2_password";
const SHA256: &str = "sha256_password";
const CLEAR: &str = "mysql_clear_password";
const ED25519: &str = "client_ed25519";
const PARSEC: &str = "parsec";

/// The capabilities requested from every server, so that none is favored.
///
/// MySQL 5.5, MariaDB 10.1 and later have them all. Left out on purpose: the deprecated-EOF form and MariaDB's cached
/// metadata, which only some servers have and which make their replies shorter; found rows, which would count unchanged
/// rows as written; multiple statements, local files and compression.
const CAPABILITIES: CapabilityFlags = CapabilityFlags::CLIENT_LONG_PASSWORD
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_PROTOCOL_41)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH);

/// Capabilities without which the protocol does not work.
const NEEDED: CapabilityFlags = CapabilityFlags::CLIENT_PROTOCOL_41
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH);

/// Maximum packet size that this client announces, bytes: the usual 1 GiB.
const MAX_PACKET: u32 = 1 << 30;

/// Collation number of `latin1`, one byte per character: the default of sysbench, the reference client, and known to
/// all servers. It is the same for all compared servers.
const LATIN1: u8 = 8;

pub struct MySqlLogin<'a> {
    options: &'a ConnectOptions,
    plugin: String,
    /// The server's last nonce.
    nonce: Vec<u8>,
    awaits_key: bool,
    is_encrypted: bool,
    done: bool,
    /// The session does not autocommit.
    is_manual: bool,
}

/// A packet of this many bytes asks for TLS. It is the beginning of the answer to the greeting.
pub(crate) const TLS_REQUEST: usize = 32;

impl<'a> MySqlLogin<'a> {
    /// Parses the server's greeting. Returns it with the payload of the answer.
    pub fn start(
        options: &'a ConnectOptions,
        greeting: &[u8],
    ) -> WireResult<(Self, ServerGreeting, Vec<u8>)> {
        let greeting = parse_greeting(greeting)?;
        if !greeting.capabilities.contains(NEEDED) {
            return Err(WireError::Protocol("the greeting of a server older than 5.5"));
        }
        let plugin = match greeting.auth_plugin.as_str() {
            CACHING_SHA2 => CACHING_SHA2,
            // The server asks again if the account needs another method.
            _ => NATIVE,
        };
        let has_tls = greeting.capabilities.contains(CapabilityFlags::CLIENT_SSL);
        let mode = options.tls.mode();
        if mode >= TlsMode::Required && !has_tls {
            let address = options.address.to_string();
            return Err(WireError::Tls { address, problem: TlsProblem::NotOffered.into() });
        }
        let mut login = Self {
            options,
            plugin: plugin.to_owned(),
            nonce: greeting.nonce.clone(),
            awaits_key: false,
            is_encrypted: mode > TlsMode::Disabled && has_tls,
            done: false,
            is_manual: false,
        };
        let answer = login.response()?;
        Ok((login, greeting, answer))
    }

    /// Whether the first [`TLS_REQUEST`] bytes of the answer to the greeting are sent first, then the handshake of TLS,
    /// and then the whole answer.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// The capabilities to request: the same for every server, except for the default database, rows to copy, and TLS.
    pub fn capabilities(&self) -> CapabilityFlags {
        let mut all = CAPABILITIES;
        all.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, self.options.database.is_some());
        all.set(CapabilityFlags::CLIENT_LOCAL_FILES, self.options.may_copy);
        all.set(CapabilityFlags::CLIENT_SSL, self.is_encrypted);
        all
    }

    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    pub fn is_manual(&self) -> bool {
        self.is_manual
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Takes a packet. Returns the payload of the answer, if one is due.
    pub fn step(&mut self, payload: &[u8]) -> WireResult<Option<Vec<u8>>> {
        match payload {
            [0, rest @ ..] => {
                self.done = true;
                self.is_manual = is_manual(rest);
                Ok(None)
            }
            [0xff, ..] => Err(parse_error(payload)),
            [0xfe, ..] => {
                let (plugin, nonce) = parse_auth_switch(payload)?;
                (self.plugin, self.nonce) = (plugin, nonce);
                self.awaits_key = false;
                self.proof().map(Some)
            }
            [1, key @ ..] if self.awaits_key => {
                self.awaits_key = false;
                let key = SubjectPublicKeyInfoDer::from_pem_slice(key)
                    .map_err(|_| WireError::Protocol("a public key that is not in PEM"))?;
                self.sealed(&key).map(Some)
            }
            // The server knows the hash from an earlier login: an OK follows.
            [1, 3] if self.plugin == CACHING_SHA2 => Ok(None),
            [1, 4] if self.plugin == CACHING_SHA2 => self.whole_password(&[2]).map(Some),
            // Newer servers mark it as more data of the method.
            [b'P', salt @ ..] | [1, b'P', salt @ ..] if self.plugin == PARSEC => {
                self.parsec(salt).map(Some)
            }
            _ => Err(WireError::Protocol("a packet of the login")),
        }
    }

    fn response(&mut self) -> WireResult<Vec<u8>> {
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(&self.capabilities().bits().to_le_bytes());
        out.extend_from_slice(&MAX_PACKET.to_le_bytes());
        out.push(LATIN1);
        out.extend_from_slice(&[0; 23]);
        put_terminated(&self.options.user, &mut out)?;
        let proof = self.proof()?;
        out.push(proof.len() as u8);
        out.extend_from_slice(&proof);
        if let Some(database) = &self.options.database {
            put_terminated(database, &mut out)?;
        }
        put_terminated(&self.plugin, &mut out)?;
        Ok(out)
    }

    /// The answer to the server's nonce. An empty password is an empty answer, except where the method has a sign for
    /// it.
    fn proof(&mut self) -> WireResult<Vec<u8>> {
        let password = self.password();
        match self.plugin.as_str() {
            SHA256 if password.is_empty() => Ok(vec![0]),
            PARSEC => Ok(Vec::new()),
            _ if password.is_empty() => Ok(Vec::new()),
            NATIVE => Ok(native(self.nonce()?, password)),
            CACHING_SHA2 => Ok(caching_sha2(self.nonce()?, password)),
            SHA256 => self.whole_password(&[1]),
            CLEAR if self.is_encrypted => Ok([password, &[0]].concat()),
            CLEAR => Err(self.refused("it needs TLS (`ssl-mode=required`)")),
            ED25519 => Ok(ed25519(self.nonce()?, password).to_vec()),
            _ => Err(self.refused("this client does not have it")),
        }
    }

    fn nonce<const N: usize>(&self) -> WireResult<&[u8; N]> {
        let wrong = WireError::Protocol("a nonce of another length than its login method has");
        self.nonce.as_slice().try_into().map_err(|_| wrong)
    }

    /// The password itself where only the server can read it: within TLS, and over a unix socket, where
    /// `sha256_password` does not take it. Otherwise encrypted for the server's public key, which `request` asks for.
    fn whole_password(&mut self, request: &[u8]) -> WireResult<Vec<u8>> {
        let is_local = matches!(self.options.address, Address::Unix(_));
        if self.is_encrypted || (is_local && self.plugin == CACHING_SHA2) {
            return Ok([self.password(), &[0]].concat());
        }
        match &self.options.tls.options().server_key {
            ServerKey::Unknown if !is_local => Err(self.refused(
                "the first login with a password needs TLS (`ssl-mode=required`) or a unix socket",
            )),
            ServerKey::Unknown | ServerKey::Requested => {
                self.awaits_key = true;
                Ok(request.to_vec())
            }
            ServerKey::File(path) => {
                let key = public_key(path).map_err(|problem| {
                    let address = self.options.address.to_string();
                    WireError::Tls { address, problem: Box::new(problem) }
                })?;
                self.sealed(&key)
            }
        }
    }

    fn sealed(&self, key: &[u8]) -> WireResult<Vec<u8>> {
        let nonce: &[u8; NONCE] = self.nonce()?;
        let sealed = sealed_password(key, nonce, self.password());
        sealed.ok_or_else(|| self.refused("the server's public key cannot encrypt the password"))
    }

    fn parsec(&self, salt: &[u8]) -> WireResult<Vec<u8>> {
        let signed = parsec(self.nonce()?, salt, self.password());
        signed.ok_or_else(|| self.refused("the server's salt is not one of PARSEC"))
    }

    fn password(&self) -> &'a [u8] {
        self.options.password.as_deref().unwrap_or_default().as_bytes()
    }

    fn refused(&self, reason: &'static str) -> WireError {
        WireError::Auth { plugin: self.plugin.clone(), reason }
    }
}

/// Whether the rest of an OK reports that the session does not autocommit. No row was affected, and no number was
/// generated.
fn is_manual(rest: &[u8]) -> bool {
    const AUTOCOMMIT: u8 = 2;
    matches!(rest, [0, 0, status, _, ..] if status & AUTOCOMMIT == 0)
}

fn put_terminated(text: &str, out: &mut Vec<u8>) -> WireResult<()> {
    if text.contains('\0') {
        return Err(WireError::Usage("a NUL in a user's or a database's name"));
    }
    out.extend_from_slice(text.as_bytes());
    out.push(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(password: &str) -> ConnectOptions {
        let mut options = ConnectOptions::unix("/run/none", "root");
        options.password = (!password.is_empty()).then(|| password.to_owned());
        options
    }

    fn greeting(plugin: &str) -> Vec<u8> {
        let mut payload = b"\x0a8.0.33\0\x01\0\0\0abcdefgh\0".to_vec();
        payload.extend_from_slice(&[0xff, 0xff, 8, 2, 0, 0xff, 0xdf, 21]);
        payload.extend_from_slice(&[0; 10]);
        payload.extend_from_slice(b"ijklmnopqrst\0");
        payload.extend_from_slice(plugin.as_bytes());
        payload.push(0);
        payload
    }

    #[test]
    fn the_answer_to_a_greeting_is_the_same_for_all_servers() {
        let options = options("");
        let (_, _, mysql) = MySqlLogin::start(&options, &greeting(NATIVE)).unwrap();
        let (login, _, maria) = MySqlLogin::start(&options, &greeting("unix_socket")).unwrap();
        assert_eq!(mysql, maria);
        let capabilities = login.capabilities();
        assert_eq!(mysql[..4], capabilities.bits().to_le_bytes());
        assert_eq!(mysql[8], 8);
        assert_eq!(mysql[32..], *b"root\0\0mysql_native_password\0");
        for absent in [
            CapabilityFlags::CLIENT_DEPRECATE_EOF,
            CapabilityFlags::CLIENT_FOUND_ROWS,
            CapabilityFlags::CLIENT_SSL,
            CapabilityFlags::CLIENT_MULTI_STATEMENTS,
            CapabilityFlags::CLIENT_LOCAL_FILES,
            CapabilityFlags::CLIENT_COMPRESS,
        ] {
            assert!(!capabilities.intersects(absent));
        }
    }

    #[test]
    fn an_empty_password_is_an_empty_answer_to_any_method() {
        let options = options("");
        let (mut login, _, _) = MySqlLogin::start(&options, &greeting(NATIVE)).unwrap();
        let switch = b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0";
        assert_eq!(login.step(switch).unwrap(), Some(Vec::new()));
        assert_eq!(login.plugin(), CACHING_SHA2);
        assert_eq!(login.step(&[0, 0, 0, 2, 0, 0, 0]).unwrap(), None);
        assert!(login.is_done() && !login.is_manual());
        assert_eq!(login.step(&[0, 0, 0, 0, 0, 0, 0]).unwrap(), None);
        assert!(login.is_manual());
    }

    #[test]
    fn a_password_goes_in_clear_over_a_unix_socket_only() {
        let mut options = options("secret");
        let (mut login, _, answer) = MySqlLogin::start(&options, &greeting(CACHING_SHA2)).unwrap();
        assert_eq!(answer[37], 32, "a hash, not the password");
        assert_eq!(login.step(&[1, 3]).unwrap(), None);
        assert_eq!(login.step(&[1, 4]).unwrap(), Some(b"secret\0".to_vec()));
        let switch = b"\xfesha256_password\0abcdefghijklmnopqrst\0";
        assert_eq!(login.step(switch).unwrap(), Some(vec![1]), "asks for the public key");

        options.address = Address::Tcp { host: "localhost".to_owned(), port: 3306 };
        let (mut login, _, _) = MySqlLogin::start(&options, &greeting(CACHING_SHA2)).unwrap();
        assert!(matches!(login.step(&[1, 4]), Err(WireError::Auth { .. })));
    }

    #[test]
    fn parsec_takes_the_salt_with_and_without_a_mark() {
        let options = options("secret");
        let nonce = [7; 32];
        for salt in [&b"P\0abcdefghijklmnopqr"[..], b"\x01P\0abcdefghijklmnopqr"] {
            let (mut login, _, _) = MySqlLogin::start(&options, &greeting(NATIVE)).unwrap();
            let switch = [&b"\xfeparsec\0"[..], &nonce].concat();
            assert_eq!(login.step(&switch).unwrap(), Some(Vec::new()));
            assert_eq!(login.step(salt).unwrap().unwrap().len(), 32 + 64);
        }
    }

    #[test]
    fn a_password_is_not_given_to_unknown_methods() {
        let options = options("secret");
        for switch in [&b"\xfemysql_clear_password\0"[..], b"\xfe", b"\xfedialog\0Password: \0"] {
            let (mut login, _, _) = MySqlLogin::start(&options, &greeting(NATIVE)).unwrap();
            assert!(login.step(switch).is_err());
        }
    }
}
