//! `assay pack`, `assay verify`, `assay repro` and `assay export`.

use std::path::PathBuf;

use assay_options::whole;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use super::number::parse_digest;
use super::{LedgerArg, OUTPUT, ShapeArg};
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

/// `assay repro`.
#[derive(Debug, Args)]
pub(crate) struct Repro {
    /// The study: its name, a unique prefix of it, or `latest`
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) study: String,

    /// The test: its name, or a pattern that only its name matches [default: the one that is slower by most]
    #[arg(long, value_name = "TEST")]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub(crate) test: Option<String>,

    /// The directory to write, which must not exist or must be empty
    #[arg(long, short, value_name = "DIR")]
    #[arg(help_heading = OUTPUT)]
    pub(crate) output: PathBuf,

    /// The one system: its name in the study, or its number from 1 [default: the base of the study]
    #[arg(long, value_name = "SYSTEM")]
    pub(crate) base: Option<String>,

    /// The other system [default: the slowest in this test]
    #[arg(long, value_name = "SYSTEM")]
    pub(crate) other: Option<String>,

    /// Number of clients, if the study measured several [default: that with the largest change]
    #[arg(long, value_name = "N", value_parser = whole(0..=u32::MAX), allow_negative_numbers = true)]
    pub(crate) clients: Option<u32>,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
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
