//! Instructions for repeating a study.

use std::collections::BTreeSet;

use assay_model::{Origin, StudyRecord, counted};

use super::undecided;

pub(crate) struct Again<'a> {
    pub(crate) id: &'a str,
    /// Command that repeats the study, if one command is enough.
    pub(crate) command: Option<&'a str>,
    /// The study file; empty if none was kept.
    pub(crate) recipe: &'a str,
    pub(crate) way_on: Option<String>,
    /// Whether a system is named by a URL; the ledger keeps no passwords.
    pub(crate) needs_password: bool,
    /// Number of tests with profiles, which only pages and files of stacks show.
    pub(crate) profiled: usize,
}

impl<'a> Again<'a> {
    pub(crate) fn new(record: &'a StudyRecord) -> Self {
        let is_url = |origin: &Origin| matches!(origin, Origin::Url(_));
        Self {
            id: &record.study.id,
            command: command(&record.study.recipe),
            recipe: record.study.recipe.trim_end(),
            way_on: undecided::way_on(record),
            needs_password: record.systems.iter().any(|system| is_url(&system.spec.origin)),
            profiled: record.profiles.iter().map(|it| it.cell).collect::<BTreeSet<_>>().len(),
        }
    }

    /// Command that shows the profiles, and its purpose; `None` without profiles.
    pub(crate) fn profiles(&self) -> Option<(String, String)> {
        let command = format!("assay report {} -o profiles.html", self.id);
        let tests = counted(self.profiled as u64, "test");
        let shows = format!("functions, waits and flame graphs of {tests}");
        (self.profiled > 0).then_some((command, shows))
    }
}

/// The command is a comment in the first line of the study file.
fn command(recipe: &str) -> Option<&str> {
    recipe.lines().next()?.strip_prefix("# ").filter(|line| line.starts_with("assay "))
}
