//! Bounds on steps of the Insert Benchmark.

use assay_model::limits::ibench::{
    INDEXES, PARTITIONS, PER_SECOND, ROWS, ROWS_PER_COMMIT, TRANSACTION_S,
};
use assay_model::{IbenchStep, Statements, StepWork};

use super::range::within;
use crate::limits::{COUNT_MAX, COUNTER_MAX};

pub(super) fn step(step: &IbenchStep) -> Result<(), String> {
    within("rows", step.rows, &(0..=*ROWS.end()))?;
    within("rows_per_commit", step.rows_per_commit, &ROWS_PER_COMMIT)?;
    within("per_second", step.per_second.unwrap_or(1), &PER_SECOND)?;
    within("transaction_s", step.transaction_s.unwrap_or(1), &TRANSACTION_S)?;
    within("indexes", step.tables.indexes, &INDEXES)?;
    if let Some(partitions) = step.tables.partitions {
        within("partitions", partitions.count, &PARTITIONS)?;
        within("rows of a partition", partitions.rows, &(1..=COUNT_MAX))?;
    }
    Ok(())
}

pub(super) fn work(work: &StepWork) -> Result<(), String> {
    let StepWork { insert, delete, query, lowest, indexes_ns, relative_error, broke } = work;
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
    let times = [lowest.ns, lowest.longest_ns, broke.insert_us, broke.delete_us];
    times.into_iter().try_for_each(|time| within("a response time", time, &(0..=COUNTER_MAX)))?;
    within("indexes_ns", indexes_ns.unwrap_or(0), &(0..=COUNTER_MAX))
}
