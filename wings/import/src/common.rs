//! Shared code of all imports.

use std::io::{BufRead, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Result;
use assay_import::{ImportFacts, LineFault, ParseResult, PublishedStudy};
use assay_ledger::{Error, Ledger, Problem};
use assay_model::{Setup, StudyRecord, counted};
use clap::Args;

use assay_command::number::{parse_one_count, parse_rows, parse_tables};
use assay_run::advice::HintedError;
use assay_run::clock::now_ms;
use assay_run::progress::print;
use assay_run::study_records;

const FAULTS_SHOWN: usize = 10;

/// Parses a file, and prints the lines that could not be parsed.
pub(super) fn parsed<T>(
    path: &Path,
    parse: impl FnOnce(&str, Box<dyn BufRead>) -> ParseResult<T>,
) -> Result<T> {
    let (found, faults) = parse(&path.display().to_string(), open(path)?)?;
    for fault in faults.iter().take(FAULTS_SHOWN) {
        print(&format!("warning: {fault}"));
    }
    // The last one may be the number of further faults.
    if let Some((last, hidden)) = faults.get(FAULTS_SHOWN..).and_then(<[LineFault]>::split_last) {
        if !hidden.is_empty() {
            print(&format!("warning: {}", counted(hidden.len() as u64, "more bad line")));
        }
        print(&format!("warning: {last}"));
    }
    Ok(found)
}

pub(super) fn cannot_import(path: &Path) -> String {
    format!("cannot import `{}`", path.display())
}

/// Bytes of uncompressed content.
const CONTENT_MAX: u64 = 16 << 30;

const GZIP: [u8; 2] = [0x1f, 0x8b];

pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let mut options = fs_err::OpenOptions::new();
    // Opening a pipe would wait for its writer.
    options.options_mut().custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.read(true).open(path)?;
    // A device or a pipe may have no end.
    anyhow::ensure!(file.metadata()?.is_file(), "it is not a regular file");
    let mut content = BufReader::new(file);
    if !content.fill_buf()?.starts_with(&GZIP) {
        return Ok(Box::new(content));
    }
    let content = flate2::bufread::MultiGzDecoder::new(content).take(CONTENT_MAX);
    Ok(Box::new(BufReader::new(content)))
}

pub(super) fn plain_name(path: &Path) -> String {
    let name = name(path);
    name.strip_suffix(".gz").map(str::to_owned).unwrap_or(name)
}

/// Drops the directory, which is private to this machine.
pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Facts that the results lack. [`add`] gives the study its name.
pub(super) fn about(reported_in: String, setup: Setup) -> ImportFacts {
    ImportFacts {
        reported_in,
        id: "imported".to_owned(),
        imported_ms: now_ms(),
        setup,
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

pub(super) fn add(ledger: &mut Ledger, record: &StudyRecord) -> Result<StudyRecord> {
    let mut alone = Ledger::in_memory()?;
    alone.add_record(record)?;
    let record = study_records::read(&alone, &record.study.id)?;
    alone.conclude(&record.study.id, &study_records::conclusions(&record))?;
    let rows = alone.rows(&record.study.id)?;
    let id = study_records::published_id(&rows);
    let rows = rows.renamed(id.clone()).marked_foreign();
    match ledger.add_rows(std::slice::from_ref(&rows)) {
        Ok(()) => {}
        Err(Error { problem: Problem::Twice(_), .. }) if ledger.rows(&id)?.is_same(&rows) => {
            print(&format!("note: these results are in the ledger already: study `{id}`"));
        }
        Err(Error { problem: Problem::Twice(_), .. }) => {
            let what =
                format!("study `{id}` of the ledger holds something else than its name says");
            let hint = format!("it was altered: `assay studies rm {id}`, then import again");
            return Err(HintedError::new(what, hint).into());
        }
        Err(error) => return Err(error.into()),
    }
    study_records::read(ledger, &id)
}

/// Prints data that could not become part of a study. Returns whether there are any.
pub(super) fn print_left_out(gathered: &PublishedStudy) -> bool {
    for repeated in &gathered.repeated {
        print(&format!("warning: left out, because there is one already: {repeated}"));
    }
    for left_out in &gathered.left_out {
        print(&format!("warning: left out: {left_out}"));
    }
    !(gathered.repeated.is_empty() && gathered.left_out.is_empty())
}

/// Facts that files may lack.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Number of clients, if the files do not tell
    #[arg(long, visible_alias = "threads", value_name = "N")]
    #[arg(value_parser = parse_one_count, allow_negative_numbers = true)]
    pub clients: Option<u32>,

    /// Number of tables, if the files do not tell
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_tables)]
    #[arg(allow_negative_numbers = true)]
    tables: u32,

    /// Rows in each table, such as `50M`, if the files do not tell [default: 1, for an unknown number]
    #[arg(long, visible_alias = "table-size", value_name = "N", value_parser = parse_rows)]
    rows: Option<u32>,
}

/// Placeholder for an unknown number of clients or rows.
const UNKNOWN: u32 = 1;

impl SetupArgs {
    pub fn setup(&self) -> Setup {
        let Self { clients, tables, rows } = *self;
        let [clients, rows] = [clients, rows].map(|it| it.unwrap_or(UNKNOWN));
        Setup { clients, tables, rows }
    }
}
