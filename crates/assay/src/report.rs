//! `assay report`, `studies` and `tests`, and how every command writes its result: stdout is the result alone.

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use assay_ledger::Ledger;
use assay_model::{Hint, StudyRecord, printable, printable_json, printable_lines};
use assay_report::{Format, ListedTest, TextOptions};

use serde::Serialize;

use crate::cli::{FormatWord, Output, Report, ShapeArg, ShapeWord, Studies, Tests};
use crate::exit::Exit;
use crate::{paths, study_id};

/// Renders a study of the ledger.
pub(crate) fn run(args: &Report) -> Result<Exit> {
    check(&args.output)?;
    let file = paths::ledger_file(args.ledger.file.as_deref())?;
    let ledger = Ledger::open_read_only(&file)?;
    let found = study_id::find(&ledger, args.study.as_deref(), |_| true)?;
    let Some(id) = found else {
        bail!(crate::advice::Advised::new(
            format!("there is no study in `{}` yet", file.display()),
            "`assay compare BASE OTHER` makes one"
        ))
    };
    let record = read(&ledger, &id).with_context(|| format!("cannot read study `{id}`"))?;
    write(&record, &args.output)
}

/// A study of the ledger. How to do it again is written anew: who follows it is to run assay and nothing else, whatever
/// a ledger has in its place.
pub(crate) fn read(ledger: &Ledger, id: &str) -> Result<StudyRecord> {
    let mut record = ledger.read(id)?;
    let request = assay_plan::read_study("recipe", &record.study.recipe);
    record.study.recipe = request.map(|it| assay_plan::write_study(&it)).unwrap_or_default();
    Ok(record)
}

/// Lists the studies of the ledger.
pub(crate) fn studies(args: &Studies) -> Result<Exit> {
    check(&args.output)?;
    let file = paths::ledger_file(args.ledger.file.as_deref())?;
    // No ledger yet is no study yet, unless it was named.
    let is_new = args.ledger.file.is_none() && !file.exists();
    let studies = if is_new { Vec::new() } else { Ledger::open_read_only(&file)?.studies()? };
    put(&args.output, |format, options| assay_report::studies(&studies, format, options))?;
    Ok(Exit::Done)
}

/// Lists the microbenchmarks of a set.
pub(crate) fn tests(args: &Tests) -> Result<Exit> {
    let set = args.set.set();
    let list: Vec<ListedTest> = assay_plan::select_tests(set, &args.patterns)?
        .into_iter()
        .map(|test| ListedTest {
            test,
            does: assay_workloads::summary(test),
            statements: assay_workloads::outline(test),
        })
        .collect();
    write_stdout(&match args.shape.format {
        ShapeWord::Text => assay_report::tests_text(set, &list, &options(true)),
        ShapeWord::Json => assay_report::tests_json(set, &list),
    })?;
    Ok(Exit::Done)
}

/// Judges a study and writes it where the user wants it; the exit code says whether a cell failed.
pub(crate) fn write(record: &StudyRecord, output: &Output) -> Result<Exit> {
    let judgement = assay_verdict::judge(record);
    put(output, |format, options| assay_report::render(record, &judgement, format, options))?;
    let failed = judgement.cells.iter().any(|cell| cell.verdict == assay_model::Verdict::Failed);
    Ok(if failed { Exit::CellFailed } else { Exit::Done })
}

/// Renders in the format that was asked for, to where it was asked for.
fn put(output: &Output, render: impl FnOnce(Format, &TextOptions) -> String) -> Result<()> {
    let format = format(output)?;
    let mut options = options(output.output.is_none());
    // Only text may carry colours.
    options.color &= format == Format::Text;
    let text = render(format, &options);
    match &output.output {
        Some(path) => write_file(path, &text),
        None => write_stdout(&text),
    }
}

/// What was asked for, else what the ending of the file says.
fn format(output: &Output) -> Result<Format, NoFormat> {
    if let Some(word) = output.format {
        return Ok(match word {
            FormatWord::Text => Format::Text,
            FormatWord::Html => Format::Html,
            FormatWord::Markdown => Format::Markdown,
            FormatWord::Csv => Format::Csv,
            FormatWord::Json => Format::Json,
        });
    }
    let ending = output.output.as_ref().and_then(|path| path.extension());
    let ending = ending.map(|it| it.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        None | Some("txt" | "text" | "log") => Ok(Format::Text),
        Some("html" | "htm") => Ok(Format::Html),
        Some("md" | "markdown") => Ok(Format::Markdown),
        Some("csv") => Ok(Format::Csv),
        Some("json") => Ok(Format::Json),
        Some(other) => Err(NoFormat(other.to_owned())),
    }
}

/// The ending of a file stands for no format.
#[derive(Debug, thiserror::Error)]
#[error("assay writes no format with the extension `.{0}`")]
pub(crate) struct NoFormat(String);

impl Hint for NoFormat {
    fn hints(&self) -> Vec<String> {
        let formats =
            "use `.txt`, `.html`, `.md`, `.csv` or `.json`, or name the format with `--format`";
        vec![formats.to_owned()]
    }
}

/// Refuses a place that nothing can be written to, and a format that is not there, before anything is measured for it.
pub(crate) fn check(output: &Output) -> Result<()> {
    format(output)?;
    let Some(path) = &output.output else { return Ok(()) };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !directory.is_dir() || path.is_dir() {
        bail!(
            "`{}` cannot be written: `-o` names a file in a directory that exists",
            path.display()
        );
    }
    Ok(())
}

/// Prints a list: one line each, or a JSON array.
pub(crate) fn put_rows<T: Serialize>(
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

/// Prints one thing: in words, or a JSON object.
pub(crate) fn put_one<T: Serialize>(
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

/// Width of text that is not shown in a terminal, so that a file does not depend on who wrote it.
const WIDTH: usize = 120;

/// As wide as the terminal, if it is one that is written to. Colours are taken out again where they cannot be shown.
fn options(to_stdout: bool) -> TextOptions {
    let to_terminal = to_stdout && std::io::stdout().is_terminal();
    TextOptions { width: if to_terminal { terminal_width() } else { WIDTH }, color: true }
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
    fs_err::write(path, plain)?;
    Ok(())
}

/// A reader that closes the pipe early, such as `head`, is no error.
pub(crate) fn write_stdout(text: &str) -> Result<()> {
    match anstream::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the result")
        }
        _ => Ok(()),
    }
}
