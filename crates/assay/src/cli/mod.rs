//! The command line. `Compare::request` turns it into a request for the plan.

mod bench;
mod bisect;
mod claims;
mod completions;
mod count;
mod evidence;
mod gate;
mod help;
mod import;
mod insert_bench;
mod number;
mod oltp;
mod output;
mod serve;
mod shards;
mod studies;
mod sysbench;
mod tools;
mod trend;
mod upgrade;
mod watch;
mod workload;

use std::path::PathBuf;

use assay_model::TestSet;
use assay_model::limits::user::SCALE;
use assay_options::{parse_budget_s, whole, word};
use assay_plan::{Request, ScriptOptions, SetupRequest, SystemRequest, script_variable};
use assay_terms::Terms;
use assay_workloads::{OltpOptions, TpccOptions};
use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

pub(crate) use bench::Bench;
pub(crate) use bisect::Bisect;
pub(crate) use claims::Claims;
pub(crate) use completions::{Completions, ManPages, Shell};
pub(crate) use count::Count;
pub(crate) use evidence::{Export, PackArgs, Repro, VerifyArgs};
pub(crate) use gate::Gate;
pub(crate) use help::WELCOME;
pub(crate) use import::{ImportCommand, ImportLedger, ImportRuns, ImportTables};
pub(crate) use insert_bench::InsertBench;
pub(crate) use oltp::TableFormArgs;
pub(crate) use output::{FormatWord, LedgerArg, Output, ShapeArg, ShapeWord};
pub(crate) use serve::Serve;
pub(crate) use shards::{Collect, ShardNumber, ShardsArg, Status, Submit};
pub(crate) use studies::{NameStudy, RemoveStudies, ShowStudy, Studies, StudiesCommand};
pub(crate) use sysbench::{dashed, option_hint, subcommand_hint};
pub(crate) use tools::{
    Audit, CacheClean, CacheCommand, Doctor, Getting, Load, ServerCommand, ServerGet, ServerStart,
    ServerStop, Tests,
};
pub(crate) use trend::Trend;
pub(crate) use upgrade::{ExplainTerms, Upgrade};
pub(crate) use watch::Watch;
pub(crate) use workload::{OfLogs, WorkloadCommand, WorkloadFrom};

use crate::candidates;

const SERVERS: &str = "Servers";

const OUTPUT: &str = "Output";

