//! The Insert Benchmark: tables that clients use as queues, and the steps in which they do so.

use serde::{Deserialize, Serialize};

/// The tables `pi1`, `pi2`, ... of the Insert Benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IbenchTables {
    /// Whether all clients share one table, instead of each having its own.
    pub is_shared: bool,
    /// Number of secondary indexes, 0 to 3.
    pub indexes: u32,
    /// How the tables are partitioned; `None` if they are not.
    pub partitions: Option<Partitions>,
    /// Whether servers get a cache that holds only a part of the tables.
    pub exceed_cache: bool,
}

/// Range partitions on the primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    /// Number of partitions, at least 2.
    pub count: u32,
    /// Keys in each of them. The last one has no end.
    pub rows: u64,
}

/// A step of the Insert Benchmark: the tables and what every client does with its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IbenchStep {
    /// The tables.
    pub tables: IbenchTables,
    /// What is done before the inserts.
    pub before: Preparation,
    /// Rows that each client inserts, rounded up to whole statements.
    pub rows: u64,
    /// Rows of each statement. A statement is a transaction.
    pub rows_per_commit: u32,
    /// Whether as many of the oldest rows are deleted.
    pub deletes: bool,
    /// Rows that each client inserts in a second; `None` if it inserts as fast as it can.
    pub per_second: Option<u32>,
    /// The queries that run meanwhile.
    pub queries: Option<IbenchQueries>,
    /// Whether the secondary indexes are created after the inserts.
    pub builds_indexes: bool,
    /// How long another connection of each client keeps every one of its transactions open, seconds; `None` if there
    /// is none. An open transaction holds back purge and vacuum.
    pub transaction_s: Option<u32>,
}

/// What a step does before its inserts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preparation {
    /// It creates the tables, without secondary indexes.
    Create,
    /// It creates the tables with their secondary indexes.
    CreateIndexed,
    /// The servers write back what the steps before left behind, and collect statistics.
    Maintain {
        /// The shortest time, seconds.
        least_s: u32,
    },
    /// Nothing.
    Nothing,
}

/// The queries that run while rows are inserted and deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IbenchQueries {
    /// Their kind.
    pub kind: IbenchQuery,
    /// Whether Postgres prepares them (`PREPARE` and `EXECUTE` as text). MySQL and MariaDB get text in any case.
    pub is_prepared: bool,
}

/// A kind of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IbenchQuery {
    /// Ten rows of a secondary index, in its order, from a random value on.
    Range,
    /// Ten random rows by primary key.
    Point,
}

/// What the clients of a step did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepWork {
    /// Statements that insert.
    pub insert: Statements,
    /// Statements that delete.
    pub delete: Statements,
    /// Queries.
    pub query: Statements,
    /// Queries for the lowest key, which deletes begin at.
    pub lowest: LowestQueries,
    /// Time to create the secondary indexes of the table that took longest, nanoseconds; `None` if none were created.
    pub indexes_ns: Option<u64>,
    /// Standard error of the step's rate within the step, as a fraction of the rate; `None` for a short step. It says
    /// nothing of how other instances would differ.
    pub relative_error: Option<f64>,
    /// Where the background rate was lost; `None` if it was kept, or there is none.
    pub broke: Option<Broke>,
}

/// The part of its background rate that a step must keep.
pub const SLA: f64 = 0.95;

/// Where a step fell behind its background rate for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broke {
    /// The second, from 1.
    pub second: u32,
    /// The longest response time of an insert in that second, microseconds.
    pub insert_us: u64,
    /// The longest response time of a delete in that second, microseconds.
    pub delete_us: u64,
}

/// Statements of one kind, of all clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statements {
    /// Statements that succeeded.
    pub statements: u64,
    /// Rows that they inserted, deleted or returned, as the server counts them.
    pub rows: u64,
    /// Errors after which a statement was sent again.
    pub retries: u64,
    /// Statements by response time, each with its retries: up to each of [`RESPONSE_BOUNDS_US`], and longer.
    pub buckets: [u64; RESPONSE_BOUNDS_US.len() + 1],
    /// The longest response time, nanoseconds.
    pub longest_ns: u64,
}

/// Inclusive upper bounds of the published response-time table, microseconds.
pub const RESPONSE_BOUNDS_US: [u64; 9] =
    [256, 1000, 4000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000];

/// The queries for the lowest key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LowestQueries {
    /// How many.
    pub count: u64,
    /// Their response times together, nanoseconds.
    pub ns: u64,
    /// The longest of them, nanoseconds.
    pub longest_ns: u64,
}

impl Statements {
    /// Counts a statement with its response time.
    pub fn count(&mut self, response_ns: u64, rows: u64) {
        self.statements += 1;
        self.rows += rows;
        self.longest_ns = self.longest_ns.max(response_ns);
        let above = |bound: &u64| response_ns > bound * 1000;
        let bucket = RESPONSE_BOUNDS_US.iter().take_while(|bound| above(bound)).count();
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
    }

    /// Adds the statements of another client.
    pub fn add(&mut self, other: &Self) {
        self.statements += other.statements;
        self.rows += other.rows;
        self.retries += other.retries;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        for (count, more) in self.buckets.iter_mut().zip(other.buckets) {
            *count += more;
        }
    }
}

impl IbenchStep {
    /// Statements that insert the rows of a client.
    #[must_use]
    pub fn statements(&self) -> u64 {
        self.rows.div_ceil(self.rows_per_statement().into())
    }

    /// Rows of each statement. A slow background rate makes them shorter.
    #[must_use]
    pub fn rows_per_statement(&self) -> u32 {
        self.per_second.map_or(self.rows_per_commit, |most| self.rows_per_commit.min(most)).max(1)
    }

    /// Statements that are due in each second; `None` if there is no rate.
    #[must_use]
    pub fn statements_per_second(&self) -> Option<u64> {
        Some(u64::from(self.per_second?.div_ceil(self.rows_per_statement())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_times_are_counted_up_to_and_including_a_bound() {
        let mut counted = Statements::default();
        for us in [0, 256, 257, 16_000_000, 16_000_001] {
            counted.count(us * 1000, 10);
        }
        assert_eq!(counted.buckets, [2, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!((counted.statements, counted.rows), (5, 50));
        assert_eq!(counted.longest_ns, 16_000_001_000);
        let mut both = counted.clone();
        both.add(&counted);
        assert_eq!((both.statements, both.buckets[0]), (10, 4));
    }
}
