//! Walking over the reply to a statement: rows are counted by their packets' lengths.

use super::codec::{
    Completion, HEADER, Head, MAX_PAYLOAD, MORE_RESULTS, is_eof, parse_eof, parse_error,
    parse_head, parse_header,
};
use crate::{Error, Reply};

/// The longest packet that has to be seen whole: a head, an end of list or an error.
const MAX_WHOLE: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Columns(u64),
    EndOfColumns,
    Rows,
    Done,
}

/// Walks over a reply that comes in pieces of any size, in the text or in the binary protocol.
#[derive(Debug)]
pub struct Walker {
    state: State,
    /// Bytes that are still to come of a packet whose content does not matter.
    skip: usize,
    /// Whether the next packet continues a row.
    continued: bool,
    /// Number that the next packet must have.
    sequence: u8,
    reply: Reply,
    failure: Option<Error>,
}

impl Walker {
    /// The longest rest that [`Walker::advance`] leaves in a non-empty piece.
    pub const MAX_REST: usize = HEADER + MAX_WHOLE - 1;

    /// At the start of the reply to a request of so many packets.
    pub fn new(packets: usize) -> Self {
        Self {
            state: State::Head,
            skip: 0,
            continued: false,
            sequence: packets as u8,
            reply: Reply::default(),
            failure: None,
        }
    }

    /// Walks as far as `bytes` go and says how many were used. The rest, at most
    /// [`Walker::MAX_REST`] bytes, must stand at the front of the next piece.
    ///
    /// # Errors
    /// [`Error::Protocol`] where the bytes are no reply.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let mut rest = bytes;
        loop {
            let skipped = self.skip.min(rest.len());
            self.skip -= skipped;
            rest = rest.get(skipped..).unwrap_or_default();
            if self.state == State::Done || !self.packet(rest)? {
                return Ok(bytes.len() - rest.len());
            }
        }
    }

    /// What the statement came to, once the end of the reply was seen: [`Error::Server`] where it
    /// failed. To be asked once.
    pub fn outcome(&mut self) -> Option<Result<Reply, Error>> {
        let over = self.state == State::Done && self.skip == 0;
        over.then(|| self.failure.take().map_or(Ok(self.reply), Err))
    }

    /// Looks at the packet at the front of `bytes`; false if more of it is needed.
    fn packet(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else { return Ok(false) };
        let (length, sequence) = parse_header(*header);
        if sequence != self.sequence {
            return Err(Error::Protocol("packets out of order"));
        }
        if !self.continued && !self.content(length, body)? {
            return Ok(false);
        }
        self.continued = length == MAX_PAYLOAD;
        self.sequence = sequence.wrapping_add(1);
        self.skip = HEADER + length;
        Ok(true)
    }

    /// Looks into a packet as far as its content matters; false if more of it is needed.
    fn content(&mut self, length: usize, body: &[u8]) -> Result<bool, Error> {
        match self.state {
            State::Rows => match body.first() {
                _ if length == 0 => return Err(Error::Protocol("an empty row")),
                None => return Ok(false),
                Some(0xfe) if length < 9 => {}
                Some(0xff) => {}
                Some(_) => {
                    self.reply.rows += 1;
                    return Ok(true);
                }
            },
            State::Columns(left) => {
                self.state = if left > 1 { State::Columns(left - 1) } else { State::EndOfColumns };
                return Ok(true);
            }
            State::Head | State::EndOfColumns | State::Done => {}
        }
        if length > MAX_WHOLE {
            return Err(Error::Protocol("a head, an end or an error that is too long"));
        }
        let Some(payload) = body.get(..length) else { return Ok(false) };
        self.whole(payload)?;
        Ok(true)
    }

    fn whole(&mut self, payload: &[u8]) -> Result<(), Error> {
        if payload.first() == Some(&0xff) {
            self.failure = Some(match parse_error(payload) {
                error @ Error::Server { .. } => error,
                malformed => return Err(malformed),
            });
            self.state = State::Done;
            return Ok(());
        }
        self.state = match self.state {
            State::Head => match parse_head(payload)? {
                Head::Done(completion) => {
                    // Any number may stand there; several need not add up.
                    self.reply.affected = self.reply.affected.saturating_add(completion.affected);
                    after(completion)
                }
                Head::Columns(columns) => {
                    self.reply.result_set = true;
                    State::Columns(columns)
                }
            },
            State::EndOfColumns if is_eof(payload) => State::Rows,
            State::EndOfColumns => return Err(Error::Protocol("a row among the columns")),
            _ => after(parse_eof(payload)?),
        };
        Ok(())
    }
}

fn after(completion: Completion) -> State {
    if completion.status & MORE_RESULTS == 0 { State::Done } else { State::Head }
}
