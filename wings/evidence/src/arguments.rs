//! `assay pack`, `assay verify` and `assay repro`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{LedgerArg, ShapeArg};
use assay_command::candidates;
use assay_command::number::parse_digest;

/// `assay pack`.
#[derive(Debug, Args)]
pub struct PackArgs {
    /// The study: its name, a unique prefix of it, or `latest`
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: String,

    /// The file to write, such as `study.assay`; only a pack is overwritten
    #[arg(value_name = "FILE")]
    pub pack: PathBuf,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

/// `assay verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A pack, or a ledger
    pub file: PathBuf,

    /// The digest that the author of a pack published, to compare it
    #[arg(long, value_name = "SHA256", value_parser = parse_digest)]
    pub digest: Option<String>,

    #[command(flatten)]
    pub shape: ShapeArg,
}
