//! The test files of this crate in one program, because each program takes seconds to link. `cargo xtask suite` runs
//! each file in a process of its own.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod active;
mod common;
mod comparable;
mod ranking;
mod simulation;
mod steps;
mod tails;
