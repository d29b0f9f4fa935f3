//! The command lines of load, bench, audit, cache and server.

use std::path::PathBuf;

use assay_model::{Suite, TestSet};
use assay_options::{parse_duration_s, word};
use assay_workloads::TpccOptions;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use super::number::{
    parse_megabytes, parse_port, parse_rows, parse_seconds, parse_seed, parse_tables,
};
use super::{ConfigArg, OwnArgs, SERVERS, ShapeArg, SourceArg, TableFormArgs, TermsArg, help};
use crate::candidates;

/// `assay load`.
#[derive(Debug, Args)]
#[command(mut_arg("workload", |it| {
    let others = ["tables", "rows", "engine", "secondary"];
    it.conflicts_with_all(others).conflicts_with_all(TableFormArgs::FIELDS)
}))]
pub(crate) struct Load {
    /// The server, such as `mysql://user@127.0.0.1:3306/sbtest` or `mysql://root@/sbtest?socket=PATH`; the password may
    /// be in `ASSAY_PASSWORD` instead. The name of a server that `assay server start` left running will do too
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    #[command(flatten)]
    pub(crate) own: OwnArgs,

    /// Number of tables; they replace tables that assay or sysbench made, but nothing else named sbtest1, sbtest2, ...
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_tables)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) tables: u32,

    /// Rows in each table, such as `1M`
    #[arg(long, visible_alias = "table-size", value_name = "N")]
    #[arg(default_value_t = 100_000, value_parser = parse_rows)]
    pub(crate) rows: u32,

    /// Storage engine [default: the product's, `innodb` or `heap`]
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,

    /// Drop everything named sbtest1, sbtest2, ... (on Postgres also everything with the name of one of their indexes:
    /// k_1, ... and, with `--secondary`, xid1, ...), even if neither assay nor sysbench made it
    #[arg(long)]
    pub(crate) replace: bool,

    /// Create the tables with a secondary index on `id` and no primary key
    #[arg(long)]
    pub(crate) secondary: bool,

    #[command(flatten)]
    pub(crate) form: TableFormArgs,

    /// Collection of tests whose tables are loaded: `tpcc` loads those of the TPC-C-like workload
    #[arg(long, value_parser = word::<Suite>(), default_value = Suite::default().word())]
    #[arg(conflicts_with = "workload", hide_short_help = true)]
    pub(crate) suite: Suite,

    #[command(flatten)]
    pub(crate) tpcc: TpccOptions,

    /// Seed for the rows
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Options of the tools that get servers.
#[derive(Debug, Args)]
pub(crate) struct Getting {
    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    /// Use only what is in the cache
    #[arg(long)]
    #[arg(help_heading = SERVERS)]
    pub(crate) offline: bool,

    /// Accept expired package indexes
    #[arg(long)]
    #[arg(help_heading = SERVERS)]
    pub(crate) accept_expired_index: bool,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `assay audit`.
#[derive(Debug, Args)]
#[command(after_help = help::SYSTEMS)]
pub(crate) struct Audit {
    /// Two or more systems, such as `mariadb@10.11 mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    pub(crate) systems: Vec<String>,

    #[command(flatten)]
    pub(crate) own: OwnArgs,

    #[command(flatten)]
    pub(crate) from: SourceArg,

    #[command(flatten)]
    pub(crate) terms: TermsArg,

    #[command(flatten)]
    pub(crate) config: ConfigArg,

    #[command(flatten)]
    pub(crate) getting: Getting,
}

/// `assay doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Time to record the noise of the machine's speed, such as `10s`
    #[arg(long = "for", value_name = "TIME", default_value = "20s", value_parser = parse_recording)]
    pub(crate) seconds: f64,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Seconds. Each takes some tens of kilobytes.
fn parse_recording(text: &str) -> Result<f64, String> {
    let seconds = parse_seconds(text)?;
    if (1.0..=600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("must be between 1 second and 10 minutes".to_owned())
    }
}

/// `assay tests`.
#[derive(Debug, Args)]
#[command(mut_arg("workload", |it| it.conflicts_with_all(["set", "suite"])))]
pub(crate) struct Tests {
    /// List only the tests whose names match, such as `'point*'` [default: all of the set]
    #[arg(value_name = "PATTERN", value_delimiter = ',')]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub(crate) patterns: Vec<String>,

