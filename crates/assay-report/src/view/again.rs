//! The way to measure the same again.

use assay_model::{Origin, StudyRecord};

/// The way to the same study.
pub(crate) struct Again<'a> {
    pub(crate) id: &'a str,
    /// The command that repeats the study, if one command is enough.
    pub(crate) command: Option<&'a str>,
    /// The study file; empty where none was kept.
    pub(crate) recipe: &'a str,
    /// Whether a system is named by a URL, of which the ledger keeps no password.
    pub(crate) needs_password: bool,
}

impl<'a> Again<'a> {
    pub(crate) fn new(record: &'a StudyRecord) -> Self {
        let is_url = |origin: &Origin| matches!(origin, Origin::Url(_));
        Self {
            id: &record.study.id,
            command: command(&record.study.recipe),
            recipe: record.study.recipe.trim_end(),
            needs_password: record.systems.iter().any(|system| is_url(&system.spec.origin)),
        }
    }
}

/// The command stands in the first line of the study file, as a comment.
fn command(recipe: &str) -> Option<&str> {
    recipe.lines().next()?.strip_prefix("# ").filter(|line| line.starts_with("assay "))
}
