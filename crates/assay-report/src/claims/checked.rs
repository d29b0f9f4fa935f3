//! Published statements with the result of their check.

use assay_model::Statement;
use assay_verdict::{CheckedStatement, ClaimStatus};

#[derive(Debug, Clone, PartialEq)]
pub struct CheckedClaim {
    pub text: String,
    pub source: String,
    /// Interpretation of its words, where it is not obvious.
    pub reading: Option<String>,
    /// All of them must hold.
    pub parts: Vec<CheckedPart>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPart {
    /// Tests and client counts in words; empty for all.
    pub scope: String,
    pub statement: Statement,
    pub checked: CheckedStatement,
    /// Sentences about words that name no system and no test of any study.
    pub missing: Vec<String>,
}

impl CheckedClaim {
    #[must_use]
    pub fn status(&self) -> ClaimStatus {
        ClaimStatus::of_all(self.parts.iter().map(|part| part.checked.status))
    }
}
