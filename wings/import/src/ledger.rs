//! `assay import ledger`: adds the studies of another ledger or pack to the user's ledger.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use assay_ledger::{Ledger, StudyRows};
use assay_model::StudySummary;
use clap::Args;
use serde::Serialize;

use super::common::cannot_import;
use assay_command::args::{LedgerArg, ShapeArg};
use assay_command::exit::Exit;
use assay_command::ledger_files::{is_pack, open_ledger};
use assay_command::report;
use assay_evidence::is_packed;
use assay_run::advice::HintedError;
use assay_run::clock::now_ms;
use assay_run::study_records::published_id;
use assay_run::{paths, study_records};

/// `assay import ledger`.
#[derive(Debug, Args)]
pub struct ImportLedger {
    /// The other ledger, or a pack
    #[arg(value_name = "FILE")]
    pub from: PathBuf,

    /// Add only these studies: names, or unique prefixes of them
    #[arg(value_name = "STUDY")]
    pub studies: Vec<String>,

    #[command(flatten)]
    pub shape: ShapeArg,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

#[derive(Debug, Serialize)]
struct ImportedStudy {
    study: String,
    slices: u64,
    finished: bool,
    /// False if the same study was there already.
    added: bool,
}

/// Adds studies. Nothing is added if one of them has the name of another study.
pub(crate) fn run(args: &ImportLedger) -> Result<Exit> {
    let cannot = || cannot_import(&args.from);
    let theirs = open_ledger(&args.from).with_context(cannot)?;
    let mut ours = Ledger::open(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    let known = ours.studies()?;
    let mut imported = Vec::new();
    let mut new: Vec<StudyRows> = Vec::new();
    let mut others = Vec::new();
    for study in chosen(&theirs, &args.studies).with_context(cannot)? {
        let rows = theirs.rows(&study.id).with_context(cannot)?;
        check(&study, &rows).with_context(cannot)?;
        // A study that no report can show is not worth having.
        study_records::read(&theirs, &study.id).with_context(cannot)?;
        let is_known = known.iter().any(|it| it.id == study.id);
        // The user's own study may come back as its pack.
        let is_same = || -> Result<bool> {
            Ok(ours.rows(&study.id)?.is_same(&rows)
                || is_pack(&args.from) && is_packed(&ours, &rows).unwrap_or(false))
        };
        if is_known && !is_same()? {
            others.push(study.id.clone());
        } else if !is_known {
            new.push(rows.marked_foreign());
        }
        let (slices, finished, added) = (study.slices, study.finished, !is_known);
        imported.push(ImportedStudy { study: study.id, slices, finished, added });
    }
    if !others.is_empty() {
        bail!(HintedError::new(
            format!(
                "`{}` has other studies of the same name: {}",
                args.from.display(),
                others.join(", ")
            ),
            "nothing was added; name the studies to add, or read this ledger with `--ledger`"
        ));
    }
    ours.add_rows(&new)?;
    report::put_rows(&args.shape, &imported, ImportedStudy::line)?;
    Ok(Exit::Done)
}

/// Tolerated difference between clocks of machines, milliseconds.
const CLOCKS_MS: i64 = 3_600_000;

/// Refuses misleading studies: published results under the name of others, or a study that would be the latest for
/// ever.
fn check(study: &StudySummary, rows: &StudyRows) -> Result<()> {
    let id = &study.id;
    if rows.is_published() && published_id(rows) != *id {
        bail!(HintedError::new(
            format!("the name of study `{id}` is not of what it holds"),
            "it was altered: import the published results themselves"
        ));
    }
    if study.started_ms > now_ms() + CLOCKS_MS {
        bail!(HintedError::new(
            format!("study `{id}` begins in the future"),
            "set the clock of this machine, or read the study with `--ledger`"
        ));
    }
    Ok(())
}

fn chosen(ledger: &Ledger, names: &[String]) -> Result<Vec<StudySummary>> {
    let studies = ledger.studies()?;
    if names.is_empty() {
        return Ok(studies);
    }
    let ids = names.iter().map(|name| ledger.find(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(studies.into_iter().filter(|study| ids.contains(&study.id)).collect())
}

impl ImportedStudy {
    fn line(&self) -> String {
        let Self { study, slices, finished, added } = self;
        let how = if *added { "added" } else { "already there" };
        let state = if *finished { "" } else { ", unfinished" };
        format!("{study}: {how}, {}{state}", assay_model::counted(*slices, "slice"))
    }
}
