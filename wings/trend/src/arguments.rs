//! `assay trend`.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{FormatWord, LedgerArg, Output};
use assay_command::candidates;

/// `assay trend`.
#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub struct Trend {
    /// The test, as the studies name it
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub test: String,

    /// Show only systems whose names match
    #[arg(long, value_name = "GLOB")]
    pub system: Option<String>,

    /// Show only this number of clients
    #[arg(long, value_name = "N")]
    pub clients: Option<u32>,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,
}
