//! Names of functions: addresses in the binaries of a server, and in the kernel, become names as in the source code.

mod binary;
mod debuginfod;
pub mod names;
mod symbols;

pub use binary::{ElfBinary, SharedBytes};
pub use symbols::Symbols;

#[cfg(test)]
#[path = "../tests/elf/mod.rs"]
mod elf;
