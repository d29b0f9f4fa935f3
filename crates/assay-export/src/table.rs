//! A table: columns with types, and rows.

use std::borrow::Cow;

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name, which is that of its files.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns.
    pub columns: Cow<'static, [Column]>,
    /// Its rows; each has as many values as there are columns, of their types.
    pub(crate) rows: Vec<Vec<Value>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Their meaning and unit.
    pub about: Cow<'static, str>,
}

/// The type of a column. Every column may have nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits.
    Real,
    /// True or false.
    Boolean,
    /// Milliseconds since the Unix epoch, UTC.
    Moment,
}

impl Kind {
    /// The type's name in DuckDB, which reads the tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "VARCHAR",
            Self::Integer => "BIGINT",
            Self::Real => "DOUBLE",
            Self::Boolean => "BOOLEAN",
            Self::Moment => "TIMESTAMPTZ",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Never measured, or does not apply.
    Null,
    Text(String),
    Integer(i64),
    Real(f64),
    Boolean(bool),
}

impl Table {
    /// Its number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

pub(crate) const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, about: Cow::Borrowed(about) }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(assay_model::printable(text).into_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u64> for Value {
    /// No number of a ledger is too large.
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Null, Self::Integer)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        (number as u64).into()
    }
}

impl From<f64> for Value {
    /// An unknown end of an interval is no number.
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Real(number) } else { Self::Null }
    }
}

impl From<bool> for Value {
    fn from(is: bool) -> Self {
        Self::Boolean(is)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
