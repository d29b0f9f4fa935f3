//! `assay import`.

use std::path::PathBuf;

use assay_model::Setup;
use clap::{Args, Subcommand};

use assay_command::args::{FormatWord, LedgerArg, Output, ShapeArg};
use assay_command::number::{parse_one_count, parse_rows, parse_tables};

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

/// `assay import mytools`.
#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub struct ImportTables {
    /// Files, or directories that are searched for what assay knows; each data set becomes a study
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    #[command(flatten)]
    pub setup: SetupArgs,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

/// `assay import sysbench`.
#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub struct ImportRuns {
    /// Outputs of sysbench 0.5, 1.0 or 1.1, or of pgbench: those of the base, then others. Runs of one system, named
    /// as `SYSTEM=FILE` or by a directory, are a sweep over clients, or repeats
    #[arg(required = true, value_name = "[SYSTEM=]FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub setup: SetupArgs,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

/// `assay import ledger`.
#[derive(Debug, Args)]
pub struct ImportLedger {
    /// The other ledger, or a pack
    #[arg(value_name = "FILE")]
    pub from: PathBuf,

    /// Add only these studies: names, or unique prefixes of them
    #[arg(value_name = "STUDY")]
    pub studies: Vec<String>,

    #[command(flatten)]
    pub shape: ShapeArg,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

/// What files may not tell.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Number of clients, if the files do not tell
    #[arg(long, visible_alias = "threads", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = parse_one_count, allow_negative_numbers = true)]
    clients: u32,

    /// Number of tables, if the files do not tell
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_tables)]
    #[arg(allow_negative_numbers = true)]
    tables: u32,

    /// Rows in each table, such as `50M`, if the files do not tell [default: 1, for an unknown number]
    #[arg(long, visible_alias = "table-size", value_name = "N", value_parser = parse_rows)]
    rows: Option<u32>,
}

const ROWS_UNKNOWN: u32 = 1;

impl SetupArgs {
    pub fn setup(&self) -> Setup {
        let Self { clients, tables, rows } = *self;
        Setup { clients, tables, rows: rows.unwrap_or(ROWS_UNKNOWN) }
    }
}
