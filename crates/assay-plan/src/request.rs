//! Requests from commands and study files.
//!
//! An option is a field: its doc comment is the help of the option and its row in the command-line reference, its
//! parser reads both the option and the key of the same name in study files, and its position determines the order in
//! both. A hidden one is a key alone: in a command, `--key` gives it (`assay-command/src/keys.rs`).

use assay_model::limits::ibench::{INDEXES, PARTITIONS, QUERY_S, SEGMENTS, TRANSACTION_S};
use assay_model::limits::user::SCALE;
use assay_model::{
    COUNT_THRESHOLD, Counting, CpuLists, CpuPlacement, JudgedFigures, Preset, Priority, Profiling,
    ScaledSizes, StatementMode, Suite, TestSet, Words as _, read_cpus,
};
use assay_options::{
    client_counts, count, cpu_list, one_of, parse_budget_s, parse_duration_s, parse_percent,
    switch, whole, whole_seconds, word,
};
use assay_workloads::{OltpOptions, TpccOptions};
use clap::builder::TypedValueParser;
use clap::{ArgAction, Args};
use serde::{Deserialize, Serialize};

use crate::common_option::common_option;
use crate::limits::{BLOCKS, CLIENTS, ROUNDS, ROWS, TABLES};
use crate::system_name::name_of;
use crate::url::parse_url;
use crate::workload::{ScriptOptions, script_variable};

/// Id of the option of a longer look, whose word belongs to a wing.
pub const LONGER_LOOK: &str = "soak_s";

const WORKLOAD: &str = "Workload";
const EXPERIMENT: &str = "Experiment";
const SERVERS: &str = "Servers";
const TABLES_OF_BENCH: &str = "Tables";

/// A study as a command or a study file asks for it; `None` where the preset decides.
///
/// The fields have the order in which a study file is written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default = "usual")]
pub struct Request {
    /// The systems, the base first.
    #[serde(skip)]
    #[arg(skip)]
    pub systems: Vec<SystemRequest>,

    /// Tables, rows and client counts to measure on; at least one setup.
    #[serde(skip)]
    #[arg(skip)]
    pub setups: Vec<SetupRequest>,

    /// The limits that the systems must keep within, if the study has limits.
    #[serde(skip)]
    #[arg(skip)]
    pub limits: Option<LimitsRequest>,

    /// The Insert Benchmark instead of the published tests.
    #[serde(skip)]
    #[arg(skip)]
    pub insert_bench: Option<InsertBenchRequest>,

    /// The options of sysbench's scripts, if those are the suite.
    #[serde(skip)]
    #[arg(skip)]
    pub oltp: OltpOptions,

    /// The options of the workload in the manner of TPC-C, if that is the suite.
    #[serde(skip)]
    #[arg(skip)]
    pub tpcc: TpccOptions,

    /// Level of effort
    #[arg(long, value_parser = word::<Preset>(), default_value = Preset::default().word())]
    pub preset: Preset,

    /// Measure your own tables and tests, or a script of sysbench or pgbench
    ///
    /// It is a workload file, a Lua script of sysbench, or scripts of pgbench. The latter may have weights, such as
    /// `a.sql@3,b.sql`; `tpcb-like`, `simple-update` and `select-only` are those that come with it.
    #[arg(long, value_name = "FILE", value_delimiter = ',', help_heading = WORKLOAD)]
    #[arg(conflicts_with_all = ["suite", "set", "tables", "rows", "check"])]
    pub workload: Vec<String>,

    /// Scale factor of the tables of pgbench scripts.
    #[arg(long, hide = true, value_parser = whole(SCALE))]
    pub scale: Option<u32>,

    /// Variables of pgbench scripts.
    #[arg(long, hide = true, value_parser = script_variable)]
    pub define: Vec<String>,

    /// Options of the Lua script or the pgbench scripts, such as `--tables=4`.
    #[arg(skip)]
    pub script_options: Vec<String>,

