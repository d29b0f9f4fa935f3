//! A connection that has been logged in: what was agreed on, and packets in and out.

use std::time::Duration;

use super::codec::{HEADER, MAX_PAYLOAD, frame, header, packets, parse_header};
use super::constants::{CapabilityFlags, Command};
use super::login::Login;
use crate::inbox::Inbox;
use crate::patience::Patience;
use crate::stream::Stream;
use crate::{ConnectOptions, Error, postgres};

/// A server that has not greeted after so long may be one that waits for the client to speak first.
const GREETING_DUE: Duration = Duration::from_secs(1);
/// A server that has not let a client in after so many packets never will.
const MAX_LOGIN_STEPS: usize = 8;
/// A statement's memory above this is given back after use.
const KEEP: usize = 1 << 20;

/// What the two sides agreed on, and the connection itself.
#[derive(Debug)]
pub struct Session {
    pub(crate) stream: Stream,
    pub(crate) inbox: Inbox,
    /// For the login or the reply at hand.
    pub(crate) patience: Patience,
    outbox: Vec<u8>,
    sequence: u8,
    server_version: String,
    connection_id: u32,
    capabilities: CapabilityFlags,
    auth_plugin: String,
}

impl Session {
    pub(crate) fn connect(options: &ConnectOptions) -> Result<Self, Error> {
        // The time counts from here, so that connecting and logging in take no longer together.
        let patience = Patience::login(options.timeout);
        let mut session = Self {
            stream: Stream::connect(options)?,
            inbox: Inbox::new(),
            patience,
            outbox: Vec::new(),
            sequence: 0,
            server_version: String::new(),
            connection_id: 0,
            capabilities: CapabilityFlags::empty(),
            auth_plugin: String::new(),
        };
        session.log_in(options)?;
        Ok(session)
    }

    fn log_in(&mut self, options: &ConnectOptions) -> Result<(), Error> {
        let is_greeted = self.stream.is_answered_within(GREETING_DUE.min(options.timeout))?;
        if !is_greeted && postgres::is_spoken_at(options) {
            let address = options.address.to_string();
            return Err(Error::OtherProtocol { address, spoken: "Postgres", expected: "MySQL" });
        }
        let mut packet = Vec::new();
        self.read(&mut packet)?;
        let (mut login, greeting, answer) = Login::start(options, &packet)?;
        self.write(&answer)?;
        for _ in 0..MAX_LOGIN_STEPS {
            self.read(&mut packet)?;
            if let Some(answer) = login.step(&packet)? {
                self.write(&answer)?;
            }
            if login.is_done() {
                self.server_version = greeting.server_version;
                self.connection_id = greeting.connection_id;
                self.capabilities = login.capabilities();
                self.auth_plugin = login.plugin().to_owned();
                return Ok(());
            }
        }
        Err(Error::Protocol("a login without end"))
    }

    /// Version in the server's words, such as `10.11.19-MariaDB`.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The server's number for this connection, as in `KILL`.
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// What was agreed on; the same with every server.
    pub fn capabilities(&self) -> CapabilityFlags {
        self.capabilities
    }

    /// The method by which the client logged in.
    pub fn auth_plugin(&self) -> &str {
        &self.auth_plugin
    }

    /// Bytes sent since the connection was made, packet headers and login included.
    pub fn bytes_sent(&self) -> u64 {
        self.stream.sent()
    }

    /// Bytes received since the connection was made, packet headers and login included.
    pub fn bytes_received(&self) -> u64 {
        self.stream.received()
    }

    pub(crate) fn set_timeout(&mut self, limit: Duration) -> Result<(), Error> {
        self.stream.set_limit(limit)
    }

    /// Sends a command, in as few writes as the socket takes.
    pub(crate) fn command(&mut self, command: Command, body: &[u8]) -> Result<(), Error> {
        self.sequence = 0;
        if body.len() + 1 < MAX_PAYLOAD {
            self.outbox.clear();
            self.outbox.extend_from_slice(&header(body.len() + 1, 0));
            self.outbox.push(command as u8);
            self.outbox.extend_from_slice(body);
            self.flush(1)
        } else {
            self.write(&[&[command as u8], body].concat())
        }
    }

    /// Sends one message, numbered after the last packet received.
    fn write(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.outbox.clear();
        frame(payload, self.sequence, &mut self.outbox);
        self.flush(packets(payload.len()))
    }

    fn flush(&mut self, packets: usize) -> Result<(), Error> {
        self.sequence = self.sequence.wrapping_add(packets as u8);
        let sent = self.stream.send(&self.outbox);
        if self.outbox.capacity() > KEEP {
            self.outbox = Vec::new();
        }
        sent
    }

    /// Receives one message, joined from as many packets as it takes.
    pub(crate) fn read(&mut self, message: &mut Vec<u8>) -> Result<(), Error> {
        message.clear();
        loop {
            let header = loop {
                match self.inbox.bytes().first_chunk::<HEADER>() {
                    Some(header) => break *header,
                    None => self.receive()?,
                }
            };
            self.inbox.consume(HEADER);
            let (length, sequence) = parse_header(header);
            self.patience.begin_message(HEADER + length, self.stream.limit())?;
            if sequence != self.sequence {
                return Err(Error::Protocol("packets out of order"));
            }
            self.sequence = sequence.wrapping_add(1);
            self.append(length, message)?;
            if length < MAX_PAYLOAD {
                return Ok(());
            }
        }
    }

    fn append(&mut self, length: usize, message: &mut Vec<u8>) -> Result<(), Error> {
        let mut left = length;
        while left > 0 {
            if self.inbox.bytes().is_empty() {
                self.receive()?;
            }
            let bytes = self.inbox.bytes();
            let bytes = bytes.get(..left.min(bytes.len())).unwrap_or_default();
            message.extend_from_slice(bytes);
            let used = bytes.len();
            left -= used;
            self.inbox.consume(used);
        }
        Ok(())
    }

    /// Waits for more bytes.
    fn receive(&mut self) -> Result<(), Error> {
        self.stream.wait_with(&self.patience)?;
        self.inbox.receive(&mut self.stream)?;
        Ok(())
    }
}

/// Says goodbye, so that the server does not count the connection as aborted.
impl Drop for Session {
    fn drop(&mut self) {
        if !self.capabilities.is_empty() {
            let [a, b, c, d] = header(1, 0);
            self.stream.send_last(&[a, b, c, d, Command::Quit as u8]);
        }
    }
}
