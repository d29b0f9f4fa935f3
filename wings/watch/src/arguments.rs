//! The command line of `watch`.

use std::path::PathBuf;

use clap::Args;

use assay_command::args::{FormatWord, Measuring};

const WATCH: &str = "\
Each run compares the newest version with the one measured last and with the baseline, searches for
the version that made a change, shows all changes so far, and ends. The ledger keeps the history.

The file has options as a study file does, and what is watched:
  tests = [\"point-query\", \"update-one\"]
  count = \"only\"                             # instructions; without it, time
  [watch]
  range = \"mariadb@11.4.5..11.8\"            # or a repository, with commits = \"REL_17_0..origin/master\"

Exit codes: 0 done, 3 something could not be measured or searched, 4 interrupted; run it again.";

/// `assay watch`.
#[derive(Debug, Args)]
#[command(after_help = WATCH)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub struct Watch {
    /// The watch file: a study file with a table `[watch]` in place of the systems
    #[arg(value_name = "WATCH.toml")]
    pub watch_file: PathBuf,

    /// Run a program for each change that is found
    ///
    /// The words of the program are separated by spaces; there is no shell. It gets the change in ASSAY_VERSION,
    /// ASSAY_AFTER, ASSAY_TITLE, ASSAY_TEST, ASSAY_RATIO, ASSAY_PROBABILITY and ASSAY_SEARCH.
    #[arg(long, value_name = "PROGRAM")]
    pub run_on_found: Option<String>,

    #[command(flatten)]
    pub measuring: Measuring,
}