    /// Whether the Lua script may use files outside of its directory and run programs.
    #[arg(long, hide = true)]
    pub allow_script_io: bool,

    /// Collection of tests
    #[arg(long, value_parser = word::<Suite>(), default_value = Suite::default().word())]
    #[arg(help_heading = WORKLOAD, hide_short_help = true)]
    pub suite: Suite,

    /// Published selection of microbenchmarks, or every one (`all`)
    #[arg(long, value_parser = word::<TestSet>(), default_value = TestSet::default().word())]
    #[arg(help_heading = WORKLOAD, hide_short_help = true)]
    pub set: TestSet,

    /// Run only the tests whose names match
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',')]
    pub tests: Vec<String>,

    /// Time limit of the study, such as `10m` [default: by preset]
    ///
    /// Fetching servers and preparing data do not count, except for servers that already run. Tests that do not fit are
    /// not measured.
    #[arg(long = "budget", value_name = "TIME", value_parser = parse_budget_s, allow_hyphen_values = true)]
    #[serde(rename = "budget")]
    pub budget_s: Option<f64>,

    /// Smallest change of practical interest [default: 2%, of counts 0.5%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, allow_hyphen_values = true)]
    pub threshold: Option<f64>,

    /// Figures that decide the answer, a gate, and when the study has measured enough
    ///
    /// CPU time per operation hardly depends on other programs of the machine, but it does not include waits.
    #[arg(long, value_parser = word::<JudgedFigures>(), default_value = JudgedFigures::default().word())]
    #[arg(help_heading = EXPERIMENT, hide_short_help = true)]
    pub judge: JudgedFigures,

    /// Measure the base twice: a change between the copies is a false alarm
    #[arg(long, action = ArgAction::SetTrue, value_parser = switch(Some(true), None))]
    pub twin: std::option::Option<bool>,

    /// Seed for every random choice
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX), default_value_t = SEED)]
    #[arg(allow_negative_numbers = true, help_heading = EXPERIMENT, hide_short_help = true)]
    pub seed: u64,

    /// Check on every fresh instance that the tables hold the loaded rows and that all systems return correct answers
    /// to ten events of each test that reads
    #[arg(long, help_heading = WORKLOAD, hide_short_help = true)]
    pub check: bool,

    /// Sample where the servers spend their CPU time, and what they wait for
    ///
    /// This follows the study, in tests that changed or in all of them (`--profile=all`).
    #[arg(long, value_name = "TESTS", value_parser = word::<Profiling>(), hide_default_value = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_value = Profiling::default().word())]
    #[arg(default_missing_value = Profiling::Changed.word())]
    pub profile: Profiling,

    /// Count the instructions that operations take, after the study
    ///
    /// Counts do not depend on how busy the machine is. Where the processor cannot count, servers run under valgrind.
    #[arg(long, value_name = "WHEN", value_parser = word::<Counting>(), hide_default_value = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_value = Counting::default().word())]
    #[arg(default_missing_value = Counting::After.word(), hide_possible_values = true)]
    pub count: Counting,

    /// After the study, run the tests that changed for this long on each system, such as `10m`
    ///
    /// Systems take long turns, so that decay and stalls show. This time is no part of `--budget`.
    #[arg(long = "soak", value_name = "TIME", value_parser = parse_budget_s, allow_hyphen_values = true)]
    #[arg(hide_short_help = true)]
    #[serde(rename = "soak")]
    pub soak_s: Option<f64>,

    /// How clients and servers are pinned to CPUs [default: by test and clients]
    #[arg(long, value_parser = word::<CpuPlacement>())]
    #[arg(help_heading = EXPERIMENT, hide_short_help = true)]
    pub placement: Option<CpuPlacement>,

    /// CPUs of the servers, such as `0-11` [default: all, or by `--placement`]
    ///
    /// All threads of a server stay on them from its start, and nothing is pinned to single CPUs. If the machine has
    /// several NUMA nodes, the memory of servers is bound to those of these CPUs.
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    #[arg(help_heading = EXPERIMENT, hide_short_help = true)]
    pub server_cpus: Option<String>,

    /// CPUs of the clients, such as `12-15` [default: all, or by `--placement`]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    #[arg(help_heading = EXPERIMENT, hide_short_help = true)]
    pub client_cpus: Option<String>,

    /// Priority of clients and servers while they are measured [default: realtime where it is permitted]
    ///
    /// Realtime makes other processes wait, which keep one CPU. Where clients need every CPU, priority is normal.
    #[arg(long, value_parser = word::<Priority>())]
    #[arg(help_heading = EXPERIMENT, hide_short_help = true)]
    pub priority: Option<Priority>,

    /// Whether statements are prepared on the server (`auto`), sent as text (`disable`), or parsed and planned each
    /// time with the values apart (`extended`, Postgres only); pgbench's words `prepared` and `simple` work too
    #[arg(long = "db-ps-mode", visible_alias = "protocol", short = 'M', value_name = "MODE")]
    #[arg(value_parser = ps_mode(), default_value = "auto")]
    #[arg(help_heading = WORKLOAD, hide_short_help = true)]
    pub statements: StatementMode,

    /// Measured time of every slice.
    #[arg(long = "slice", value_name = "TIME", value_parser = parse_duration_s, hide = true)]
    #[serde(rename = "slice")]
    pub slice_s: Option<f64>,

    /// Measured time of every write slice.
    #[arg(long = "write-slice", value_name = "TIME", value_parser = parse_duration_s, hide = true)]
    #[serde(rename = "write-slice")]
    pub write_slice_s: Option<f64>,

    /// Measured part of every turn: systems take turns within a round.
    #[arg(long = "turn", value_name = "TIME", value_parser = parse_duration_s, hide = true)]
    #[serde(rename = "turn")]
    pub turn_s: Option<f64>,

    /// Maximum number of blocks, each with fresh instances of every system.
    #[arg(long, hide = true, value_parser = whole(BLOCKS))]
    pub blocks: Option<u32>,

    /// Maximum number of slices of each test per block and system.
    #[arg(long, hide = true, value_parser = whole(ROUNDS))]
    pub rounds: Option<u32>,

    /// Start all servers from your own `my.cnf` or `postgresql.conf`
    ///
    /// Where products differ: `mysql=my.cnf,postgres=postgresql.conf`. What sets a server's place or identity is left
    /// out, and so is what a version does not know; both are listed.
    #[arg(long, value_name = "FILE", value_delimiter = ',', help_heading = SERVERS)]
    pub config: Vec<String>,

    /// Divide the sizes of `--config` by one number, so that the servers fit into the memory of this machine, or into a
    /// share of it
    #[arg(long, value_name = "PERCENT", value_parser = parse_share, hide_short_help = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "100%")]
    #[arg(help_heading = SERVERS)]
    pub scale_memory: Option<f64>,

    /// Options of config files for all systems of a product, such as `mysql: innodb_io_capacity=300`.
    #[arg(long, hide = true, value_parser = common_option)]
    pub config_options: Vec<String>,

    /// The scaled sizes of config files, until the study begins.
    #[serde(skip)]
    #[arg(skip)]
    pub scaled: Option<ScaledSizes>,

    /// The name of the terms that servers are started on.
    #[arg(skip)]
    pub terms: String,

    /// The only source that servers are taken from, such as `maven`; any by default.
    #[arg(skip)]
    pub source: Option<String>,

    /// Whether only what is in the cache is used.
    #[arg(skip)]
    pub offline: bool,

    /// Whether expired package indexes are accepted.
    #[arg(skip)]
    pub accept_expired_index: bool,
}

