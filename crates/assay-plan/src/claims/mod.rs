//! Files of published claims, which `assay claims` checks against studies.
//!
//! A file has `[[claim]]` tables; a claim has its keys itself or in several `[[claim.part]]` tables. A part inherits
//! missing keys from its claim, and a claim from the top of the file.

mod claim;
mod read;
mod value;

pub use claim::{ClaimFile, ClaimPart, PublishedClaim};

use crate::document::FileError;

/// `name` identifies the file in errors.
pub fn read_claims(name: &str, text: &str) -> Result<ClaimFile, FileError> {
    read::claims(text).map_err(|fault| fault.shown_in(name, text))
}

#[cfg(test)]
mod tests;
