//! Walks over the reply to a statement and counts its rows by the lengths of their messages.

use crate::error::{WireError, WireResult};
use crate::value::Reply;

/// Accepts a reply in pieces of any size.
#[derive(Debug)]
pub struct ReplyWalker<G> {
    /// Remaining bytes of a message whose content does not matter.
    skip: usize,
    progress: ReplyProgress,
    pub(crate) grammar: G,
}

#[derive(Debug, Default)]
pub struct ReplyProgress {
    pub(crate) reply: Reply,
    pub(crate) failure: Option<WireError>,
    /// The last message of the reply was seen.
    pub(crate) is_over: bool,
}

pub trait Grammar {
    /// Parses the message at the front of `bytes`. Returns its whole length, or `None` if more of it is needed.
    fn message(&mut self, bytes: &[u8], progress: &mut ReplyProgress) -> WireResult<Option<usize>>;
}

impl<G: Grammar> ReplyWalker<G> {
    pub(crate) fn with_grammar(grammar: G) -> Self {
        Self { skip: 0, progress: ReplyProgress::default(), grammar }
    }

    /// Walks over `bytes` and returns how many were consumed. The rest, at most `MAX_REST` bytes, must be at the front
    /// of the next piece.
    pub fn advance(&mut self, bytes: &[u8]) -> WireResult<usize> {
        let mut rest = bytes;
        loop {
            let skipped = self.skip.min(rest.len());
            self.skip -= skipped;
            rest = &rest[skipped..];
            if self.progress.is_over {
                return Ok(bytes.len() - rest.len());
            }
            match self.grammar.message(rest, &mut self.progress)? {
                Some(length) => self.skip = length,
                None => return Ok(bytes.len() - rest.len()),
            }
        }
    }

    /// The outcome of the statement once the end of the reply was seen: [`WireError::Server`] if it failed. Call until
    /// it returns an outcome, which it does once.
    pub fn outcome(&mut self) -> Option<WireResult<Reply>> {
        let is_over = self.progress.is_over && self.skip == 0;
        is_over.then(|| self.progress.failure.take().map_or(Ok(self.progress.reply), Err))
    }

    /// The error that the server sent before it ended the connection, if any.
    pub(crate) fn last_words(&mut self) -> Option<WireError> {
        self.progress.failure.take()
    }
}