pub fn ps_mode() -> impl TypedValueParser<Value = StatementMode> {
    one_of(StatementMode::WORDS.iter().map(|&(mode, _, about)| {
        let (word, aliases): (_, &[&str]) = match mode {
            StatementMode::Prepared => ("auto", &["prepared", "named"]),
            StatementMode::Text => ("disable", &["text", "simple"]),
            StatementMode::Extended => ("extended", &["unnamed", "parsed"]),
        };
        (mode, word, aliases, about)
    }))
}

pub const THRESHOLD: f64 = 0.02;

pub(crate) fn usual_threshold(count: Counting) -> f64 {
    if count == Counting::Only { COUNT_THRESHOLD } else { THRESHOLD }
}

const SEED: u64 = 1;

/// The terms of a request that names none. Preset published repeats posts, so its servers have the posts' settings.
pub fn usual_terms(preset: Preset) -> &'static str {
    match preset {
        Preset::Published => "published",
        Preset::Smoke | Preset::Quick | Preset::Standard => assay_terms::DEFAULT,
    }
}

/// What need not be said in a request with this preset.
pub(crate) fn usual_of(preset: Preset) -> Request {
    Request { terms: usual_terms(preset).to_owned(), ..usual() }
}

pub(crate) fn usual() -> Request {
    Request {
        setups: vec![SetupRequest::default()],
        seed: SEED,
        terms: assay_terms::DEFAULT.to_owned(),
        ..Request::default()
    }
}

