//! `assay export`: writes studies as tables.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use assay_export::Exported;
use assay_ledger::Ledger;
use assay_model::{Slice, counted};
use serde::Serialize;

use crate::cli::Export;
use crate::exit::Exit;
use crate::opened::open_ledger;
use crate::{paths, report, study_id};

/// A table that was written.
#[derive(Debug, Serialize)]
struct Written {
    table: &'static str,
    rows: usize,
    files: [String; 2],
}

/// Writes all studies, or those that are named.
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
    fs_err::create_dir_all(&args.directory)?;
    let mut written = Vec::new();
    for table in assay_export::tables(&studies) {
        let files = ["parquet", "csv"].map(|ending| format!("{}.{ending}", table.name));
        let [parquet, csv] = files.each_ref().map(|file| args.directory.join(file));
        fs_err::write(parquet, table.parquet()?)?;
        fs_err::write(csv, table.csv())?;
        written.push(Written { table: table.name, rows: table.len(), files });
    }
    report::put_rows(&args.shape, &written, |it| {
        format!("{}: {}", it.files.join(", "), counted(it.rows as u64, "row"))
    })?;
    Ok(Exit::Done)
}

fn exported(ledger: &Ledger, id: &str) -> Result<Exported> {
    let record = report::read(ledger, id)?;
    let mut series = Vec::new();
    for slice in record.slices.iter().map(Slice::id) {
        series.extend(ledger.series(id, slice)?.into_iter().map(|it| (slice, it)));
    }
    let settings = ledger.settings(id)?;
    Ok(Exported { judgement: assay_verdict::judge(&record), record, series, settings })
}
