//! How long and how large a reply may be that is kept, whatever the server sends.

use std::time::{Duration, Instant};

use crate::Error;

/// All bytes of a login: greetings, methods and settings are short.
const LOGIN: usize = 64 << 10;

/// All bytes of a reply that is kept, and what its values take besides.
const REPLY: usize = 64 << 20;

/// What a value takes besides its bytes: a NULL is a single one of these.
const VALUE: usize = size_of::<Option<Vec<u8>>>();

/// What a server may still take of the client's memory and time for one login or one reply.
///
/// A limit on each silence is not enough: a server that sends a byte now and then is never silent.
#[derive(Debug)]
pub(crate) struct Patience {
    bytes: usize,
    until: Option<Instant>,
    /// Whether each message has the bytes and the time for itself, as nothing of the earlier ones is kept.
    is_renewed: bool,
}

impl Patience {
    /// For all of a login, which takes no longer than `limit`.
    pub(crate) fn login(limit: Duration) -> Self {
        Self { bytes: LOGIN, until: Instant::now().checked_add(limit), is_renewed: false }
    }

    /// For a reply of which everything is kept. Its time begins with its first message: a statement may take long.
    pub(crate) fn reply() -> Self {
        Self { bytes: REPLY, until: None, is_renewed: false }
    }

    /// For a reply of which nothing but the message at hand is kept.
    pub(crate) fn passing() -> Self {
        Self { is_renewed: true, ..Self::reply() }
    }

    /// Time that is left; none where it has not begun.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Allows for a message of so many bytes that has begun; the reply may take `limit` from its first one on.
    ///
    /// # Errors
    /// [`Error::Protocol`] where that is too much.
    pub(crate) fn begin_message(&mut self, length: usize, limit: Duration) -> Result<(), Error> {
        if self.is_renewed {
            (self.bytes, self.until) = (REPLY, None);
        }
        if self.until.is_none() {
            self.until = Instant::now().checked_add(limit);
        }
        self.spend(length)
    }

    /// Allows for a row of so many values that is kept.
    ///
    /// # Errors
    /// As [`Patience::begin_message`].
    pub(crate) fn keep_row(&mut self, values: usize) -> Result<(), Error> {
        self.spend((values + 1).saturating_mul(VALUE))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Error> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.ok_or(Error::Protocol("longer than any expected reply"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn messages_of_a_kept_reply_add_up() {
        let mut patience = Patience::reply();
        patience.begin_message(REPLY - 1, LIMIT).unwrap();
        patience.begin_message(1, LIMIT).unwrap();
        assert!(patience.begin_message(1, LIMIT).is_err());
        let mut patience = Patience::passing();
        for _ in 0..3 {
            patience.begin_message(REPLY, LIMIT).unwrap();
        }
        assert!(patience.begin_message(REPLY + 1, LIMIT).is_err());
    }

    #[test]
    fn values_without_bytes_take_memory_too() {
        let mut patience = Patience::reply();
        let rows = REPLY / VALUE / 4;
        assert!((0..rows).all(|_| patience.keep_row(3).is_ok()));
        assert!(patience.keep_row(3).is_err());
    }

    #[test]
    fn the_time_of_a_reply_begins_with_its_first_message() {
        let mut patience = Patience::reply();
        assert_eq!(patience.left(), None);
        patience.begin_message(1, LIMIT).unwrap();
        assert!(patience.left().is_some_and(|left| left <= LIMIT));
    }

    #[test]
    fn the_time_of_a_login_begins_at_once() {
        assert!(Patience::login(LIMIT).left().is_some_and(|left| left <= LIMIT));
        assert_eq!(Patience::login(Duration::ZERO).left(), Some(Duration::ZERO));
    }
}
