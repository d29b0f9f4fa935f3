//! The command line of `watch`.

use std::path::PathBuf;

use clap::Args;

use super::{FormatWord, Measuring, help};

/// `assay watch`.
#[derive(Debug, Args)]
#[command(after_help = help::WATCH)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub(crate) struct Watch {
    /// The watch file: a study file with a table `[watch]` in place of the systems
    #[arg(value_name = "WATCH.toml")]
    pub(crate) watch_file: PathBuf,

    /// Run a program for each change that is found
    ///
    /// The words of the program are separated by spaces; there is no shell. It gets the change in ASSAY_VERSION,
    /// ASSAY_AFTER, ASSAY_TITLE, ASSAY_TEST, ASSAY_RATIO, ASSAY_PROBABILITY and ASSAY_SEARCH.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) run_on_found: Option<String>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}
