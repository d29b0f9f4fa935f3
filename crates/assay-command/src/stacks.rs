//! Writes profiles and counts of a study as folded stacks, for other tools.

use std::path::Path;

use anyhow::Result;
use assay_model::{
    Counting, EventKind, Profile, Profiling, StudyDocument as _, StudyRecord, counted,
};
use assay_plan::Request;
use assay_run::advice::HintedError;
use assay_run::progress::print;
use assay_run::whole_file;

use crate::args::{FormatWord, Output};
use crate::charts::{check_file, no_directory};

/// File extension, which is also the word in `--format`.
pub const ENDING: &str = "folded";

pub const NONE_CHANGED: &str =
    "no profiles: no test changed for certain; `--profile=all` takes those of all tests";

pub fn no_profiles() -> HintedError {
    HintedError::new(
        "there are no profiles to write as stacks",
        "`assay compare ... --profile` takes them, and `assay report STUDY --format folded -o DIR` writes them",
    )
}

/// Checks, before a study starts or goes on, that it takes the profiles or counts to be written.
pub fn check(output: &Output, request: impl FnOnce() -> Result<Request>) -> Result<()> {
    if output.format != Some(FormatWord::Folded) {
        return Ok(());
    }
    let request = request()?;
    let takes_some = request.profile != Profiling::None || request.count != Counting::None;
    if takes_some { Ok(()) } else { Err(no_profiles().into()) }
}

/// Writes a file for each profile, of CPU time by kind of thread and of waiting, and for each count of instructions.
/// Only files of these names are replaced.
pub fn write(record: &StudyRecord, directory: Option<&Path>) -> Result<()> {
    let directory = directory.ok_or_else(|| no_directory(ENDING))?;
    let files = assay_report::stacks(record);
    if files.is_empty() {
        print(nothing(record)?);
        return Ok(());
    }
    fs_err::create_dir_all(directory)?;
    let path = |name: &str| directory.join(format!("{name}.{ENDING}"));
    files.iter().try_for_each(|file| check_file(&path(&file.name)))?;
    for file in &files {
        whole_file::write(&path(&file.name), file.text.as_bytes())?;
    }
    print(&format!(
        "{} in `{}`: CPU time in samples, waits in microseconds, counts in instructions",
        counted(files.len() as u64, "file"),
        directory.display()
    ));
    Ok(())
}

fn nothing(record: &StudyRecord) -> Result<&'static str> {
    let prevented = record.events.iter().find_map(|event| match &event.what {
        EventKind::NotDone { afterward, why, .. } if afterward == Profile::NAME => {
            Some(why.clone())
        }
        _ => None,
    });
    // Published results have no profiles.
    let requested = if record.is_reported() {
        Profiling::None
    } else {
        assay_plan::request_of(&record.study)?.profile
    };
    match (requested, prevented) {
        (Profiling::None, _) => Err(no_profiles().into()),
        _ if !record.finished => {
            Ok("the study takes its profiles at its end, so there are none yet")
        }
        (_, Some(why)) => Err(HintedError::new(
            format!("no profile could be taken, so there are no stacks to write: {why}"),
            "`assay report STUDY` shows the results of the study",
        )
        .into()),
        (Profiling::Changed, None) => Ok(NONE_CHANGED),
        (Profiling::All, None) => Err(no_profiles().into()),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Host, StudyEvent};
    use assay_plan::MachineFacts;

    use super::*;

    fn record(profile: Profiling) -> StudyRecord {
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let machine =
            MachineFacts { cpus: 4, memory_mb: 1 << 16, disk_mb: 1 << 20, realtime: None };
        let request = Request { profile, ..Request::of_systems(&words) };
        let plan = assay_plan::plan(&request, machine).unwrap();
        StudyRecord::new(plan.study, Host::default(), Vec::new())
    }

    #[test]
    fn a_study_in_which_no_test_changed_has_no_profiles_and_no_error() {
        let mut changed = record(Profiling::Changed);
        assert!(nothing(&changed).unwrap().contains("at its end"));
        changed.finished = true;
        assert!(nothing(&changed).unwrap().contains("no test changed"));
        let what = EventKind::NotDone {
            afterward: Profile::NAME.to_owned(),
            what: "no profile of scan".to_owned(),
            test: "scan".to_owned(),
            data: changed.study.cells[0].id.setup.data(),
            why: "the server has ended".to_owned(),
        };
        changed.events.push(StudyEvent { when_ms: 0, system: None, what });
        let error = nothing(&changed).unwrap_err().to_string();
        assert!(error.ends_with("stacks to write: the server has ended"), "{error}");
        let error = nothing(&record(Profiling::None)).unwrap_err();
        assert_eq!(error.to_string(), no_profiles().to_string());
    }

    #[test]
    fn stacks_are_refused_before_a_study_that_takes_no_profiles() {
        let request = |profile| move || Ok(assay_plan::request_of(&record(profile).study)?);
        let output = Output { format: Some(FormatWord::Folded), output: None, verbose: false };
        assert!(check(&output, request(Profiling::None)).is_err());
        check(&output, request(Profiling::Changed)).unwrap();
        check(&output, || Ok(Request { count: Counting::After, ..Request::default() })).unwrap();
        check(&Output { format: None, output: None, verbose: false }, request(Profiling::None))
            .unwrap();
    }
}
