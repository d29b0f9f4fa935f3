//! Walks over the packets of a MySQL reply.

use super::codec::{
    Completion, HEADER, Head, MAX_PAYLOAD, MORE_RESULTS, is_eof, parse_eof, parse_error,
    parse_head, parse_header,
};
use crate::error::Error;
use crate::walk::{Grammar, Progress};

/// The longest packet that must be seen whole: a head, an end of list or an error.
const MAX_WHOLE: usize = 4096;

/// For the text and the binary protocol.
pub type Walker = crate::walk::Walker<Packets>;

impl Walker {
    /// The longest rest that `advance` leaves of a non-empty piece, bytes.
    pub const MAX_REST: usize = HEADER + MAX_WHOLE - 1;

    pub fn new(packets: usize) -> Self {
        let sequence = packets as u8;
        Self::with_grammar(Packets { state: State::Head, is_continued: false, sequence })
    }
}

#[derive(Debug)]
pub struct Packets {
    state: State,
    /// The next packet continues a row.
    is_continued: bool,
    sequence: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Columns(u64),
    EndOfColumns,
    Rows,
}

impl Grammar for Packets {
    #[inline]
    fn message(&mut self, bytes: &[u8], progress: &mut Progress) -> Result<Option<usize>, Error> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
        let (length, sequence) = parse_header(*header);
        if sequence != self.sequence {
            return Err(Error::Protocol("packets out of order"));
        }
        if !self.is_continued && !self.content(length, body, progress)? {
            return Ok(None);
        }
        self.is_continued = length == MAX_PAYLOAD;
        self.sequence = sequence.wrapping_add(1);
        Ok(Some(HEADER + length))
    }
}

impl Packets {
    /// Parses a packet as far as its content matters. False if more of it is needed.
    #[inline]
    fn content(
        &mut self,
        length: usize,
        body: &[u8],
        progress: &mut Progress,
    ) -> Result<bool, Error> {
        match self.state {
            State::Rows => match body.first() {
                _ if length == 0 => return Err(Error::Protocol("an empty row")),
                None => return Ok(false),
                Some(0xfe) if length < 9 => {}
                Some(0xff) => {}
                Some(_) => {
                    progress.reply.rows += 1;
                    return Ok(true);
                }
            },
            State::Columns(left) => {
                self.state = if left > 1 { State::Columns(left - 1) } else { State::EndOfColumns };
                return Ok(true);
            }
            State::Head | State::EndOfColumns => {}
        }
        if length > MAX_WHOLE {
            return Err(Error::Protocol("a head, an end or an error that is too long"));
        }
        let Some(payload) = body.get(..length) else { return Ok(false) };
        self.whole(payload, progress)?;
        Ok(true)
    }

    fn whole(&mut self, payload: &[u8], progress: &mut Progress) -> Result<(), Error> {
        if payload.first() == Some(&0xff) {
            progress.failure = Some(match parse_error(payload) {
                error @ Error::Server { .. } => error,
                malformed => return Err(malformed),
            });
            progress.is_over = true;
            return Ok(());
        }
        let ended = match self.state {
            State::Head => match parse_head(payload)? {
                Head::Done(completion) => {
                    // The server may send any number, so the sum may overflow.
                    let affected = &mut progress.reply.affected;
                    *affected = affected.saturating_add(completion.affected);
                    completion
                }
                Head::Columns(columns) => {
                    progress.reply.result_set = true;
                    self.state = State::Columns(columns);
                    return Ok(());
                }
            },
            State::EndOfColumns if is_eof(payload) => {
                self.state = State::Rows;
                return Ok(());
            }
            State::EndOfColumns => return Err(Error::Protocol("a row among the columns")),
            State::Rows | State::Columns(_) => parse_eof(payload)?,
        };
        self.end(ended, progress);
        Ok(())
    }

    fn end(&mut self, completion: Completion, progress: &mut Progress) {
        self.state = State::Head;
        progress.is_over = completion.status & MORE_RESULTS == 0;
    }
}
