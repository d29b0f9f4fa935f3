//! The supported formats: a file each, and a line in [`FORMATS`].

mod digests;
mod foreign;
mod general;
mod log_tables;
mod pg_stat_statements;
mod postgres;
mod script;
mod slow;
mod tables;

pub use foreign::ForeignFile;
pub(crate) use foreign::{binary, foreign, packed};

use crate::reader::LogFormat;

/// The first format that matches a log's content is used.
pub const FORMATS: &[LogFormat] = &[
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