/// A share of the whole, which may be all of it.
pub fn parse_share(text: &str) -> Result<f64, assay_options::OptionError> {
    if text.trim() == "100%" { Ok(1.0) } else { parse_percent(text) }
}

impl Request {
    pub fn of_systems(systems: &[String]) -> Self {
        let systems = systems.iter().map(|words| SystemRequest::parse(words)).collect();
        Self { systems, ..usual() }
    }

    /// Whether assay only connects to one of its systems, which runs already.
    pub(crate) fn has_running_servers(&self) -> bool {
        self.systems.iter().any(|system| parse_url(&system.words).is_ok())
    }

    /// Without profiles and longer looks.
    pub fn without_looks(self) -> Self {
        Self { profile: Profiling::None, soak_s: None, ..self }
    }

    pub fn cpu_lists(&self) -> CpuLists {
        let read = |list: &Option<String>| list.as_deref().and_then(read_cpus).unwrap_or_default();
        CpuLists { servers: read(&self.server_cpus), clients: read(&self.client_cpus) }
    }

    pub fn script_options(&self) -> ScriptOptions {
        ScriptOptions { scale: self.scale, define: self.define.clone() }
    }
}

/// The Insert Benchmark as the user asked for it; `None` where the preset decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[group(skip)]
pub struct InsertBenchRequest {
    /// Rows that each client inserts in l.i0, l.i1 and l.i2, such as `10M,4M,400k` [default: by preset]
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', allow_negative_numbers = true)]
    #[arg(value_parser = count(ROWS))]
    pub rows: Vec<u32>,

