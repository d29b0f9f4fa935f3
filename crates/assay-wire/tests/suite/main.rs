//! The test files of this crate in one program, because each program takes seconds to link. `cargo xtask suite` runs
//! each file in a process of its own.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod mariadb;
mod parsers;
mod postgres;
mod tls;

assay_testkit::supervisor_entry!();
