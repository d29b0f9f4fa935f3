//! Reads and writes values of options: words, numbers, times, percentages.
//!
//! The command line and study files read a value with the same function, which is named at the field that holds it.
//! Pure: no clock, no file, no randomness.

mod readers;
mod units;

use assay_model::shortened;

pub use readers::{
    client_counts, count, cpu_list, fraction, on_off, one_of, switch, whole, whole_seconds, word,
};
pub use units::{
    duration_text, parse_budget_s, parse_clients, parse_count, parse_duration_s, parse_percent,
    percent_text,
};

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum OptionError {
    /// A time limit whose number may be meant as minutes or as seconds.
    #[error(
        "{value} seconds or {value} minutes? Write `{value}m` for minutes, or `{value}s` for seconds"
    )]
    NoUnit { value: String },
    #[error("`{}` is not {what}", shortened(value))]
    Unreadable {
        value: String,
        /// The expected form, with an example.
        what: &'static str,
    },
    #[error("{0}")]
    Bounds(&'static str),
    #[error("`{value}` is not a percentage: write {meant}")]
    NoPercentSign {
        value: String,
        /// The correct spelling.
        meant: String,
    },
}
