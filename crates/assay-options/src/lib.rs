//! How the values of options are read and written: words, numbers, times, percentages. The command line and study files
//! read a value with the same function, which is named at the field that holds it.
//!
//! Pure: no clock, no file, no randomness.

mod readers;
mod units;

use assay_model::shortened;

pub use readers::{
    client_counts, count, fraction, on_off, one_of, switch, whole, whole_seconds, word,
};
pub use units::{
    duration_text, parse_budget_s, parse_clients, parse_count, parse_duration_s, parse_percent,
    percent_text,
};

/// The reason why a value cannot be read.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Error {
    /// A time limit whose number may be meant as minutes or as seconds.
    #[error(
        "{value} seconds or {value} minutes? Write `{value}m` for minutes, or `{value}s` for seconds"
    )]
    NoUnit {
        /// The number as typed.
        value: String,
    },
    /// A time, a count or a percentage that cannot be read.
    #[error("`{}` is not {what}", shortened(value))]
    Unreadable {
        /// The text as typed.
        value: String,
        /// The expected form, with an example.
        what: &'static str,
    },
    /// A time or a percentage outside its range.
    #[error("{0}")]
    Bounds(&'static str),
    /// A number where a percentage is wanted.
    #[error("`{value}` is not a percentage: write {meant}")]
    NoPercentSign {
        /// The text as typed.
        value: String,
        /// The text to type instead.
        meant: String,
    },
}
