//! The login without sockets: the answer to each message until the server accepts the client.

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};

use super::codec::{checked, put_length, put_message, put_text};
use crate::error::{WireError, WireResult};
use crate::options::{Address, ConnectOptions};
use crate::tls_client::ChannelBindingMode;

/// Version 3.0 of the protocol, which every server since 7.4 speaks.
const VERSION: [u8; 4] = [0, 3, 0, 0];

/// Maximum rounds of hashing. The default is 4096; a hostile server could request hours of work.
const MAX_ROUNDS: u32 = 1_000_000;

const NOT_BOUND: &str = "`channel_binding=require` needs TLS and SCRAM-SHA-256-PLUS";

mod ask {
    pub(super) const NOTHING_MORE: u32 = 0;
    pub(super) const PASSWORD: u32 = 3;
    pub(super) const MD5: u32 = 5;
    pub(super) const SASL: u32 = 10;
    pub(super) const SASL_CONTINUE: u32 = 11;
    pub(super) const SASL_FINAL: u32 = 12;
}

pub struct PostgresLogin<'a> {
    options: &'a ConnectOptions,
    method: &'static str,
    scram: Option<ScramSha256>,
    is_encrypted: bool,
    /// Hash of the server's certificate.
    end_point: Option<Vec<u8>>,
    is_bound: bool,
    done: bool,
}

impl<'a> PostgresLogin<'a> {
    /// Returns the login with the first message to send.
    pub fn start(options: &'a ConnectOptions) -> WireResult<(Self, Vec<u8>)> {
        let user = checked(&options.user)?;
        let database = options.database.as_deref().map(checked).transpose()?;
        let schema = options.schema.as_deref().map(checked).transpose()?;
        let mut hello = Vec::new();
        put_length(&mut hello, |out| {
            out.extend_from_slice(&VERSION);
            // A setting in the first message outranks those of the user and the database, and survives `RESET`.
            let words = [("user", Some(user)), ("database", database), ("search_path", schema)];
            for (name, value) in words {
                if let Some(value) = value {
                    put_text(name.as_bytes(), out);
                    put_text(value, out);
                }
            }
            out.push(0);
        })?;
        let login = Self {
            options,
            method: "trust",
            scram: None,
            is_encrypted: false,
            end_point: None,
            is_bound: false,
            done: false,
        };
        Ok((login, hello))
    }

    /// Call if the login goes over TLS. A login can be bound to the hash of the server's certificate.
    pub(crate) fn set_encrypted(&mut self, end_point: Option<Vec<u8>>) {
        let may_bind = self.options.tls.options().channel_binding != ChannelBindingMode::Disabled;
        (self.is_encrypted, self.end_point) = (true, end_point.filter(|_| may_bind));
    }

    pub fn method(&self) -> &'static str {
        self.method
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Takes the body of an authentication message. Returns the message to answer with, if one is due.
    pub fn step(&mut self, body: &[u8]) -> WireResult<Option<Vec<u8>>> {
        let Some((asked, data)) = body.split_first_chunk::<4>() else {
            return Err(WireError::Protocol("a step of the login that is cut off"));
        };
        match u32::from_be_bytes(*asked) {
            // A server that begins SCRAM has to finish it: only the end proves that it knows the password.
            ask::NOTHING_MORE | ask::PASSWORD | ask::MD5 | ask::SASL if self.scram.is_some() => {
                Err(WireError::Protocol("a login out of order"))
            }
            ask::NOTHING_MORE | ask::PASSWORD | ask::MD5 if self.must_bind() && !self.is_bound => {
                Err(refused("trust, password or md5", NOT_BOUND))
            }
            ask::NOTHING_MORE => {
                self.done = true;
                Ok(None)
            }
            ask::PASSWORD => self.password_in_clear().map(Some),
            ask::MD5 => self.md5(data).map(Some),
            ask::SASL => self.scram_first(data).map(Some),
            ask::SASL_CONTINUE => self.scram_next(data).map(Some),
            ask::SASL_FINAL => self.scram_last(data).map(|()| None),
            other => Err(refused(
                method_name(other),
                "this client knows trust, password, md5 and SCRAM-SHA-256",
            )),
        }
    }

    fn must_bind(&self) -> bool {
        self.options.tls.options().channel_binding == ChannelBindingMode::Required
    }

    fn password(&self) -> &[u8] {
        self.options.password.as_deref().unwrap_or_default().as_bytes()
    }

    fn password_in_clear(&mut self) -> WireResult<Vec<u8>> {
        self.method = "password";
        if matches!(self.options.address, Address::Tcp { .. }) && !self.is_encrypted {
            return Err(refused(
                "password",
                "it would send the password in clear text: ask for TLS (`sslmode=require`)",
            ));
        }
        self.password_message(self.password())
    }

    fn md5(&mut self, data: &[u8]) -> WireResult<Vec<u8>> {
        self.method = "md5";
        let salt = data.first_chunk::<4>().ok_or(WireError::Protocol("a salt that is cut off"))?;
        let hash = md5_hash(self.options.user.as_bytes(), self.password(), *salt);
        self.password_message(hash.as_bytes())
    }

    fn password_message(&self, text: &[u8]) -> WireResult<Vec<u8>> {
        if text.contains(&0) {
            return Err(WireError::Usage("a password that holds a zero byte"));
        }
        let mut out = Vec::new();
        put_message(b'p', &mut out, |out| put_text(text, out))?;
        Ok(out)
    }

