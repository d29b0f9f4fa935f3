//! The finding to reproduce, and the files made from it.

use assay_model::{
    Artifact, CellId, Dialect, Estimate, StudyRecord, System, UserRowsFile, printable,
};
use assay_verdict::{CellJudgement, Judgement};
use assay_workloads::OltpOptions;

/// A test in which two systems differ.
#[derive(Clone, Copy)]
pub struct Finding<'a> {
    pub record: &'a StudyRecord,
    /// Judged against `base`.
    pub judgement: &'a Judgement,
    pub cell: CellId,
    /// Index into the systems of the record.
    pub base: usize,
    pub other: usize,
    pub oltp: Option<&'a OltpOptions>,
    /// Reads a file of rows of a workload.
    pub read_file: &'a dyn Fn(&UserRowsFile) -> Result<Vec<u8>, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReproFile {
    /// May contain a directory.
    pub name: String,
    pub content: Vec<u8>,
    pub is_program: bool,
}

impl ReproFile {
    pub(crate) fn new(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), content: content.into(), is_program: false }
    }
}

pub(crate) const SEND_PACK: &str = "send the pack of the study: `assay pack` writes it";

/// Why a finding cannot be reproduced without assay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ReproRefusal {
    pub what: String,
    /// Advice to the user.
    pub hint: String,
}

impl ReproRefusal {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl<'a> Finding<'a> {
    pub(crate) fn system(&self, index: usize) -> &'a System {
        &self.record.systems[index]
    }

    /// Both systems with their prefixes in files and variables.
    pub(crate) fn sides(&self) -> [(&'static str, &'a System); 2] {
        [("base", self.system(self.base)), ("other", self.system(self.other))]
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.system(self.base).spec.product.dialect()
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.dialect() == Dialect::Postgres
    }

    pub(crate) fn judged(&self, system: usize) -> Option<&'a CellJudgement> {
        self.judgement.cell(self.cell, system)
    }

    /// Refuses findings that no tool can reproduce without assay.
    pub(crate) fn check(&self) -> Result<(), ReproRefusal> {
        let test = self.cell.test;
        if self.record.is_reported() {
            return Err(ReproRefusal::new(
                format!("others have measured study `{}`", self.record.study.id),
                "assay knows only their results; compare the systems yourself, and then use the new study",
            ));
        }
        if let Some([why, advice]) = test.schema.facts().irreproducible(test.name()) {
            return Err(ReproRefusal::new(why, advice));
        }
        let [(_, base), (_, other)] = self.sides();
        if base.spec.product.dialect() != other.spec.product.dialect() {
            return Err(ReproRefusal::new(
                format!("`{}` and `{}` do not take the same statements", base.name, other.name),
                "name two systems of one family with `--base` and `--other`: MySQL and MariaDB, or Postgres",
            ));
        }
        if test.roles.len() != 1 {
            return Err(ReproRefusal::new(
                format!("`{test}` has clients that do different work at the same time"),
                "choose a test in which all clients do the same",
            ));
        }
        Ok(())
    }
}

/// If so, its configuration is known.
pub(crate) fn is_started(system: &System) -> bool {
    matches!(system.artifact, Artifact::Prefix(_))
}

/// Reduces foreign text to one line that is safe in Markdown, SQL and shells.
pub(crate) fn line(text: &str) -> String {
    printable(text).replace(['\n', '\r'], " ").replace('`', "'")
}

/// Adds the server version that the name may leave open: `mysql@8.0 (8.0.33)`.
pub(crate) fn named(system: &System) -> String {
    format!("{} ({})", line(&system.name), line(system.artifact.version()))
}

/// `0.79 (95% interval 0.78 to 0.80): slower`.
pub(crate) fn measured(finding: &Finding<'_>) -> String {
    let Some(judged) = finding.judged(finding.other) else { return "nothing".to_owned() };
    let verdict = judged.verdict.word();
    match judged.rqps {
        None => format!("no ratio: {verdict}"),
        Some(ratio) => format!("{}: {verdict}", estimate(ratio)),
    }
}

pub(crate) fn estimate(ratio: Estimate) -> String {
    let Estimate { value, low, high } = ratio;
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("{value:.3} (95% interval {low:.3} to {high:.3})"),
        (false, true) => format!("at most {high:.3}"),
        (true, false) => format!("at least {low:.3}"),
        (false, false) => format!("{value:.3} (no interval)"),
    }
}
