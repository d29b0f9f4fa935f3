//! Values of parameters and columns.

use std::ops::Range;

use crate::number::Number;

/// A parameter or the value of a column.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Int(i64),
    /// Its place among the bytes.
    Text(Range<usize>),
    /// Rows of an `INSERT`, as text: their place among the bytes.
    Rows(Range<usize>),
    /// SQL: its place among the bytes.
    Raw(Range<usize>),
    Null,
    /// A computed value that is no whole number, and the place of its text among the bytes.
    Computed(Number, Range<usize>),
    /// A value of an earlier result of the event, by its place among the kept ones.
    Kept(u32),
}
