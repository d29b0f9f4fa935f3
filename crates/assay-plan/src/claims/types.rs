//! A file of published statements.

use assay_model::Statement;
use regex_lite::Regex;

/// A file of published statements.
#[derive(Debug, Clone)]
pub struct ClaimFile {
    /// The statements, in the order of the file.
    pub claims: Vec<Claim>,
}

/// A published statement.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The statement as published.
    pub text: String,
    /// Where it was published.
    pub source: String,
    /// How its words are read, where that is not obvious.
    pub reading: Option<String>,
    /// All of them must hold.
    pub parts: Vec<ClaimPart>,
}

/// A part of a statement that can be checked.
#[derive(Debug, Clone)]
pub struct ClaimPart {
    pub(super) systems: Vec<SystemWords>,
    pub(super) than: Than,
    pub(super) tests: Vec<TestWords>,
    pub(super) clients: Vec<(u32, u32)>,
    /// The system that is claimed to have the smallest or largest value.
    pub(super) extreme: Option<SystemWords>,
    /// What is claimed of the values.
    pub statement: Statement,
}

/// The other side of a comparison.
#[derive(Debug, Clone)]
pub(super) enum Than {
    /// The base of the study.
    Base,
    /// The system before it in the study.
    Previous,
    /// These systems, each by itself.
    Systems(Vec<SystemWords>),
}

/// Words that name systems: a name or a pattern for names, or a version with or without its product.
#[derive(Debug, Clone)]
pub(super) struct SystemWords {
    pub(super) words: String,
    pub(super) pattern: Option<Regex>,
}

/// Words that name tests: a group, or a pattern for names.
#[derive(Debug, Clone)]
pub(super) struct TestWords {
    pub(super) words: String,
    pub(super) pattern: Regex,
    pub(super) is_excluded: bool,
}
