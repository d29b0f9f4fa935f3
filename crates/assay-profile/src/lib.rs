//! Samples where the threads of a server spend CPU time, and what they wait for.
//!
//! The kernel's performance events interrupt each thread at equal intervals of its CPU time, and at some of its context
//! switches. They copy the registers and the end of the stack. [`Sampler`] follows the stack with the unwind tables of
//! the binaries, which need no frame pointers, and counts equal stacks. At the end, addresses become names of
//! functions.

mod binary;
pub mod callgrind;
mod debuginfod;
mod error;
mod kernel;
mod names;
mod rings;
mod sampler;
mod space;
mod stacks;
mod symbols;
mod threads;

pub use error::Error;
pub use sampler::{Sampled, Sampler};
pub use symbols::Symbols;
