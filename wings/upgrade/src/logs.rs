//! `assay workload`.

use std::path::PathBuf;

use assay_options::whole;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use assay_command::args::OUTPUT;

/// `assay workload`.
#[derive(Debug, Args)]
pub struct Workload {
    #[command(subcommand)]
    pub command: WorkloadCommand,
}

#[derive(Debug, Subcommand)]
pub enum WorkloadCommand {
    /// Make a workload file of logs: its statements with their values, transactions and weights
    From(WorkloadFrom),
}

/// `assay workload from`.
#[derive(Debug, Args)]
pub struct WorkloadFrom {
    /// Logs of statements, plain or gzipped: slow and general query log, csvlog, jsonlog and plain log of Postgres,
    /// digest tables, `pg_stat_statements` as CSV, or a file of statements
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,

    #[command(flatten)]
    pub of_logs: OfLogs,

    /// The workload file; values are written into a folder beside it. Without it, assay prints the summary alone
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

const LOGS: &str = "Logs";

/// How logs are read, and what of them becomes a workload.
#[derive(Debug, Args)]
pub struct OfLogs {
    /// Dump of the schema and the data, which the workload file then names
    ///
    /// `mysqldump`, `mariadb-dump` or `pg_dump` in plain format wrote it.
    #[arg(long, help_heading = LOGS, value_name = "DUMP")]
    pub schema: Option<PathBuf>,

    /// Keep statements that write, and transactions that have some
    #[arg(long, help_heading = LOGS)]
    pub writes: bool,

    /// Number of tests that are kept, by their time [default: 200]
    #[arg(long, help_heading = LOGS, value_name = "N", value_parser = whole(1..=1000_u32))]
    #[arg(allow_negative_numbers = true)]
    pub limit: Option<u32>,

    /// Keep the statements of this database [default: the one with the largest time]
    #[arg(long, help_heading = LOGS, value_name = "NAME")]
    pub database: Option<String>,

    /// Format of all logs [default: each by its content]
    #[arg(long, help_heading = LOGS, value_name = "FORMAT", value_parser = formats())]
    pub log_format: Option<String>,

    /// `log_line_prefix` of the Postgres server [default: the one of the usual prefixes that fits]
    #[arg(long, help_heading = LOGS, value_name = "PREFIX", allow_hyphen_values = true)]
    pub log_line_prefix: Option<String>,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(assay_capture::FORMATS.iter().map(|it| it.name))
}
