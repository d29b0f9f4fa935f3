//! Results of commands: stdout has only the result.

use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assay_model::{
    EventKind, Hint, StudyEvent, StudyRecord, printable, printable_json, printable_lines,
};
use assay_report::{Format, Page, TextOptions};
use assay_verdict::{GateJudgement, GateVerdict, Judgement};
use serde::Serialize;

use crate::args::{FormatWord, LedgerArg, Output, ShapeArg, ShapeWord};
use crate::charts::{self, NoCharts};
use crate::exit::Exit;
use crate::feeds::{self, NoFeed};
use crate::form::{Form, form};
use crate::opened::open_ledger;
use crate::stacks::NoStacks;
use crate::{stacks, study_id};
use assay_run::progress::Progress;
use assay_run::{paths, study, whole_file};

pub fn found(ledger: &LedgerArg, name: Option<&str>) -> Result<StudyRecord> {
    let file = paths::ledger_file(ledger.file.as_deref())?;
    let read = || {
        let ledger = open_ledger(&file)?;
        let found = study_id::find(&ledger, name, |_| true)?;
        Ok((ledger, found))
    };
    let (ledger, found) = read().map_err(|error: anyhow::Error| {
        // A ledger may have been named in place of a study.
        match name.filter(|name| Path::new(name).is_file()) {
            None => error,
            Some(name) => assay_run::advice::Advised::new(
                format!("there is no study `{name}`, but there is a file with this name"),
                format!("`--ledger {name}` reads a study from a ledger"),
            )
            .into(),
        }
    })?;
    let Some(id) = found else {
        bail!(assay_run::advice::Advised::new(
            format!("there is no study in `{}` yet", file.display()),
            "`assay compare BASE OTHER` creates one"
        ))
    };
    study::read_any(&ledger, &id).with_context(|| format!("cannot read study `{id}`"))
}

/// Judges a study and writes it. The exit code says whether a cell failed.
pub fn write(record: &StudyRecord, output: &Output) -> Result<Exit> {
    let judgement = assay_verdict::judge(record);
    put_study(record, &judgement, output, &assay_report::report(record, &judgement))?;
    Ok(of_cells(&judgement))
}

pub fn of_cells(judgement: &Judgement) -> Exit {
    let failed = judgement.cells.iter().any(|cell| cell.verdict == assay_model::Verdict::Failed);
    if failed { Exit::Incomplete } else { Exit::Done }
}

/// Judges a study by the limits of its gate, if any, and writes the answer. The exit code is that of the gate.
pub fn write_gate(record: &StudyRecord, output: &Output, junit: Option<&Path>) -> Result<Exit> {
    write_judged(record, &assay_verdict::judge(record), output, junit)
}

fn write_judged(
    record: &StudyRecord,
    judgement: &Judgement,
    output: &Output,
    junit: Option<&Path>,
) -> Result<Exit> {
    // CI reads this file even if the other one cannot be written.
    if let Some(file) = junit {
        write_file(file, &assay_report::junit(record, judgement))?;
    }
    put_study(record, judgement, output, &assay_report::gate(record, judgement))?;
    let allows = record.study.gate.as_ref().is_some_and(|gate| gate.allow_undecided);
    let is_missing = |event: &StudyEvent| matches!(event.what, EventKind::SystemMissing { .. });
    let of_all = |exit| match record.events.iter().any(is_missing) && exit == Exit::Done {
        true => Exit::Incomplete,
        false => exit,
    };
    Ok(of_all(match judgement.gate.as_ref().map(GateJudgement::verdict) {
        None => of_cells(judgement),
        Some(GateVerdict::Passed) => Exit::Done,
        // Nothing measured is no pass.
        Some(GateVerdict::Undecided) if allows && has_estimates(judgement) => Exit::Done,
        Some(GateVerdict::Exceeded) => Exit::LimitExceeded,
        Some(GateVerdict::Undecided | GateVerdict::Failed) => Exit::Incomplete,
    }))
}

fn has_estimates(judgement: &Judgement) -> bool {
    judgement.gate.iter().flat_map(|gate| &gate.cells).any(|cell| cell.ratio.is_some())
}

