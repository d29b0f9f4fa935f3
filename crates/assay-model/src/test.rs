//! A test as data: its name, what it does and what it sends. Other code works with definitions and does not know
//! particular tests.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::{Deserialize, Serialize, Serializer};

use crate::{IbenchStep, LuaScript, Script, Tpcc, UserData, words};

/// Whether a test changes data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Leaves the data as it was; slices are bounded by time.
    Read,
    /// Changes the data; slices are bounded by a number of events, so that all systems have the same history.
    Write,
}

/// The data that an instance must start from before a test may run.
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
    /// The published ones, the smallest first.
    pub const PUBLISHED: [Self; 4] = [Self::Set27, Self::Set32, Self::Set42, Self::Set47];

    /// Writes its name as study files and documents have it: that of a published set is a number.
    pub fn serialize_name<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.word().parse() {
            Ok(size) => to.serialize_u32(size),
            Err(_) => to.serialize_str(self.word()),
        }
    }
}

/// Tests that are summarised together, as in the published tables.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its position among the groups.
    pub rank: u32,
    /// The word used in every output format.
    pub word: String,
    /// Its title, for headings.
    pub title: String,
}

/// The unit in which the operations of a test are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Queries of all clients, by the wall clock.
    Query,
    /// Thousands of rows scanned by one client, by the latency of its events: `(rows / 1000) / mean event latency`, as
    /// published since 19 April 2025.
    ThousandRows,
    /// Rows that all clients inserted.
    InsertedRow,
    /// Rows that all tables had when their secondary indexes were created.
    IndexedRow,
}

/// The tables that a test works on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schema {
    /// sysbench's `sbtest1` to `sbtest<tables>`, each with the setup's rows.
    Sbtest,
    /// Those of a workload that a user wrote.
    #[serde(rename = "own")]
    User(UserData),
    /// Those of the Insert Benchmark, with what one of its steps does.
    #[serde(rename = "queue")]
    Ibench(IbenchStep),
    /// Those that a script of sysbench makes, which decides what its clients send.
    Lua(LuaScript),
    /// Those of a workload in the manner of TPC-C.
    Tpcc(Tpcc),
}

/// How a role's clients space their events.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// The next event starts as soon as the previous one ends.
    Closed,
    /// Events start at this rate per second, over all clients of the role, whatever their latency.
    Rate(f64),
}

/// Clients that do the same work. The roles of a test work at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The statements that each client sends.
    pub script: Script,
    /// Number of clients; `None` for the setup's clients.
    pub clients: Option<u32>,
    /// How events are spaced.
    pub pacing: Pacing,
}

/// Properties of a test's events that the planner needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanningFacts {
    /// Its slices are longer than those of other tests, because an event takes tens of milliseconds.
    pub is_long: bool,
    /// Rows that an event changes.
    pub rows_per_event: u32,
    /// Its events use up the rows that they change, so the number of events is limited.
    pub uses_up_rows: bool,
    /// A test of about the same speed, used if its own rate is not known beforehand.
    pub as_fast_as: Option<String>,
    /// Runs as long as a read when posts are reproduced, although it writes, as in the published harness.
    pub is_timed_as_published: bool,
    /// Runs once, unreported, before it is measured when posts are reproduced, so that its data is in memory.
    pub warms_itself: bool,
}

/// A test as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The published name: `scan`, `read-only_range=10`, `point-query.pre`.
    pub name: String,
    /// Its group, in sets that do not define another one.
    pub group: Group,
    /// Its groups, in sets that group it differently.
    pub groups: Vec<(TestSet, Group)>,
    /// One line on what an event does.
    pub does: String,
    /// Whether it changes data.
    pub class: Class,
    /// The data that it must start from.
    pub start_from: StartFrom,
    /// The unit of its operations.
    pub unit: Unit,
    /// The tables that it works on.
    pub schema: Schema,
    /// The roles that work at the same time. The first one is measured.
    pub roles: Vec<Role>,
    /// Properties that the planner needs.
    pub planning: PlanningFacts,
    /// Digest of what it sends: slices of tests with different digests are different work and are never mixed.
    pub digest: String,
}

impl Definition {
    /// The group in tables of the given set.
    #[must_use]
    pub fn group(&self, set: TestSet) -> &Group {
        let own = self.groups.iter().find(|(of, _)| *of == set);
        own.map_or(&self.group, |(_, group)| group)
    }
}

/// A test, identified by its name and its digest.
///
/// Tests are few, and slices, which name them, are many: each definition is kept once, for as long as the process runs.
#[derive(Clone, Copy)]
pub struct Test(&'static Definition);

type Known = BTreeMap<(String, String), Vec<Test>>;

impl Test {
    /// The test with that definition. Equal definitions are one test; a digest alone makes none, because a ledger from
    /// elsewhere may state any.
    #[must_use]
    pub fn of(definition: Definition) -> Self {
        static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
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

    /// Its name, which outlives everything.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// The group in tables of the given set.
    #[must_use]
    pub fn group(self, set: TestSet) -> &'static Group {
        self.0.group(set)
    }

    /// The tables of the user's workload that it belongs to; `None` for the other tests.
    #[must_use]
    pub fn user_data(self) -> Option<&'static UserData> {
        if let Schema::User(data) = &self.0.schema { Some(data) } else { None }
    }

    /// The name of the user's workload that it belongs to; `None` for the shipped tests.
    #[must_use]
    pub fn workload(self) -> Option<&'static str> {
        self.user_data().map(|own| own.name.as_str()).or(self.lua().map(|it| it.name.as_str()))
    }

    /// The script of sysbench that it is, if it is one.
    #[must_use]
    pub fn lua(self) -> Option<&'static LuaScript> {
        if let Schema::Lua(script) = &self.0.schema { Some(script) } else { None }
    }

    /// What it does, if it is a step of the Insert Benchmark.
    #[must_use]
    pub fn ibench(self) -> Option<&'static IbenchStep> {
        if let Schema::Ibench(step) = &self.0.schema { Some(step) } else { None }
    }

    /// What its transactions work on, if it is the workload in the manner of TPC-C.
    #[must_use]
    pub fn tpcc(self) -> Option<&'static Tpcc> {
        if let Schema::Tpcc(tpcc) = &self.0.schema { Some(tpcc) } else { None }
    }

    /// The definition, which outlives everything.
    #[must_use]
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
