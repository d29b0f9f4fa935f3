//! Parameters and results, the same for both protocols.

use crate::error::Error;

/// A statement prepared on one connection. It has no meaning on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatementId(pub(crate) usize);

impl StatementId {
    /// The statement among those of its connection.
    #[inline]
    pub(crate) fn find_in<S>(self, statements: &mut [S]) -> Result<&mut S, Error> {
        let unknown = "a statement that was not prepared on this connection";
        statements.get_mut(self.0).ok_or(Error::Usage(unknown))
    }
}

/// Facts about the server and the connection that the login reveals.
#[derive(Debug)]
pub(crate) struct ServerIdentity {
    /// Its version in its own words.
    pub(crate) version: String,
    /// Its number for the connection: as in `KILL`, or the process id of the Postgres backend.
    pub(crate) connection_id: u32,
    /// The method by which the client logged in.
    pub(crate) auth_method: String,
}

/// Type of a parameter, sent as the reference client (sysbench) sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamType {
    /// A whole number of 64 bits, whatever the column: LONGLONG, `int8`.
    Int,
    /// A string: VAR_STRING, `varchar`.
    Text,
    /// Of any kind: VAR_STRING, and on Postgres the type that the server infers from the statement.
    Inferred,
}

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param<'a> {
    /// For [`ParamType::Int`] and [`ParamType::Inferred`].
    Int(i64),
    /// For [`ParamType::Text`] and [`ParamType::Inferred`].
    Text(&'a [u8]),
    /// NULL, for a parameter of any type.
    Null,
}

/// The outcome of a statement whose rows are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Whether it returned a result set, even an empty one.
    pub result_set: bool,
    /// Rows returned.
    pub rows: u64,
    /// Rows changed.
    pub affected: u64,
}

/// The class that a statement is counted in: by its result, not by its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// It returned a result set.
    Read,
    /// It changed rows.
    Write,
    /// Neither: `BEGIN`, `COMMIT`, definitions, an update that changed nothing.
    Other,
}

impl Reply {
    /// The class that the statement is counted in.
    pub fn counted(&self) -> Counted {
        match self {
            Self { result_set: true, .. } => Counted::Read,
            Self { affected: 1.., .. } => Counted::Write,
            _ => Counted::Other,
        }
    }
}

/// The result of a statement, with all its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// Names of the columns. Empty where there was no result set, and for prepared statements of Postgres.
    pub columns: Vec<String>,
    /// Rows of one value per column, in the server's text format; `None` is NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// Rows changed.
    pub affected: u64,
    /// First number given out by an auto-increment column, else 0.
    pub last_insert_id: u64,
}

impl ResultSet {
    /// A value as text: `None` if it does not exist, is NULL or is not UTF-8.
    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        let value = self.rows.get(row)?.get(column)?.as_deref()?;
        std::str::from_utf8(value).ok()
    }

    /// The first value of the first row, like [`ResultSet::text`].
    pub fn first_string(&self) -> Option<String> {
        self.text(0, 0).map(str::to_owned)
    }

    /// The value in the column of this name, like [`ResultSet::text`].
    pub fn named(&self, row: usize, column: &str) -> Option<&str> {
        let column = self.columns.iter().position(|name| name.eq_ignore_ascii_case(column))?;
        self.text(row, column)
    }
}
