//! Published statements that were checked.

use assay_model::Statement;
use assay_verdict::{CheckedStatement, ClaimStatus};

/// A published statement that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedClaim {
    /// The statement as published.
    pub text: String,
    /// Where it was published.
    pub source: String,
    /// How its words are read, where that is not obvious.
    pub reading: Option<String>,
    /// Its parts, all of which must hold.
    pub parts: Vec<CheckedPart>,
}

/// A part of a published statement that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPart {
    /// Its tests and client counts, in words; empty for all.
    pub scope: String,
    /// What is claimed of the values.
    pub statement: Statement,
    /// What the evidence says.
    pub checked: CheckedStatement,
    /// Sentences about words that name no system and no test of any study, if there are any.
    pub missing: Vec<String>,
}

impl CheckedClaim {
    /// What the evidence says of the whole statement.
    #[must_use]
    pub fn status(&self) -> ClaimStatus {
        ClaimStatus::of_all(self.parts.iter().map(|part| part.checked.status))
    }
}
