//! Walks over the packets of a MySQL reply.

use super::codec::{
    HEADER, Head, MAX_PAYLOAD, MORE_RESULTS, StatementEnd, is_eof, parse_eof, parse_error,
    parse_head, parse_header,
};
use crate::error::{WireError, WireResult};
use crate::walk::{Grammar, ReplyProgress};

/// The longest packet that must be seen whole: a head, an end of list or an error.
const MAX_WHOLE: usize = 4096;

/// For the text and the binary protocol.
pub type PacketWalker = crate::walk::ReplyWalker<Packets>;

impl PacketWalker {
    /// The longest rest that `advance` leaves of a non-empty piece, bytes.
    pub const MAX_REST: usize = HEADER + MAX_WHOLE - 1;

    pub fn new(packets: usize) -> Self {
        let sequence = packets as u8;
        Self::with_grammar(Packets { state: WalkState::Head, is_continued: false, sequence })
    }
}

#[derive(Debug)]
pub struct Packets {
    state: WalkState,
    /// The next packet continues a row.
    is_continued: bool,
    sequence: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalkState {
    Head,
    Columns(u64),
    EndOfColumns,
    Rows,
}

impl Grammar for Packets {
    #[inline]
    fn message(&mut self, bytes: &[u8], progress: &mut ReplyProgress) -> WireResult<Option<usize>> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
        let (length, sequence) = parse_header(*header);
        if sequence != self.sequence {
            return Err(WireError::Protocol("packets out of order"));
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
        progress: &mut ReplyProgress,
    ) -> WireResult<bool> {
        match self.state {
            WalkState::Rows => match body.first() {
                _ if length == 0 => return Err(WireError::Protocol("an empty row")),
                None => return Ok(false),
                Some(0xfe) if length < 9 => {}
                Some(0xff) => {}
                Some(_) => {
                    progress.reply.rows += 1;
                    return Ok(true);
                }
            },
            WalkState::Columns(left) => {
                self.state =
                    if left > 1 { WalkState::Columns(left - 1) } else { WalkState::EndOfColumns };
                return Ok(true);
            }
            WalkState::Head | WalkState::EndOfColumns => {}
        }
        if length > MAX_WHOLE {
            return Err(WireError::Protocol("a head, an end or an error that is too long"));
        }
        let Some(payload) = body.get(..length) else { return Ok(false) };
        self.whole(payload, progress)?;
        Ok(true)
    }

    fn whole(&mut self, payload: &[u8], progress: &mut ReplyProgress) -> WireResult<()> {
        if payload.first() == Some(&0xff) {
            progress.failure = Some(match parse_error(payload) {
                error @ WireError::Server { .. } => error,
                malformed => return Err(malformed),
            });
            progress.is_over = true;
            return Ok(());
        }
        let ended = match self.state {
            WalkState::Head => match parse_head(payload)? {
                Head::Done(completion) => {
                    // The server may send any number, so the sum may overflow.
                    let affected = &mut progress.reply.affected;
                    *affected = affected.saturating_add(completion.affected);
                    completion
                }
                Head::Columns(columns) => {
                    progress.reply.result_set = true;
                    self.state = WalkState::Columns(columns);
                    return Ok(());
                }
            },
            WalkState::EndOfColumns if is_eof(payload) => {
                self.state = WalkState::Rows;
                return Ok(());
            }
            WalkState::EndOfColumns => return Err(WireError::Protocol("a row among the columns")),
            WalkState::Rows | WalkState::Columns(_) => parse_eof(payload)?,
        };
        self.end(ended, progress);
        Ok(())
    }

    fn end(&mut self, completion: StatementEnd, progress: &mut ReplyProgress) {
        self.state = WalkState::Head;
        progress.is_over = completion.status & MORE_RESULTS == 0;
    }
}
