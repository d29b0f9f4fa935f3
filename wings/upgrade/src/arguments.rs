//! The command lines of `upgrade` and `workload`.

use std::path::PathBuf;

use assay_options::whole;
use assay_plan::Request;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{ExplainTerms, MeasureArgs, OUTPUT, SYSTEMS, StudyArgs};
use assay_command::candidates;

const UPGRADE: &str = "\
Statements and values of the log run on copies of the dump's data in each version. Their answers are
compared first, then their time.
  assay upgrade mysql@8.0 mysql@8.4 --queries slow.log --schema dump.sql.gz --config my.cnf

SYSTEM is PRODUCT@VERSION; `assay upgrade --help` has more forms and options.";

/// `assay upgrade`.
#[derive(Debug, Args)]
#[command(after_help = UPGRADE, after_long_help = SYSTEMS)]
#[command(mut_arg("tests", |tests| tests.add(ArgValueCompleter::new(candidates::tests))))]
#[command(mut_args(of_upgrades))]
pub struct UpgradeArgs {
    /// The version in use and those to upgrade to, such as `mysql@8.0 mysql@8.4`
    #[arg(required = true, num_args = 2.., value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    /// Log of your queries, such as a slow query log; may be given several times
    #[arg(
        long,
        value_name = "LOG",
        required_unless_present = "workload",
        conflicts_with = "workload"
    )]
    pub queries: Vec<PathBuf>,

    #[command(flatten)]
    pub of_logs: LogArgs,

    #[command(flatten)]
    asked: StudyArgs,

    #[command(flatten)]
    pub explain: ExplainTerms,

    #[command(flatten)]
    pub measuring: MeasureArgs,
}

/// Options of `compare` that have no meaning for the statements of a log.
const HIDDEN: [&str; 8] =
    ["suite", "set", "tables", "rows", "check", "scale", "define", "allow_script_io"];

const BUDGET: &str = "15m";

/// Only in the long help.
const RARE: [&str; 10] = [
    "limit",
    "database",
    "log_format",
    "log_line_prefix",
    "preset",
    "threshold",
    "twin",
    "profile",
    "count",
    "source",
];

fn of_upgrades(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "terms" => option
            .default_value("shipped")
            .help("Server settings: `lean` (equal), `published` or `shipped`")
            .long_help(None),
        "budget_s" => option.default_value(BUDGET).help("Time limit of the study"),
        "workload" => {
            option.help("Use this workload file, such as one that `assay workload from` wrote")
        }
        name if HIDDEN.contains(&name) => option.hide(true),
        name if RARE.contains(&name) => option.hide_short_help(true),
        _ => option,
    }
}

impl UpgradeArgs {
    /// The request, without the parts that follow from the logs.
    pub fn request(&self) -> Request {
        self.asked.request(&self.systems, &self.measuring)
    }
}

/// `assay workload`.
#[derive(Debug, Args)]
pub struct WorkloadArgs {
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
    pub of_logs: LogArgs,

    /// The workload file; values are written into a folder beside it. Without it, assay prints the summary alone
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
}

const LOGS: &str = "Logs";

/// How logs are read, and what of them becomes a workload.
#[derive(Debug, Args)]
pub struct LogArgs {
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
