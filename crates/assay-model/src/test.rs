//! A test as data: its name, its work and its statements. Other code handles definitions and knows no particular tests.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::{Deserialize, Serialize, Serializer};

use crate::workload::{Sbtest, WorkloadFacts};
use crate::{IbenchStep, LuaScript, Renewal, Script, Tpcc, UserData, words};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Leaves the data unchanged; slices are bounded by time.
    Read,
    /// Changes the data; slices are bounded by a number of events, so that all systems have the same history.
    Write,
}

/// Required state of the data before a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartFrom {
    /// Loaded and maintained, nothing written since: `.pre` tests and the eight writes that come first.
    Fresh,
    /// After a fixed number of events of those eight writes, then maintained: the reads after, `delete`, `insert`.
    Aged,
}

words! {
    /// A published selection of tests.
    pub enum TestSet (default: Set32) {
        /// March 2025, without `.pre` and without read-only-{simple,sum,order,distinct,count}.
        Set27 = "27",
        /// Since April 2025, without `.pre`.
        Set32 = "32",
        /// April 2024 to March 2025, with 15 `.pre`.
        Set42 = "42",
        /// Those of all published sets.
        Set47 = "47",
        /// Every microbenchmark, also those that no published set has.
        All = "all",
    }
}

impl TestSet {
    pub const PUBLISHED: [Self; 4] = [Self::Set27, Self::Set32, Self::Set42, Self::Set47];

    /// Serializes its name as in study files and documents: a published set's is a number.
    pub fn serialize_name<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.word().parse() {
            Ok(size) => to.serialize_u32(size),
            Err(_) => to.serialize_str(self.word()),
        }
    }
}

/// Tests summarised together, as in the published tables.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub rank: u32,
    pub word: String,
    pub title: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Queries of all clients, by wall clock.
    Query,
    /// Thousands of rows scanned by one client, by event latency: `(rows / 1000) / mean event latency`, as published
    /// since 19 April 2025.
    ThousandRows,
    InsertedRow,
    /// Rows of all tables when their secondary indexes were created.
    IndexedRow,
}

/// A kind of work: its tables and clients. Every kind is also in `definition_of` (`assay-workloads`) and `workload_of`
/// (`assay-load`), and no other code names one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schema {
    /// sysbench's `sbtest1` to `sbtest<tables>`, each with the setup's rows.
    #[default]
    Sbtest,
    #[serde(rename = "own")]
    User(UserData),
    /// Tables of the Insert Benchmark, with the work of one of its steps.
    #[serde(rename = "queue")]
    Ibench(IbenchStep),
    /// Tables created by a sysbench script, which also determines what its clients send.
    Lua(LuaScript),
    Tpcc(Tpcc),
}

impl Schema {
    pub fn facts(&self) -> &dyn WorkloadFacts {
        match self {
            Self::Sbtest => &Sbtest,
            Self::User(data) => data,
            Self::Ibench(step) => step,
            Self::Lua(script) => script,
            Self::Tpcc(tpcc) => tpcc,
        }
    }

    /// The work of tests that share their tables, given one of them. Without tests these are sysbench's.
    pub fn for_tests(test: Option<Test>) -> &'static Self {
        test.map_or(&Self::Sbtest, |test| &test.0.schema)
    }
}

impl From<UserData> for Schema {
    fn from(data: UserData) -> Self {
        Self::User(data)
    }
}

impl From<IbenchStep> for Schema {
    fn from(step: IbenchStep) -> Self {
        Self::Ibench(step)
    }
}

impl From<LuaScript> for Schema {
    fn from(script: LuaScript) -> Self {
        Self::Lua(script)
    }
}

