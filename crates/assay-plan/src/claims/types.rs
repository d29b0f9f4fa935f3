//! Types of claim files.

use assay_model::Statement;
use regex_lite::Regex;

#[derive(Debug, Clone)]
pub struct ClaimFile {
    pub claims: Vec<Claim>,
}

#[derive(Debug, Clone)]
pub struct Claim {
    pub text: String,
    pub source: String,
    /// Interpretation of its words, where not obvious.
    pub reading: Option<String>,
    /// All of them must hold.
    pub parts: Vec<ClaimPart>,
}

#[derive(Debug, Clone)]
pub struct ClaimPart {
    pub(super) systems: Vec<SystemWords>,
    pub(super) than: Than,
    pub(super) tests: Vec<TestWords>,
    pub(super) clients: Vec<(u32, u32)>,
    pub(super) extreme: Option<SystemWords>,
    pub statement: Statement,
}

#[derive(Debug, Clone)]
pub(super) enum Than {
    Base,
    Previous,
    Systems(Vec<SystemWords>),
}

/// Words for systems: a name or a pattern for names, or a version with or without its product.
#[derive(Debug, Clone)]
pub(super) struct SystemWords {
    pub(super) words: String,
    pub(super) pattern: Option<Regex>,
}

/// Words for tests: a group, or a pattern for names.
#[derive(Debug, Clone)]
pub(super) struct TestWords {
    pub(super) words: String,
    pub(super) pattern: Regex,
    pub(super) is_excluded: bool,
}
