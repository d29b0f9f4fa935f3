//! Values of parameters and columns.

use std::ops::Range;

use crate::number::Number;

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Int(i64),
    /// Range of the text in the event's bytes.
    Text(Range<usize>),
    /// Rows of an `INSERT` as text: their range in the bytes.
    Rows(Range<usize>),
    Raw(Range<usize>),
    Null,
    Computed(Number, Range<usize>),
    /// A value of an earlier result of the event, by its place.
    Kept(u32),
}
