//! A finding as files that show it without assay: for engineers of a vendor.
//!
//! Pure: a finding becomes the contents of files. What cannot be expressed is refused with the reason.

mod client;
mod config;
mod lua;
mod own;
mod pgbench;
mod readme;
mod run;
mod safe;
mod sbtest;
mod tool;

use std::fmt::Write as _;

use assay_model::{
    Artifact, CellId, Hint, OltpOptions, OwnFile, Product, Schema, StudyRecord, System,
};
use assay_verdict::{CellJudgement, Judgement};

use crate::tool::Tool;

/// A test in which two systems differ, and all that is known about it.
#[derive(Clone, Copy)]
pub struct Finding<'a> {
    /// The study.
    pub record: &'a StudyRecord,
    /// What it says, judged against `base`.
    pub judgement: &'a Judgement,
    /// The test, with clients, tables and rows.
    pub cell: CellId,
    /// Index of the one system.
    pub base: usize,
    /// Index of the other one.
    pub other: usize,
    /// The options of sysbench's scripts, if the test is one of them.
    pub oltp: Option<&'a OltpOptions>,
    /// Reads a file with rows that belongs to a workload; the error says why it cannot.
    pub read_file: &'a dyn Fn(&OwnFile) -> Result<Vec<u8>, String>,
}

/// A file of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReproFile {
    /// Its name, perhaps with a directory.
    pub name: String,
    /// What it holds.
    pub content: Vec<u8>,
    /// Whether it can be run.
    pub is_program: bool,
}

/// Why a finding cannot be expressed without assay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Refused {
    what: String,
    hint: String,
}

impl Refused {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl Hint for Refused {
    fn hints(&self) -> Vec<String> {
        vec![self.hint.clone()]
    }
}

/// The files that show a finding.
///
/// # Errors
/// [`Refused`] if the tools that others have cannot do the work of the test.
pub fn files(finding: &Finding<'_>) -> Result<Vec<ReproFile>, Refused> {
    finding.check()?;
    let tool = Tool::of(finding)?;
    let mut files = vec![
        text("README.md", readme::readme(finding, &tool)),
        ReproFile { is_program: true, ..text("run.sh", run::script(finding, &tool)) },
    ];
    files.extend(config::files(finding));
    match finding.cell.test.own() {
        Some(own) => files.extend(own::files(finding, own)?),
        None => files.extend(sbtest::files(finding)?),
    }
    files.push(text("statements.sql", statements(finding)));
    files.extend(tool.into_files());
    Ok(files)
}

/// A file of text.
fn text(name: &str, content: String) -> ReproFile {
    ReproFile { name: name.to_owned(), content: content.into_bytes(), is_program: false }
}

impl<'a> Finding<'a> {
    fn system(&self, index: usize) -> &'a System {
        // The caller names systems of the record.
        &self.record.systems[index]
    }

    /// Both systems, with the words that files and variables have for them.
    fn sides(&self) -> [(&'static str, &'a System); 2] {
        [("base", self.system(self.base)), ("other", self.system(self.other))]
    }

    /// The product whose statements both systems take.
    fn product(&self) -> Product {
        self.system(self.base).spec.product
    }

    fn is_postgres(&self) -> bool {
        self.product() == Product::Postgres
    }

    fn judged(&self, system: usize) -> Option<&'a CellJudgement> {
        self.judgement.cell(self.cell, system)
    }

    /// Refuses what cannot be told without assay, whatever the tool.
    fn check(&self) -> Result<(), Refused> {
        let test = self.cell.test;
        if self.record.is_reported() {
            return Err(Refused::new(
                format!("others have measured study `{}`", self.record.study.id),
                "assay knows only their results; compare the systems yourself, and then use the new study",
            ));
        }
        if matches!(test.schema, Schema::Queue(_)) {
            return Err(Refused::new(
                format!(
                    "`{test}` is a step of the Insert Benchmark, which sysbench, pgbench and the plain client cannot run"
                ),
                "send the pack of the study: `assay pack` writes it",
            ));
        }
        let [(_, base), (_, other)] = self.sides();
        let is_postgres = |system: &System| system.spec.product == Product::Postgres;
        if is_postgres(base) != is_postgres(other) {
            return Err(Refused::new(
                format!("`{}` and `{}` do not take the same statements", base.name, other.name),
                "name two systems of one family with `--base` and `--other`: MySQL and MariaDB, or Postgres",
            ));
        }
        if test.roles.len() != 1 {
            return Err(Refused::new(
                format!("`{test}` has clients that do different work at the same time"),
                "choose a test in which all clients do the same",
            ));
        }
        Ok(())
    }
}

/// Whether assay started a system, so that its configuration is known.
fn is_started(system: &System) -> bool {
    matches!(system.artifact, Artifact::Prefix(_))
}

/// The statements of an event, to be read.
fn statements(finding: &Finding<'_>) -> String {
    let test = finding.cell.test;
    let [name, does] = [test.name(), &test.does].map(readme::line);
    let mut text = format!("-- One event of {name}: {does}.\n");
    text += "-- `?` stands for a value; statements that repeat are listed once.\n";
    for statement in assay_workloads::outline_of(test.definition(), finding.product()) {
        let _ = writeln!(text, "{statement};");
    }
    text
}
