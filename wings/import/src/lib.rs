//! `assay import`: turns results of other tools into studies of the ledger.

mod common;
mod data_sets;
mod ledger;
mod mytools;
mod sysbench;

use std::path::Path;

use anyhow::Result;
use clap::{Args, Subcommand};

use assay_command::exit::Exit;
use assay_command::verb::{Arguments, CommandGroup};
use ledger::ImportLedger;
use mytools::ImportTables;
use sysbench::ImportRuns;

impl Arguments for Import {
    const NAME: &'static str = "import";
    const ABOUT: &'static str = "Add results that other tools have published to the ledger";
    const GROUP: CommandGroup = CommandGroup::Share;
    const EXITS: &'static [(Exit, &'static str)] = &[(Exit::Incomplete, "left something out")];

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        match &self.command {
            ImportCommand::Mytools(args) => mytools::run(args),
            ImportCommand::Sysbench(args) => sysbench::run(args),
            ImportCommand::Ledger(args) => ledger::run(args),
        }
    }
}

/// `assay import`.
#[derive(Debug, Args)]
pub struct Import {
    #[command(subcommand)]
    pub command: ImportCommand,
}

#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Add published results in the layouts of Mark Callaghan: tables of QPS, metrics, runs, the Insert Benchmark
    Mytools(ImportTables),
    /// Compare outputs of sysbench or pgbench, runs of one script, with those of the first system
    Sysbench(ImportRuns),
    /// Add the studies of another ledger or of a pack
    Ledger(ImportLedger),
}
