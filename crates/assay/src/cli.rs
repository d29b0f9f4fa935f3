//! The command line as typed. Words only: `request` gives what the plan needs.

use std::path::PathBuf;

use assay_model::{CpuPlacement, IdKey, Preset, StatementMode, TestSet};
use assay_plan::{Request, SetupRequest, SystemRequest, parse_duration_s, parse_percent};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Find where a database got slower, and why.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Where servers and templates are kept [default: the user's cache directory]
    #[arg(long, global = true, value_name = "DIR", env = "ASSAY_CACHE")]
    pub(crate) cache_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Get, start, load and measure systems in turn, and say which is slower
    Compare(Compare),
    /// Measure what a study file asks for
    Run(RunFile),
    /// Go on with an interrupted study
    Resume(Resume),
    /// Render what the ledger holds on a study
    Report(Report),
    /// List the studies in the ledger
    Studies(Studies),
    /// Start systems and compare their effective settings, without load
    Audit(Audit),
    /// Create and fill sbtest1, sbtest2, ... on a running server
    Load(Load),
    /// Drive one microbenchmark against a running server, as sysbench does
    Bench(Bench),
    /// What the cache keeps, and freeing it
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Servers of any version, without root: get them, run them, stop them
    #[command(subcommand)]
    Server(ServerCommand),
    /// Watch over one server process: started by assay for each server it runs
    #[command(hide = true)]
    Supervise,
}

/// `assay compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The base and the systems to compare with it, such as `mariadb@10.11 mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    systems: Vec<String>,

    /// How much effort
    #[arg(long, value_enum, default_value = "quick")]
    preset: PresetWord,

    /// Run only the tests whose name matches
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',')]
    tests: Vec<String>,

    /// Which published selection of tests
    #[arg(long, value_enum, default_value = "32")]
    set: SetWord,

    /// Connections that send work at the same time; several counts make several setups
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    clients: Option<Vec<u32>>,

    /// Tables [default: by preset]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    tables: Option<u32>,

    /// Rows in each table [default: by preset]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    rows: Option<u32>,

    /// Time the study may take, such as `10m` [default: by preset]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_s)]
    budget: Option<f64>,

    /// Smallest change of practical interest
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "2%")]
    threshold: f64,

    /// Let the base take part twice: what is called between it and itself is a false alarm
    #[arg(long, overrides_with = "no_twin")]
    twin: bool,

    /// No twin, where the preset has one
    #[arg(long, hide = true)]
    no_twin: bool,

    /// A secondary index on `id` instead of the primary key
    #[arg(long, help_heading = "Workload")]
    secondary: bool,

    /// Whether statements are prepared on the server (`auto`) or sent as text (`disable`)
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        default_value = "auto",
        help_heading = "Workload"
    )]
    db_ps_mode: PsModeWord,

    /// Which CPUs clients and servers share [default: by test and clients]
    #[arg(long, value_enum)]
    placement: Option<PlacementWord>,

    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Measured part of every slice, such as `100ms` [default: by preset and test]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_s, help_heading = "Experiment")]
    slice: Option<f64>,

    /// Measured part of every slice of a write [default: `--slice`, else by preset]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_s, help_heading = "Experiment")]
    write_slice: Option<f64>,

    /// Fresh instances of every system this many times [default: by preset]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Experiment")]
    blocks: Option<u32>,

    /// Slices of each test in a block, per system, at most [default: by preset]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Experiment")]
    rounds: Option<u32>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// `assay run`.
#[derive(Debug, Args)]
pub(crate) struct RunFile {
    /// The study file, TOML; `-` reads it from stdin
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study_file: PathBuf,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// `assay resume`.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The study [default: the latest unfinished one]
    pub(crate) study: Option<String>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// What all commands that measure share.
#[derive(Debug, Args)]
pub(crate) struct Measuring {
    /// Use only what is in the cache
    #[arg(long)]
    pub(crate) offline: bool,

