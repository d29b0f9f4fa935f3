//! Walks over the reply to a statement and counts its rows by the lengths of their messages.

use crate::error::Error;
use crate::value::Reply;

/// Accepts a reply in pieces of any size.
#[derive(Debug)]
pub struct Walker<G> {
    /// Remaining bytes of a message whose content does not matter.
    skip: usize,
    progress: Progress,
    pub(crate) grammar: G,
}

#[derive(Debug, Default)]
pub struct Progress {
    pub(crate) reply: Reply,
    pub(crate) failure: Option<Error>,
    /// The last message of the reply was seen.
    pub(crate) is_over: bool,
}

pub trait Grammar {
    /// Parses the message at the front of `bytes`. Returns its whole length, or `None` if more of it is needed.
    fn message(&mut self, bytes: &[u8], progress: &mut Progress) -> Result<Option<usize>, Error>;
}

impl<G: Grammar> Walker<G> {
    pub(crate) fn with_grammar(grammar: G) -> Self {
        Self { skip: 0, progress: Progress::default(), grammar }
    }

    /// Walks over `bytes` and returns how many were consumed. The rest, at most `MAX_REST` bytes, must be at the front
    /// of the next piece.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let mut rest = bytes;
        loop {
            let skipped = self.skip.min(rest.len());
            self.skip -= skipped;
            rest = rest.get(skipped..).unwrap_or_default();
            if self.progress.is_over {
                return Ok(bytes.len() - rest.len());
            }
            match self.grammar.message(rest, &mut self.progress)? {
                Some(length) => self.skip = length,
                None => return Ok(bytes.len() - rest.len()),
            }
        }
    }

    /// The outcome of the statement once the end of the reply was seen: [`Error::Server`] if it failed. Call until it
    /// returns an outcome, which it does once.
    pub fn outcome(&mut self) -> Option<Result<Reply, Error>> {
        let is_over = self.progress.is_over && self.skip == 0;
        is_over.then(|| self.progress.failure.take().map_or(Ok(self.progress.reply), Err))
    }

    /// The error that the server sent before it ended the connection, if any.
    pub(crate) fn last_words(&mut self) -> Option<Error> {
        self.progress.failure.take()
    }
}
