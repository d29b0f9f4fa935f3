//! Load and sessions against a real MariaDB.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bed;
mod content;
mod functional;
mod session;

assay_testkit::supervisor_entry!();
