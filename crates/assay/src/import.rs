//! `assay import`: results that other tools have published become studies of the ledger.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use assay_import::{About, Fault, NoStudy, qps_table, study_of};
use assay_ledger::Ledger;
use assay_model::{Setup, StudyRecord, counted};
use sha2::{Digest as _, Sha256};

use crate::advice::Advised;
use crate::cli::{ImportCommand, ImportTables};
use crate::clock::now_ms;
use crate::exit::Exit;
use crate::progress::print;
use crate::{paths, report};

/// Bad lines of a file that are shown.
const FAULTS_SHOWN: usize = 10;

/// Rows of a table, if nobody knows them.
const ROWS_UNKNOWN: u32 = 1;

/// Deepest directory below a named one that is searched.
const DEEPEST: usize = 8;

/// Adds published results to the ledger, and shows the study if it is one.
pub(crate) fn run(command: &ImportCommand) -> Result<Exit> {
    let ImportCommand::Mytools(args) = command;
    report::check(&args.output, None, &args.ledger)?;
    let mut files = Vec::new();
    for path in &args.paths {
        match path.is_dir() {
            true => find_tables(path, DEEPEST, &mut files)?,
            false => files.push(path.clone()),
        }
    }
    if files.is_empty() {
        bail!(Advised::new(
            "there is no table of queries per second in these directories",
            "tables are called `qps.abs.NAME.tsv`; name a file if yours is called otherwise"
        ));
    }
    let mut ledger = Ledger::open(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    let mut records = Vec::new();
    for file in &files {
        let record =
            read(file, args).with_context(|| format!("cannot import `{}`", file.display()))?;
        add(&mut ledger, &record)?;
        records.push(record);
    }
    if let [record] = records.as_slice() {
        return report::write(record, &args.output);
    }
    for record in &records {
        let (cells, systems) = (record.study.cells.len() as u64, record.systems.len() as u64);
        let what = format!("{} of {}", counted(cells, "test"), counted(systems, "system"));
        print(&format!("{}: {what}, from {}", record.study.id, place(record)));
    }
    Ok(Exit::Done)
}

/// Where the results of a study were published.
fn place(record: &StudyRecord) -> &str {
    record.systems.first().map_or("", |it| it.artifact.channel())
}

/// The tables in a directory, in the order of their names.
fn find_tables(directory: &Path, deepest: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_link = path.is_symlink();
        if path.is_dir() && !is_link && deepest > 0 {
            find_tables(&path, deepest - 1, found)?;
        } else if path.is_file() && name.starts_with("qps.abs.") && name.ends_with(".tsv") {
            found.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path, args: &ImportTables) -> Result<StudyRecord> {
    let file = fs_err::File::open(path)?;
    anyhow::ensure!(file.metadata()?.is_file(), "it is not a regular file");
    let name = path.display().to_string();
    let (table, faults) = qps_table(&name, BufReader::new(file))?;
    tell(&faults);
    let about = About {
        id: id(&table),
        // Where the file lies on this machine is nobody else's business.
        reported_in: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        imported_ms: now_ms(),
        setup: Setup {
            clients: args.clients,
            tables: args.tables,
            rows: args.rows.unwrap_or(ROWS_UNKNOWN),
        },
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    study_of(&table, &about).map_err(|why| {
        let (what, hint) = match why {
            NoStudy::Relative => (
                "its numbers are ratios, from which no rates follow",
                "import the absolute ones, which are called `qps.abs.NAME.tsv`",
            ),
            NoStudy::NoServers => (
                "it has no names of servers",
                "import the tsv file, which lists them as `col-1 : NAME`",
            ),
            NoStudy::NoTests => (
                "it has no rows that can be read",
                "a row is tab-separated: a number for each server, then the test",
            ),
        };
        Advised::new(what, hint).into()
    })
}

/// Names the first bad lines.
fn tell(faults: &[Fault]) {
    for fault in faults.iter().take(FAULTS_SHOWN) {
        print(&format!("warning: {fault}"));
    }
    if let Some(more @ 1..) = faults.len().checked_sub(FAULTS_SHOWN) {
        print(&format!("warning: {} more", counted(more as u64, "bad line")));
    }
}

/// The name of the study: the same results have the same one.
fn id(table: &assay_import::QpsTable) -> String {
    let mut digest = Sha256::new();
    for server in &table.servers {
        digest.update(format!("{server}\n"));
    }
    for row in &table.rows {
        digest.update(format!("{} {:?}\n", row.test, row.values));
    }
    let mut text = hex::encode(digest.finalize());
    text.truncate(12);
    format!("imported-{text}")
}

fn add(ledger: &mut Ledger, record: &StudyRecord) -> Result<()> {
    let id = &record.study.id;
    if ledger.studies()?.iter().any(|it| it.id == *id) {
        return Ok(());
    }
    ledger.create_study(&record.study, record.host(), &record.systems)?;
    for slice in &record.slices {
        ledger.add_slice(id, slice)?;
    }
    Ok(ledger.finish(id, Duration::ZERO)?)
}
