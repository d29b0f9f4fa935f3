//! Files that reproduce a finding without assay, for a vendor's engineers.
//!
//! Pure: returns file contents, or the reason why a finding cannot be expressed.

mod client;
mod config;
mod finding;
mod lua;
mod pgbench;
mod readme;
mod run;
mod safe;
mod sbtest;
mod tool;
mod user;

use std::fmt::Write as _;

pub use finding::{Finding, ReproFile, ReproRefusal};

use crate::finding::line;
use crate::tool::ReproTool;

pub fn files(finding: &Finding<'_>) -> Result<Vec<ReproFile>, ReproRefusal> {
    finding.check()?;
    let tool = ReproTool::choose(finding)?;
    let mut files = vec![
        ReproFile::new("README.md", readme::readme(finding, &tool)),
        ReproFile { is_program: true, ..ReproFile::new("run.sh", run::script(finding, &tool)) },
    ];
    files.extend(config::files(finding)?);
    match finding.cell.test.user_data() {
        Some(own) => files.extend(user::files(finding, own)?),
        None => files.extend(sbtest::files(finding)?),
    }
    files.push(ReproFile::new("statements.sql", statements(finding)));
    files.extend(tool.into_files());
    Ok(files)
}

/// Statements of an event for human readers.
fn statements(finding: &Finding<'_>) -> String {
    let test = finding.cell.test;
    let [name, does] = [test.name(), &test.does].map(line);
    let mut text = format!("-- One event of {name}: {does}.\n");
    text += "-- `?` stands for a value; statements that repeat are listed once.\n";
    for statement in assay_workloads::outline_of(test.definition(), finding.dialect()) {
        let _ = writeln!(text, "{statement};");
    }
    text
}
