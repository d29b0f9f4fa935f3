//! Results of commands: stdout has only the result.

use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_model::{EventKind, StudyEvent, StudyRecord, printable, printable_json, printable_lines};
use assay_report::{Format, Page, TextOptions};
use assay_run::advice::HintedError;
use assay_run::progress::Progress;
use assay_run::{paths, study, study_records, whole_file};
use assay_verdict::{Judgement, LimitVerdict, LimitsJudgement};
use serde::Serialize;

use crate::args::{FormatWord, LedgerArg, Output, ShapeArg, ShapeWord};
use crate::charts::{self, no_directory};
use crate::exit::Exit;
use crate::form::{ResultForm, form};
use crate::ledger_files::open_ledger;
use crate::{feeds, stacks, study_id};

pub fn found(ledger: &LedgerArg, name: Option<&str>) -> Result<StudyRecord> {
    let file = paths::ledger_file(ledger.file.as_deref())?;
    let read = || {
        let ledger = open_ledger(&file)?;
        let found = study_id::find(&ledger, name, |_| true)?;
        Ok((ledger, found))
    };
    let (ledger, found) = read().map_err(|error: anyhow::Error| {
        // A ledger may have been named instead of a study.
        match name.filter(|name| Path::new(name).is_file()) {
            None => error,
            Some(name) => HintedError::new(
                format!("there is no study `{name}`, but there is a file with this name"),
                format!("`--ledger {name}` reads a study from a ledger"),
            )
            .into(),
        }
    })?;
    let Some(id) = found else {
        bail!(HintedError::new(
            format!("there is no study in `{}` yet", file.display()),
            "`assay compare BASE OTHER` creates one"
        ))
    };
    study::read_any(&ledger, &id).with_context(|| study_records::cannot_read(&ledger, &id))
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

/// Judges a study by its limits, if any, and writes the answer. The exit code is that of the limits.
pub fn write_by_limits(
    record: &StudyRecord,
    output: &Output,
    junit: Option<&Path>,
) -> Result<Exit> {
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
    put_study(record, judgement, output, &assay_report::limits(record, judgement))?;
    let allows = record.study.limits.as_ref().is_some_and(|limits| limits.allow_undecided);
    let is_missing = |event: &StudyEvent| matches!(event.what, EventKind::SystemMissing { .. });
    let exit = match judgement.limits.as_ref().map(LimitsJudgement::verdict) {
        None => of_cells(judgement),
        Some(LimitVerdict::Passed) => Exit::Done,
        // Nothing measured is no pass.
        Some(LimitVerdict::Undecided) if allows && has_estimates(judgement) => Exit::Done,
        Some(LimitVerdict::Exceeded) => Exit::LimitExceeded,
        Some(LimitVerdict::Undecided | LimitVerdict::Failed) => Exit::Incomplete,
    };
    let lacks_a_system = record.events.iter().any(is_missing);
    Ok(if exit == Exit::Done && lacks_a_system { Exit::Incomplete } else { exit })
}

fn has_estimates(judgement: &Judgement) -> bool {
    judgement.limits.iter().flat_map(|limits| &limits.cells).any(|cell| cell.ratio.is_some())
}

/// [`write_by_limits`] for a study that was just measured. If the report goes to a file, the progress ends with the
/// answer. If the file cannot be written, the report goes to stdout.
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
            if matches!(form(output)?, ResultForm::Text(_) | ResultForm::Feed(_)) {
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
            Err(not_written(&record.study.id, source).into())
        }
    }
}

fn not_written(study: &str, source: anyhow::Error) -> HintedError {
    HintedError::new(
        format!("cannot write the report of study `{study}`"),
        format!("the study is in the ledger: `assay report {study} -o FILE`"),
    )
    // Its hints are found by the types of errors, which anyhow's own box hides.
    .caused_by(source.reallocate_into_boxed_dyn_error_without_backtrace())
}

fn put_study(
    record: &StudyRecord,
    judgement: &Judgement,
    output: &Output,
    page: &Page<'_>,
) -> Result<()> {
    match form(output)? {
        ResultForm::Stacks => stacks::write(record, output.output.as_deref()),
        ResultForm::Feed(feed) => place(output, &feeds::of_study(feed, record, judgement)?),
        ResultForm::Text(_) | ResultForm::Charts(_) => put(output, page),
    }
}

