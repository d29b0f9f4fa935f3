//! Answers whose rows are read one by one, with column types and notices.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerSummary {
    /// The columns of the first result that has any.
    pub columns: Vec<Described>,
    pub affected: u64,
    /// MySQL and MariaDB have none: they answer `SHOW WARNINGS`.
    pub notices: Vec<Notice>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    pub name: String,
    /// A MySQL or MariaDB type name, or Postgres' type number and modifier.
    pub kind: String,
    /// A table column, not an expression. Always false on Postgres.
    pub is_of_table: bool,
}

/// A server message that is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Such as `NOTICE` and `WARNING`.
    pub severity: String,
    /// SQLSTATE.
    pub state: String,
    pub message: String,
}

/// Called with the columns and each row. A value is text in the server's notation; `None` is NULL.
pub type TakeValues<'a> = &'a mut dyn FnMut(&[Described], &[Option<&[u8]>]);

/// Appends the next part of the data to copy; false if there was no more.
pub type NextPart<'a> = &'a mut dyn FnMut(&mut Vec<u8>) -> bool;
