//! The logs of Postgres: three forms of the same messages.

mod csvlog;
mod jsonlog;
mod messages;
mod prefix;
mod stderr;

pub(super) use csvlog::FORMAT as CSVLOG;
pub(super) use jsonlog::FORMAT as JSONLOG;
pub(super) use stderr::FORMAT as STDERR;