    /// Accept package indexes past their validity; the report says so
    #[arg(long)]
    pub(crate) accept_expired_index: bool,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,

    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `assay studies`.
#[derive(Debug, Args)]
pub(crate) struct Studies {
    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}

/// `assay report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The study [default: the latest]
    pub(crate) study: Option<String>,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}

/// `assay load`.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Such as `mysql://user@127.0.0.1:3306/sbtest` or `mysql://root@/sbtest?socket=PATH`; the password may stand in
    /// `ASSAY_PASSWORD` instead
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// Tables
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) tables: u32,

    /// Rows in each table
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=2_000_000_000))]
    pub(crate) rows: u32,

    /// Storage engine
    #[arg(long, value_name = "ENGINE", default_value = "innodb")]
    pub(crate) engine: String,

    /// A secondary index on `id` instead of the primary key
    #[arg(long)]
    pub(crate) secondary: bool,

    /// Seed of the rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `assay bench`.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// As for `assay load`
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// The microbenchmark, such as `point-query` or `read-only_range=100`
    #[arg(long, value_name = "TEST")]
    pub(crate) test: String,

    /// Connections that send work at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: u32,

    /// Seconds to measure
    #[arg(long, value_name = "S", default_value = "10", value_parser = parse_seconds)]
    pub(crate) time: f64,

    /// Seconds to run before, not measured
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub(crate) warmup_time: Option<f64>,

    /// Events a second that are due, whether or not earlier ones are done; without it clients send as fast as they can
    #[arg(long, value_name = "N", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,

    /// Tables [default: those the server has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) tables: Option<u32>,

    /// Rows in each table [default: as the server has them]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2_000_000_000))]
    pub(crate) rows: Option<u32>,

    /// Seed of the events
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Whether statements are prepared on the server (`auto`) or sent as text (`disable`)
    #[arg(long, value_enum, value_name = "MODE", default_value = "auto")]
    db_ps_mode: PsModeWord,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Bench {
    /// Whether nothing is to be prepared.
    pub(crate) fn is_text(&self) -> bool {
        self.db_ps_mode == PsModeWord::Disable
    }
}

/// Seconds as sysbench takes them, `10`, or with a unit.
fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = match text.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => parse_duration_s(text).map_err(|error| error.to_string())?,
    };
    let is_fit = seconds > 0.0 && seconds <= 1e6;
    if is_fit { Ok(seconds) } else { Err("it must lie between 0 and 1000000 seconds".to_owned()) }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("it must be a positive number of events a second".to_owned()),
    }
}

/// `assay audit`.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Two or more systems, such as `mariadb@10.11 mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    pub(crate) systems: Vec<String>,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    /// Use only what is in the cache
    #[arg(long)]
    pub(crate) offline: bool,

    /// Accept package indexes past their validity
    #[arg(long)]
    pub(crate) accept_expired_index: bool,

    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `assay cache`.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Servers, loaded data directories, package indexes: how large, when last used
    List(ShapeArg),
    /// Remove what has not been used for a while
    Clean(CacheClean),
}

/// `assay cache clean`.
#[derive(Debug, Args)]
pub(crate) struct CacheClean {
    /// Remove servers and data that were last used longer ago than this
    #[arg(long, value_name = "TIME", value_parser = parse_duration_s, default_value = "720h")]
    pub(crate) unused: f64,

    /// Remove everything that no running assay uses
    #[arg(long, conflicts_with = "unused")]
    pub(crate) all: bool,
}

/// `assay server`.
#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// Get servers into the cache, and say where they are
    Get(ServerGet),
    /// The servers that `start` left running, or with `--available` those that can be had
    List(ServerList),
    /// Start a server with an empty database, and leave it running
    Start(ServerStart),
    /// Stop servers that `start` left running, and remove their data
    Stop(ServerStop),
}

/// `assay server get`.
#[derive(Debug, Args)]
pub(crate) struct ServerGet {
    /// Such as `mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    pub(crate) systems: Vec<String>,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    /// Use only what is in the cache
    #[arg(long)]
    pub(crate) offline: bool,

    /// Accept package indexes past their validity
    #[arg(long)]
    pub(crate) accept_expired_index: bool,

    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `assay server list`.
#[derive(Debug, Args)]
pub(crate) struct ServerList {
    /// List the versions of a product that can be had, and from where
    #[arg(long, value_name = "PRODUCT")]
    pub(crate) available: Option<String>,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,
}

/// `assay server start`.
#[derive(Debug, Args)]
pub(crate) struct ServerStart {
    /// Such as `mariadb@11.8` or `mariadb@11.8+innodb_doublewrite=OFF`
    #[arg(value_name = "SYSTEM")]
    pub(crate) system: String,

