//! Files of published statements, which `assay claims` checks against studies.
//!
//! A file has `[[claim]]` tables, and a claim has its keys itself or in several `[[claim.part]]` tables. What a part
//! leaves out, it takes from its claim, and what that leaves out from the top of the file.

mod read;
mod select;
mod share;
mod types;
mod value;

pub use types::{Claim, ClaimFile, ClaimPart};

use crate::document::FileError;

/// Reads a file of statements; `name` is what errors call it, `text` its content.
pub fn read_claims(name: &str, text: &str) -> Result<ClaimFile, FileError> {
    read::claims(text).map_err(|fault| fault.shown_in(name, text))
}

#[cfg(test)]
mod tests;
