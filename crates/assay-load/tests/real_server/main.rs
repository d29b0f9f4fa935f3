//! Load and sessions against real servers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bed;
mod content;
mod functional;
mod oltp;
mod postgres;
mod queue;
mod queue_acceptance;
mod session;
mod survey;

assay_testkit::supervisor_entry!();