pub fn put(output: &Output, page: &Page<'_>) -> Result<()> {
    match (form(output)?, &output.output) {
        (ResultForm::Text(format), _) => {
            let mut options = options(output.output.is_none());
            options.verbose = output.verbose;
            // Only text may have colours.
            options.color &= format == Format::TEXT;
            place(output, &page.render(format, &options).ok_or(MissingFormat(format.word))?)
        }
        (ResultForm::Charts(form), Some(directory)) => {
            let (charts, report) = page.with_charts(form.ending());
            charts::write_files(&charts, &report, form, directory)
        }
        (ResultForm::Charts(form), None) => Err(no_directory(form.ending()).into()),
        (ResultForm::Stacks, _) => Err(stacks::no_profiles().into()),
        (ResultForm::Feed(feed), _) => Err(feeds::not_a_study(feed.word).into()),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("this result has no format `{0}`")]
pub struct MissingFormat(pub &'static str);

pub fn place(output: &Output, text: &str) -> Result<()> {
    match &output.output {
        Some(path) => write_file(path, text),
        None => write_stdout(text),
    }
}

pub fn format(output: &Output) -> Result<Format> {
    match form(output)? {
        ResultForm::Text(format) => Ok(format),
        ResultForm::Charts(_) => bail!(HintedError::new(
            "this command has no charts",
            "use `assay report STUDY --format svg -o DIR` or `assay trend TEST --format svg -o DIR`"
        )),
        ResultForm::Stacks => Err(stacks::no_profiles().into()),
        ResultForm::Feed(feed) => Err(feeds::not_a_study(feed.word).into()),
    }
}

/// Refuses an unknown format, and files that cannot be written or that hold something else, before anything is
/// measured.
pub fn check(output: &Output, junit: Option<&Path>, ledger: &LedgerArg) -> Result<()> {
    let form = form(output)?;
    let ledger = paths::ledger_file(ledger.file.as_deref())?;
    let in_directory = |directory: &PathBuf| directory.join(charts::REPORT);
    let report = match form {
        ResultForm::Text(_) | ResultForm::Feed(_) => output.output.clone(),
        ResultForm::Charts(form) => {
            charts::check(form.ending(), output.output.as_deref())?;
            output.output.as_ref().map(in_directory)
        }
        ResultForm::Stacks => {
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
                bail!("`{}` is the ledger, which `{option}` would overwrite", file.display());
            }
        }
        if option == "--junit" || matches!(form, ResultForm::Text(_) | ResultForm::Feed(_)) {
            check_place(option, file)?;
        }
    }
    match report.zip(junit) {
        Some((report, junit)) if is_same(report, junit) => {
            bail!("`-o` and `--junit` both name `{}`", junit.display())
        }
        _ => Ok(()),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| {
        let directory = fs_err::canonicalize(directory_of(path)).ok()?;
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

/// Checks that a result can be written to a file, without emptying or creating it.
fn check_place(option: &str, path: &Path) -> Result<()> {
    let shown = path.display();
    ensure!(!path.is_dir(), "`{shown}` is a directory; `{option}` takes a file");
    ensure!(
        directory_of(path).is_dir(),
        "`{shown}` cannot be written: `{option}` names a file in a directory that exists"
    );
    try_to_open(path).map_err(|error| {
        HintedError::new(
            format!("`{shown}` cannot be written"),
            format!("`{option}` takes a file in a directory that you can write to"),
        )
        .caused_by(error)
        .into()
    })
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
    match shape.format {
        ShapeWord::Text => {
            let line = |row| printable(&line(row)).into_owned() + "\n";
            write_stdout(&rows.iter().map(line).collect::<String>())
        }
        ShapeWord::Json => put_json(rows),
    }
}

/// Writes a page that has text and JSON.
pub fn put_page(shape: &ShapeArg, page: &Page<'_>) -> Result<()> {
    let format = if shape.is_text() { Format::TEXT } else { Format::JSON };
    write_stdout(&page.render(format, &options(true)).expect("the page has text and JSON"))
}

pub fn put_one<T: Serialize>(
    shape: &ShapeArg,
    thing: &T,
    words: impl Fn(&T) -> String,
) -> Result<()> {
    match shape.format {
        ShapeWord::Text => write_stdout(&(printable_lines(&words(thing)).into_owned() + "\n")),
        ShapeWord::Json => put_json(thing),
    }
}

fn put_json<T: Serialize + ?Sized>(thing: &T) -> Result<()> {
    let document = serde_json::to_string_pretty(thing)?;
    write_stdout(&(printable_json(&document).into_owned() + "\n"))
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
    use assay_model::Hint as _;

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
        let refused = |path: &Path| check_place("-o", path).unwrap_err();
        assert!(refused(folder.path()).to_string().contains("is a directory"));
        assert!(refused(&below).to_string().contains("a directory that exists"));
        // Even root cannot create a file there.
        let refused = refused(Path::new("/proc/x.html"));
        assert!(refused.to_string().contains("/proc/x.html"), "{refused}");
        assert_eq!(crate::errors::hints(&refused).len(), 1);
        assert_eq!(crate::errors::hints(&not_written("x", refused).into()).len(), 2);
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
        let hints = not_written("20261118-0a1b", source).hints();
        assert!(hints[0].contains("`assay report 20261118-0a1b -o FILE`"));
    }
}
