//! Answers whose rows are looked at one by one, with what a server tells of them: types of columns, and notices.

use crate::connection::Connection;
use crate::error::Error;

/// What a server tells of a statement besides its rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// The columns of the first result that has any.
    pub columns: Vec<Described>,
    /// Rows changed.
    pub affected: u64,
    /// Messages for the user. MySQL and MariaDB have none: they answer `SHOW WARNINGS`.
    pub notices: Vec<Notice>,
}

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// Its type: a word of MySQL or MariaDB, or the number that Postgres gives it, and its modifier.
    pub kind: String,
}

/// A message for the user that is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Such as `NOTICE` and `WARNING`.
    pub severity: String,
    /// Five characters that stand for what it is about.
    pub state: String,
    /// The message.
    pub message: String,
}

/// Takes the rows of an answer one by one, with its columns. A value is text as the server writes it; `None` is NULL.
pub type TakeValues<'a> = &'a mut dyn FnMut(&[Described], &[Option<&[u8]>]);

/// Appends the next part of what is copied; false if there was no more.
pub type NextPart<'a> = &'a mut dyn FnMut(&mut Vec<u8>) -> bool;

impl Connection {
    /// Runs one statement as text, hands each row of its first result to `take`, and keeps none.
    ///
    /// # Errors
    /// As of [`Connection::query`].
    pub fn answer(&mut self, sql: &[u8], take: TakeValues<'_>) -> Result<Told, Error> {
        let (channel, session) = self.parts();
        match session {
            crate::connection::Session::MySql(session) => session.answer(channel, sql, take),
            crate::connection::Session::Postgres(session) => session.answer(channel, sql, take),
        }
    }

    /// Runs `COPY … FROM stdin` with what `next` gives, which is called until it returns false, whatever the server
    /// says. For Postgres only.
    ///
    /// # Errors
    /// As of [`Connection::query`].
    pub fn copy_in_parts(&mut self, sql: &[u8], next: NextPart<'_>) -> Result<Told, Error> {
        let (channel, session) = self.parts();
        match session {
            crate::connection::Session::MySql(_) => Err(Error::Usage("only Postgres has COPY")),
            crate::connection::Session::Postgres(session) => {
                session.copy_in_parts(channel, sql, next)
            }
        }
    }
}