    /// Number of clients, each with a table of its own [default: 1]
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = whole(CLIENTS))]
    #[arg(allow_negative_numbers = true)]
    pub clients: Option<u32>,

    /// Duration of each query step, seconds [default: by preset]
    #[arg(long, value_name = "S", value_parser = whole_seconds(QUERY_S), allow_hyphen_values = true)]
    pub query_seconds: Option<u32>,

    /// Use tables that are larger than the servers' cache
    #[arg(long)]
    pub io_bound: bool,

    /// Let all clients share one table; nothing is deleted then
    #[arg(long, help_heading = TABLES_OF_BENCH, hide_short_help = true)]
    pub shared_table: bool,

    /// Number of secondary indexes, 0 to 3 [default: 3]
    #[arg(long, value_name = "N", value_parser = whole(INDEXES), allow_negative_numbers = true)]
    #[arg(help_heading = TABLES_OF_BENCH, hide_short_help = true)]
    pub indexes: Option<u32>,

    /// Create the secondary indexes with the tables, not after l.i0
    #[arg(long, help_heading = TABLES_OF_BENCH, hide_short_help = true)]
    pub indexes_first: bool,

    /// Number of range partitions of each table [default: none]
    #[arg(long, value_name = "N", value_parser = whole(PARTITIONS), allow_negative_numbers = true)]
    #[arg(help_heading = TABLES_OF_BENCH, hide_short_help = true)]
    pub partitions: Option<u32>,

    /// Rows of each partition [default: all rows that are ever inserted, divided evenly]
    #[arg(long, value_name = "N", value_parser = count(1..=*ROWS.end()), allow_negative_numbers = true)]
    #[arg(help_heading = TABLES_OF_BENCH, hide_short_help = true)]
    pub partition_rows: Option<u32>,

    /// Run transactions on another connection of each client, and keep each of them open for this time
    #[arg(long, value_name = "TIME", value_parser = whole_seconds(TRANSACTION_S))]
    #[arg(allow_hyphen_values = true, hide_short_help = true)]
    pub open_transaction: Option<u32>,

    /// Send queries to Postgres as text instead of preparing them
    #[arg(long, hide_short_help = true)]
    pub unprepared: bool,

    /// How often to carry out all steps, each time on fresh instances [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(BLOCKS), allow_negative_numbers = true)]
    pub repeats: Option<u32>,

    /// Least number of parts of a step, by which systems take turns; 1 for whole steps [default: 20]
    #[arg(long, value_name = "N", value_parser = whole(SEGMENTS), allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub segments: Option<u32>,
}

/// Limits as the user asked for them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsRequest {
    /// Largest regression that passes where no limit applies: a share of the base's QPS, or of its CPU time or
    /// instructions per operation if those are judged.
    pub most: f64,
    /// Limits of some tests: a pattern for tests or the word of a group, with the largest regression. The last one that
    /// applies to a test counts.
    pub limits: Vec<(String, f64)>,
    pub allow_undecided: bool,
}

/// A system as the user asked for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SystemRequest {
    /// Specification, such as `mariadb@10.11/rocksdb+innodb_doublewrite=OFF`.
    pub words: String,
    /// Name in reports, if different from `words`.
    pub name: Option<String>,
    /// The `my.cnf` or `postgresql.conf` to start from, relative to the study file, until
    /// [`SystemRequest::started_from`] puts its options here.
    pub config: Option<String>,
    pub without: Vec<String>,
    /// Server options in addition to those in `words`, in order.
    pub options: Vec<(String, String)>,
    pub of_file: Vec<String>,
}

impl SystemRequest {
    /// From a specification, or `NAME=` and a specification.
    pub fn parse(words: &str) -> Self {
        let (name, words) = match name_of(words) {
            Some((name, words)) => (Some(name.to_owned()), words),
            None => (None, words),
        };
        Self { words: words.to_owned(), name, ..Self::default() }
    }
}

/// Tables, rows and client counts as the user asked for them: one setup for each client count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Args)]
#[serde(deny_unknown_fields, default)]
pub struct SetupRequest {
    /// Number of concurrent clients, or several, such as `1,4,16`
    ///
    /// Each of several counts is a setup of its own.
    #[arg(long, visible_alias = "threads", value_name = "N,N-N,...", value_parser = client_counts)]
    #[arg(allow_negative_numbers = true)]
    pub clients: Option<std::vec::Vec<u32>>,

    /// Number of tables [default: by preset]
    #[arg(long, value_name = "N", value_parser = count(TABLES), allow_negative_numbers = true)]
    #[arg(help_heading = WORKLOAD, hide_short_help = true)]
    pub tables: Option<u32>,

    /// Rows in each table, such as `1M` [default: by preset]
    #[arg(long, visible_alias = "table-size", value_name = "N", value_parser = count(ROWS))]
    #[arg(allow_negative_numbers = true, help_heading = WORKLOAD)]
    pub rows: Option<u32>,
}
