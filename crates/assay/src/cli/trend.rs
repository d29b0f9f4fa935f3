//! `assay trend`.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use super::{FormatWord, LedgerArg, Output};
use crate::candidates;

/// `assay trend`.
#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub(crate) struct Trend {
    /// The test, as the studies name it
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub(crate) test: String,

    /// Show only systems whose names match
    #[arg(long, value_name = "GLOB")]
    pub(crate) system: Option<String>,

    /// Show only this number of clients
    #[arg(long, value_name = "N")]
    pub(crate) clients: Option<u32>,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}
