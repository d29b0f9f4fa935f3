//! Requests: what a command or a study file asks for.
//!
//! An option is a field of [`Request`]: its name is the key in study files, and its type says how it is read
//! there.

use assay_model::{
    CpuPlacement, IdKey, OltpOptions, Preset, Profiling, StatementMode, Suite, Test, TestSet,
};
use assay_workloads::{oltp_tests, tests_of};
use serde::{Deserialize, Serialize, Serializer};

use crate::units::{duration_text, percent_text};

/// A study as a command or a study file asks for it; `None` where the preset decides.
///
/// The fields have the order in which a study file is written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default = "usual")]
pub struct Request {
    /// The systems, the base first.
    #[serde(skip)]
    pub systems: Vec<SystemRequest>,
    /// Tables, rows and client counts to measure on; at least one setup.
    #[serde(skip)]
    pub setups: Vec<SetupRequest>,
    /// The limits that the systems must keep within, if the study is a gate.
    #[serde(skip)]
    pub gate: Option<GateRequest>,
    /// The Insert Benchmark instead of the published tests.
    #[serde(skip)]
    pub insert_bench: Option<InsertBench>,
    /// The options of sysbench's scripts, if those are the suite.
    #[serde(skip)]
    pub oltp: OltpOptions,
    /// The amount of effort.
    pub preset: Preset,
    /// The file with the user's own workload, instead of the published tests.
    pub workload: Option<String>,
    /// The collection of tests.
    #[serde(skip_serializing_if = "is_default")]
    pub suite: Suite,
    /// The published selection of tests.
    #[serde(serialize_with = "TestSet::serialize_name")]
    pub set: TestSet,
    /// Patterns that narrow the selection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Time the study may take, seconds.
    #[serde(serialize_with = "duration", rename = "budget")]
    pub budget_s: Option<f64>,
    /// Smallest change of interest, a fraction.
    #[serde(serialize_with = "percent")]
    pub threshold: Option<f64>,
    /// Whether the base takes part twice.
    pub twin: Option<bool>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether answers of servers are checked.
    #[serde(skip_serializing_if = "is_default")]
    pub check: bool,
    /// The tests of which profiles are taken.
    #[serde(skip_serializing_if = "is_default")]
    pub profile: Profiling,
    /// The CPUs on which clients and servers run.
    pub placement: Option<CpuPlacement>,
    /// The way in which statements are sent.
    #[serde(skip_serializing_if = "is_default")]
    pub statements: StatementMode,
    /// The key of the column `id`.
    #[serde(skip_serializing_if = "is_default")]
    pub id_key: IdKey,
    /// Measured part of every slice, seconds, instead of the preset's.
    #[serde(serialize_with = "duration", rename = "slice")]
    pub slice_s: Option<f64>,
    /// Measured part of every slice of a write, seconds, instead of `slice_s` and the preset's.
    #[serde(serialize_with = "duration", rename = "write-slice")]
    pub write_slice_s: Option<f64>,
    /// Measured part of every turn, seconds, instead of the preset's.
    #[serde(serialize_with = "duration", rename = "turn")]
    pub turn_s: Option<f64>,
    /// Blocks, instead of the preset's.
    pub blocks: Option<u32>,
    /// Rounds of a cell in a block at most, instead of the preset's.
    pub rounds: Option<u32>,
    /// The name of the terms that servers are started on.
    #[serde(skip_serializing_if = "is_usual_terms")]
    pub terms: String,
    /// The only source that servers are taken from, such as `maven`; any by default.
    pub source: Option<String>,
    /// Whether only what is in the cache is used.
    #[serde(skip_serializing_if = "is_default")]
    pub offline: bool,
    /// Whether expired package indexes are accepted.
    #[serde(skip_serializing_if = "is_default")]
    pub accept_expired_index: bool,
}

/// Smallest change of interest, unless the user sets another.
pub const THRESHOLD: f64 = 0.02;

/// Seed, unless the user sets another.
const SEED: u64 = 1;

/// A request with all defaults and no systems yet.
pub(crate) fn usual() -> Request {
    Request {
        setups: vec![SetupRequest::default()],
        seed: SEED,
        terms: assay_terms::DEFAULT.to_owned(),
        ..Request::default()
    }
}

