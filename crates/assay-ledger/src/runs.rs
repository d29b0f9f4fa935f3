//! Runs of a study: when, where and by which version of assay it was measured.

use assay_model::{Host, Run, ShardRun};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::rows::{Fields, rows};
use crate::values::{index, json, storable};
use crate::{Error, Ledger, Problem, bounds};

pub(crate) const IS_NOT_PROFILED: &str = r#"what GLOB '{"kind":"not-profiled",*'"#;

pub(crate) const IS_NOT_COUNTED: &str = r#"what GLOB '{"kind":"not-counted",*'"#;

pub(crate) const IS_NOT_SOAKED: &str = r#"what GLOB '{"kind":"not-soaked",*'"#;

/// Time of the last row written to the study before `run_end`. Profiles, counts and soaks are not charged to the
/// budget, so neither are the events that prevent them. A study that only counts has no budget.
fn updated_ms() -> String {
    format!(
        "max(
            coalesce((SELECT max(written_ms) FROM slice
                WHERE slice.study = stretch.study AND written_ms < run_end), 0),
            coalesce((SELECT max(when_ms) FROM event
                WHERE event.study = stretch.study AND when_ms < run_end
                    AND NOT {IS_NOT_PROFILED} AND NOT {IS_NOT_COUNTED}
                    AND NOT {IS_NOT_SOAKED}), 0),
            coalesce((SELECT max(started_ms) FROM instance
                WHERE instance.study = stretch.study AND instance.started_ms < run_end), 0),
            coalesce((SELECT max(written_ms) FROM document JOIN study ON study.id = document.study
                WHERE study.id = stretch.study AND experiment = 'counted'
                    AND written_ms < run_end), 0))"
    )
}

impl Ledger {
    /// Adds a run that continues the study. Its `updated_ms` is not stored: it follows from rows written later.
    pub fn add_run(&mut self, study: &str, run: &Run) -> Result<(), Error> {
        self.named(add_with_transaction(&self.connection, study, run))
    }
}

pub(crate) struct RunIds(Vec<i64>);

impl RunIds {
    pub(crate) fn of(connection: &Connection, study: &str) -> Result<Self, Problem> {
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

/// The ids of runs, and the runs without their hosts. Those of shards overlap, so the end of one is that of its slices.
fn stretches(connection: &Connection, study: &str) -> Result<Vec<Run>, Problem> {
    let sql = format!(
        "WITH stretch AS (
            SELECT id, study, started_ms, assay_version, host, shard,
                lead(started_ms, 1, {}) OVER (ORDER BY id) AS run_end
            FROM run WHERE study = ?1),
         last AS MATERIALIZED
            (SELECT run, max(written_ms) AS ms FROM slice WHERE study = ?1 GROUP BY run)
         SELECT id, started_ms, assay_version, host, shard,
            CASE WHEN shard IS NULL THEN {}
                ELSE coalesce((SELECT ms FROM last WHERE last.run = stretch.id), 0)
            END AS updated_ms
         FROM stretch ORDER BY id",
        i64::MAX,
        updated_ms()
    );
    rows(connection, &sql, [study], |row| {
        let fields = Fields::new("run", "id", row);
        let started_ms: i64 = fields.get("started_ms")?;
        // It is earlier if nothing was written yet or the clock was set back.
        let updated_ms = fields.get::<i64>("updated_ms")?.max(started_ms);
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
