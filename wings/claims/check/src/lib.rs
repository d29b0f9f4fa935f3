//! Files of published claims, and their check against studies. Pure: no I/O, no clock.
//!
//! A file has `[[claim]]` tables; a claim has its keys itself or in several `[[claim.part]]` tables. A part inherits
//! missing keys from its claim, and a claim from the top of the file.

mod check;
mod claim;
mod read;
mod statement;
mod study_check;
mod value;

pub use check::{CheckedStatement, ClaimFigure, ClaimStatus, MARGIN};
pub use claim::{ClaimFile, ClaimPart, PublishedClaim};
pub use statement::{Quantity, Region, Relation, Share, ShareUnit, Statement, Summary};
pub use study_check::{CheckedClaim, CheckedPart, check_claims};

use assay_plan::FileError;

/// `name` identifies the file in errors.
pub fn read_claims(name: &str, text: &str) -> Result<ClaimFile, FileError> {
    read::claims(text).map_err(|fault| fault.shown_in(name, text))
}

#[cfg(test)]
mod tests;
