//! The command line as typed. `Compare::request` turns it into what the plan takes.

mod bench;
mod claims;
mod completions;
mod evidence;
mod gate;
mod help;
mod import;
mod insert_bench;
mod number;
mod oltp;
mod output;
mod serve;
mod studies;
mod sysbench;
mod tools;
mod trend;
mod words;

use std::path::PathBuf;

use assay_model::{IdKey, OltpOptions, Preset, Suite, TestSet};
use assay_plan::{
    Request, SetupRequest, SystemRequest, parse_budget_s, parse_duration_s, parse_percent,
};
use assay_terms::Terms;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

pub(crate) use bench::Bench;
pub(crate) use claims::Claims;
pub(crate) use completions::{Completions, ManPages, Shell};
pub(crate) use evidence::{Export, PackArgs, Repro, VerifyArgs};
pub(crate) use gate::Gate;
pub(crate) use help::WELCOME;
pub(crate) use import::{ImportCommand, ImportLedger, ImportRuns, ImportTables};
pub(crate) use insert_bench::InsertBench;
use number::{parse_number, parse_seed, parse_study_rows, parse_study_tables};
pub(crate) use oltp::{OltpArgs, TableFormArgs};
pub(crate) use output::{FormatWord, LedgerArg, Output, ShapeArg, ShapeWord};
pub(crate) use serve::Serve;
pub(crate) use studies::{NameStudy, RemoveStudies, ShowStudy, Studies, StudiesCommand};
pub(crate) use sysbench::{dashed, option_hint, subcommand_hint};
pub(crate) use tools::{
    Audit, CacheClean, CacheCommand, Doctor, Getting, Load, ServerCommand, ServerGet, ServerStart,
    ServerStop, Tests,
};
pub(crate) use trend::Trend;
use words::{PlacementWord, ProfileWord, PsModeWord};

use crate::candidates;

/// The heading of options that say where servers come from and how they are set up.
const SERVERS: &str = "Servers";

/// The heading of options that say what becomes of a result.
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
    /// Compare for CI: the exit code says whether a system is slower than a limit
    Gate(Gate),
    /// Run the Insert Benchmark: load, then query while rows come and go at a fixed rate
    InsertBench(InsertBench),
    /// Run the study that a file describes
    Run(RunFile),
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
    /// Print a part of the documentation that follows from the program, in Markdown
    #[command(hide = true)]
    Reference {
        /// Its name in the markers of the pages: `<!-- generated:NAME -->`
        name: String,
    },
}

/// The whole command line.
pub(crate) fn command() -> clap::Command {
    help::grouped(Cli::command())
}

/// `assay compare`.
#[derive(Debug, Args)]
#[command(after_help = help::SYSTEMS_SHORT, after_long_help = help::SYSTEMS)]
pub(crate) struct Compare {
    /// The base and the systems to compare with it, such as `mariadb@10.11 mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    #[command(flatten)]
    what: Selection,

    /// Smallest change of practical interest
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "2%")]
    #[arg(allow_hyphen_values = true)]
    threshold: f64,

    /// Measure the base twice: a change between the copies is a false alarm
    #[arg(long, overrides_with = "no_twin")]
    twin: bool,

    /// Omit the twin that the preset includes
    #[arg(long, hide = true)]
    no_twin: bool,

    #[command(flatten)]
    oltp: OltpArgs,

    #[command(flatten)]
    how: Procedure,

    #[command(flatten)]
    from: SourceArg,

    #[command(flatten)]
    terms: TermsArg,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// Options that say what a study measures, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Level of effort
    #[arg(long, value_enum, default_value = "quick")]
    preset: PresetWord,

    /// Measure your own tables and tests: a workload file or a pgbench script
    #[arg(long, value_name = "FILE", conflicts_with_all = ["suite", "set", "tables", "rows", "secondary", "check"])]
    #[arg(help_heading = "Workload")]
    workload: Option<String>,

    /// Collection of tests
    #[arg(
        long,
        value_enum,
        default_value = "micro",
        help_heading = "Workload",
        hide_short_help = true
    )]
    suite: SuiteWord,

    /// Run only the tests whose names match
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',')]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    tests: Vec<String>,

    /// Published selection of microbenchmarks, or every one (`all`)
    #[arg(long, value_parser = sets(), default_value = "32", help_heading = "Workload", hide_short_help = true)]
    set: TestSet,

    /// Number of concurrent clients, or several, such as `1,4,16`
    ///
    /// Each of several counts is a setup of its own.
    #[arg(long, visible_alias = "threads", value_name = "N,N-N,...", value_delimiter = ',')]
    #[arg(value_parser = counts, allow_negative_numbers = true)]
    clients: Option<Vec<Counts>>,

    /// Number of tables [default: by preset]
    #[arg(long, value_name = "N", value_parser = parse_study_tables, allow_negative_numbers = true)]
    #[arg(help_heading = "Workload", hide_short_help = true)]
    tables: Option<u32>,

    /// Rows in each table, such as `100k` or `1M` [default: by preset]
    #[arg(long, visible_alias = "table-size", value_name = "N")]
    #[arg(value_parser = parse_study_rows, allow_negative_numbers = true)]
    #[arg(help_heading = "Workload")]
    rows: Option<u32>,

    #[arg(long = "time", hide = true, value_parser = no_time)]
    _time: Option<NoTime>,

    /// Time limit of the study, such as `10m` [default: by preset]
    ///
    /// Fetching servers and loading data do not count; aging the data does. Tests that do not fit are not measured.
    #[arg(long, value_name = "TIME", value_parser = parse_budget_s, allow_hyphen_values = true)]
    budget: Option<f64>,
}

