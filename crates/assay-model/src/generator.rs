//! Values drawn at random, as data: those of columns, and the parameters of statements.

use serde::{Deserialize, Serialize};

use crate::{CapturedKind, Distribution, Term};

/// A way to make values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Generator {
    /// The same value each time.
    Constant(Scalar),
    /// Integers that rise by 1 from row to row, or after some rows. Only columns have rows.
    Sequence {
        /// The value of the first row.
        first: i64,
        /// Rows in a row that have the same value.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        each: u32,
    },
    /// An integer.
    Integer(Range),
    /// A number with decimals: an integer of the range, divided by a power of ten.
    Decimal {
        /// The integers.
        range: Range,
        /// Digits after the point.
        decimals: u8,
    },
    /// Words of random lower-case letters, separated by spaces.
    Text {
        /// Fewest characters.
        least: u32,
        /// Most characters.
        most: u32,
    },
    /// Text in which `#` stands for a random digit, `@` for a random lower-case letter, and any other character for
    /// itself. A backslash takes the meaning from the character after it.
    Pattern(String),
    /// One of these values, with probabilities in proportion to their weights.
    OneOf {
        /// The values.
        values: Vec<Scalar>,
        /// As many weights.
        weights: Vec<f64>,
    },
    /// A date and a time of day in whole seconds, drawn from a range of seconds since the Unix epoch, UTC.
    Time(Range),
    /// Dates and times that rise from row to row. Only columns have rows.
    TimeSequence {
        /// The value of the first row, seconds since the Unix epoch, UTC.
        first_s: i64,
        /// Milliseconds between two rows. The text has whole seconds.
        step_ms: u64,
    },
    /// NULL in this share of the draws, otherwise a value of another generator.
    Nullable {
        /// Between 0 and 1.
        share: f64,
        /// The generator of the other values.
        of: Box<Generator>,
    },
    /// A value of the line that an event takes of [`Transaction::captured`]. Only variables have it.
    ///
    /// [`Transaction::captured`]: crate::Transaction::captured
    Captured {
        /// Its place in the line, from 0.
        column: u32,
        /// Of which kind the values of all lines are.
        of: CapturedKind,
        /// Bytes of the longest one, about.
        most_bytes: u64,
    },
    /// The value of an expression. Only variables are computed, from those before them.
    Computed(Vec<Term>),
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Integers between two ends, both of which belong to it, and how often each of them is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The lowest value.
    pub low: i64,
    /// The highest value.
    pub high: i64,
    /// The shape of the distribution.
    pub draw: Distribution,
    /// Whether the distribution is turned round: where low values were preferred, high ones are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_reversed: bool,
}

/// A value that is written in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// An integer.
    Integer(i64),
    /// Any other value, as text.
    Text(String),
}

impl Generator {
    /// Bytes of its longest value, about.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        match self {
            Self::Text { most, .. } => u64::from(*most),
            Self::Pattern(text) => text.len() as u64,
            Self::Constant(value) => value.bytes(),
            Self::OneOf { values, .. } => values.iter().map(Scalar::bytes).max().unwrap_or(0),
            Self::Nullable { of, .. } => of.most_bytes(),
            Self::Captured { most_bytes, .. } => *most_bytes,
            Self::Sequence { .. }
            | Self::Computed(_)
            | Self::Integer(_)
            | Self::Decimal { .. }
            | Self::Time(_)
            | Self::TimeSequence { .. } => 20,
        }
    }
}

impl Scalar {
    /// Bytes of the value, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Integer(_) => 8,
            Self::Text(text) => text.len() as u64,
        }
    }
}
