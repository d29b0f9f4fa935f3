//! The command lines of `upgrade` and `workload`.

use std::path::PathBuf;

use assay_options::whole;
use assay_plan::LONGER_LOOK;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{
    ExplainTerms, MeasureArgs, OUTPUT, SYSTEMS, StudyArgs, main_options_first,
};
use assay_command::candidates;
use assay_command::keys::refused;

const UPGRADE: &str = "\
Statements and values of the log run on copies of the dump's data in each version. Their answers are
compared first, then their time. Example:
  assay upgrade mysql@8.0 mysql@8.4 --queries slow.log --schema dump.sql.gz --config my.cnf";

const USAGE: &str = "\
assay upgrade [OPTIONS] --queries <LOG> --schema <DUMP> <SYSTEM> <SYSTEM>...
       assay upgrade [OPTIONS] --workload <FILE> <SYSTEM> <SYSTEM>...";

/// `assay upgrade`.
#[derive(Debug, Args)]
#[command(after_help = format!("{UPGRADE}\n\n{SYSTEMS}"), override_usage = USAGE)]
#[command(mut_arg("tests", |tests| tests.add(ArgValueCompleter::new(candidates::tests))))]
#[command(next_display_order = 6, mut_args(main_options_first), mut_args(of_upgrades))]
pub struct UpgradeArgs {
    /// The version in use and those to upgrade to, such as `mysql@8.0 mysql@8.4`
    #[arg(required = true, num_args = 2.., value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    pub systems: Vec<String>,

    /// Log of your queries, such as a slow query log; may be given several times
    #[arg(long, value_name = "LOG", help_heading = LOGS)]
    #[arg(required_unless_present = "workload", conflicts_with = "workload")]
    pub queries: Vec<PathBuf>,

    #[command(flatten)]
    pub of_logs: LogArgs,

    /// Compare only plans, by statistics of the planner, without rows; for Postgres
    ///
    /// `pg_dump --statistics-only` of version 18 or later writes them, and so does the query that `assay workload
    /// stats-query` prints. `--schema` is then a dump without rows. Nothing is measured, and no study is stored. A
    /// second file, written after another `ANALYZE`, shows which differences are ties.
    #[arg(long, value_name = "FILE", requires = "schema", help_heading = LOGS)]
    #[arg(conflicts_with_all = UNMEASURED.split(' ').chain([LONGER_LOOK]))]
    pub stats: Vec<PathBuf>,

    #[command(flatten)]
    pub asked: StudyArgs,

    #[command(flatten)]
    pub explain: ExplainTerms,

    #[command(flatten)]
    pub measuring: MeasureArgs,
}

/// Options of `compare` that an upgrade rarely needs.
const HIDDEN: &str = "twin seed placement server_cpus client_cpus priority statements";

/// Options that have no meaning where nothing is measured, or no rows are loaded.
const UNMEASURED: &str = "workload explain_terms preset budget_s threshold judge twin check profile count \
                          placement server_cpus client_cpus priority clients slice_s write_slice_s turn_s blocks \
                          rounds";

fn of_upgrades(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "terms" => option
            .default_value("shipped")
            .help("Server settings: `lean` (equal), `published` or `shipped`")
            .long_help(None),
        "budget_s" => option.default_value("15m").help("Time limit of the study").long_help(None),
        "queries" | "schema" | "writes" => option.hide_short_help(false),
        "preset" | "threshold" | "profile" | "count" => option.hide_short_help(true),
        "workload" => {
            option.help("Use this workload file, such as one that `assay workload from` wrote")
        }
        // A workload has its own tables and tests.
        "suite" | "set" | "tables" | "rows" | "check" => refused(option).conflicts_with("queries"),
        LONGER_LOOK => option.hide(true),
        name if HIDDEN.split(' ').any(|hidden| hidden == name) => option.hide(true),
        _ => option,
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
    /// Print the query that writes statistics of a Postgres server for `assay upgrade --stats`
    ///
    /// `assay workload stats-query | psql -XAtq DATABASE > stats.sql`
    StatsQuery,
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