/// Options that say how a study measures.
#[derive(Debug, Args)]
pub(crate) struct Procedure {
    /// Create the tables with a secondary index on `id` and no primary key
    #[arg(long, help_heading = "Workload")]
    #[arg(hide_short_help = true)]
    secondary: bool,

    /// Whether statements are prepared on the server (`auto`) or sent as text (`disable`)
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        default_value = "auto",
        help_heading = "Workload"
    )]
    #[arg(hide_short_help = true)]
    db_ps_mode: PsModeWord,

    /// Check in every block that the tables hold the loaded rows and that all systems return correct answers to ten
    /// events of each test that reads
    #[arg(long, help_heading = "Workload", hide_short_help = true)]
    check: bool,

    /// Sample where the servers spend their CPU time, and what they wait for
    ///
    /// This follows the study, in tests that changed or in all.
    #[arg(long, value_enum, value_name = "TESTS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "changed")]
    profile: Option<ProfileWord>,

    /// How clients and servers are pinned to CPUs [default: by test and clients]
    #[arg(long, value_enum)]
    #[arg(help_heading = "Experiment", hide_short_help = true)]
    placement: Option<PlacementWord>,

    /// Seed for every random choice
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    #[arg(allow_negative_numbers = true)]
    #[arg(help_heading = "Experiment", hide_short_help = true)]
    seed: u64,

    /// Measured time of every slice, such as `100ms` [default: by preset and test]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_s, help_heading = "Experiment")]
    #[arg(allow_hyphen_values = true)]
    #[arg(hide_short_help = true)]
    slice: Option<f64>,

    /// Measured time of every write slice [default: `--slice`, else by preset]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_s, help_heading = "Experiment")]
    #[arg(allow_hyphen_values = true)]
    #[arg(hide_short_help = true)]
    write_slice: Option<f64>,

    /// Measured part of every turn: systems take turns within a slice [default: `--slice`, else by measurement]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_s, help_heading = "Experiment")]
    #[arg(allow_hyphen_values = true)]
    #[arg(hide_short_help = true)]
    turn: Option<f64>,

    /// Maximum number of blocks, each with fresh instances of every system [default: by preset]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Experiment")]
    #[arg(value_parser = parse_number)]
    #[arg(hide_short_help = true)]
    blocks: Option<u32>,

    /// Maximum number of slices of each test per block and system [default: by preset]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Experiment")]
    #[arg(value_parser = parse_number)]
    #[arg(hide_short_help = true)]
    rounds: Option<u32>,
}

/// `assay run`.
#[derive(Debug, Args)]
pub(crate) struct RunFile {
    /// The study file, TOML; `-` reads it from stdin
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study_file: PathBuf,

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
    #[arg(long, value_parser = sets())]
    set: Option<TestSet>,

    /// Time limit of the study, such as `10m`, instead of the one in the file
    ///
    /// Fetching servers and loading data do not count; aging the data does. Tests that do not fit are not measured.
    #[arg(long, value_name = "TIME", value_parser = parse_budget_s, allow_hyphen_values = true)]
    budget: Option<f64>,
}

impl Instead {
    /// Whether anything is replaced.
    pub(crate) fn is_any(&self) -> bool {
        !self.tests.is_empty() || self.set.is_some() || self.budget.is_some()
    }

