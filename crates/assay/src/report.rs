//! `assay report`: the report of a study of the ledger.

use std::path::Path;

use anyhow::{Result, bail};
use assay_command::args::{LedgerArg, Output};
use assay_command::exit::Exit;
use assay_command::form::{ResultForm, form};
use assay_command::ledger_files::open_ledger;
use assay_command::report::{MissingFormat, check, found, of_cells, place, put, write};
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{base, candidates, feeds};
use assay_import::references;
use assay_ledger::Problem;
use assay_model::{JudgedFigures, StudyRecord};
use assay_options::word;
use assay_report::{Feed, FeedRender, FeedStudy, Format, OtherStudy};
use assay_run::advice::HintedError;
use assay_run::{paths, study};
use assay_verdict::Judgement;
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The study: its name, a unique prefix of it, or `latest` [default: the latest]; several with `--format csv`
    #[arg(value_name = "STUDY", add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) studies: Vec<String>,

    /// Compare its relative QPS with that of another study of the same servers, such as an imported one
    #[arg(long, value_name = "STUDY", conflicts_with = "style")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) beside: Option<String>,

    /// Compare the machines that measured the shards of a study, by the same systems
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["beside", "style"])]
    pub(crate) by: Option<ByWord>,

    /// Judge against another system of the study: its name, or its number from 1 [default: the base of the study]
    #[arg(long, value_name = "SYSTEM")]
    pub(crate) base: Option<String>,

    /// Figures that the answer is about [default: those of the study]
    #[arg(long, value_parser = word::<JudgedFigures>())]
    pub(crate) judge: Option<JudgedFigures>,

    /// What the report says, and how
    #[arg(long, value_enum, default_value = "assay")]
    pub(crate) style: StyleWord,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByWord {
    /// The machines that measured it
    Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StyleWord {
    /// Verdicts with intervals and causes
    Assay,
    /// Relative QPS with the rounding, colours and charts of published posts, without intervals
    Published,
}

impl Arguments for ReportArgs {
    const NAME: &'static str = "report";
    const ABOUT: &'static str = "Render a study's report";
    const GROUP: CommandGroup = CommandGroup::Read;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        check(&self.output, None, &self.ledger)?;
        if self.studies.len() > 1 {
            return write_table(self);
        }
        let record = shown(self, self.studies.first().map(String::as_str))?;
        if let Some(other) = &self.beside {
            return write_beside(&record, other, self);
        }
        if self.by.is_some() {
            return write_by_node(&record, &self.output);
        }
        match self.style {
            StyleWord::Assay => write_of_ledger(&record, self),
            StyleWord::Published => write_published(&record, &self.output),
        }
    }
}

/// A study of the ledger, against the base that the user wants.
fn shown(args: &ReportArgs, name: Option<&str>) -> Result<StudyRecord> {
    let record = found(&args.ledger, name)?;
    let running = !record.finished && study::is_measured(&record);
    let record = StudyRecord { running, ..record };
    let record = match &args.base {
        Some(words) => base::rebased(record, words)?,
        None => record,
    };
    Ok(base::judged_by(record, args.judge)?)
}

/// Writes the cells of several studies as one table.
fn write_table(args: &ReportArgs) -> Result<Exit> {
    let is_plain = args.beside.is_none() && args.by.is_none() && args.style == StyleWord::Assay;
    if !is_plain || form(&args.output)? != ResultForm::Text(Format::CSV) {
        bail!(HintedError::new(
            "only CSV has several studies in one table",
            "use `--format csv` and neither `--beside`, `--by` nor `--style`, or name one study"
        ))
    }
    let mut judged: Vec<(StudyRecord, Judgement)> = Vec::new();
    for name in &args.studies {
        let record = shown(args, Some(name))?;
        if judged.iter().all(|(other, _)| other.study.id != record.study.id) {
            let judgement = assay_verdict::judge(&record);
            judged.push((record, judgement));
        }
    }
    let all: Vec<FeedStudy<'_>> =
        judged.iter().map(|(record, judgement)| (record, judgement)).collect();
    place(&args.output, &assay_report::cells_csv(&all))?;
    let is_complete = judged.iter().all(|(_, judgement)| of_cells(judgement) == Exit::Done);
    Ok(if is_complete { Exit::Done } else { Exit::Incomplete })
}

/// Writes a study of the ledger, as it is or as a part of its history.
fn write_of_ledger(record: &StudyRecord, args: &ReportArgs) -> Result<Exit> {
    let ResultForm::Feed(feed @ Feed { render: FeedRender::History(render), .. }) =
        form(&args.output)?
    else {
        return write(record, &args.output);
    };
    let ledger = open_ledger(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    let base = args.base.as_deref();
    let text = feeds::of_history(feed, *render, &record.study.id, base, &ledger)?;
    place(&args.output, &text)?;
    Ok(Exit::Done)
}

fn write_beside(ours: &StudyRecord, name: &str, args: &ReportArgs) -> Result<Exit> {
    let table = references().into_iter().find(|table| table.slug == name);
    let note = table.as_ref().map(|table| format!("there: {}; {}", table.source, table.note));
    let (theirs, groups) = match table {
        Some(table) => (table.record, table.groups),
        None => {
            let is_missing = |error: &anyhow::Error| {
                let error = error.downcast_ref::<assay_ledger::Error>();
                error.is_some_and(|it| matches!(it.problem, Problem::NoSuchStudy(_)))
            };
            match found(&args.ledger, Some(name)) {
                Err(error) if is_missing(&error) => {
                    let names: Vec<String> = references().into_iter().map(|it| it.slug).collect();
                    bail!(HintedError::new(
                        format!("there is nothing called `{name}` to set beside"),
                        format!(
                            "name a study of the ledger, or a published table: {}",
                            names.join(", ")
                        )
                    ))
                }
                study => (study?, Vec::new()),
            }
        }
    };
    let [here, there] = [ours, &theirs].map(assay_verdict::judge);
    let (groups, note) = (groups.as_slice(), note.as_deref());
    let other = OtherStudy { record: &theirs, judgement: &there, groups, note };
    let Some(page) = assay_report::beside((ours, &here), &other) else {
        let [here, there] = [ours, &theirs].map(|record| {
            let names: Vec<&str> = record.systems.iter().map(|it| it.name.as_str()).collect();
            names.join(", ")
        });
        bail!(HintedError::new(
            format!("`{name}` has no counterpart of the base and of another system"),
            format!(
                "here: {here}; there: {there}; `--base SYSTEM` compares with another system of the study here"
            ),
        ))
    };
    put(&args.output, &page)?;
    Ok(Exit::Done)
}

fn write_by_node(record: &StudyRecord, output: &Output) -> Result<Exit> {
    let judgement = assay_verdict::judge(record);
    let Some(nodes) = &judgement.nodes else {
        bail!(HintedError::new(
            format!("one machine measured study `{}`", record.study.id),
            "`assay collect` puts a study together that several have measured"
        ))
    };
    put(output, &assay_report::by_node(record, nodes))?;
    Ok(Exit::Done)
}

fn write_published(record: &StudyRecord, output: &Output) -> Result<Exit> {
    let judgement = assay_verdict::judge(record);
    put(output, &assay_report::published(record, &judgement)).map_err(|error| match error
        .downcast_ref::<MissingFormat>(
    ) {
        Some(MissingFormat(word)) => HintedError::new(
            format!("`--style published` has no format `{word}`"),
            "use text, html, markdown, svg or png; `--style assay` has all digits in csv and json",
        )
        .into(),
        None => error,
    })?;
    Ok(of_cells(&judgement))
}
