//! Limits the time and memory that a server can make the client spend on a login or a kept reply.

use std::time::{Duration, Instant};

use crate::error::{WireError, WireResult};

/// Maximum bytes of a login: greetings, methods and settings are short.
const LOGIN: usize = 64 << 10;

/// Maximum bytes of a kept reply, including the overhead of its values.
const REPLY: usize = 64 << 20;

/// Memory of a value besides its bytes. A NULL takes this much too.
const VALUE: usize = size_of::<Option<Vec<u8>>>();

/// The remaining bytes and time of one login or reply. A timeout on each silence is not enough: a server that sends a
/// byte now and then is never silent.
#[derive(Debug)]
pub(crate) struct ReadBudget {
    bytes: usize,
    until: Option<Instant>,
    /// Each message has the whole budget, because earlier messages are not kept.
    is_renewed: bool,
}

impl ReadBudget {
    pub(crate) fn login(limit: Duration) -> Self {
        Self { bytes: LOGIN, until: Instant::now().checked_add(limit), is_renewed: false }
    }

    /// For a reply that is kept whole. Its time begins with its first message, because a statement may take long.
    pub(crate) fn reply() -> Self {
        Self { bytes: REPLY, until: None, is_renewed: false }
    }

    /// For a reply whose messages are kept one at a time.
    pub(crate) fn message_by_message() -> Self {
        Self { is_renewed: true, ..Self::reply() }
    }

    /// `None` while the time has not begun.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Spends `length` bytes. The reply may take `limit` from its first message on.
    pub(crate) fn begin_message(&mut self, length: usize, limit: Duration) -> WireResult<()> {
        if self.is_renewed {
            (self.bytes, self.until) = (REPLY, None);
        }
        if self.until.is_none() {
            self.until = Instant::now().checked_add(limit);
        }
        self.spend(length)
    }

    pub(crate) fn keep_row(&mut self, values: usize) -> WireResult<()> {
        self.spend((values + 1).saturating_mul(VALUE))
    }

    fn spend(&mut self, bytes: usize) -> WireResult<()> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.ok_or(WireError::Protocol("longer than any expected reply"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn messages_of_a_kept_reply_add_up() {
        let mut budget = ReadBudget::reply();
        budget.begin_message(REPLY - 1, LIMIT).unwrap();
        budget.begin_message(1, LIMIT).unwrap();
        assert!(budget.begin_message(1, LIMIT).is_err());
        let mut budget = ReadBudget::message_by_message();
        for _ in 0..3 {
            budget.begin_message(REPLY, LIMIT).unwrap();
        }
        assert!(budget.begin_message(REPLY + 1, LIMIT).is_err());
    }

    #[test]
    fn values_without_bytes_take_memory_too() {
        let mut budget = ReadBudget::reply();
        let rows = REPLY / VALUE / 4;
        assert!((0..rows).all(|_| budget.keep_row(3).is_ok()));
        assert!(budget.keep_row(3).is_err());
    }

    #[test]
    fn the_time_of_a_reply_begins_with_its_first_message() {
        let mut budget = ReadBudget::reply();
        assert_eq!(budget.time_left(), None);
        budget.begin_message(1, LIMIT).unwrap();
        assert!(budget.time_left().is_some_and(|left| left <= LIMIT));
    }

    #[test]
    fn the_time_of_a_login_begins_at_once() {
        assert!(ReadBudget::login(LIMIT).time_left().is_some_and(|left| left <= LIMIT));
        assert_eq!(ReadBudget::login(Duration::ZERO).time_left(), Some(Duration::ZERO));
    }
}