/// Find where a database got slower, and why.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Directory for servers and templates [default: the user's cache directory]
    #[arg(long, global = true, value_name = "DIR", env = "ASSAY_CACHE")]
    #[arg(help_heading = SERVERS, hide_short_help = true)]
    pub(crate) cache_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Get, start and load systems, measure them in turn, and say which is slower
    Compare(Compare),
    /// Say what an upgrade does to your own queries: other answers, errors and slowdowns
    Upgrade(Upgrade),
    /// Compare for CI: the exit code says whether a system is slower than a limit
    Gate(Gate),
    /// Count the instructions that operations take, by function; the machine may be busy
    Count(Count),
    /// Find the release or commit that made a change
    Bisect(Bisect),
    /// Compare what is new of a product, night after night, and find what changed
    Watch(Watch),
    /// Run the Insert Benchmark: load, then query while rows come and go at a fixed rate
    InsertBench(InsertBench),
    /// Run the study that a file describes
    Run(RunFile),
    /// Run a study on many machines: one array job of a scheduler
    Submit(Submit),
    /// Show how far the shards of a study are, and the verdicts so far
    Status(Status),
    /// Put a study together from the ledgers of its shards
    Collect(Collect),
    /// Continue an interrupted study
    Resume(Resume),
    /// Render a study's report
    Report(Report),
    /// Add results that other tools have published to the ledger
    #[command(subcommand)]
    Import(ImportCommand),
    /// Check published statements against studies
    Claims(Claims),
    /// Show one test over the versions and the time of all studies
    Trend(Trend),
    /// List, show, name and remove the studies in the ledger
    Studies(Studies),
    /// Write a study, its reports and their digests to one file, without personal paths
    Pack(PackArgs),
    /// Compute every verdict of a pack or ledger again, and compare it with the record
    Verify(VerifyArgs),
    /// Write what shows a finding without assay: configurations, tables, a script
    Repro(Repro),
    /// Write studies as tables: Parquet and CSV
    Export(Export),
    /// Show studies and trends as pages on loopback, until Ctrl-C
    Serve(Serve),
    /// List the tests that `--tests` can name
    Tests(Tests),
    /// Make a workload file of a slow log or other logs of statements
    #[command(subcommand)]
    Workload(WorkloadCommand),
    /// Start systems and compare their effective settings, without load
    Audit(Audit),
    /// Say whether this machine is fit to measure, and how small a change it could show
    Doctor(Doctor),
    /// Create and fill sbtest1, sbtest2, ... on a running server
    Load(Load),
    /// Run one test against a running server, as sysbench does
    Bench(Bench),
    /// Show or free the contents of the cache
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Get, run and stop servers of any version, without root
    #[command(subcommand)]
    Server(ServerCommand),
    /// Print a script with which a shell completes systems, tests, studies and options
    Completions(Completions),
    /// Write the pages of the manual
    #[command(hide = true)]
    Man(ManPages),
    /// Supervise one server process: assay starts this for each server that it runs
    #[command(hide = true)]
    Supervise,
    /// Run one program of a Lua script and end it with the script: assay starts this for each of them
    #[command(hide = true, name = assay_lua::PROGRAM_COMMAND)]
    KeepProgram {
        /// Where its output goes
        output: String,
        /// The command, for a shell
        #[arg(allow_hyphen_values = true)]
        command: std::ffi::OsString,
    },
    /// Print a part of the documentation that follows from the program, in Markdown
    #[command(hide = true)]
    Reference {
        /// Its name in the markers of the pages: `<!-- generated:NAME -->`
        name: String,
    },
}

pub(crate) fn command() -> clap::Command {
    // Fixed, whatever the file name: hints name commands as documented.
    help::grouped(Cli::command().bin_name("assay"))
}

/// `assay compare`.
#[derive(Debug, Args)]
#[command(after_help = help::SYSTEMS_SHORT, after_long_help = help::SYSTEMS)]
#[command(mut_arg("tests", |tests| tests.add(ArgValueCompleter::new(candidates::tests))))]
pub(crate) struct Compare {
    /// The base and the systems to compare with it, such as `mariadb@10.11 mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    #[command(flatten)]
    asked: Asked,

    /// Omit the twin that the preset includes
    #[arg(long, hide = true, overrides_with = "twin")]
    no_twin: bool,

    #[command(flatten)]
    pub(crate) explain: ExplainTerms,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    #[command(flatten)]
    script: ScriptWords,
}

/// The options of a Lua script, as sysbench takes them.
#[derive(Debug, Args)]
pub(crate) struct ScriptWords {
    /// Options of the Lua script of `--workload`, such as `--tables=4`
    #[arg(last = true, value_name = "SCRIPT OPTION", hide_short_help = true)]
    words: Vec<String>,
}

impl ScriptWords {
    fn of(&self, mut request: Request) -> Request {
        request.script_options.extend(self.words.iter().cloned());
        request
    }
}

/// What `compare` and `gate` ask for.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    request: Request,

    #[command(flatten)]
    setup: SetupRequest,

    #[command(flatten)]
    oltp: OltpOptions,

    #[command(flatten)]
    tpcc: TpccOptions,

    #[arg(long = "time", hide = true, value_parser = no_time)]
    _time: Option<NoTime>,

    #[command(flatten)]
    from: SourceArg,

    #[command(flatten)]
    terms: TermsArg,
}

/// `assay run`.
#[derive(Debug, Args)]
pub(crate) struct RunFile {
    /// The study file, TOML; `-` reads it from stdin
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study_file: PathBuf,

