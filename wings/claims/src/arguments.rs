//! `assay claims`.

use std::path::PathBuf;

use assay_report::Format;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{FormatWord, LedgerArg, Output};
use assay_command::candidates;

fn formats() -> impl Iterator<Item = FormatWord> {
    FormatWord::pages().filter(|it| *it != FormatWord::Of(Format::CSV))
}

/// `assay claims`.
#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(formats())))]
pub struct Claims {
    /// The file with published statements, TOML, such as those in `claims/`; `-` reads it from stdin
    #[arg(value_name = "FILE")]
    pub claim_file: PathBuf,

    /// The study, or several whose values count together [default: the latest]
    #[arg(value_name = "STUDY")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub studies: Vec<String>,

    /// Exit with 0 although some claims cannot be decided
    #[arg(long)]
    pub allow_undecided: bool,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,
}
