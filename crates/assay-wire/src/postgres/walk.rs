//! Walking over the reply to a statement: rows are counted by their messages' lengths.

use super::codec::{HEADER, kind, parse_complete, parse_error, parse_header};
use crate::{Error, Reply};

/// The longest message that has to be seen whole: a statement's end or an error.
const MAX_WHOLE: usize = 16 << 10;

/// Walks over a reply that comes in pieces of any size, up to the server's readiness for the next
/// request.
#[derive(Debug, Default)]
pub struct Walker {
    /// Bytes that are still to come of a message whose content does not matter.
    skip: usize,
    done: bool,
    reply: Reply,
    failure: Option<Error>,
}

impl Walker {
    /// The longest rest that [`Walker::advance`] leaves in a non-empty piece.
    pub const MAX_REST: usize = HEADER + MAX_WHOLE - 1;

    /// At the start of a reply.
    pub fn new() -> Self {
        Self::default()
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
            if self.done || !self.message(rest)? {
                return Ok(bytes.len() - rest.len());
            }
        }
    }

    /// What the statement came to, once the end of the reply was seen: [`Error::Server`] where it
    /// failed. To be asked once.
    pub fn outcome(&mut self) -> Option<Result<Reply, Error>> {
        let over = self.done && self.skip == 0;
        over.then(|| self.failure.take().map_or(Ok(self.reply), Err))
    }

    /// The error that the server sent before it ended the connection, if it sent one.
    pub fn last_words(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Looks at the message at the front of `bytes`; false if more of it is needed.
    fn message(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else { return Ok(false) };
        let (kind, length) = parse_header(*header)?;
        match kind {
            kind::ROW => self.reply.rows += 1,
            kind::COLUMNS => self.reply.result_set = true,
            kind::READY => self.done = true,
            kind::COMPLETE | kind::ERROR => {
                if length > MAX_WHOLE {
                    return Err(Error::Protocol("an end or an error that is too long"));
                }
                let Some(body) = body.get(..length) else { return Ok(false) };
                self.whole(kind, body)?;
            }
            kind::BOUND
            | kind::PARSED
            | kind::PARAMETERS
            | kind::NO_COLUMNS
            | kind::EMPTY
            | kind::NOTICE
            | kind::NOTIFICATION
            | kind::PARAMETER => {}
            _ => return Err(Error::Protocol("a message that is no part of a reply")),
        }
        self.skip = HEADER + length;
        Ok(true)
    }

    fn whole(&mut self, kind: u8, body: &[u8]) -> Result<(), Error> {
        if kind == kind::COMPLETE {
            let completion = parse_complete(body)?;
            self.reply.result_set |= completion.returns_rows;
            // Any number may stand there; several need not add up.
            self.reply.affected = self.reply.affected.saturating_add(completion.affected);
            return Ok(());
        }
        match parse_error(body) {
            // A second one belongs to a message that the first made senseless.
            error @ Error::Server { .. } => drop(self.failure.get_or_insert(error)),
            malformed => return Err(malformed),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(bytes: &[u8]) -> Option<Result<Reply, Error>> {
        let mut walker = Walker::new();
        assert_eq!(walker.advance(bytes).unwrap(), bytes.len());
        walker.outcome()
    }

    const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x01x";
    const READY: &[u8] = b"Z\0\0\0\x05I";

    #[test]
    fn rows_are_counted_up_to_readiness() {
        let bytes = [b"2\0\0\0\x04", ROW, ROW, b"C\0\0\0\x0dSELECT 2\0", READY].concat();
        let reply = Reply { result_set: true, rows: 2, affected: 0 };
        assert_eq!(walk(&bytes).unwrap().unwrap(), reply);
        for at in 0..bytes.len() {
            let mut walker = Walker::new();
            let used = walker.advance(&bytes[..at]).unwrap();
            assert!(walker.outcome().is_none());
            assert_eq!(walker.advance(&bytes[used..]).unwrap(), bytes.len() - used);
            assert_eq!(walker.outcome().unwrap().unwrap(), reply);
        }
    }

    #[test]
    fn a_failure_is_told_once_the_server_is_ready() {
        let error = b"E\0\0\0\x10C40P01\0Mdl\0\0";
        let mut walker = Walker::new();
        walker.advance(error).unwrap();
        assert!(walker.outcome().is_none());
        walker.advance(READY).unwrap();
        let failure = walker.outcome().unwrap().unwrap_err();
        assert_eq!(failure.to_string(), "server error `40P01`: dl");
    }

    #[test]
    fn messages_out_of_place_are_refused() {
        for bytes in [&b"G\0\0\0\x04"[..], b"R\0\0\0\x08\0\0\0\0", b"Z\0\0\0\0", b"C\x7f\0\0\0x"] {
            assert!(Walker::new().advance(bytes).is_err(), "{bytes:?}");
        }
    }
}