    /// Measure only this part of the study, such as `2/6`; `assay collect` puts the parts together
    ///
    /// A shard that was begun in the ledger, or in another one of its directory, is continued.
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<ShardNumber>,

    #[command(flatten)]
    pub(crate) instead: Instead,

    #[command(flatten)]
    pub(crate) from: SourceArg,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// Options that replace a part of a study file.
#[derive(Debug, Args)]
pub(crate) struct Instead {
    /// Run only the tests whose names match, instead of those in the file
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',')]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    tests: Vec<String>,

    /// Published selection of tests, or every one (`all`), instead of the one in the file
    #[arg(long, value_parser = word::<TestSet>())]
    set: Option<TestSet>,

    /// Time limit of the study, such as `10m`, instead of the one in the file
    ///
    /// Fetching servers and loading data do not count; aging the data does. Tests that do not fit are not measured.
    #[arg(long, value_name = "TIME", value_parser = parse_budget_s, allow_hyphen_values = true)]
    budget: Option<f64>,
}

impl Instead {
    pub(crate) fn is_any(&self) -> bool {
        !self.tests.is_empty() || self.set.is_some() || self.budget.is_some()
    }

    pub(crate) fn of(&self, request: Request) -> Request {
        Request {
            tests: if self.tests.is_empty() { request.tests } else { self.tests.clone() },
            set: self.set.unwrap_or(request.set),
            budget_s: self.budget.or(request.budget_s),
            ..request
        }
    }
}

/// `assay resume`.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The study: its name, a unique prefix of it, or `latest` [default: the latest unfinished one]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) study: Option<String>,

    /// Measure this much longer, such as `10m`, also in a finished study: what is undecided or imprecise
    #[arg(long, value_name = "TIME", value_parser = parse_budget_s, allow_hyphen_values = true)]
    pub(crate) more: Option<f64>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// The workload of a command that is no study.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OwnArgs {
    /// Use your own workload: a workload file, TOML, pgbench scripts such as `a.sql@3,b.sql`, or one that comes with
    /// pgbench, such as `tpcb-like`
    #[arg(long, value_name = "FILE,...", value_delimiter = ',')]
    pub(crate) workload: Vec<String>,

    /// Scale factor of the tables of pgbench scripts [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(SCALE), requires = "workload")]
    #[arg(allow_negative_numbers = true, hide_short_help = true)]
    pub(crate) scale: Option<u32>,

    /// Define a variable for pgbench scripts
    #[arg(long, short = 'D', value_name = "NAME=VALUE", value_parser = script_variable)]
    #[arg(requires = "workload", hide_short_help = true)]
    pub(crate) define: Vec<String>,
}

impl OwnArgs {
    pub(crate) fn script_options(&self) -> ScriptOptions {
        ScriptOptions { scale: self.scale, define: self.define.clone() }
    }

    pub(crate) fn in_request(&self, request: Request) -> Request {
        let (workload, define) = (self.workload.clone(), self.define.clone());
        Request { workload, scale: self.scale, define, ..request }
    }
}

/// The source of servers.
#[derive(Debug, Args)]
pub(crate) struct SourceArg {
    /// Use servers only from this source, such as `apt` or `maven`
    ///
    /// A source is `apt`, `dnf`, `maven`, `npm`, `pip`, `tarball`, or a vendor, such as `mysql.com`. [default: one
    /// source with all versions of a product, otherwise the best source for each]
    #[arg(long, value_name = "SOURCE")]
    #[arg(help_heading = SERVERS)]
    pub(crate) source: Option<String>,
}

/// The terms of servers.
#[derive(Debug, Args)]
pub(crate) struct TermsArg {
    /// Server settings: `lean` (equal), `published` or `shipped`
    ///
    /// `lean` sets the same values on all systems. `published` sets those of Mark Callaghan's published studies, scaled
    /// to the data. `shipped` leaves each version its own defaults, apart from places, caches and logs.
    #[arg(long, value_name = "TERMS", default_value = assay_terms::DEFAULT)]
    #[arg(value_parser = PossibleValuesParser::new(Terms::names()), hide_possible_values = true)]
    #[arg(help_heading = SERVERS)]
    pub(crate) terms: String,
}

