//! Packs: one file with a study, its reports and their digests. `assay pack` writes it, and `assay verify` recomputes
//! everything in it.

mod pack;
mod personal;
#[cfg(test)]
mod tests;
mod verify;

pub use pack::{PackArgs, is_packed};
pub use verify::VerifyArgs;
