//! The login without sockets: the answer to each packet until the server accepts the client.

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

use super::codec::{ServerGreeting, parse_auth_switch, parse_error, parse_greeting};
use super::constants::CapabilityFlags;
use crate::error::{WireError, WireResult};
use crate::options::{Address, ConnectOptions};

const NATIVE: &str = "mysql_native_password";
const CACHING_SHA2: &str = "caching_sha2_password";

/// The capabilities requested from every server, so that none is favored.
///
/// MySQL 5.5, MariaDB 10.1 and later have them all. Left out on purpose: the deprecated-EOF form and MariaDB's cached
/// metadata, which only some servers have and which make their replies shorter; found rows, which would count unchanged
/// rows as written; multiple statements, local files, compression and TLS.
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
    done: bool,
    /// The session does not autocommit.
    is_manual: bool,
}

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
        let login = Self { options, plugin: plugin.to_owned(), done: false, is_manual: false };
        let answer = login.response(&greeting.nonce)?;
        Ok((login, greeting, answer))
    }

    /// The capabilities to request: the same for every server, except for the default database and for rows to copy.
    pub fn capabilities(&self) -> CapabilityFlags {
        let mut all = CAPABILITIES;
        all.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, self.options.database.is_some());
        all.set(CapabilityFlags::CLIENT_LOCAL_FILES, self.options.may_copy);
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
                self.plugin = plugin;
                self.scramble(&nonce).map(Some)
            }
            // The server knows the hash from an earlier login: an OK follows.
            [1, 3] if self.plugin == CACHING_SHA2 => Ok(None),
            [1, 4] if self.plugin == CACHING_SHA2 => self.password_in_clear().map(Some),
            _ => Err(WireError::Protocol("a packet of the login")),
        }
    }

    fn response(&self, nonce: &[u8]) -> WireResult<Vec<u8>> {
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(&self.capabilities().bits().to_le_bytes());
        out.extend_from_slice(&MAX_PACKET.to_le_bytes());
        out.push(LATIN1);
        out.extend_from_slice(&[0; 23]);
        put_terminated(&self.options.user, &mut out)?;
        let scramble = self.scramble(nonce)?;
        out.push(scramble.len() as u8);
        out.extend_from_slice(&scramble);
        if let Some(database) = &self.options.database {
            put_terminated(database, &mut out)?;
        }
        put_terminated(&self.plugin, &mut out)?;
        Ok(out)
    }

    /// The password hashed with the server's nonce, at most 32 bytes. Empty for an empty password.
    fn scramble(&self, nonce: &[u8]) -> WireResult<Vec<u8>> {
        let password = self.password();
        if password.is_empty() {
            return Ok(Vec::new());
        }
        let nonce: &[u8; NONCE] = nonce
            .try_into()
            .map_err(|_| WireError::Protocol("a nonce that is not 20 bytes long"))?;
        match self.plugin.as_str() {
            NATIVE => Ok(native(nonce, password)),
            CACHING_SHA2 => Ok(caching_sha2(nonce, password)),
            _ => Err(self.refused("this client does not have it")),
        }
    }

    /// The password in clear text, for unix sockets only: there only the server can read it.
    fn password_in_clear(&self) -> WireResult<Vec<u8>> {
        match self.options.address {
            Address::Unix(_) => Ok([self.password(), &[0]].concat()),
            Address::Tcp { .. } => {
                Err(self.refused("the first login with a password must be over the unix socket"))
            }
        }
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

/// Random bytes of the server for a proof that the client knows the password.
const NONCE: usize = 20;

/// For `mysql_native_password`: SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))).
fn native(nonce: &[u8; NONCE], password: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    xor(&once, &Sha1::new().chain_update(nonce).chain_update(twice).finalize())
}

/// For `caching_sha2_password`: SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce).
fn caching_sha2(nonce: &[u8; NONCE], password: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    xor(&once, &Sha256::new().chain_update(twice).chain_update(nonce).finalize())
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
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

        options.address = Address::Tcp { host: "localhost".to_owned(), port: 3306 };
        let (mut login, _, _) = MySqlLogin::start(&options, &greeting(CACHING_SHA2)).unwrap();
        assert!(matches!(login.step(&[1, 4]), Err(WireError::Auth { .. })));
    }

    #[test]
    fn a_password_is_not_given_to_unknown_methods() {
        let options = options("secret");
        for switch in [&b"\xfemysql_clear_password\0"[..], b"\xfe", b"\xfedialog\0Password: \0"] {
            let (mut login, _, _) = MySqlLogin::start(&options, &greeting(NATIVE)).unwrap();
            assert!(login.step(switch).is_err());
        }
    }

    /// Computed with Python's `hashlib`.
    #[test]
    fn agrees_with_another_implementation() {
        let nonce = b"abcdefghijklmnopqrst";
        let sha1 = native(nonce, b"secret");
        assert_eq!(hex::encode(sha1), "8817c50fa779daef010ee7577825b0847df9842e");
        let sha2 = caching_sha2(nonce, b"secret");
        let expected = "c76e2898612a4cf042c77fa8c4702c4c64c0c2c557c53c4d75595aaa6abae809";
        assert_eq!(hex::encode(sha2), expected);
    }
}
