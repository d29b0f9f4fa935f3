//! `assay import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::number::{parse_one_count, parse_rows, parse_tables};
use super::{LedgerArg, Output};

/// `assay import`.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Add tables of queries per second (`qps.abs.*.tsv`), as Mark Callaghan publishes them with his posts
    Mytools(ImportTables),
}

/// `assay import mytools`.
#[derive(Debug, Args)]
pub(crate) struct ImportTables {
    /// Tables, or directories with tables; each table becomes a study
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Number of clients, which the tables do not tell
    #[arg(long, visible_alias = "threads", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = parse_one_count, allow_negative_numbers = true)]
    pub(crate) clients: u32,

    /// Number of tables, which the tables do not tell
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_tables)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) tables: u32,

    /// Rows in each table, such as `50M`, which the tables do not tell [default: 1, for an unknown number]
    #[arg(long, visible_alias = "table-size", value_name = "N", value_parser = parse_rows)]
    pub(crate) rows: Option<u32>,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}