/// [`write_gate`] for a study that was just measured. If the report goes to a file, the progress ends with the answer.
/// If the file cannot be written, the report goes to stdout.
pub fn write_measured(
    record: &StudyRecord,
    output: &Output,
    junit: Option<&Path>,
    progress: &Progress,
) -> Result<Exit> {
    let judgement = assay_verdict::judge(record);
    let written = write_judged(record, &judgement, output, junit);
    match (written, &output.output) {
        (Ok(exit), Some(place)) => {
            for line in assay_report::answer(record, &judgement) {
                progress.note(&line);
            }
            if matches!(form(output)?, Form::Text(_) | Form::Feed(_)) {
                progress.done("report", &format!("written to `{}`", place.display()));
            }
            Ok(exit)
        }
        (Ok(exit), None) => Ok(exit),
        (Err(source), place) => {
            if place.is_some() {
                let stdout = Output {
                    format: Some(FormatWord::Of(Format::TEXT)),
                    output: None,
                    verbose: output.verbose,
                };
                // The first error is the one to report.
                let _ = write_judged(record, &judgement, &stdout, None);
            }
            Err(NotWritten { study: record.study.id.clone(), source }.into())
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write the report of study `{study}`")]
pub struct NotWritten {
    study: String,
    source: anyhow::Error,
}

impl Hint for NotWritten {
    fn hints(&self) -> Vec<String> {
        vec![format!("the study is in the ledger: `assay report {} -o FILE`", self.study)]
    }
}

fn put_study(
    record: &StudyRecord,
    judgement: &Judgement,
    output: &Output,
    page: &Page<'_>,
) -> Result<()> {
    match form(output)? {
        Form::Stacks => stacks::write(record, output.output.as_deref()),
        Form::Feed(feed) => place(output, &feeds::of_study(feed, record, judgement)?),
        Form::Text(_) | Form::Charts(_) => put(output, page),
    }
}

pub fn put(output: &Output, page: &Page<'_>) -> Result<()> {
    match (form(output)?, &output.output) {
        (Form::Text(format), _) => {
            let mut options = options(output.output.is_none());
            options.verbose = output.verbose;
            // Only text may have colours.
            options.color &= format == Format::TEXT;
            place(output, &page.render(format, &options).ok_or(NotRendered(format.word))?)
        }
        (Form::Charts(form), Some(directory)) => {
            let (charts, report) = page.with_charts(form.ending());
            charts::write_files(&charts, &report, form, directory)
        }
        (Form::Charts(form), None) => Err(NoCharts::NoDirectory(form.ending()).into()),
        (Form::Stacks, _) => Err(NoStacks::NotTaken.into()),
        (Form::Feed(feed), _) => Err(NoFeed::NotAStudy(feed.word).into()),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("this result has no format `{0}`")]
pub struct NotRendered(pub &'static str);

pub fn place(output: &Output, text: &str) -> Result<()> {
    match &output.output {
        Some(path) => write_file(path, text),
        None => write_stdout(text),
    }
}

pub fn format(output: &Output) -> Result<Format> {
    match form(output)? {
        Form::Text(format) => Ok(format),
        Form::Charts(_) => Err(NoCharts::NoReport.into()),
        Form::Stacks => Err(NoStacks::NotTaken.into()),
        Form::Feed(feed) => Err(NoFeed::NotAStudy(feed.word).into()),
    }
}

/// Refuses an unknown format, and files that cannot be written or that hold something else, before anything is
/// measured.
pub fn check(output: &Output, junit: Option<&Path>, ledger: &LedgerArg) -> Result<()> {
    let form = form(output)?;
    let ledger = paths::ledger_file(ledger.file.as_deref())?;
    let in_directory = |directory: &PathBuf| directory.join(charts::REPORT);
    let report = match form {
        Form::Text(_) | Form::Feed(_) => output.output.clone(),
        Form::Charts(form) => {
            charts::check(form.ending(), output.output.as_deref())?;
            output.output.as_ref().map(in_directory)
        }
        Form::Stacks => {
            charts::check(stacks::ENDING, output.output.as_deref())?;
            None
        }
    };
    let report = report.as_deref();
    for (option, file) in [("-o", report), ("--junit", junit)] {
        let Some(file) = file else { continue };
        // SQLite keeps the last changes in files beside the ledger.
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut part = ledger.clone().into_os_string();
            part.push(suffix);
            if is_same(file, Path::new(&part)) {
                return Err(NoPlace::Ledger(file.to_owned(), option).into());
            }
        }
        if option == "--junit" || matches!(form, Form::Text(_) | Form::Feed(_)) {
            check_place(option, file)?;
        }
    }
    match report.zip(junit) {
        Some((report, junit)) if is_same(report, junit) => {
            Err(NoPlace::Twice(junit.to_owned(), "--junit").into())
        }
        _ => Ok(()),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| {
        let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = fs_err::canonicalize(directory.unwrap_or(Path::new("."))).ok()?;
        Some(directory.join(path.file_name()?))
    };
    match (fs_err::metadata(one), fs_err::metadata(other)) {
        (Ok(one), Ok(other)) => {
            one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino())
        }
        (Err(_), Err(_)) => resolved(one).is_some_and(|one| Some(one) == resolved(other)),
        _ => false,
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NoPlace {
    #[error("`{}` is a directory; `{}` takes a file", .0.display(), .1)]
    Directory(PathBuf, &'static str),
    #[error("`{}` cannot be written: `{}` names a file in a directory that exists", .0.display(), .1)]
    NoDirectory(PathBuf, &'static str),
    #[error("`{}` is the ledger, which `{}` would overwrite", .0.display(), .1)]
    Ledger(PathBuf, &'static str),
    #[error("`-o` and `{}` both name `{}`", .1, .0.display())]
    Twice(PathBuf, &'static str),
    #[error("`{}` cannot be written", .0.display())]
    Refused(PathBuf, &'static str, #[source] std::io::Error),
}

impl Hint for NoPlace {
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Refused(_, option, _) => {
                vec![format!("`{option}` takes a file in a directory that you can write to")]
            }
            _ => Vec::new(),
        }
    }
}

/// Checks that a result can be written to a file, without emptying or creating it.
fn check_place(option: &'static str, path: &Path) -> Result<(), NoPlace> {
    if path.is_dir() {
        return Err(NoPlace::Directory(path.to_owned(), option));
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !directory.is_dir() {
        return Err(NoPlace::NoDirectory(path.to_owned(), option));
    }
    try_to_open(path).map_err(|source| NoPlace::Refused(path.to_owned(), option, source))
}

fn try_to_open(path: &Path) -> std::io::Result<()> {
    let mut options = fs_err::OpenOptions::new();
    match fs_err::symlink_metadata(path) {
        Ok(it) if it.is_file() => options.append(true).open(path).map(drop),
        // Opening a pipe would wait for its reader, and creating the target of a link would leave it there.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            options.write(true).create_new(true).open(path)?;
            fs_err::remove_file(path)
        }
        Err(error) => Err(error),
    }
}

pub fn put_rows<T: Serialize>(
    shape: &ShapeArg,
    rows: &[T],
    line: impl Fn(&T) -> String,
) -> Result<()> {
    write_stdout(&match shape.format {
        ShapeWord::Text => {
            rows.iter().map(|row| printable(&line(row)).into_owned() + "\n").collect()
        }
        ShapeWord::Json => printable_json(&serde_json::to_string_pretty(rows)?).into_owned() + "\n",
    })
}

pub fn put_one<T: Serialize>(
    shape: &ShapeArg,
    thing: &T,
    words: impl Fn(&T) -> String,
) -> Result<()> {
    write_stdout(&match shape.format {
        ShapeWord::Text => printable_lines(&words(thing)).into_owned() + "\n",
        ShapeWord::Json => {
            printable_json(&serde_json::to_string_pretty(thing)?).into_owned() + "\n"
        }
    })
}

/// Columns of output that is not a terminal. A file must not depend on the terminal of its writer.
const WIDTH: usize = 120;

/// Layout for the terminal's width, if the output is a terminal. Colours are removed later where unsupported.
pub fn options(to_stdout: bool) -> TextOptions {
    let to_terminal = to_stdout && std::io::stdout().is_terminal();
    TextOptions {
        width: if to_terminal { terminal_width() } else { WIDTH },
        color: true,
        verbose: true,
    }
}

fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|&columns| columns > 0)
        .unwrap_or(WIDTH)
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    let plain = anstream::adapter::strip_str(text).to_string();
    let cannot = || format!("cannot write `{}`", path.display());
    whole_file::write(path, plain.as_bytes()).with_context(cannot)
}

/// A reader that closes the pipe early, such as `head`, is no error.
pub fn write_stdout(text: &str) -> Result<()> {
    match anstream::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the result")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checking_an_output_path_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let [kept, new, below] =
            ["kept.html", "new.html", "no/x.html"].map(|name| folder.path().join(name));
        fs_err::write(&kept, "what was there").unwrap();
        check_place("-o", &kept).unwrap();
        check_place("-o", &new).unwrap();
        assert_eq!(fs_err::read_to_string(&kept).unwrap(), "what was there");
        assert!(!new.exists());
        assert!(matches!(check_place("-o", folder.path()), Err(NoPlace::Directory(..))));
        assert!(matches!(check_place("-o", &below), Err(NoPlace::NoDirectory(..))));
        // Nobody can create a file there, not even root.
        let refused = check_place("-o", Path::new("/proc/x.html")).unwrap_err();
        assert!(refused.to_string().contains("/proc/x.html"), "{refused}");
        assert_eq!(refused.hints().len(), 1);
    }

    #[test]
    fn no_result_replaces_the_ledger_or_another_result() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let ledger = LedgerArg { file: Some(path("ledger.db")) };
        let checked = |output: &str, junit: Option<&str>| {
            let output = Output { format: None, output: Some(path(output)), verbose: false };
            check(&output, junit.map(path).as_deref(), &ledger).map_err(|error| error.to_string())
        };
        for exists in [false, true] {
            for file in ["ledger.db", "ledger.db-wal", "./ledger.db"] {
                assert!(checked("x.txt", Some(file)).unwrap_err().contains("is the ledger"));
            }
            assert!(checked("x.md", Some("x.md")).unwrap_err().contains("both name"));
            checked("x.md", Some("x.xml")).unwrap();
            if !exists {
                let files = ["ledger.db", "ledger.db-wal", "x.md"];
                files.iter().for_each(|it| fs_err::write(path(it), "").unwrap());
                fs_err::hard_link(path("ledger.db"), path("other.md")).unwrap();
            }
        }
        assert!(checked("other.md", None).unwrap_err().contains("is the ledger"));
    }

    /// The place may have disappeared since the check.
    #[test]
    fn an_unwritable_report_says_where_the_study_is() {
        let source = std::io::Error::from(ErrorKind::StorageFull).into();
        let error = NotWritten { study: "20261118-0a1b".to_owned(), source };
        assert!(error.hints()[0].contains("`assay report 20261118-0a1b -o FILE`"));
    }
}
