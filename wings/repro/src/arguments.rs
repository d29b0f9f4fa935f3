//! The command line of `repro`.

use std::path::PathBuf;

use assay_command::args::{LedgerArg, OUTPUT};
use assay_command::candidates;
use assay_options::whole;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

/// `assay repro`.
#[derive(Debug, Args)]
pub struct Repro {
    /// The study: its name, a unique prefix of it, or `latest`
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: String,

    /// The test: its name, or a pattern that only its name matches [default: the one that is slower by most]
    #[arg(long, value_name = "TEST")]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub test: Option<String>,

    /// The directory to write, which must not exist or must be empty
    #[arg(long, short, value_name = "DIR")]
    #[arg(help_heading = OUTPUT)]
    pub output: PathBuf,

    /// The one system: its name in the study, or its number from 1 [default: the base of the study]
    #[arg(long, value_name = "SYSTEM")]
    pub base: Option<String>,

    /// The other system [default: the slowest in this test]
    #[arg(long, value_name = "SYSTEM")]
    pub other: Option<String>,

    /// Number of clients, if the study measured several [default: that with the largest change]
    #[arg(long, value_name = "N", value_parser = whole(0..=u32::MAX), allow_negative_numbers = true)]
    pub clients: Option<u32>,

    #[command(flatten)]
    pub ledger: LedgerArg,
}
