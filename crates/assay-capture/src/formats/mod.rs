//! The formats that are read: a file each, and a line in [`FORMATS`].

mod csv;
mod digests;
mod foreign;
mod general;
mod log_tables;
mod pg_stat_statements;
mod postgres;
mod script;
mod slow;
mod splitter;

pub use foreign::Foreign;
pub(crate) use foreign::{binary, foreign, packed};

use crate::reader::Format;

/// Every format. A log is in the first one that its content looks like.
pub const FORMATS: &[Format] = &[
    slow::FORMAT,
    general::FORMAT,
    digests::FORMAT,
    log_tables::FORMAT,
    pg_stat_statements::FORMAT,
    postgres::JSONLOG,
    postgres::CSVLOG,
    postgres::STDERR,
    script::FORMAT,
];
