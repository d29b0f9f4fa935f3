//! Answers whose rows are looked at one by one, with what a server tells of them: types of columns, and notices.

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
    /// Whether it is a column of a table, and not an expression. Postgres is not asked.
    pub is_of_table: bool,
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
