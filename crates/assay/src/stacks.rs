//! Writes the profiles of a study into a directory, as stacks that other tools draw.

use std::path::Path;

use anyhow::Result;
use assay_model::{Hint, Profiling, StudyRecord, counted};

use crate::charts::{NoCharts, check_file};
use crate::cli::{FormatWord, Output};
use crate::progress::print;

/// The ending of the files, which is also the word in `--format`.
pub(crate) const ENDING: &str = "folded";

/// This command has no profiles, or this study.
#[derive(Debug, thiserror::Error)]
#[error("there are no profiles to write as stacks")]
pub(crate) struct NoStacks;

impl Hint for NoStacks {
    fn hints(&self) -> Vec<String> {
        vec![
            "`assay compare ... --profile` takes them, and `assay report STUDY --format folded -o DIR` writes them"
                .to_owned(),
        ]
    }
}

/// Checks, before a study starts, that it takes the profiles that are to be written.
pub(crate) fn check(output: &Output, profile: Profiling) -> Result<(), NoStacks> {
    let is_asked = output.format == Some(FormatWord::Folded);
    if is_asked && profile == Profiling::None { Err(NoStacks) } else { Ok(()) }
}

/// Writes a file for each profile: of CPU time by kind of thread, and of waiting. Only files of their names are
/// replaced.
pub(crate) fn write(record: &StudyRecord, directory: Option<&Path>) -> Result<()> {
    let directory = directory.ok_or(NoCharts::NoDirectory(ENDING))?;
    let files = assay_report::stacks(record);
    if files.is_empty() {
        return Err(NoStacks.into());
    }
    fs_err::create_dir_all(directory)?;
    let path = |name: &str| directory.join(format!("{name}.{ENDING}"));
    files.iter().try_for_each(|file| check_file(&path(&file.name)))?;
    for file in &files {
        fs_err::write(path(&file.name), &file.text)?;
    }
    print(&format!("{} in `{}`", counted(files.len() as u64, "file"), directory.display()));
    Ok(())
}