    #[command(flatten)]
    pub(crate) own: OwnArgs,

    /// Let a Lua script use files outside of its directory and run programs
    #[arg(long, requires = "workload", hide_short_help = true)]
    pub(crate) allow_script_io: bool,

    /// Collection of tests
    #[arg(long, value_parser = word::<Suite>(), default_value = Suite::default().word())]
    #[arg(conflicts_with = "set")]
    pub(crate) suite: Suite,

    /// Published selection of microbenchmarks, or every one (`all`)
    #[arg(long, value_parser = word::<TestSet>(), default_value = TestSet::default().word())]
    pub(crate) set: TestSet,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,
}

/// `assay cache`.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List servers, loaded data directories and package indexes, with their sizes and last use
    List(ShapeArg),
    /// Remove what has not been used for a while
    Clean(CacheClean),
}

/// `assay cache clean`.
#[derive(Debug, Args)]
pub(crate) struct CacheClean {
    /// Remove servers and data that were last used longer ago than this
    #[arg(long, value_name = "TIME", value_parser = parse_duration_s, default_value = "30d")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) unused: f64,

    /// Remove everything that no running assay uses
    #[arg(long, conflicts_with = "unused")]
    pub(crate) all: bool,
}

/// `assay server`.
#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// Get servers into the cache, and print their paths
    Get(ServerGet),
    /// List the servers that `start` left running, or, with `--available`, the versions that assay can get
    List(ServerList),
    /// Start a server with an empty database, and leave it running; `stop` removes its data
    Start(ServerStart),
    /// Stop servers that `start` left running, and remove their data
    Stop(ServerStop),
}

/// `assay server get`.
#[derive(Debug, Args)]
#[command(after_help = help::SYSTEMS)]
pub(crate) struct ServerGet {
    /// The systems, such as `mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    pub(crate) systems: Vec<String>,

    #[command(flatten)]
    pub(crate) from: SourceArg,

    #[command(flatten)]
    pub(crate) getting: Getting,
}

/// `assay server list`.
#[derive(Debug, Args)]
pub(crate) struct ServerList {
    /// List the versions of a product, or of all products, that assay can get, with their sources
    #[arg(long, value_name = "PRODUCT", num_args = 0..=1)]
    pub(crate) available: Option<Option<String>>,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,
}

/// `assay server start`.
#[derive(Debug, Args)]
#[command(after_help = help::SYSTEMS)]
pub(crate) struct ServerStart {
    /// The system, such as `mariadb@11.8` or `mariadb@11.8+innodb_doublewrite=OFF`
    #[arg(value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    pub(crate) system: String,

    /// Name of the server [default: derived from the system's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Also listen on this port of 127.0.0.1; 0 chooses a free port
    #[arg(long, value_name = "PORT", value_parser = parse_port, allow_negative_numbers = true)]
    pub(crate) port: Option<u16>,

    /// Start on a copy of these data, which `server stop --keep` left of the same system
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) from: SourceArg,

    #[command(flatten)]
    pub(crate) terms: TermsArg,

    #[command(flatten)]
    pub(crate) config: ConfigArg,

    /// Buffer pool, such as `512M` or `1G`; a number without unit is MB
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = parse_megabytes)]
    pub(crate) buffer_pool: u64,

    #[command(flatten)]
    pub(crate) getting: Getting,
}

/// `assay server stop`.
#[derive(Debug, Args)]
pub(crate) struct ServerStop {
    /// Names, as `assay server list` shows them
    #[arg(required = true, value_name = "NAME")]
    #[arg(add = ArgValueCompleter::new(candidates::servers))]
    pub(crate) names: Vec<String>,

    /// Keep the data, and say where they are: `server start SYSTEM --data DIR` starts on them again
    #[arg(long)]
    pub(crate) keep: bool,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
