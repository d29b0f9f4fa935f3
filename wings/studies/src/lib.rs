//! `assay studies`: lists, shows, names and removes the studies of a ledger.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use assay_command::args::{FormatWord, LedgerArg, Output, ShapeArg};
use assay_command::exit::Exit;
use assay_command::ledger_files::open_ledger;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, report, study_id};
use assay_ledger::Ledger;
use assay_model::counted;
use assay_run::advice::HintedError;
use assay_run::{paths, study};
use assay_study_pages::ShownStudy;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(mut_arg("format", FormatWord::only(FormatWord::pages())))]
pub struct Studies {
    #[command(subcommand)]
    pub command: Option<StudiesCommand>,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

#[derive(Debug, Subcommand)]
pub enum StudiesCommand {
    /// Show what a study is: systems, setup, times, verdicts, machine, size
    Show(ShowStudy),
    /// Give a study a name, which can then stand for it
    Name(NameStudy),
    /// Remove studies from the ledger, without asking
    Rm(RemoveStudies),
}

#[derive(Debug, Args)]
pub struct ShowStudy {
    /// The study [default: the latest]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: Option<String>,

    #[command(flatten)]
    pub shape: ShapeArg,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

#[derive(Debug, Args)]
pub struct NameStudy {
    /// The study
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: String,

    /// Its name: ASCII letters, digits, `-`, `_` and `.`; it replaces the one that the study may have
    pub name: String,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

#[derive(Debug, Args)]
pub struct RemoveStudies {
    /// The studies
    #[arg(required = true, value_name = "STUDY")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub studies: Vec<String>,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

impl Arguments for Studies {
    const NAME: &'static str = "studies";
    const ABOUT: &'static str = "List, show, name and remove the studies in the ledger";
    const GROUP: CommandGroup = CommandGroup::Read;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        match &self.command {
            None => list(self),
            Some(StudiesCommand::Show(args)) => show(args),
            Some(StudiesCommand::Name(args)) => name(args),
            Some(StudiesCommand::Rm(args)) => remove(args),
        }
    }
}

fn list(args: &Studies) -> Result<Exit> {
    report::check(&args.output, None, &args.ledger)?;
    let file = paths::ledger_file(args.ledger.file.as_deref())?;
    // If there is no ledger yet, there are no studies, unless the user named the ledger.
    let is_new = args.ledger.file.is_none() && !file.exists();
    let ledger = if is_new { None } else { Some(open_ledger(&file)?) };
    let studies = ledger.as_ref().map(Ledger::studies).transpose()?.unwrap_or_default();
    let running = ledger.map(|it| study::measured(&it, &studies)).unwrap_or_default();
    report::put(&args.output, &assay_study_pages::studies(&studies, &running))?;
    Ok(Exit::Done)
}

fn show(args: &ShowStudy) -> Result<Exit> {
    let mut record = report::found(&args.ledger, args.study.as_deref())?;
    record.running = !record.finished && study::is_measured(&record);
    let ledger = open_ledger(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    let summary = ledger.studies()?.into_iter().find(|it| it.id == record.study.id);
    let name = summary.and_then(|it| it.name);
    let bytes = ledger.size(&record.study.id)?;
    let judgement = assay_verdict::judge(&record);
    let shown = ShownStudy { record: &record, judgement: &judgement, name, bytes };
    report::put_page(&args.shape, &assay_study_pages::study(shown))?;
    Ok(Exit::Done)
}

fn name(args: &NameStudy) -> Result<Exit> {
    let mut ledger = existing(&args.ledger)?;
    let id = id(&ledger, &args.study)?;
    ledger.set_name(&id, &args.name)?;
    report::write_stdout(&format!("{id}: {}\n", args.name))?;
    Ok(Exit::Done)
}

fn remove(args: &RemoveStudies) -> Result<Exit> {
    let mut ledger = existing(&args.ledger)?;
    let mut ids: Vec<String> = Vec::new();
    for name in &args.studies {
        let id = id(&ledger, name)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let mut records = Vec::new();
    for id in &ids {
        let record = ledger.read(id).with_context(|| format!("cannot read study `{id}`"))?;
        if study::is_measured(&record) {
            bail!(HintedError::new(
                format!("study `{id}` is being measured"),
                "end its assay with Ctrl-C, then remove the study"
            ));
        }
        records.push(record);
    }
    let studies = ledger.studies()?;
    ledger.remove(&ids)?;
    records.iter().try_for_each(study::give_up)?;
    let line = |id: &String| {
        let summary = studies.iter().find(|it| it.id == *id)?;
        let name = summary.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
        let (systems, slices) = (summary.systems.join(" vs "), counted(summary.slices, "slice"));
        Some(format!("removed {id}{name}: {systems}, {slices}\n"))
    };
    let lines: String = ids.iter().filter_map(line).collect();
    report::write_stdout(&assay_model::printable_lines(&lines))?;
    Ok(Exit::Done)
}

/// Opens the ledger for writing. Unlike a study, a command about studies does not create one.
fn existing(ledger: &LedgerArg) -> Result<Ledger> {
    let file = paths::ledger_file(ledger.file.as_deref())?;
    drop(Ledger::open_read_only(&file)?);
    Ok(Ledger::open(&file)?)
}

fn id(ledger: &Ledger, name: &str) -> Result<String> {
    let found = study_id::find(ledger, Some(name), |_| true)?;
    found.ok_or_else(|| {
        HintedError::new("there is no study yet", "`assay compare` creates one").into()
    })
}
