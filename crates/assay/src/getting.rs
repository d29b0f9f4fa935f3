//! Options of the commands that get servers and measure nothing.

use assay_command::args::{SERVERS, ShapeArg};
use clap::Args;

/// Options of the tools that get servers.
#[derive(Debug, Args)]
pub(crate) struct Getting {
    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    /// Use only what is in the cache
    #[arg(long)]
    #[arg(help_heading = SERVERS)]
    pub(crate) offline: bool,

    /// Accept expired package indexes
    #[arg(long)]
    #[arg(help_heading = SERVERS)]
    pub(crate) accept_expired_index: bool,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
