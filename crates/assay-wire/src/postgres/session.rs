//! A connection that has been logged in: what was agreed on, and messages in and out.

use std::time::Duration;

use super::codec::{
    HEADER, kind, parse_backend, parse_error, parse_header, parse_parameter, put_message, put_text,
};
use super::login::Login;
use crate::inbox::Inbox;
use crate::patience::Patience;
use crate::stream::Stream;
use crate::{ConnectOptions, Error};

/// A server that is not ready after so many messages never will be.
const MAX_LOGIN_MESSAGES: usize = 200;
/// A statement's memory above this is given back after use.
const KEEP: usize = 1 << 20;

/// What the two sides agreed on, and the connection itself.
#[derive(Debug)]
pub struct Session {
    pub(crate) stream: Stream,
    pub(crate) inbox: Inbox,
    /// For the login or the reply at hand.
    pub(crate) patience: Patience,
    server_version: String,
    backend: u32,
    auth_method: &'static str,
    /// Whether the server has let the client in.
    ready: bool,
}

impl Session {
    pub(crate) fn connect(options: &ConnectOptions) -> Result<Self, Error> {
        // The time counts from here, so that connecting and logging in take no longer together.
        let patience = Patience::login(options.timeout);
        let mut session = Self {
            stream: Stream::connect(options)?,
            inbox: Inbox::new(),
            patience,
            server_version: String::new(),
            backend: 0,
            auth_method: "",
            ready: false,
        };
        session.log_in(options)?;
        Ok(session)
    }

    fn log_in(&mut self, options: &ConnectOptions) -> Result<(), Error> {
        let (mut login, hello) = Login::start(options)?;
        self.stream.send(&hello)?;
        if is_mysql(self.header()?) {
            let address = options.address.to_string();
            return Err(Error::OtherProtocol { address, spoken: "MySQL", expected: "Postgres" });
        }
        let mut body = Vec::new();
        for _ in 0..MAX_LOGIN_MESSAGES {
            match self.read_any(&mut body)? {
                kind::AUTHENTICATION => {
                    if let Some(answer) = login.step(&body)? {
                        self.stream.send(&answer)?;
                    }
                }
                kind::PARAMETER => {
                    if let ("server_version", version) = parse_parameter(&body)? {
                        self.server_version = version.into_owned();
                    }
                }
                kind::BACKEND_KEY => self.backend = parse_backend(&body)?,
                kind::NOTICE => {}
                kind::ERROR => return Err(parse_error(&body)),
                kind::READY if login.is_done() => {
                    self.auth_method = login.method();
                    self.ready = true;
                    return Ok(());
                }
                _ => return Err(Error::Protocol("a message of the login")),
            }
        }
        Err(Error::Protocol("a login without end"))
    }

    /// Version in the server's words, such as `18.6 (Debian 18.6-1)`.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// Process id of the backend that serves this connection.
    pub fn backend(&self) -> u32 {
        self.backend
    }

    /// The method by which the client logged in: `trust`, `password`, `md5` or `scram-sha-256`.
    pub fn auth_method(&self) -> &'static str {
        self.auth_method
    }

    /// Receives the next message that is part of a reply: its kind, and its body in `body`.
    pub(crate) fn read(&mut self, body: &mut Vec<u8>) -> Result<u8, Error> {
        loop {
            match self.read_any(body)? {
                kind::NOTICE | kind::NOTIFICATION | kind::PARAMETER => {}
                kind::ERROR if !self.ready => return Err(parse_error(body)),
                kind => return Ok(kind),
            }
        }
    }

    fn read_any(&mut self, body: &mut Vec<u8>) -> Result<u8, Error> {
        let header = self.header()?;
        self.inbox.consume(HEADER);
        let (kind, length) = parse_header(header)?;
        self.patience.begin_message(HEADER + length, self.stream.limit())?;
        body.clear();
        while body.len() < length {
            if self.inbox.bytes().is_empty() {
                self.receive()?;
            }
            let bytes = self.inbox.bytes();
            let bytes = bytes.get(..bytes.len().min(length - body.len())).unwrap_or_default();
            body.extend_from_slice(bytes);
            let used = bytes.len();
            self.inbox.consume(used);
        }
        Ok(kind)
    }

    /// The header of the next message, which is left where it is.
    fn header(&mut self) -> Result<[u8; HEADER], Error> {
        loop {
            match self.inbox.bytes().first_chunk() {
                Some(header) => return Ok(*header),
                None => self.receive()?,
            }
        }
    }

    /// Waits for more bytes.
    fn receive(&mut self) -> Result<(), Error> {
        self.stream.wait_with(&self.patience)?;
        self.inbox.receive(&mut self.stream)?;
        Ok(())
    }
}

/// Whether a server's first bytes are those of MySQL, which speaks first: a length of three bytes, number 0, and the
/// protocol's version or an error. No first message of Postgres is 10 bytes long; an error may be of 255.
fn is_mysql(header: [u8; HEADER]) -> bool {
    match header {
        [_, _, 0, 0, 10] => true,
        [kind, _, 0, 0, 0xff] => ![kind::ERROR, kind::AUTHENTICATION, kind::NOTICE].contains(&kind),
        _ => false,
    }
}

/// Asks whether TLS is to be had; only Postgres answers with one of two letters.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
/// Longest wait for the answer.
const PROBE_LIMIT: Duration = Duration::from_secs(1);

/// Whether a Postgres server listens there.
pub(crate) fn is_spoken_at(options: &ConnectOptions) -> bool {
    let options = ConnectOptions { timeout: options.timeout.min(PROBE_LIMIT), ..options.clone() };
    let answer = || {
        let mut stream = Stream::connect(&options)?;
        stream.send(&TLS_REQUEST)?;
        stream.wait()?;
        // The answer is one byte; a greeting of MySQL may begin with the same one.
        let mut answer = [0; 2];
        let count = stream.try_receive(&mut answer)?;
        Ok::<_, Error>((count, answer))
    };
    matches!(answer(), Ok((Some(1), [b'S' | b'N', _])))
}

/// Makes `out` the message that runs a statement as text.
pub(crate) fn put_query(sql: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    if sql.contains(&0) {
        return Err(Error::Usage("a statement that holds a zero byte"));
    }
    out.clear();
    put_message(b'Q', out, |out| put_text(sql, out))
}

/// Gives the memory of a long statement back.
pub(crate) fn give_back(request: &mut Vec<u8>) {
    if request.capacity() > KEEP {
        *request = Vec::new();
    }
}

/// Says goodbye, so that the server does not log a connection that broke.
impl Drop for Session {
    fn drop(&mut self) {
        if self.ready {
            self.stream.send_last(b"X\0\0\0\x04");
        }
    }
}
