//! Runs of a study: when, where and by which version of assay it was measured.

use assay_model::{Host, Run, ShardRun};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::rows::{Fields, rows};
use crate::values::{index, json, storable};
use crate::{Error, Ledger, Problem, bounds};

const IS_NOT_DONE: &str = r#"what GLOB '{"kind":"not-done",*'"#;

impl Ledger {
    /// Adds a run that continues the study. Its `updated_ms` is not stored: it follows from rows written later.
    pub fn add_run(&mut self, study: &str, run: &Run) -> Result<(), Error> {
        self.named(add_with_transaction(&self.connection, study, run))
    }
}

pub(crate) struct RunIds(Vec<i64>);

impl RunIds {
    pub(crate) fn load(connection: &Connection, study: &str) -> Result<Self, Problem> {
        let sql = "SELECT id FROM run WHERE study = ? ORDER BY id";
        let ids = rows(connection, sql, [study], |row| Fields::new("run", "id", row).get("id"))?;
        Ok(Self(ids))
    }

    pub(crate) fn index(&self, id: i64) -> Option<usize> {
        self.0.binary_search(&id).ok()
    }
}

impl Fields<'_> {
    pub(crate) fn run(&self, runs: &RunIds) -> Result<usize, Problem> {
        let id: i64 = self.get("run")?;
        runs.index(id).ok_or_else(|| self.wrong(format!("`run` is {id}, not one of the study")))
    }
}

pub(crate) fn id(connection: &Connection, study: &str, run: usize) -> Result<i64, Problem> {
    let sql = "SELECT id FROM run WHERE study = ? ORDER BY id LIMIT 1 OFFSET ?";
    let mut statement = connection.prepare_cached(sql)?;
    let id = statement.query_row(params![study, index(run)?], |row| row.get(0)).optional()?;
    id.ok_or(Problem::Dangling)
}

pub(crate) fn elapsed_s(connection: &Connection, study: &str) -> Result<f64, Problem> {
    Ok(stretches(connection, study)?.iter().map(Run::elapsed_s).sum())
}

pub(crate) fn read(connection: &Connection, study: &str) -> Result<Vec<Run>, Problem> {
    let runs = stretches(connection, study)?;
    if runs.is_empty() {
        let (row, what) = (format!("`{study}`"), "is missing".to_owned());
        return Err(Problem::Row { table: "run", row, what });
    }
    Ok(runs)
}

/// The runs in order. Those of shards overlap, so the end of one is that of its slices. Other runs end with the last
/// row that was written to the study before the next run began.
fn stretches(connection: &Connection, study: &str) -> Result<Vec<Run>, Problem> {
    let moments = moments(connection, study)?;
    let sql = "SELECT id, started_ms FROM run WHERE study = ? ORDER BY id";
    let starts = rows(connection, sql, [study], |row| {
        Fields::new("run", "id", row).get::<i64>("started_ms")
    })?;
    let mut ends = starts.into_iter().skip(1);
    let sql = "WITH last AS MATERIALIZED
            (SELECT run, max(written_ms) AS ms FROM slice WHERE study = ?1 GROUP BY run)
         SELECT id, started_ms, assay_version, host, shard,
            coalesce((SELECT ms FROM last WHERE last.run = id), 0) AS sliced_ms
         FROM run WHERE study = ?1 ORDER BY id";
    rows(connection, sql, [study], |row| {
        let fields = Fields::new("run", "id", row);
        let started_ms: i64 = fields.get("started_ms")?;
        let end = ends.next().unwrap_or(i64::MAX);
        let written_ms = if fields.has("shard")? {
            fields.get("sliced_ms")?
        } else {
            let before = moments.partition_point(|moment| *moment < end);
            moments[..before].last().copied().unwrap_or(0)
        };
        // It is earlier if nothing was written yet or the clock was set back.
        let updated_ms = written_ms.max(started_ms);
        for (name, ms) in [("started_ms", started_ms), ("updated_ms", updated_ms)] {
            bounds::moment(name, ms).map_err(|what| fields.wrong(what))?;
        }
        let assay_version = fields.get("assay_version")?;
        let shard = fields.has("shard")?.then(|| fields.json("shard")).transpose()?;
        let shard = shard.map(|it: ShardRun| fields.checked(it)).transpose()?;
        let host = fields.checked(fields.json::<Host>("host")?)?;
        Ok(Run { started_ms, updated_ms, host, assay_version, shard })
    })
}

/// Times at which rows of the study were written, in order. Work after the study is not charged to the budget, so
/// neither are the events that prevent it. A study that only counts has no budget.
fn moments(connection: &Connection, study: &str) -> Result<Vec<i64>, Problem> {
    let sql = format!(
        "SELECT written_ms AS ms FROM slice WHERE study = ?1
         UNION ALL SELECT when_ms FROM event WHERE study = ?1 AND NOT {IS_NOT_DONE}
         UNION ALL SELECT started_ms FROM instance WHERE study = ?1
         UNION ALL SELECT written_ms FROM document WHERE study = ?1
            AND (SELECT experiment FROM study WHERE id = ?1) = 'counted'"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let moments = statement.query_map([study], |row| row.get(0))?;
    let mut moments: Vec<i64> = moments.collect::<rusqlite::Result<_>>()?;
    moments.sort_unstable();
    Ok(moments)
}

fn add_with_transaction(connection: &Connection, study: &str, run: &Run) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    add(&transaction, study, run)?;
    Ok(transaction.commit()?)
}

pub(crate) fn add(connection: &Connection, study: &str, run: &Run) -> Result<(), Problem> {
    bounds::moment("started_ms", run.started_ms).map_err(Problem::Unstorable)?;
    storable(&run.host)?;
    run.shard.as_ref().map_or(Ok(()), storable)?;
    let shard = run.shard.as_ref().map(json).transpose()?;
    let sql =
        "INSERT INTO run (study, started_ms, assay_version, host, shard) VALUES (?, ?, ?, ?, ?)";
    let values = params![study, run.started_ms, run.assay_version, json(&run.host)?, shard];
    connection.execute(sql, values)?;
    Ok(())
}
