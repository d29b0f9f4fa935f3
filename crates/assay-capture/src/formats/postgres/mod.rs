//! The logs of Postgres: three forms of the same messages.

mod csvlog;
mod inferred;
mod jsonlog;
mod messages;
mod prefix;
mod stderr;
mod wrapped;

pub(super) use csvlog::FORMAT as CSVLOG;
pub(super) use jsonlog::FORMAT as JSONLOG;
pub(super) use stderr::FORMAT as STDERR;
