//! `assay serve`.

use clap::Args;

use super::LedgerArg;

/// `assay serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Port on 127.0.0.1; 0 is any free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}