    /// The request with what was given in place of what it had.
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

/// The source of servers.
#[derive(Debug, Args)]
pub(crate) struct SourceArg {
    /// Use servers only from this source, such as `apt` or `maven`
    ///
    /// A source is `apt`, `maven`, `npm`, `pip`, `tarball`, or a vendor, such as `mysql.com`. [default: one source with
    /// all versions of a product, otherwise the best source for each]
    #[arg(long, value_name = "SOURCE")]
    #[arg(help_heading = SERVERS)]
    pub(crate) source: Option<String>,
}

/// The terms of servers.
#[derive(Debug, Args)]
pub(crate) struct TermsArg {
    /// Settings of all servers: equal ones, or those of the posts (`published`)
    ///
    /// `lean` are equal ones, `published` those of the published studies.
    #[arg(long, value_name = "TERMS", default_value = assay_terms::DEFAULT)]
    #[arg(value_parser = PossibleValuesParser::new(Terms::names()), hide_possible_values = true)]
    #[arg(help_heading = SERVERS)]
    pub(crate) terms: String,
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

/// `--style`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StyleWord {
    /// Verdicts with intervals and causes
    Assay,
    /// Relative QPS with the rounding, colours and charts of published posts, without intervals
    Published,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PresetWord {
    /// Checks that everything works: 10,000 rows, under a minute
    Smoke,
    /// A first honest answer: 100,000 rows, at most five minutes
    Quick,
    /// A release check: 8 tables of 1,000,000 rows, at most an hour
    Standard,
    /// The procedure of the published posts: 50,000,000 rows, one system after the other, each test once for 600 or
    /// 1800 s; takes days
    Published,
}

/// Reads a set of tests by its name.
fn sets() -> impl TypedValueParser<Value = TestSet> {
    let all = || TestSet::PUBLISHED.into_iter().chain([TestSet::All]);
    PossibleValuesParser::new(all().map(TestSet::word))
        .try_map(move |word| all().find(|set| set.word() == word).ok_or("no such set"))
}

/// `--suite`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SuiteWord {
    /// The published microbenchmarks
    Micro,
    /// The scripts of sysbench, over a sweep of client counts
    Oltp,
}

impl SuiteWord {
    fn suite(self) -> Suite {
        match self {
            Self::Micro => Suite::Micro,
            Self::Oltp => Suite::Oltp,
        }
    }
}

/// Client counts of one word: a number, or a range.
#[derive(Debug, Clone)]
struct Counts(Vec<u32>);

fn counts(text: &str) -> Result<Counts, assay_plan::Error> {
    assay_plan::parse_clients(text).map(Counts)
}

/// A time for each test, which assay does not have.
#[derive(Debug, Clone)]
enum NoTime {}

fn no_time(_: &str) -> Result<NoTime, &'static str> {
    Err(
        "a study has no time limit per test: limit the study with `--budget 10m`, or a slice with `--slice 100ms`",
    )
}

impl Compare {
    /// The words as the plan takes them.
    pub(crate) fn request(&self) -> Request {
        Request {
            threshold: Some(self.threshold),
            twin: (self.twin || self.no_twin).then_some(self.twin),
            oltp: self.oltp.options(),
            terms: self.terms.terms.clone(),
            offline: self.measuring.offline,
            accept_expired_index: self.measuring.accept_expired_index,
            ..request(&self.systems, &self.what, &self.how, &self.from)
        }
    }
}

/// The request that `compare` and `gate` have in common.
fn request(systems: &[String], what: &Selection, how: &Procedure, from: &SourceArg) -> Request {
    let clients = what.clients.as_ref();
    Request {
        systems: systems.iter().map(|words| SystemRequest::of(words)).collect(),
        source: from.source.clone(),
        terms: String::new(),
        offline: false,
        accept_expired_index: false,
        gate: None,
        preset: match what.preset {
            PresetWord::Smoke => Preset::Smoke,
            PresetWord::Quick => Preset::Quick,
            PresetWord::Standard => Preset::Standard,
            PresetWord::Published => Preset::Published,
        },
        insert_bench: None,
        workload: what.workload.clone(),
        suite: what.suite.suite(),
        oltp: OltpOptions::default(),
        set: what.set,
        tests: what.tests.clone(),
        setups: vec![SetupRequest {
            clients: clients.map(|all| all.iter().flat_map(|it| it.0.clone()).collect()),
            tables: what.tables,
            rows: what.rows,
        }],
        budget_s: what.budget,
        threshold: Some(assay_plan::THRESHOLD),
        twin: None,
        id_key: if how.secondary { IdKey::Secondary } else { IdKey::Primary },
        statements: how.db_ps_mode.mode(),
        placement: how.placement.map(PlacementWord::placement),
        seed: how.seed,
        check: how.check,
        profile: how.profile.map(ProfileWord::profiling).unwrap_or_default(),
        slice_s: how.slice,
        write_slice_s: how.write_slice,
        turn_s: how.turn,
        blocks: how.blocks,
        rounds: how.rounds,
    }
}

#[cfg(test)]
mod tests;
