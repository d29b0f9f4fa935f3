//! The receive buffer.

use crate::error::Error;
use crate::stream::Stream;

/// Size of the buffer, bytes: well above what servers write at once.
const BUFFER: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Inbox {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    may_have_more: bool,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; BUFFER].into(), start: 0, end: 0, may_have_more: false }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    /// Appends available bytes without waiting. True if the buffer was filled, so that more may be available.
    pub(crate) fn receive(&mut self, stream: &mut Stream) -> Result<bool, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let size = room.len();
        let count = stream.try_receive(room)?.unwrap_or(0);
        self.end += count;
        self.may_have_more = count == size;
        Ok(self.may_have_more)
    }

    /// Whether the last bytes filled the buffer, so that more may be available without a wait.
    pub(crate) fn may_have_more(&self) -> bool {
        self.may_have_more
    }
}
