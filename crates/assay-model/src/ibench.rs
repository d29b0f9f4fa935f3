//! The Insert Benchmark: tables that clients use as queues, and its steps.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::limits::ibench::{
    INDEXES, PARTITIONS, PER_SECOND, ROWS, ROWS_PER_COMMIT, SEGMENTS, TRANSACTION_S,
};
use crate::limits::{COUNT_MAX, COUNTER_MAX, within};
use crate::workload::{SEND_PACK, WorkloadFacts};

/// The tables `pi1`, `pi2`, ... of the Insert Benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IbenchTables {
    pub is_shared: bool,
    pub indexes: u32,
    pub partitions: Option<Partitions>,
    /// Whether the server cache holds only a part of the tables.
    pub exceed_cache: bool,
}

/// Range partitions on the primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    pub count: u32,
    /// Keys per partition. The last one is open-ended.
    pub rows: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IbenchStep {
    pub tables: IbenchTables,
    pub before: Preparation,
    /// Rows inserted per client, rounded up to whole statements.
    pub rows: u64,
    /// Rows per statement. A statement is a transaction.
    pub rows_per_commit: u32,
    pub deletes: bool,
    /// Rows inserted per client and second; `None` for as fast as possible.
    pub per_second: Option<u32>,
    pub queries: Option<IbenchQueries>,
    pub builds_indexes: bool,
    /// Seconds for which a second connection per client keeps each of its transactions open; `None` without such
    /// connections. An open transaction holds back purge and vacuum.
    pub transaction_s: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preparation {
    Create,
    CreateIndexed,
    /// Let the servers write back the changes of earlier steps and collect statistics.
    Maintain {
        least_s: u32,
    },
    Nothing,
    /// The tables are loaded before all steps, whose statements are only counted.
    Loaded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IbenchQueries {
    pub kind: IbenchQuery,
    /// Whether Postgres prepares them (`PREPARE` and `EXECUTE` as text). MySQL and MariaDB always get text.
    pub is_prepared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IbenchQuery {
    /// Ten rows in the order of a secondary index, from a random value on.
    Range,
    Point,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepWork {
    pub insert: Statements,
    pub delete: Statements,
    pub query: Statements,
    /// Queries for the lowest key, where deletes begin.
    pub lowest: LowestQueries,
    /// Time to create secondary indexes, of the slowest table; `None` if none were created.
    pub indexes_ns: Option<u64>,
    /// Standard error of the rate within the step, as a share of the rate; `None` for a short step. It does not include
    /// variation between instances.
    pub relative_error: Option<f64>,
    /// Where the background rate was lost; `None` if it was kept or not set.
    pub broke: Option<RateLoss>,
    /// The part of the step that this is; `None` for a whole step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<StepSegment>,
}

/// A part of a step. Systems take turns by segment: the servers of the others are frozen meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepSegment {
    /// From 0.
    pub index: u32,
    /// Segments of the step.
    pub count: u32,
}

impl StepSegment {
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    pub fn is_first(self) -> bool {
        self.index == 0
    }

    pub fn is_last(self) -> bool {
        self.index + 1 >= self.count
    }
}

/// Share of the background rate that a step must keep.
pub const SLA: f64 = 0.95;

/// Where a step fell behind its background rate for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLoss {
    /// From 1.
    pub second: u32,
    pub insert_us: u64,
    pub delete_us: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statements {
    pub statements: u64,
    /// Rows inserted, deleted or returned, as counted by the server.
    pub rows: u64,
    /// Errors after which a statement was sent again.
    pub retries: u64,
    /// Statements by response time including retries: one bucket per bound of [`RESPONSE_BOUNDS_US`], and one above.
    pub buckets: [u64; RESPONSE_BOUNDS_US.len() + 1],
    pub longest_ns: u64,
}

/// Inclusive upper bounds of the published response-time table, µs.
pub const RESPONSE_BOUNDS_US: [u64; 9] =
    [256, 1000, 4000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LowestQueries {
    pub count: u64,
    pub ns: u64,
    pub longest_ns: u64,
}

impl Statements {
    pub fn count(&mut self, response_ns: u64, rows: u64) {
        self.statements += 1;
        self.rows += rows;
        self.longest_ns = self.longest_ns.max(response_ns);
        let above = |bound: &u64| response_ns > bound * 1000;
        let bucket = RESPONSE_BOUNDS_US.iter().take_while(|bound| above(bound)).count();
        self.buckets[bucket] += 1;
    }

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
    pub fn statements(&self) -> u64 {
        self.rows.div_ceil(self.rows_per_statement().into())
    }

    /// A slow background rate lowers it.
    pub fn rows_per_statement(&self) -> u32 {
        self.per_second.map_or(self.rows_per_commit, |most| self.rows_per_commit.min(most)).max(1)
    }

    /// Statements due per second; `None` without a rate.
    pub fn statements_per_second(&self) -> Option<u64> {
        Some(u64::from(self.per_second?.div_ceil(self.rows_per_statement())))
    }

    /// Number of segments if `wanted` are wanted: up to twice as many, so that all of them have the same length, or
    /// fewer if the step is too short. A step that creates indexes cannot be divided.
    pub fn segments(&self, wanted: u32) -> u32 {
        let wanted = u64::from(wanted.max(1));
        if self.builds_indexes || wanted == 1 {
            return 1;
        }
        let units = self.units();
        let count = units / (units / wanted).max(1);
        u32::try_from(count).unwrap_or(u32::MAX).max(1)
    }

    /// Numbers of the statements that each client inserts in a segment. The segments of a step differ by at most one
    /// statement or, with a rate, by a second.
    pub fn statements_of(&self, segment: StepSegment) -> Range<u64> {
        let (all, each) = (self.statements(), self.statements_per_second().unwrap_or(1));
        let units = u128::from(self.units());
        let count = u128::from(segment.count.max(1));
        let begin = |index: u32| {
            let unit = units * u128::from(index) / count;
            u64::try_from(unit).unwrap_or(u64::MAX).saturating_mul(each).min(all)
        };
        let end = if segment.is_last() { all } else { begin(segment.index + 1) };
        begin(segment.index)..end
    }

    /// Whole seconds of a step with a rate, statements of another one.
    fn units(&self) -> u64 {
        self.statements().div_ceil(self.statements_per_second().unwrap_or(1).max(1))
    }
}

impl WorkloadFacts for IbenchStep {
    fn has_rows_option(&self) -> bool {
        false
    }

    fn irreproducible(&self, test: &str) -> Option<[String; 2]> {
        Some([
            format!(
                "`{test}` is a step of the Insert Benchmark, which sysbench, pgbench and the plain client cannot run"
            ),
            SEND_PACK.to_owned(),
        ])
    }

    fn check_bounds(&self) -> Result<(), String> {
        within("rows", self.rows, &(0..=*ROWS.end()))?;
        within("rows_per_commit", self.rows_per_commit, &ROWS_PER_COMMIT)?;
        within("per_second", self.per_second.unwrap_or(1), &PER_SECOND)?;
        within("transaction_s", self.transaction_s.unwrap_or(1), &TRANSACTION_S)?;
        within("indexes", self.tables.indexes, &INDEXES)?;
        if let Some(partitions) = self.tables.partitions {
            within("partitions", partitions.count, &PARTITIONS)?;
            within("rows of a partition", partitions.rows, &(1..=COUNT_MAX))?;
        }
        Ok(())
    }
}

impl StepWork {
    pub fn check_bounds(&self) -> Result<(), String> {
        let Self { insert, delete, query, lowest, indexes_ns, relative_error, broke, segment } =
            self;
        if let Some(StepSegment { index, count }) = segment {
            within("count of segments", *count, &(1..=2 * *SEGMENTS.end()))?;
            within("number of a segment", *index, &(0..=count - 1))?;
        }
        for statements in [insert, delete, query] {
            let Statements { statements, rows, retries, buckets, longest_ns } = statements;
            for count in [statements, rows, retries].into_iter().chain(buckets) {
                within("a count", *count, &(0..=COUNT_MAX))?;
            }
            within("longest_ns", *longest_ns, &(0..=COUNTER_MAX))?;
        }
        within("relative_error", relative_error.unwrap_or(0.0), &(0.0..=1e6))?;
        within("a count", lowest.count, &(0..=COUNT_MAX))?;
        let broke = broke.unwrap_or_default();
        for time in [lowest.ns, lowest.longest_ns, broke.insert_us, broke.delete_us] {
            within("a response time", time, &(0..=COUNTER_MAX))?;
        }
        within("indexes_ns", indexes_ns.unwrap_or(0), &(0..=COUNTER_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(rows: u64, rows_per_commit: u32, per_second: Option<u32>) -> IbenchStep {
        let tables =
            IbenchTables { is_shared: false, indexes: 3, partitions: None, exceed_cache: false };
        IbenchStep {
            tables,
            before: Preparation::Nothing,
            rows,
            rows_per_commit,
            deletes: true,
            per_second,
            queries: None,
            builds_indexes: false,
            transaction_s: None,
        }
    }

    /// Lengths of the segments of a step, in statements.
    fn lengths(step: &IbenchStep, wanted: u32) -> Vec<u64> {
        let count = step.segments(wanted);
        let mut next = 0;
        let of_segment = |index| {
            let Range { start, end } = step.statements_of(StepSegment { index, count });
            assert_eq!(std::mem::replace(&mut next, end), start);
            end - start
        };
        let lengths: Vec<u64> = (0..count).map(of_segment).collect();
        assert_eq!(next, step.statements());
        lengths
    }

    #[test]
    fn segments_have_all_statements_of_a_step_once() {
        for rows in (1000..3000).step_by(7).chain([1_000_000, 123_456_789, 2_000_000_000]) {
            for (each, wanted) in [(5, 20), (50, 20), (100, 20), (100, 7), (5, 1), (100, 1000)] {
                let lengths = lengths(&step(rows, each, None), wanted);
                let (least, most) = (lengths.iter().min(), lengths.iter().max());
                assert!(most.unwrap() - least.unwrap() <= 1, "{rows} {each} {wanted}");
                let statements = rows.div_ceil(each.into());
                assert!(lengths.len() as u64 >= u64::from(wanted).min(statements));
                assert!(lengths.len() < 2 * wanted as usize, "{rows} {each} {wanted}");
            }
        }
    }

    #[test]
    fn segments_of_a_step_with_a_rate_take_whole_seconds() {
        for (seconds, expected) in [(1, 1), (3, 3), (30, 30), (50, 25), (300, 20), (1800, 20)] {
            for rate in [100, 500, 1000] {
                let step = step(seconds * u64::from(rate), 50, Some(rate));
                let lengths = lengths(&step, 20);
                assert_eq!(lengths.len(), expected, "{seconds} s at {rate}");
                let of_second = step.statements_per_second().unwrap();
                assert!(lengths.iter().all(|it| it % of_second == 0), "{lengths:?}");
                assert_eq!(lengths[0], seconds * of_second / expected as u64);
            }
        }
    }

    #[test]
    fn a_step_that_creates_indexes_stays_whole() {
        let step = IbenchStep { builds_indexes: true, ..step(100, 100, None) };
        assert_eq!((step.segments(20), step.statements_of(StepSegment::WHOLE)), (1, 0..1));
    }

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