fn is_usual_terms(name: &String) -> bool {
    name == assay_terms::DEFAULT
}

fn duration<S: Serializer>(seconds: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    seconds.map(duration_text).serialize(to)
}

fn percent<S: Serializer>(fraction: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    fraction.map(percent_text).serialize(to)
}

fn one_or_more<S: Serializer>(counts: &Option<Vec<u32>>, to: S) -> Result<S::Ok, S::Error> {
    match counts.as_deref() {
        Some([count]) => count.serialize(to),
        counts => counts.serialize(to),
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Request {
    /// A request for these systems, with all defaults.
    #[must_use]
    pub fn of_systems(systems: &[String]) -> Self {
        Self { systems: systems.iter().map(|words| SystemRequest::of(words)).collect(), ..usual() }
    }

    /// The tests to select from, unless there is a workload file.
    #[must_use]
    pub fn shipped_tests(&self) -> Vec<Test> {
        match self.suite {
            Suite::Micro => tests_of(self.set),
            Suite::Oltp => oltp_tests(&self.oltp),
        }
    }
}

/// The Insert Benchmark as the user asked for it; `None` where the preset decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct InsertBench {
    /// Rows that each client inserts in l.i0, l.i1 and l.i2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<u32>,
    /// Clients. Each has its own table, unless they share one.
    pub clients: Option<u32>,
    /// Duration of each query step, seconds.
    pub query_seconds: Option<u32>,
    /// Whether servers get a cache that holds only a part of the tables.
    #[serde(skip_serializing_if = "is_default")]
    pub io_bound: bool,
    /// Whether all clients share one table. Nothing is deleted then.
    #[serde(skip_serializing_if = "is_default")]
    pub shared_table: bool,
    /// Secondary indexes of each table.
    pub indexes: Option<u32>,
    /// Whether they are created with the tables, and not after l.i0.
    #[serde(skip_serializing_if = "is_default")]
    pub indexes_first: bool,
    /// Range partitions of each table.
    pub partitions: Option<u32>,
    /// Rows of each partition.
    pub partition_rows: Option<u32>,
    /// How long another connection of each client keeps every one of its transactions open, seconds.
    pub open_transaction: Option<u32>,
    /// Whether Postgres does not prepare queries.
    #[serde(skip_serializing_if = "is_default")]
    pub unprepared: bool,
    /// How often all steps are carried out, each time on new instances.
    pub repeats: Option<u32>,
}

/// The limits of a gate as the user asked for them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GateRequest {
    /// The largest slowdown that passes where no limit applies, a fraction of the base's QPS.
    pub max_slowdown: f64,
    /// Limits of some tests, in order: a pattern for tests or the word of a group, and the largest slowdown. The last
    /// one that applies to a test counts.
    pub limits: Vec<(String, f64)>,
    /// Whether undecided tests let the gate pass.
    pub allow_undecided: bool,
}

/// A system as the user asked for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemRequest {
    /// The words, such as `mariadb@10.11/rocksdb+innodb_doublewrite=OFF`.
    pub words: String,
    /// Its name in reports, if that is not its words.
    pub name: Option<String>,
    /// The `my.cnf` or `postgresql.conf` to start from, relative to the study file, until
    /// [`SystemRequest::started_from`] has put its options here.
    pub config: Option<String>,
    /// Options of that file that this system leaves out.
    pub without: Vec<String>,
    /// Server options on top of those in `words`, in order.
    pub options: Vec<(String, String)>,
}

impl SystemRequest {
    /// A system that is called by its words.
    #[must_use]
    pub fn of(words: &str) -> Self {
        Self { words: words.to_owned(), ..Self::default() }
    }
}

/// Tables, rows and client counts as the user asked for them: one setup for each client count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SetupRequest {
    /// Client counts.
    #[serde(serialize_with = "one_or_more")]
    pub clients: Option<Vec<u32>>,
    /// Tables.
    pub tables: Option<u32>,
    /// Rows per table.
    pub rows: Option<u32>,
}
