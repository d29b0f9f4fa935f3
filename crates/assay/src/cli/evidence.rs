//! `assay pack`, `assay verify` and `assay export`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use super::number::parse_digest;
use super::{LedgerArg, ShapeArg};
use crate::candidates;

/// `assay pack`.
#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// The study: its name, a unique prefix of it, or `latest`
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) study: String,

    /// The file to write, such as `study.assay`; only a pack is overwritten
    #[arg(value_name = "FILE")]
    pub(crate) pack: PathBuf,

    /// Keep the name of the machine
    #[arg(long)]
    pub(crate) host_name: bool,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}

/// `assay verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// A pack, or a ledger
    pub(crate) file: PathBuf,

    /// The digest that the author of a pack published, to compare it
    #[arg(long, value_name = "SHA256", value_parser = parse_digest)]
    pub(crate) digest: Option<String>,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,
}

/// `assay export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The directory to write to; tables of an earlier export are replaced
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Export only these studies: names, unique prefixes, or `latest` [default: all]
    #[arg(value_name = "STUDY")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) studies: Vec<String>,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}
