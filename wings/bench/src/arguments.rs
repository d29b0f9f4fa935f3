//! `assay bench`.

use std::path::PathBuf;

use assay_load::IgnoredErrors;
use assay_model::{StatementMode, Suite, TableForm};
use assay_options::{whole, word};
use assay_plan::ps_mode;
use assay_wire::code_of_state;
use assay_workloads::{OLTP_HEADING, OltpOptions, TpccOptions};
use clap::error::Error;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{OwnArgs, ShapeArg, TlsArgs};
use assay_command::candidates;
use assay_command::number::{parse_one_count, parse_rows, parse_seconds, parse_tables};

pub(crate) const SERVER: &str = "the server";

/// `assay bench`.
#[derive(Debug, Args)]
#[command(mut_arg("workload", |it| it.conflicts_with_all(["tables", "rows"])))]
#[command(mut_args(rare))]
pub struct BenchArgs {
    /// The server, as for `assay load`: a URL, or the name of a server that `assay server start` left running
    #[arg(value_name = "URL")]
    pub url: String,

    /// What the script of `--script` is to do [default: run]
    #[arg(value_name = "COMMAND", requires = "script")]
    pub command: Option<String>,

    /// The test: a microbenchmark, such as `point-query`, a script of sysbench, such as `oltp_read_only`, or `tpcc`
    #[arg(long, value_name = "TEST", required_unless_present_any = ["workload", "script"])]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub test: Option<String>,

    #[command(flatten)]
    pub own: OwnArgs,

    #[command(flatten)]
    pub tls: TlsArgs,

    /// Run a Lua script of sysbench: COMMAND is `prepare`, `run`, `cleanup` or one of the script's own
    #[arg(long, value_name = "SCRIPT.lua", conflicts_with_all = ["test", "workload", "tables", "rows", "check"])]
    pub script: Option<PathBuf>,

    /// Let the script use files outside of its directory and run programs
    #[arg(long, requires = "script", hide_short_help = true)]
    pub allow_script_io: bool,

    /// Number of concurrent clients
    #[arg(long, visible_alias = "threads", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = parse_one_count, allow_negative_numbers = true)]
    pub clients: u32,

    /// Time to measure, such as `10` (seconds) or `1m`; events that do not end soon after that are cut off
    #[arg(long, value_name = "TIME", default_value = "10", value_parser = parse_seconds)]
    pub time: f64,

    /// Time to warm up before measuring
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    #[arg(hide_short_help = true)]
    pub warmup_time: Option<f64>,

    /// End after this many events in total, or when the time is over
    #[arg(long, value_name = "N", value_parser = parse_events, allow_negative_numbers = true)]
    #[arg(conflicts_with = "rate")]
    pub events: Option<u64>,

    /// Start this many events per second, whether or not earlier ones are done (open loop); without it, clients send as
    /// fast as they can. Events that cannot start soon after the end are reported as the backlog
    #[arg(long, value_name = "N", value_parser = parse_rate, allow_negative_numbers = true)]
    pub rate: Option<f64>,

    /// Print a line on stderr at this interval, even with `--quiet`
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    #[arg(hide_short_help = true)]
    pub report_interval: Option<f64>,

    /// Number of tables [default: all that the server has]
    #[arg(long, value_name = "N", value_parser = parse_tables, allow_negative_numbers = true)]
    pub tables: Option<u32>,

    /// Rows in each table; a table with fewer is an error [default: those of the smallest table]
    #[arg(long, visible_alias = "table-size", value_name = "N")]
    #[arg(value_parser = parse_rows)]
    pub rows: Option<u32>,

    /// Seed for the events
    #[arg(long, visible_alias = "rand-seed", value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(0..=u64::MAX))]
    #[arg(hide_short_help = true)]
    pub seed: u64,

    /// Errors after which an event is started again: codes such as `1213` or `40P01`, or `all`; with 2013, clients
    /// reconnect after a lost connection [default: 1213,1020,1205 or, on Postgres, 40P01,40001,23505]
    #[arg(long, visible_alias = "mysql-ignore-errors", value_name = "CODE,...")]
    #[arg(value_parser = parse_ignored)]
    #[arg(hide_short_help = true)]
    pub ignore_errors: Option<IgnoredErrors>,

    /// Reconnect each client after this many events; 0 means never [default: 0]
    #[arg(long, value_name = "N", value_parser = parse_reconnect, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub reconnect: Option<u64>,

    /// Percentile of the response time in the lines of `--report-interval`
    #[arg(long, value_name = "P", default_value = "95", value_parser = parse_percentile)]
    #[arg(hide_short_help = true)]
    pub percentile: f64,

    /// Show how often each response time occurred
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub histogram: bool,

    /// Check first that the tables hold exactly the rows that `assay load` sends with this seed and, if the test only
    /// reads, that the server returns correct answers to ten of its events
    #[arg(long, conflicts_with_all = ["workload", "rows"])]
    pub check: bool,

    /// Whether statements are prepared on the server (`auto`), sent as text (`disable`), or parsed and planned each
    /// time with the values apart (`extended`, Postgres only); pgbench's words `prepared` and `simple` will do too
    #[arg(long = "db-ps-mode", visible_alias = "protocol", short = 'M', value_name = "MODE")]
    #[arg(value_parser = ps_mode(), default_value = "auto", hide_short_help = true)]
    pub statements: StatementMode,