impl From<Tpcc> for Schema {
    fn from(tpcc: Tpcc) -> Self {
        Self::Tpcc(tpcc)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    Closed,
    /// Events start at this rate per second over all clients of the role, whatever their latency.
    Rate(f64),
}

/// Clients with the same work. Roles of a test work concurrently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    pub script: Script,
    /// `None` for the setup's clients.
    pub clients: Option<u32>,
    pub pacing: Pacing,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanningFacts {
    /// Needs longer slices because an event takes tens of milliseconds.
    pub is_long: bool,
    pub rows_per_event: u32,
    /// Events consume the rows they change, so the number of events is limited.
    pub uses_up_rows: bool,
    /// A test of similar speed, used if its own rate is unknown.
    pub as_fast_as: Option<String>,
    /// Runs as long as a read when posts are reproduced, although it writes, as in the published harness.
    pub is_timed_as_published: bool,
    /// Runs once unreported before measurement when posts are reproduced, to bring its data into memory.
    pub warms_itself: bool,
    /// The tail of its latencies is judged too: an event is what a user of an application waits for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub judges_tail: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Published name: `scan`, `read-only_range=10`, `point-query.pre`.
    pub name: String,
    pub group: Group,
    pub groups: Vec<(TestSet, Group)>,
    pub does: String,
    pub class: Class,
    pub start_from: StartFrom,
    pub unit: Unit,
    pub schema: Schema,
    /// Concurrent roles, the first of which is measured.
    pub roles: Vec<Role>,
    pub planning: PlanningFacts,
    /// Digest of its work: slices of tests with different digests are never mixed.
    pub digest: String,
}

impl Definition {
    pub fn group(&self, set: TestSet) -> &Group {
        let own = self.groups.iter().find(|(own, _)| *own == set);
        own.map_or(&self.group, |(_, group)| group)
    }

    /// Whether its events open connections, whose threads and processes are unknown beforehand.
    pub fn opens_connections(&self) -> bool {
        let mut steps = self.roles.iter().flat_map(|role| &role.script.steps);
        steps.any(|step| step.renews == Some(Renewal::Connection))
    }
}

/// A test, identified by name and digest. Tests are few and slices, which refer to them, many: each definition is kept
/// once for the life of the process.
#[derive(Clone, Copy)]
pub struct Test(&'static Definition);

type KnownTests = BTreeMap<(String, String), Vec<Test>>;

impl Test {
    /// Interns a definition. Equality of digests is not enough, because a foreign ledger may state any digest.
    pub fn intern(definition: Definition) -> Self {
        static KNOWN: LazyLock<Mutex<KnownTests>> = LazyLock::new(Mutex::default);
        let key = (definition.name.clone(), definition.digest.clone());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let alike = known.entry(key).or_default();
        if let Some(test) = alike.iter().find(|test| *test.0 == definition) {
            return *test;
        }
        let test = Self(Box::leak(Box::new(definition)));
        alike.push(test);
        test
    }

    pub fn name(self) -> &'static str {
        &self.0.name
    }

    pub fn group(self, set: TestSet) -> &'static Group {
        self.0.group(set)
    }

    /// Tables of its user workload; `None` for other tests.
    pub fn user_data(self) -> Option<&'static UserData> {
        if let Schema::User(data) = &self.0.schema { Some(data) } else { None }
    }

    /// Name of its user workload; `None` for shipped tests.
    pub fn workload(self) -> Option<&'static str> {
        self.0.schema.facts().name()
    }

    /// Its sysbench script, if it is one.
    pub fn lua(self) -> Option<&'static LuaScript> {
        if let Schema::Lua(script) = &self.0.schema { Some(script) } else { None }
    }

    /// Its work as a step of the Insert Benchmark, if it is one.
    pub fn ibench(self) -> Option<&'static IbenchStep> {
        if let Schema::Ibench(step) = &self.0.schema { Some(step) } else { None }
    }

    /// Its TPC-C-like workload, if it is one.
    pub fn tpcc(self) -> Option<&'static Tpcc> {
        if let Schema::Tpcc(tpcc) = &self.0.schema { Some(tpcc) } else { None }
    }

    pub fn definition(self) -> &'static Definition {
        self.0
    }

    fn key(&self) -> (&str, &str) {
        (&self.0.name, &self.0.digest)
    }
}

impl Deref for Test {
    type Target = Definition;

    fn deref(&self) -> &Definition {
        self.0
    }
}

impl PartialEq for Test {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Test {}

impl Hash for Test {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl PartialOrd for Test {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Test {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.name, self.0.digest)
    }
}

impl Serialize for Test {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.name)
    }
}
