//! Random values of columns and parameters, as data.

use serde::{Deserialize, Serialize};

use crate::{CapturedKind, Distribution, Term};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Generator {
    Constant(Scalar),
    /// Integers that rise by 1 from row to row, or every `each` rows. Only columns have rows.
    Sequence {
        first: i64,
        #[serde(default = "one", skip_serializing_if = "is_one")]
        each: u32,
    },
    Integer(Range),
    /// An integer of the range divided by a power of ten.
    Decimal {
        range: Range,
        decimals: u8,
    },
    /// Words of random lower-case letters, separated by spaces.
    Text {
        least: u32,
        most: u32,
    },
    /// Text in which `#` becomes a random digit and `@` a random lower-case letter. A backslash escapes the next
    /// character.
    Pattern(String),
    OneOf {
        values: Vec<Scalar>,
        weights: Vec<f64>,
    },
    /// Date and time in whole seconds, drawn from a range of seconds since the Unix epoch, UTC.
    Time(Range),
    /// Dates and times that rise from row to row. Only columns have rows.
    TimeSequence {
        /// First row, seconds since the Unix epoch, UTC.
        first_s: i64,
        /// Milliseconds between rows. The text has whole seconds.
        step_ms: u64,
    },
    /// NULL in this share of the draws, otherwise a value of another generator.
    Nullable {
        share: f64,
        of: Box<Generator>,
    },
    /// A value from the line of [`Transaction::captured`] that an event takes. For variables only.
    ///
    /// [`Transaction::captured`]: crate::Transaction::captured
    Captured {
        /// Position in the line, from 0.
        column: u32,
        of: CapturedKind,
        /// Approximate size of the longest value.
        most_bytes: u64,
    },
    /// Value of an expression over earlier variables. For variables only.
    Computed(Vec<Term>),
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// A closed range of integers with a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    pub low: i64,
    pub high: i64,
    pub draw: Distribution,
    /// Whether the distribution is mirrored: high values are preferred instead of low ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_reversed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    Integer(i64),
    Text(String),
}

impl Generator {
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
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Integer(_) => 8,
            Self::Text(text) => text.len() as u64,
        }
    }
}
