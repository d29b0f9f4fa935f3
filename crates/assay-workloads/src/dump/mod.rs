//! Dumps of whole schemas: split into statements while they are read, and what of them is for another place.

mod fate;
mod split;

pub use fate::{Definer, Fate, fate, first_line, without_definer};
pub use split::{DumpError, DumpPart, DumpParts};
