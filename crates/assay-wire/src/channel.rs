//! The transport that both protocols share: sends bytes, receives them through one buffer, and bounds both.

use crate::budget::ReadBudget;
use crate::error::Error;
use crate::inbox::Inbox;
use crate::options::ConnectOptions;
use crate::stream::Stream;
use crate::value::Reply;
use crate::walk::{Grammar, Walker};

/// A request buffer above this size is freed after use.
const KEEP: usize = 1 << 20;

/// A byte stream with a receive buffer, which knows whether a reply is due.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) stream: Stream,
    inbox: Inbox,
    /// The budget of the login or the kept reply in progress.
    budget: ReadBudget,
    /// Whether a request was sent whose reply has not been received to its end.
    is_reply_due: bool,
}

impl Channel {
    /// Connects, and allows for a login.
    pub(crate) fn connect(options: &ConnectOptions) -> Result<Self, Error> {
        // The time starts here: it covers both connecting and logging in.
        let budget = ReadBudget::login(options.timeout);
        let stream = Stream::connect(options)?;
        Ok(Self { stream, inbox: Inbox::new(), budget, is_reply_due: false })
    }

    /// To be called before each request. Fails where an earlier reply was not received to its end.
    ///
    /// The reply stays due if sending or receiving fails, so the rest of an old reply is never taken for a new one.
    pub(crate) fn begin_reply(&mut self) -> Result<(), Error> {
        if self.is_reply_due {
            return Err(Error::Usage("an earlier reply was not received to its end"));
        }
        self.is_reply_due = true;
        Ok(())
    }

    /// [`Channel::begin_reply`] for a reply that is read message by message, within `budget`.
    pub(crate) fn begin_kept_reply(&mut self, budget: ReadBudget) -> Result<(), Error> {
        self.begin_reply()?;
        self.budget = budget;
        Ok(())
    }

    /// To be called when the end of the reply was received.
    pub(crate) fn end_reply(&mut self) {
        self.is_reply_due = false;
    }

    /// Takes a row of so many values from the budget.
    pub(crate) fn keep_row(&mut self, values: usize) -> Result<(), Error> {
        self.budget.keep_row(values)
    }

    /// Sends a request. Frees its buffer where a long statement has made it large.
    pub(crate) fn send_buffer(&mut self, request: &mut Vec<u8>) -> Result<(), Error> {
        let sent = self.stream.send(request);
        if request.capacity() > KEEP {
            *request = Vec::new();
        }
        sent
    }

    /// The next `N` bytes, which stay in the buffer.
    pub(crate) fn peek<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        loop {
            match self.inbox.bytes().first_chunk() {
                Some(header) => return Ok(*header),
                None => self.receive()?,
            }
        }
    }

    /// Drops a header of so many bytes and appends the `length` bytes that follow it to `body`.
    pub(crate) fn read_message(
        &mut self,
        header: usize,
        length: usize,
        body: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.inbox.consume(header);
        self.budget.begin_message(header + length, self.stream.limit())?;
        let mut left = length;
        while left > 0 {
            if self.inbox.bytes().is_empty() {
                self.receive()?;
            }
            let bytes = self.inbox.bytes();
            let bytes = bytes.get(..left.min(bytes.len())).unwrap_or_default();
            body.extend_from_slice(bytes);
            let used = bytes.len();
            left -= used;
            self.inbox.consume(used);
        }
        Ok(())
    }

    /// Receives a reply to its end and keeps nothing of it but what it came to.
    pub(crate) fn walk<G: Grammar>(&mut self, mut walker: Walker<G>) -> Result<Reply, Error> {
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

    /// Receives more bytes, and waits for them within the budget unless there may be some.
    fn receive(&mut self) -> Result<(), Error> {
        // A server that never stops sending must not outlast the budget.
        if !self.inbox.may_have_more() || self.budget.time_left().is_some() {
            self.stream.wait_with(&self.budget)?;
        }
        self.inbox.receive(&mut self.stream)?;
        Ok(())
    }
}