    /// What to call it [default: made of the system's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Listen on this port of 127.0.0.1 too; 0 chooses a free one
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    /// Buffer pool, MB
    #[arg(long, value_name = "MB", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u64).range(8..=1 << 22))]
    pub(crate) buffer_pool: u64,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,

    /// Use only what is in the cache
    #[arg(long)]
    pub(crate) offline: bool,

    /// Accept package indexes past their validity
    #[arg(long)]
    pub(crate) accept_expired_index: bool,

    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `assay server stop`.
#[derive(Debug, Args)]
pub(crate) struct ServerStop {
    /// What `assay server list` calls them
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Text or JSON.
#[derive(Debug, Args)]
pub(crate) struct ShapeArg {
    /// Shape of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ShapeWord,
}

impl ShapeArg {
    /// Whether people read it.
    pub(crate) fn is_text(&self) -> bool {
        self.format == ShapeWord::Text
    }
}

/// `--format` of commands that are no reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeWord {
    /// For people
    Text,
    /// For scripts
    Json,
}

/// Where the ledger is.
#[derive(Debug, Args)]
pub(crate) struct LedgerArg {
    /// The file that keeps every slice [default: `ledger.db` in the user's data directory]
    #[arg(long = "ledger", value_name = "FILE", env = "ASSAY_LEDGER")]
    pub(crate) file: Option<PathBuf>,
}

/// How and where the result is written.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Shape of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: FormatWord,

    /// Write the result to a file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatWord {
    /// A table for the terminal
    Text,
    /// One page for a browser, nothing outside of it
    Html,
    /// Tables for an issue, a pull request or a post
    Markdown,
    /// One line per cell and system
    Csv,
    /// For scripts: schema 1
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PresetWord {
    /// Does it all work: 10,000 rows, under a minute
    Smoke,
    /// A first honest answer: 100,000 rows, at most ten minutes
    Quick,
    /// A release check: 8 tables of 1,000,000 rows, at most an hour
    Standard,
    /// As the posts: 50,000,000 rows, one system after the other, each test once for 600 or 1800 s: days
    Published,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SetWord {
    #[value(name = "27")]
    Set27,
    #[value(name = "32")]
    Set32,
    #[value(name = "42")]
    Set42,
    #[value(name = "47")]
    Set47,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PsModeWord {
    /// Prepared on the server, once per connection
    Auto,
    /// Sent as text
    Disable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlacementWord {
    /// Client and whole server on one CPU
    OneCpu,
    /// Client and the threads that serve it on one CPU, background threads anywhere
    ConnectionsOnOneCpu,
    /// Nothing pinned
    Free,
}

impl Compare {
    /// The words as the plan takes them.
    pub(crate) fn request(&self) -> Request {
        Request {
            systems: self.systems.iter().map(|words| SystemRequest::of(words)).collect(),
            preset: match self.preset {
                PresetWord::Smoke => Preset::Smoke,
                PresetWord::Quick => Preset::Quick,
                PresetWord::Standard => Preset::Standard,
                PresetWord::Published => Preset::Published,
            },
            set: match self.set {
                SetWord::Set27 => TestSet::Set27,
                SetWord::Set32 => TestSet::Set32,
                SetWord::Set42 => TestSet::Set42,
                SetWord::Set47 => TestSet::Set47,
            },
            tests: self.tests.clone(),
            setups: vec![SetupRequest {
                clients: self.clients.clone(),
                tables: self.tables,
                rows: self.rows,
            }],
            budget_s: self.budget,
            threshold: Some(self.threshold),
            twin: (self.twin || self.no_twin).then_some(self.twin),
            id_key: if self.secondary { IdKey::Secondary } else { IdKey::Primary },
            statements: match self.db_ps_mode {
                PsModeWord::Auto => StatementMode::Prepared,
                PsModeWord::Disable => StatementMode::Text,
            },
            placement: self.placement.map(|word| match word {
                PlacementWord::OneCpu => CpuPlacement::OneCpu,
                PlacementWord::ConnectionsOnOneCpu => CpuPlacement::ConnectionsOnOneCpu,
                PlacementWord::Free => CpuPlacement::Free,
            }),
            seed: self.seed,
            slice_s: self.slice,
            write_slice_s: self.write_slice,
            blocks: self.blocks,
            rounds: self.rounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
