//! `assay report`, and how every command writes its result: stdout is the result alone.

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use assay_ledger::Ledger;
use assay_model::StudyRecord;
use assay_report::{Format, TextOptions};

use crate::cli::{FormatWord, Output, Report};
use crate::exit::Exit;
use crate::paths;

/// Renders a study of the ledger.
pub(crate) fn run(args: &Report) -> Result<Exit> {
    let file = paths::ledger_file(args.ledger.file.as_deref())?;
    let ledger = Ledger::open_read_only(&file)?;
    let id = match &args.study {
        Some(id) => id.clone(),
        None => match ledger.latest()? {
            Some(id) => id,
            None => bail!("there is no study in `{}` yet", file.display()),
        },
    };
    let record = ledger.read(&id).with_context(|| format!("cannot read study `{id}`"))?;
    write(&record, &args.output)
}

/// Judges a study and writes it where the user wants it; the exit code says whether a cell failed.
pub(crate) fn write(record: &StudyRecord, output: &Output) -> Result<Exit> {
    let judgement = assay_verdict::judge(record);
    let to_terminal = output.output.is_none() && std::io::stdout().is_terminal();
    let format = match output.format {
        FormatWord::Text => Format::Text,
        FormatWord::Html => Format::Html,
        FormatWord::Markdown => Format::Markdown,
        FormatWord::Csv => Format::Csv,
        FormatWord::Json => Format::Json,
    };
    let options =
        TextOptions { width: if to_terminal { terminal_width() } else { WIDTH }, color: true };
    let text = assay_report::render(record, &judgement, format, &options);
    match &output.output {
        Some(path) => write_file(path, &text)?,
        None => write_stdout(&text)?,
    }
    let failed = judgement.cells.iter().any(|cell| cell.verdict == assay_model::Verdict::Failed);
    Ok(if failed { Exit::CellFailed } else { Exit::Done })
}

/// Width of text that is not shown in a terminal, so that a file does not depend on who wrote it.
const WIDTH: usize = 120;

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
fn write_stdout(text: &str) -> Result<()> {
    match anstream::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the result")
        }
        _ => Ok(()),
    }
}
