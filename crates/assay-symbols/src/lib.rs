//! Names of functions: addresses in the binaries of a server, and in the kernel, become names as in the source code.

mod binary;
mod code;
mod debuginfod;
mod matching;
pub mod names;
mod symbols;

pub use binary::{ElfBinary, SharedBytes};
pub use symbols::{DonorNames, NameDonor, Symbols};

#[cfg(test)]
#[path = "../tests/elf/mod.rs"]
mod elf;
