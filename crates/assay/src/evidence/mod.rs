//! Packs: one file with a study, its reports and their digests. `assay pack` writes it, and `assay verify` recomputes
//! everything in it.

mod differences;
mod pack;
mod personal;
mod render;
mod verify;

#[cfg(test)]
mod tests;

pub(crate) use pack::{is_packed, pack};
pub(crate) use verify::verify;
