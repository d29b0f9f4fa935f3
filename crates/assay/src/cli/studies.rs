//! `assay studies`.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use super::{FormatWord, LedgerArg, Output, ShapeArg};
use crate::candidates;

/// `assay studies`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(mut_arg("format", FormatWord::only(FormatWord::pages())))]
pub(crate) struct Studies {
    #[command(subcommand)]
    pub(crate) command: Option<StudiesCommand>,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}

/// What to do instead of listing them.
#[derive(Debug, Subcommand)]
pub(crate) enum StudiesCommand {
    /// Show what a study is: systems, setup, times, verdicts, machine, size
    Show(ShowStudy),
    /// Give a study a name, which can then stand for it
    Name(NameStudy),
    /// Remove studies from the ledger, without asking
    Rm(RemoveStudies),
}

/// `assay studies show`.
#[derive(Debug, Args)]
pub(crate) struct ShowStudy {
    /// The study [default: the latest]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) study: Option<String>,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}

/// `assay studies name`.
#[derive(Debug, Args)]
pub(crate) struct NameStudy {
    /// The study
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) study: String,

    /// Its name: ASCII letters, digits, `-`, `_` and `.`; it replaces the one that the study may have
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}

/// `assay studies rm`.
#[derive(Debug, Args)]
pub(crate) struct RemoveStudies {
    /// The studies
    #[arg(required = true, value_name = "STUDY")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) studies: Vec<String>,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}