    #[command(flatten, next_help_heading = OLTP_HEADING)]
    pub oltp: OltpOptions,

    #[command(flatten, next_help_heading = None)]
    pub tpcc: TpccOptions,

    #[command(flatten)]
    pub shape: ShapeArg,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,

    /// Options of the script, such as `--tables=4`
    #[arg(last = true, value_name = "SCRIPT OPTION", requires = "script", hide_short_help = true)]
    pub script_options: Vec<String>,
}

/// `assay load`.
#[derive(Debug, Args)]
#[command(mut_arg("workload", |it| {
    let others = ["tables", "rows", "engine"];
    it.conflicts_with_all(others).conflicts_with_all(TableFormArgs::FIELDS)
}))]
pub struct LoadArgs {
    /// The server, such as `mysql://user@127.0.0.1:3306/sbtest` or `mysql://root@/sbtest?socket=PATH`; the password may
    /// be in `ASSAY_PASSWORD` instead. The name of a server that `assay server start` left running will do too
    #[arg(value_name = "URL")]
    pub url: String,

    #[command(flatten)]
    pub own: OwnArgs,

    #[command(flatten)]
    pub tls: TlsArgs,

    /// Number of tables; they replace tables of the same names and columns, and nothing else
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_tables)]
    #[arg(allow_negative_numbers = true)]
    pub tables: u32,

    /// Rows in each table, such as `1M`
    #[arg(long, visible_alias = "table-size", value_name = "N")]
    #[arg(default_value_t = 100_000, value_parser = parse_rows)]
    pub rows: u32,

    /// Storage engine [default: the product's, `innodb` or `heap`]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,

    /// Also drop tables of these names that have other columns; for `--workload` and `--suite tpcc`, all tables in the
    /// way
    #[arg(long)]
    pub replace: bool,

    #[command(flatten)]
    pub form: TableFormArgs,

    /// Collection of tests whose tables are loaded: `tpcc` loads those of the TPC-C-like workload
    #[arg(long, value_parser = word::<Suite>(), default_value = Suite::default().word())]
    #[arg(conflicts_with = "workload", hide_short_help = true)]
    pub suite: Suite,

    #[command(flatten)]
    pub tpcc: TpccOptions,

    /// Seed for the rows
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    pub seed: u64,

    #[command(flatten)]
    pub shape: ShapeArg,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

/// The options in [`OltpOptions`] that describe tables.
#[derive(Debug, Clone)]
pub struct TableFormArgs(pub TableForm);

impl TableFormArgs {
    /// Their fields.
    pub const FIELDS: [&str; 3] = ["auto_inc", "create_secondary", "create_table_options"];
}

impl Args for TableFormArgs {
    fn augment_args(command: Command) -> Command {
        let all = OltpOptions::augment_args(Command::new("scripts"));
        let own = all.get_arguments().filter(|it| Self::FIELDS.contains(&it.get_id().as_str()));
        command.args(own.map(|it| it.clone().help_heading(OLTP_HEADING).hide_short_help(true)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TableFormArgs {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, Error> {
        let is_on = |field| *found.get_one::<bool>(field).expect("it has a default");
        let [auto_inc, create_secondary, create_table_options] = Self::FIELDS;
        Ok(Self(TableForm {
            auto_inc: is_on(auto_inc),
            create_secondary: is_on(create_secondary),
            create_table_options: found
                .get_one::<String>(create_table_options)
                .expect("it has a default")
                .clone(),
        }))
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(found)?;
        Ok(())
    }
}

/// Leaves the options of scripts to the long help.
fn rare(option: Arg) -> Arg {
    let is_of_scripts = option.get_help_heading() == Some(OLTP_HEADING);
    if is_of_scripts { option.hide_short_help(true) } else { option }
}

fn parse_events(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "must be a whole number; 0 means no limit".to_owned())
}

fn parse_reconnect(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "must be a whole number; 0 means never".to_owned())
}

fn parse_percentile(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percentile) if (0.0..=100.0).contains(&percentile) => Ok(percentile),
        _ => Err("must be between 0 and 100".to_owned()),
    }
}

fn parse_ignored(text: &str) -> Result<IgnoredErrors, String> {
    if text == "all" {
        return Ok(IgnoredErrors::All);
    }
    let code = |word: &str| match word.trim() {
        state if state.len() == 5 => code_of_state(state),
        number => number.parse::<u16>().ok().map(u32::from),
    };
    let codes: Option<Vec<u32>> = text.split(',').map(code).collect();
    let codes = codes.ok_or(
        "must be MySQL error codes, such as 1213, Postgres SQLSTATEs, such as 40P01, or `all`",
    );
    Ok(IgnoredErrors::These(codes?))
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("must be above 0 and at most 1,000,000,000 events per second".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_rate_is_reported_with_the_limits() {
        assert_eq!([parse_rate("0.3"), parse_rate("1e9")], [Ok(0.3), Ok(1e9)]);
        for rate in ["4294967295", "nan", "inf", "0", "-1", "x", ""] {
            let error = parse_rate(rate).unwrap_err();
            assert!(error.contains("above 0 and at most 1,000,000,000"), "{rate}: {error}");
        }
    }
}
