//! Walks over the messages of a Postgres reply.

use super::codec::{HEADER, kind, parse_complete, parse_error, parse_header};
use crate::error::{WireError, WireResult};
use crate::value::Reply;
use crate::walk::{Grammar, ReplyProgress};

/// The longest message that must be seen whole: a statement's end or an error.
const MAX_WHOLE: usize = 16 << 10;

/// Ends when the server is ready for the next request.
pub type MessageWalker = crate::walk::ReplyWalker<ReplyMessages>;

impl MessageWalker {
    /// The longest rest that `advance` leaves of a non-empty piece, bytes.
    pub const MAX_REST: usize = HEADER + MAX_WHOLE - 1;

    pub fn new() -> Self {
        Self::with_grammar(ReplyMessages)
    }
}

impl Default for MessageWalker {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Debug)]
pub struct ReplyMessages;

impl Grammar for ReplyMessages {
    #[inline]
    fn message(&mut self, bytes: &[u8], progress: &mut ReplyProgress) -> WireResult<Option<usize>> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
        let (kind, length) = parse_header(*header)?;
        match kind {
            kind::ROW => progress.reply.rows += 1,
            kind::COLUMNS => progress.reply.result_set = true,
            kind::READY => progress.is_over = true,
            kind::COMPLETE | kind::ERROR => {
                if length > MAX_WHOLE {
                    return Err(WireError::Protocol("an end or an error that is too long"));
                }
                let Some(body) = body.get(..length) else { return Ok(None) };
                whole(kind, body, progress)?;
            }
            kind::BOUND
            | kind::PARSED
            | kind::PARAMETERS
            | kind::NO_COLUMNS
            | kind::EMPTY
            | kind::NOTICE
            | kind::NOTIFICATION
            | kind::PARAMETER => {}
            _ => return Err(WireError::Protocol("a message that is no part of a reply")),
        }
        Ok(Some(HEADER + length))
    }
}

fn whole(kind: u8, body: &[u8], progress: &mut ReplyProgress) -> WireResult<()> {
    if kind == kind::COMPLETE {
        let completion = parse_complete(body)?;
        let reply = &mut progress.reply;
        reply.result_set |= completion.returns_rows;
        // The server may send any number, so the sum may overflow.
        reply.affected = reply.affected.saturating_add(completion.affected);
        return Ok(());
    }
    match parse_error(body) {
        // A second error only reports that the first one made a later message meaningless.
        error @ WireError::Server { .. } => drop(progress.failure.get_or_insert(error)),
        malformed => return Err(malformed),
    }
    Ok(())
}

pub(crate) type PipelineWalker<'a> = crate::walk::ReplyWalker<PipelineMessages<'a>>;

/// Passes on each reply when its statement is complete.
pub(crate) struct PipelineMessages<'a> {
    take: &'a mut dyn FnMut(Reply),
}

impl<'a> PipelineMessages<'a> {
    pub(crate) fn new(take: &'a mut dyn FnMut(Reply)) -> Self {
        Self { take }
    }
}

impl Grammar for PipelineMessages<'_> {
    fn message(&mut self, bytes: &[u8], progress: &mut ReplyProgress) -> WireResult<Option<usize>> {
        let length = ReplyMessages.message(bytes, progress)?;
        if length.is_some() && matches!(bytes.first(), Some(&(kind::COMPLETE | kind::EMPTY))) {
            (self.take)(std::mem::take(&mut progress.reply));
        }
        Ok(length)
    }
}

pub(crate) type CopyWalker = crate::walk::ReplyWalker<CopyMessages>;

/// The reply may report first that the server is ready for rows.
#[derive(Debug)]
pub(crate) struct CopyMessages;

impl Grammar for CopyMessages {
    fn message(&mut self, bytes: &[u8], progress: &mut ReplyProgress) -> WireResult<Option<usize>> {
        match bytes.split_first_chunk::<HEADER>() {
            Some((header @ [kind::COPY_IN, ..], _)) => {
                parse_header(*header).map(|(_, length)| Some(HEADER + length))
            }
            _ => ReplyMessages.message(bytes, progress),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(bytes: &[u8]) -> Option<WireResult<Reply>> {
        let mut walker = MessageWalker::new();
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
            let mut walker = MessageWalker::new();
            let used = walker.advance(&bytes[..at]).unwrap();
            assert!(walker.outcome().is_none());
            assert_eq!(walker.advance(&bytes[used..]).unwrap(), bytes.len() - used);
            assert_eq!(walker.outcome().unwrap().unwrap(), reply);
        }
    }

    #[test]
    fn a_failure_is_reported_once_the_server_is_ready() {
        let error = b"E\0\0\0\x10C40P01\0Mdl\0\0";
        let mut walker = MessageWalker::new();
        walker.advance(error).unwrap();
        assert!(walker.outcome().is_none());
        walker.advance(READY).unwrap();
        let failure = walker.outcome().unwrap().unwrap_err();
        assert_eq!(failure.to_string(), "server error `40P01`: dl");
    }

    #[test]
    fn replies_of_a_pipeline_come_one_by_one() {
        let select = [b"2\0\0\0\x04", ROW, b"C\0\0\0\x0dSELECT 1\0"].concat();
        let update = [&b"2\0\0\0\x04"[..], b"C\0\0\0\x0dUPDATE 3\0"].concat();
        let bytes = [&select[..], &update, READY].concat();
        for at in 0..bytes.len() {
            let mut replies = Vec::new();
            let mut take = |reply| replies.push(reply);
            let mut walker = PipelineWalker::with_grammar(PipelineMessages::new(&mut take));
            let used = walker.advance(&bytes[..at]).unwrap();
            assert_eq!(walker.advance(&bytes[used..]).unwrap(), bytes.len() - used);
            assert!(walker.outcome().unwrap().is_ok());
            let changed = Reply { result_set: false, rows: 0, affected: 3 };
            assert_eq!(replies, [Reply { result_set: true, rows: 1, affected: 0 }, changed]);
        }
    }

    #[test]
    fn only_a_copy_may_be_ready_for_rows() {
        let bytes = [b"G\0\0\0\x09\0\0\x01\0\0", &b"C\0\0\0\x0bCOPY 7\0"[..], READY].concat();
        let mut walker = CopyWalker::with_grammar(CopyMessages);
        assert_eq!(walker.advance(&bytes).unwrap(), bytes.len());
        let copied = Reply { result_set: false, rows: 0, affected: 7 };
        assert_eq!(walker.outcome().unwrap().unwrap(), copied);
        assert!(MessageWalker::new().advance(&bytes).is_err());
    }

    #[test]
    fn messages_out_of_place_are_refused() {
        for bytes in [&b"G\0\0\0\x04"[..], b"R\0\0\0\x08\0\0\0\0", b"Z\0\0\0\0", b"C\x7f\0\0\0x"] {
            assert!(MessageWalker::new().advance(bytes).is_err(), "{bytes:?}");
        }
    }
}