/// The config file of servers that are not part of a study.
#[derive(Debug, Args)]
pub(crate) struct ConfigArg {
    /// Start servers from your own `my.cnf` or `postgresql.conf`
    ///
    /// Where products differ: `mysql=my.cnf,postgres=postgresql.conf`.
    #[arg(long, value_name = "FILE", value_delimiter = ',', help_heading = SERVERS)]
    pub(crate) config: Vec<String>,

    /// Divide the sizes of `--config` by one number, so that the servers of a study would fit into the memory of this
    /// machine, or into a share of it
    #[arg(long, value_name = "PERCENT", value_parser = assay_plan::parse_share)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "100%")]
    #[arg(help_heading = SERVERS, requires = "config")]
    pub(crate) scale_memory: Option<f64>,
}

impl ConfigArg {
    pub(crate) fn in_request(&self, request: Request) -> Request {
        Request { config: self.config.clone(), scale_memory: self.scale_memory, ..request }
    }
}

/// Options of all commands that measure.
#[derive(Debug, Args)]
pub(crate) struct Measuring {
    /// Use only what is in the cache
    #[arg(long)]
    #[arg(help_heading = SERVERS, hide_short_help = true)]
    pub(crate) offline: bool,

    /// Accept expired package indexes; the report says so
    #[arg(long)]
    #[arg(help_heading = SERVERS, hide_short_help = true)]
    pub(crate) accept_expired_index: bool,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,

    /// Print no progress on stderr
    #[arg(long, short)]
    #[arg(help_heading = OUTPUT)]
    pub(crate) quiet: bool,
}

/// `assay report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The study: its name, a unique prefix of it, or `latest` [default: the latest]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) study: Option<String>,

    /// Compare its relative QPS with that of another study of the same servers, such as an imported one
    #[arg(long, value_name = "STUDY", conflicts_with = "style")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) beside: Option<String>,

    /// Compare the machines that measured the shards of a study, by the same systems
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["beside", "style"])]
    pub(crate) by: Option<ByWord>,

    /// Judge against another system of the study: its name, or its number from 1 [default: the base of the study]
    #[arg(long, value_name = "SYSTEM")]
    pub(crate) base: Option<String>,

    /// What the report says, and how
    #[arg(long, value_enum, default_value = "assay")]
    pub(crate) style: StyleWord,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) ledger: LedgerArg,
}

/// `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByWord {
    /// The machines that measured it
    Node,
}

/// `--style`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StyleWord {
    /// Verdicts with intervals and causes
    Assay,
    /// Relative QPS with the rounding, colours and charts of published posts, without intervals
    Published,
}

/// Uninhabited: assay has no time limit per test.
#[derive(Debug, Clone)]
enum NoTime {}

fn no_time(_: &str) -> Result<NoTime, &'static str> {
    Err(
        "a study has no time limit per test: limit the study with `--budget 10m`, or a slice with `--slice 100ms`",
    )
}

impl Compare {
    pub(crate) fn request(&self) -> Request {
        let request = self.script.of(self.asked.request(&self.systems, &self.measuring));
        Request { twin: if self.no_twin { Some(false) } else { request.twin }, ..request }
    }
}

impl Asked {
    fn request(&self, systems: &[String], measuring: &Measuring) -> Request {
        Request {
            systems: systems.iter().map(|words| SystemRequest::of(words)).collect(),
            setups: vec![self.setup.clone()],
            oltp: self.oltp.clone(),
            tpcc: self.tpcc.clone(),
            terms: self.terms.terms.clone(),
            source: self.from.source.clone(),
            offline: measuring.offline,
            accept_expired_index: measuring.accept_expired_index,
            ..self.request.clone()
        }
    }
}

#[cfg(test)]
mod tests;
