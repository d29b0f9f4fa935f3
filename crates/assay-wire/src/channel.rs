//! Transport shared by both protocols: sends bytes, receives them through one buffer, and limits both.

use crate::budget::ReadBudget;
use crate::error::{WireError, WireResult};
use crate::handshake::{TlsFacts, start_tls};
use crate::options::ConnectOptions;
use crate::stream::ServerStream;
use crate::value::Reply;
use crate::walk::{Grammar, ReplyWalker};

/// A request buffer above this size is freed after use.
const KEEP: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) stream: ServerStream,
    inbox: Inbox,
    budget: ReadBudget,
    /// A request was sent whose reply was not received to its end.
    is_reply_due: bool,
}

impl Channel {
    pub(crate) fn connect(options: &ConnectOptions) -> WireResult<Self> {
        // The time starts here: it covers both connecting and logging in.
        let budget = ReadBudget::login(options.timeout);
        let stream = ServerStream::connect(options)?;
        Ok(Self { stream, inbox: Inbox::new(), budget, is_reply_due: false })
    }

    /// Encrypts the connection. Fails if bytes arrived that are not encrypted: somebody in between may have sent them.
    pub(crate) fn start_tls(&mut self, options: &ConnectOptions) -> WireResult<TlsFacts> {
        if !self.received().is_empty() {
            return Err(WireError::Protocol("bytes in clear text at the beginning of TLS"));
        }
        start_tls(&mut self.stream, options, &self.budget)
    }

    /// Waits for a reply of one byte, and takes it. `None` if the server sent more: then nothing is taken.
    pub(crate) fn read_byte(&mut self) -> WireResult<Option<u8>> {
        let [byte] = self.peek::<1>()?;
        if self.received().len() > 1 {
            return Ok(None);
        }
        self.inbox.consume(1);
        Ok(Some(byte))
    }

    /// Bytes that were received, but not taken.
    pub(crate) fn received(&self) -> &[u8] {
        self.inbox.bytes()
    }

    /// Call before each request. Fails if an earlier reply was not received to its end.
    ///
    /// The reply stays due if sending or receiving fails, so the rest of an old reply is never mistaken for a new one.
    pub(crate) fn begin_reply(&mut self) -> WireResult<()> {
        if self.is_reply_due {
            return Err(WireError::Usage("an earlier reply was not received to its end"));
        }
        self.is_reply_due = true;
        Ok(())
    }

    /// [`Channel::begin_reply`] for a reply that is read message by message, within `budget`.
    pub(crate) fn begin_kept_reply(&mut self, budget: ReadBudget) -> WireResult<()> {
        self.begin_reply()?;
        self.budget = budget;
        Ok(())
    }

    /// Call when the end of the reply was received.
    pub(crate) fn end_reply(&mut self) {
        self.is_reply_due = false;
    }

    /// Ends the reply if its end was received: with a result, or with an error of the server.
    pub(crate) fn end_after<T>(&mut self, outcome: WireResult<T>) -> WireResult<T> {
        if matches!(outcome, Ok(_) | Err(WireError::Server { .. })) {
            self.end_reply();
        }
        outcome
    }

    pub(crate) fn keep_row(&mut self, values: usize) -> WireResult<()> {
        self.budget.keep_row(values)
    }

    /// Frees the buffer after a long statement.
    pub(crate) fn send_buffer(&mut self, request: &mut Vec<u8>) -> WireResult<()> {
        let sent = self.stream.send(request);
        if request.capacity() > KEEP {
            *request = Vec::new();
        }
        sent
    }

    /// The next `N` bytes, without consuming them.
    pub(crate) fn peek<const N: usize>(&mut self) -> WireResult<[u8; N]> {
        loop {
            match self.inbox.bytes().first_chunk() {
                Some(header) => return Ok(*header),
                None => self.receive()?,
            }
        }
    }

    /// Drops the header and appends the following `length` bytes to `body`.
    pub(crate) fn read_message(
        &mut self,
        header: usize,
        length: usize,
        body: &mut Vec<u8>,
    ) -> WireResult<()> {
        self.inbox.consume(header);
        self.budget.begin_message(header + length, self.stream.limit())?;
        let mut left = length;
        while left > 0 {
            if self.inbox.bytes().is_empty() {
                self.receive()?;
            }
            let bytes = self.inbox.bytes();
            let bytes = &bytes[..left.min(bytes.len())];
            body.extend_from_slice(bytes);
            let used = bytes.len();
            left -= used;
            self.inbox.consume(used);
        }
        Ok(())
    }

    pub(crate) fn walk<G: Grammar>(&mut self, mut walker: ReplyWalker<G>) -> WireResult<Reply> {
        loop {
            if !self.inbox.may_have_more() {
                self.stream.wait()?;
            }
            let mut may_have_more = true;
            while may_have_more {
                // A server that ends the connection sends the reason first.
                may_have_more = self
                    .inbox
                    .receive(&mut self.stream)
                    .map_err(|error| walker.last_words().unwrap_or(error))?;
                let used = walker.advance(self.inbox.bytes())?;
                self.inbox.consume(used);
                if let Some(outcome) = walker.outcome() {
                    self.is_reply_due = false;
                    return outcome;
                }
            }
        }
    }

    /// Receives more bytes. Waits for them within the budget unless some may have arrived.
    fn receive(&mut self) -> WireResult<()> {
        // A server that never stops sending must not outlast the budget.
        if !self.inbox.may_have_more() || self.budget.time_left().is_some() {
            self.stream.wait_with(&self.budget)?;
        }
        self.inbox.receive(&mut self.stream)?;
        Ok(())
    }
}

/// Size of the buffer, bytes: well above what servers write at once.
const BUFFER: usize = 64 << 10;

#[derive(Debug)]
struct Inbox {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    may_have_more: bool,
}

impl Inbox {
    fn new() -> Self {
        Self { buffer: vec![0; BUFFER].into(), start: 0, end: 0, may_have_more: false }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    /// Appends available bytes without waiting. True if the buffer was filled, so that more may be available.
    fn receive(&mut self, stream: &mut ServerStream) -> WireResult<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let room = &mut self.buffer[self.end..];
        let size = room.len();
        let count = stream.try_receive(room)?.unwrap_or(0);
        self.end += count;
        self.may_have_more = count == size;
        Ok(self.may_have_more)
    }

    /// Whether the last bytes filled the buffer, so that more may be available without a wait.
    fn may_have_more(&self) -> bool {
        self.may_have_more
    }
}