    fn scram_first(&mut self, data: &[u8]) -> WireResult<Vec<u8>> {
        let offers = |name: &str| data.split(|byte| *byte == 0).any(|word| word == name.as_bytes());
        let (name, method, binding) = match self.end_point.take() {
            Some(hash) if offers(SCRAM_SHA_256_PLUS) => {
                self.is_bound = true;
                let binding = ChannelBinding::tls_server_end_point(hash);
                (SCRAM_SHA_256_PLUS, "scram-sha-256-plus", binding)
            }
            _ if self.must_bind() => return Err(refused("sasl", NOT_BOUND)),
            _ if !offers(SCRAM_SHA_256) => {
                return Err(refused("sasl", "the server does not offer SCRAM-SHA-256"));
            }
            // The server checks that nobody removed its offer to bind.
            Some(_) => (SCRAM_SHA_256, "scram-sha-256", ChannelBinding::unrequested()),
            None => (SCRAM_SHA_256, "scram-sha-256", ChannelBinding::unsupported()),
        };
        self.method = method;
        let scram = ScramSha256::new(self.password(), binding);
        let mut out = Vec::new();
        let first = scram.message();
        let length = u32::try_from(first.len()).unwrap_or(u32::MAX);
        put_message(b'p', &mut out, |out| {
            put_text(name.as_bytes(), out);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(first);
        })?;
        self.scram = Some(scram);
        Ok(out)
    }

    fn scram_next(&mut self, data: &[u8]) -> WireResult<Vec<u8>> {
        let scram = self.scram.as_mut().ok_or(WireError::Protocol("a login out of order"))?;
        if !rounds(data).is_some_and(|rounds| (1..=MAX_ROUNDS).contains(&rounds)) {
            return Err(refused("scram-sha-256", "the server asks for too many hash iterations"));
        }
        scram.update(data).map_err(|_| refused("scram-sha-256", "the server's answer is wrong"))?;
        let mut out = Vec::new();
        put_message(b'p', &mut out, |out| out.extend_from_slice(scram.message()))?;
        Ok(out)
    }

    /// Checks the server's proof that it knows the password too.
    fn scram_last(&mut self, data: &[u8]) -> WireResult<()> {
        let mut scram = self.scram.take().ok_or(WireError::Protocol("a login out of order"))?;
        let proven = scram.finish(data);
        proven.map_err(|_| refused("scram-sha-256", "the server does not know the password"))
    }
}

/// Rounds of hashing in `r=...,s=...,i=ROUNDS`.
fn rounds(data: &[u8]) -> Option<u32> {
    let mut parts = data.split(|byte| *byte == b',');
    let digits = parts.find_map(|part| part.strip_prefix(b"i="))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn refused(plugin: &str, reason: &'static str) -> WireError {
    WireError::Auth { plugin: plugin.to_owned(), reason }
}

fn method_name(asked: u32) -> &'static str {
    match asked {
        2 => "kerberos",
        7 | 8 => "gss",
        9 => "sspi",
        _ => "an unknown method",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_the_search_path_of_the_session() {
        let schema = Some("ours".to_owned());
        let options = ConnectOptions { schema, ..ConnectOptions::unix("s", "me") };
        let (_, hello) = PostgresLogin::start(&options).unwrap();
        assert!(hello.ends_with(b"user\0me\0search_path\0ours\0\0"), "{hello:?}");
    }

    #[test]
    fn md5_matches_the_manual() {
        let options = ConnectOptions {
            password: Some("password".to_owned()),
            ..ConnectOptions::unix("s", "md5_user")
        };
        let (mut login, hello) = PostgresLogin::start(&options).unwrap();
        assert_eq!(hello, b"\0\0\0\x17\0\x03\0\0user\0md5_user\0\0");
        let answer = login.step(&[0, 0, 0, 5, 0x2a, 0x3d, 0x8f, 0xe0]).unwrap().unwrap();
        assert_eq!(answer.get(5..), Some(&b"md562af4dd09bbb41884907a838a3233294\0"[..]));
    }

    #[test]
    fn a_server_must_complete_its_scram_proof() {
        let options = ConnectOptions::unix("s", "u");
        let (mut login, _) = PostgresLogin::start(&options).unwrap();
        login.step(b"\0\0\0\x0aSCRAM-SHA-256\0\0").unwrap();
        for asked in [0, 3, 5] {
            assert!(matches!(
                login.step(&[0, 0, 0, asked, 1, 2, 3, 4]),
                Err(WireError::Protocol(_))
            ));
        }
    }

    #[test]
    fn a_server_cannot_keep_the_client_busy() {
        let options = ConnectOptions::unix("s", "u");
        for rounds in ["0", "4294967295", "99999999999", "x", ""] {
            let (mut login, _) = PostgresLogin::start(&options).unwrap();
            login.step(b"\0\0\0\x0aSCRAM-SHA-256\0\0").unwrap();
            let next = format!("\0\0\0\x0br=nonce,s=c2FsdHNhbHQ=,i={rounds}");
            assert!(matches!(login.step(next.as_bytes()), Err(WireError::Auth { .. })), "{rounds}");
        }
    }

    #[test]
    fn passwords_are_not_sent_in_clear() {
        let tcp = Address::Tcp { host: "127.0.0.1".to_owned(), port: 5432 };
        let options = ConnectOptions::new(tcp, "u");
        let (mut login, _) = PostgresLogin::start(&options).unwrap();
        assert!(matches!(login.step(&[0, 0, 0, 3]), Err(WireError::Auth { .. })));
        let options = ConnectOptions::unix("s", "u");
        let (mut login, _) = PostgresLogin::start(&options).unwrap();
        assert!(login.step(&[0, 0, 0, 3]).unwrap().is_some());
        assert!(matches!(login.step(&[0, 0, 0, 7]), Err(WireError::Auth { .. })));
        assert!(matches!(login.step(&[0, 0, 0, 11, 1]), Err(WireError::Protocol(_))));
        assert!(!login.is_done());
    }
}
