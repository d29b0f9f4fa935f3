//! Runs of a study: when, where and by which version of assay it was measured.

use assay_model::{Examination, Host, Run, ShardRun};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::rows::{Fields, rows};
use crate::values::{index, integer, json, storable, word};
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
    Ok(stretches(connection, study)?.iter().map(|(_, run)| run.elapsed_s()).sum())
}

pub(crate) fn read(connection: &Connection, study: &str) -> Result<Vec<Run>, Problem> {
    let runs = stretches(connection, study)?;
    if runs.is_empty() {
        let (row, what) = (format!("`{study}`"), "is missing".to_owned());
        return Err(Problem::Row { table: "run", row, what });
    }
    let with_host = |(id, run)| {
        let doctor = read_doctor(connection, id)?;
        Ok(Run { host: Host { doctor, ..read_host(connection, id)? }, ..run })
    };
    runs.into_iter().map(with_host).collect()
}

/// Ids of runs, and runs without their hosts. Runs of shards overlap, so each ends with its slices.
fn stretches(connection: &Connection, study: &str) -> Result<Vec<(i64, Run)>, Problem> {
    let sql = format!(
        "WITH stretch AS (
            SELECT id, study, started_ms, assay_version, shard,
                lead(started_ms, 1, {}) OVER (ORDER BY id) AS run_end
            FROM run WHERE study = ?1),
         last AS MATERIALIZED
            (SELECT run, max(written_ms) AS ms FROM slice WHERE study = ?1 GROUP BY run)
         SELECT id, started_ms, assay_version, shard,
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
        let run = Run { started_ms, updated_ms, host: Host::default(), assay_version, shard };
        Ok((fields.get("id")?, run))
    })
}

fn read_host(connection: &Connection, run: i64) -> Result<Host, Problem> {
    let sql = "SELECT run, cpu, cpus, memory_kb, kernel, os, hypervisor, filesystem,
            counts_disk_wait, counts_device, realtime
        FROM host WHERE run = ?";
    let mut found = rows(connection, sql, [run], |row| {
        let fields = Fields::new("host", "run", row);
        Ok(Host {
            cpu: fields.get("cpu")?,
            cpus: fields.get("cpus")?,
            memory_kb: fields.number("memory_kb")?,
            kernel: fields.get("kernel")?,
            os: fields.get("os")?,
            hypervisor: fields.get("hypervisor")?,
            filesystem: fields.get("filesystem")?,
            counts_disk_wait: fields.get("counts_disk_wait")?,
            counts_device: fields.get("counts_device")?,
            realtime: fields.has("realtime")?.then(|| fields.word("realtime")).transpose()?,
            doctor: None,
        })
    })?;
    found.pop().ok_or_else(|| Problem::Row {
        table: "host",
        row: run.to_string(),
        what: "is missing".to_owned(),
    })
}

fn read_doctor(connection: &Connection, run: i64) -> Result<Option<Examination>, Problem> {
    let sql = "SELECT id, doctor FROM run WHERE id = ?";
    let found = rows(connection, sql, [run], |row| {
        let fields = Fields::new("run", "id", row);
        let doctor = fields.has("doctor")?.then(|| fields.json("doctor")).transpose()?;
        doctor.map(|it: Examination| fields.checked(it)).transpose()
    })?;
    Ok(found.into_iter().flatten().next())
}

fn add_with_transaction(connection: &Connection, study: &str, run: &Run) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    add(&transaction, study, run)?;
    Ok(transaction.commit()?)
}

pub(crate) fn add(connection: &Connection, study: &str, run: &Run) -> Result<(), Problem> {
    bounds::moment("started_ms", run.started_ms).map_err(Problem::Unstorable)?;
    let doctor = run.host.doctor.as_ref();
    doctor.map_or(Ok(()), storable)?;
    let doctor = doctor.map(json).transpose()?;
    run.shard.as_ref().map_or(Ok(()), storable)?;
    let shard = run.shard.as_ref().map(json).transpose()?;
    let sql =
        "INSERT INTO run (study, started_ms, assay_version, doctor, shard) VALUES (?, ?, ?, ?, ?)";
    connection.execute(sql, params![study, run.started_ms, run.assay_version, doctor, shard])?;
    let (id, host) = (connection.last_insert_rowid(), &run.host);
    connection.execute(
        "INSERT INTO host (run, study, cpu, cpus, memory_kb, kernel, os, hypervisor, filesystem,
            counts_disk_wait, counts_device, realtime)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            id,
            study,
            host.cpu,
            host.cpus,
            integer("memory_kb", host.memory_kb)?,
            host.kernel,
            host.os,
            host.hypervisor,
            host.filesystem,
            host.counts_disk_wait,
            host.counts_device,
            host.realtime.as_ref().map(word).transpose()?,
        ],
    )?;
    Ok(())
}
