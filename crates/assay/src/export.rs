//! `assay export`: writes studies as tables.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use assay_export::{Exported, Table};
use assay_ledger::Ledger;
use assay_model::{Slice, counted};
use serde::Serialize;

use crate::advice::Advised;
use crate::cli::Export;
use crate::exit::Exit;
use crate::opened::open_ledger;
use crate::whole_file::temporary;
use crate::{paths, recorded, report, study_id};

#[derive(Debug, Serialize)]
struct Written {
    table: &'static str,
    rows: usize,
    files: [String; 2],
}

pub(crate) fn export(args: &Export) -> Result<Exit> {
    let file = paths::ledger_file(args.ledger.file.as_deref())?;
    let ledger = open_ledger(&file)?;
    let mut chosen = BTreeSet::new();
    for name in &args.studies {
        chosen.extend(study_id::find(&ledger, Some(name), |_| true)?);
    }
    let mut studies = Vec::new();
    for study in ledger.studies()? {
        if args.studies.is_empty() || chosen.contains(&study.id) {
            let cannot = || format!("cannot read study `{}`", study.id);
            studies.push(exported(&ledger, &study.id).with_context(cannot)?);
        }
    }
    if studies.is_empty() {
        bail!("there is no study in `{}` yet", file.display());
    }
    let written = write(&assay_export::tables(&studies), &args.directory, &file)?;
    report::put_rows(&args.shape, &written, |it| {
        format!("{}: {}", it.files.join(", "), counted(it.rows as u64, "row"))
    })?;
    Ok(Exit::Done)
}

/// Writes all tables into a directory. If one cannot be written, an earlier export stays unchanged.
fn write(tables: &[Table], directory: &Path, ledger: &Path) -> Result<Vec<Written>> {
    let names = |table: &Table| ["parquet", "csv"].map(|ending| format!("{}.{ending}", table.name));
    fs_err::create_dir_all(directory)?;
    for name in tables.iter().flat_map(names) {
        check_file(&directory.join(name), ledger)?;
    }
    let mut written = Vec::new();
    let mut files = Vec::new();
    for table in tables {
        let contents = [table.parquet()?, table.csv()];
        for (name, bytes) in names(table).into_iter().zip(&contents) {
            let path = directory.join(name);
            let file = temporary(directory, bytes).with_context(|| cannot_write(&path))?;
            files.push((file, path));
        }
        written.push(Written { table: table.name, rows: table.len(), files: names(table) });
    }
    for (file, path) in files {
        let kept = file.persist(&path).map_err(|error| error.error);
        kept.with_context(|| cannot_write(&path))?;
    }
    Ok(written)
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write `{}`", path.display())
}

/// Checks the name of a table: only files of an earlier export are replaced.
fn check_file(path: &Path, ledger: &Path) -> Result<()> {
    let found = match fs_err::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // SQLite keeps the last changes in files beside the ledger.
    let is_ledger = ["", "-wal", "-shm", "-journal"].iter().any(|suffix| {
        let mut part = ledger.to_owned().into_os_string();
        part.push(suffix);
        fs_err::metadata(part).is_ok_and(|it| (it.dev(), it.ino()) == (found.dev(), found.ino()))
    });
    let what = match (is_ledger, found.is_file()) {
        (true, _) => "is the ledger",
        (false, false) => "is no regular file",
        (false, true) => return Ok(()),
    };
    bail!(Advised::new(
        format!("`{}` {what}, so it is not replaced", path.display()),
        "name another directory, such as a new one"
    ))
}

fn exported(ledger: &Ledger, id: &str) -> Result<Exported> {
    let record = recorded::read(ledger, id)?;
    let mut series = Vec::new();
    for slice in record.slices.iter().map(Slice::id) {
        series.extend(ledger.series(id, slice)?.into_iter().map(|it| (slice, it)));
    }
    let settings = ledger.settings(id)?;
    Ok(Exported { judgement: assay_verdict::judge(&record), record, series, settings })
}
