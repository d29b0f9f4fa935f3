//! Load and sessions against real servers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod actor;
mod bed;
mod captured;
mod content;
mod functional;
mod ibench;
mod ibench_acceptance;
mod lua;
mod oltp;
mod postgres;
mod session;
mod settings;
mod survey;
mod tpcc;

assay_testkit::supervisor_entry!();
