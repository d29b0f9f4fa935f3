//! Collects a study from shards that other machines measured into their own ledgers.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{LIMITED_STUDY, RegressionLimits, Setup, ShardRun, Study};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::bounds::CheckBounds as _;
use crate::rows::{Fields, rows};
use crate::study_rows::{RowsOfTable, StudyRows};
use crate::values::{index, json};
use crate::{Error, Ledger, Problem, copy, manage, read};

#[derive(Debug, Clone, PartialEq)]
pub struct ShardStudy {
    pub id: String,
    pub shard: ShardRun,
    pub started_ms: i64,
    pub slices: u64,
    pub finished: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardCollection {
    pub is_complete: bool,
    pub left_out: Vec<OmittedShard>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedShard {
    pub number: u32,
    /// Predicate of a sentence with the shard as subject.
    pub why: String,
}

impl Ledger {
    /// The oldest first.
    pub fn shards(&self) -> Result<Vec<ShardStudy>, Error> {
        self.reading(shards)
    }

    /// Slices of each shard of a collected study, by number of the shard; empty if the ledger does not have it.
    pub fn collected(&self, study: &str) -> Result<BTreeMap<u32, u64>, Error> {
        self.reading(|connection| collected(connection, study))
    }

    /// Collects a study from shards, one shard in memory at a time, in one transaction.
    ///
    /// The result of the user's own job replaces the study in this ledger. Shards of unknown origin make a study marked
    /// as foreign, which replaces nothing. A shard whose systems, tests or data differ from earlier ones is left out.
    pub fn collect(
        &mut self,
        study: &str,
        is_own_job: bool,
        shards: impl Iterator<Item = Result<StudyRows, Error>>,
    ) -> Result<ShardCollection, Error> {
        let path = self.path.clone();
        let result = collect(&self.connection, study, is_own_job, shards);
        let result = result.map_err(|error| match error {
            CollectError::Here(problem) => Error { path, problem },
            CollectError::There(error) => error,
        });
        self.written(Ok(()))?;
        result
    }
}

enum CollectError {
    Here(Problem),
    There(Error),
}

impl<T: Into<Problem>> From<T> for CollectError {
    fn from(problem: T) -> Self {
        Self::Here(problem.into())
    }
}

fn shards(connection: &Connection) -> Result<Vec<ShardStudy>, Problem> {
    let sql = "SELECT study.id, study.started_ms, finished, run.shard,
            (SELECT count(*) FROM slice WHERE slice.study = study.id) AS slices
        FROM study JOIN run ON run.id = (SELECT max(id) FROM run WHERE run.study = study.id)
        WHERE run.shard IS NOT NULL AND run.shard ->> '$.study' <> study.id
        ORDER BY study.started_ms, study.rowid";
    rows(connection, sql, [], |row| {
        let fields = Fields::new("study", "id", row);
        Ok(ShardStudy {
            id: fields.get("id")?,
            shard: fields.checked(fields.json("shard")?)?,
            started_ms: fields.get("started_ms")?,
            slices: fields.number("slices")?,
            finished: fields.get("finished")?,
        })
    })
}

fn collected(connection: &Connection, study: &str) -> Result<BTreeMap<u32, u64>, Problem> {
    let sql = "SELECT id, shard, (SELECT count(*) FROM slice WHERE slice.run = run.id) AS slices
        FROM run WHERE study = ? AND shard IS NOT NULL";
    let of_runs = rows(connection, sql, [study], |row| {
        let fields = Fields::new("run", "id", row);
        let shard: ShardRun = fields.checked(fields.json("shard")?)?;
        Ok((shard.number, fields.number("slices")?))
    })?;
    let mut shards = BTreeMap::new();
    for (number, slices) in of_runs {
        *shards.entry(number).or_default() += slices;
    }
    Ok(shards)
}

fn collect(
    connection: &Connection,
    study: &str,
    is_own_job: bool,
    shards: impl Iterator<Item = Result<StudyRows, Error>>,
) -> Result<ShardCollection, CollectError> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let name = "SELECT name FROM name WHERE study = ?";
    let name: Option<String> = transaction.query_row(name, [study], |row| row.get(0)).optional()?;
    if is_own_job {
        manage::delete(&transaction, study)?;
    }
    manage::refuse_taken(&transaction, study)?;
    manage::refuse_hiding(&transaction, study)?;
    let mut whole = WholeStudy::default();
    let mut left_out = Vec::new();
    for shard in shards {
        let rows = shard.map_err(CollectError::There)?;
        let number = rows.shard().map_or(0, |shard| shard.number);
        match whole.misfit(&rows, study) {
            Some(why) => left_out.push(OmittedShard { number, why }),
            None => whole.add(&transaction, rows.renamed(study.to_owned()))?,
        }
    }
    let is_complete = whole.is_complete();
    if whole.is_begun {
        whole.finish(&transaction, study)?;
        let sql = "UPDATE study SET is_foreign = ? WHERE id = ?";
        transaction.execute(sql, params![!is_own_job, study])?;
        if let Some(name) = name {
            transaction.execute("INSERT INTO name (study, name) VALUES (?, ?)", [study, &name])?;
        }
        read::read_within(&transaction, study)?;
    }
    transaction.commit()?;
    Ok(ShardCollection { is_complete, left_out })
}

/// A block of the whole study. Shards of different cells may share its number.
struct WholeBlock {
    run: i64,
    cells: Vec<i64>,
    rounds: Vec<i64>,
}

#[derive(Default)]
struct WholeStudy {
    is_begun: bool,
    /// Rows common to all shards, by table and key.
    alike: BTreeMap<(&'static str, String), String>,
    cells: BTreeMap<String, i64>,
    counters: BTreeMap<String, i64>,
    /// Rows of which only the first counts, by table and key.
    seen: BTreeSet<(&'static str, String)>,
    blocks: BTreeMap<i64, WholeBlock>,
    /// The largest number of blocks that a shard may have.
    planned: u32,
    /// The plan of the first shard.
    plan: Option<Study>,
    budget_s: f64,
    started_ms: Option<i64>,
    setups: Vec<Setup>,
    /// The limits with the margins so far, and the margins of the current shard.
    limits: Option<RegressionLimits>,
    margins: Vec<f64>,
    ended: BTreeSet<u32>,
    of: u32,
}

/// Parts of a plan that differ from shard to shard.
const PARTS_OF_SHARD: [&str; 5] = ["budget_s", "blocks", "setups", LIMITED_STUDY, "assay_version"];

impl WholeStudy {
    fn misfit(&mut self, rows: &StudyRows, study: &str) -> Option<String> {
        if rows.shard().is_none_or(|shard| shard.study != study) {
            return Some("is not one of this study".to_owned());
        }
        let mut alike = Vec::new();
        for table in &rows.tables {
            for row in &table.rows {
                let Some((key, value)) = definition(table, row) else { continue };
                alike.push(((table.name, key), value));
            }
        }
        for (key, value) in &alike {
            if self.alike.get(key).is_some_and(|known| known != value) {
                return Some(match key.0 {
                    "study" => "has another study file or another assay".to_owned(),
                    "system" => {
                        format!("measured another build or other options of system {}", key.1)
                    }
                    "content" => "has other rows in its tables".to_owned(),
                    _ => format!("measured other work under the name of {}", key.1),
                });
            }
        }
        self.alike.extend(alike);
        None
    }

    fn add(&mut self, transaction: &Transaction<'_>, mut rows: StudyRows) -> Result<(), Problem> {
        let runs: i64 =
            transaction.query_row("SELECT coalesce(max(id), 0) FROM run", [], |row| row.get(0))?;
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let number = rows.shard().map_or(0, |shard| {
            self.of = shard.of;
            shard.number
        });
        let mut numbers = Numbers::default();
        for table in &mut rows.tables {
            let (name, columns) = (table.name, table.columns.clone());
            let at = |column: &str| columns.iter().position(|it| it == column);
            let mut kept = Vec::with_capacity(table.rows.len());
            for mut row in std::mem::take(&mut table.rows) {
                let is_kept = match name {
                    "study" => {
                        self.study(&columns, &mut row, number)?;
                        is_first
                    }
                    "cell" => self.cell(&columns, &mut row, &mut numbers)?,
                    "counter_names" => self.counters(&columns, &mut row, &mut numbers)?,
                    "block" => {
                        self.block(&columns, &row, &numbers, runs)?;
                        false
                    }
                    "slice" => {
                        renumber(&mut row, at("counter_names"), &numbers.counters)?;
                        true
                    }
                    "document" => {
                        renumber(&mut row, at("cell"), &numbers.cells)?;
                        self.is_new(name, &key(&columns, &row, &["cell", "system", "name"]))
                    }
                    "run" => {
                        // The job's secret stays with the job and its shards.
                        if let Some(shard) = at("shard").and_then(|at| row.get_mut(at)) {
                            *shard = Value::Text(without_secret(shard)?);
                        }
                        true
                    }
                    "test" => self.is_new(name, &key(&columns, &row, &["name"])),
                    "system" => self.is_new(name, &key(&columns, &row, &["number"])),
                    "setting" => self.is_new(name, &key(&columns, &row, &["system", "name"])),
                    "audit" => is_first,
                    "content" => {
                        let fields = ["system", "tables", "rows", "start_from"];
                        self.is_new(name, &key(&columns, &row, &fields))
                    }
                    // Conclusions from a part do not hold for the whole.
                    "verdict" => false,
                    // Looks of a shard are not looks of the whole.
                    "event" => !text(&columns, &row, "what").starts_with(EXTENDED),
                    _ => true,
                };
                if is_kept {
                    kept.push(row);
                }
            }
            table.rows = kept;
        }
        copy::add(transaction, &rows)
    }

    fn is_new(&mut self, table: &'static str, key: &str) -> bool {
        self.seen.insert((table, key.to_owned()))
    }

    fn is_complete(&self) -> bool {
        self.of > 0 && self.ended.len() == self.of as usize
    }

    fn study(&mut self, columns: &[String], row: &mut [Value], shard: u32) -> Result<(), Problem> {
        let number = |column| match value(columns, row, column) {
            Some(Value::Integer(number)) => *number,
            _ => 0,
        };
        let plan: Study = parsed("study", &text(columns, row, "plan"))?;
        self.budget_s += plan.budget_s;
        let started_ms = number("started_ms");
        self.started_ms = Some(self.started_ms.map_or(started_ms, |it| it.min(started_ms)));
        self.planned = self.planned.max(plan.blocks);
        for setup in &plan.setups {
            if !self.setups.contains(setup) {
                self.setups.push(*setup);
            }
        }
        if number("finished") == 1 {
            self.ended.insert(shard);
        }
        if let Some(RegressionLimits { margins, allow_undecided }) = plan.limits.clone() {
            self.margins = margins;
            self.limits.get_or_insert(RegressionLimits { margins: Vec::new(), allow_undecided });
        }
        self.plan.get_or_insert(plan);
        for (column, cleared) in [("finished", Value::Integer(0)), ("judged_by", Value::Null)] {
            let at = columns.iter().position(|it| it == column);
            if let Some(value) = at.and_then(|at| row.get_mut(at)) {
                *value = cleared;
            }
        }
        Ok(())
    }

    fn cell(
        &mut self,
        columns: &[String],
        row: &mut [Value],
        numbers: &mut Numbers,
    ) -> Result<bool, Problem> {
        let key = key(columns, row, &["test", "clients", "tables", "rows"]);
        let next = index(self.cells.len())?;
        let is_new = !self.cells.contains_key(&key);
        let number = *self.cells.entry(key).or_insert(next);
        if let Some(Value::Integer(old)) = value(columns, row, "number") {
            numbers.cells.insert(*old, number);
            let margin = usize::try_from(*old).ok().and_then(|old| self.margins.get(old));
            if let (true, Some(limits), Some(margin)) = (is_new, &mut self.limits, margin) {
                limits.margins.push(*margin);
            }
        }
        let at = columns.iter().position(|it| it == "number");
        renumber(row, at, &numbers.cells)?;
        Ok(is_new)
    }

    fn counters(
        &mut self,
        columns: &[String],
        row: &mut [Value],
        numbers: &mut Numbers,
    ) -> Result<bool, Problem> {
        let names = text(columns, row, "names");
        let next = index(self.counters.len())?;
        let is_new = !self.counters.contains_key(&names);
        let number = *self.counters.entry(names).or_insert(next);
        if let Some(Value::Integer(old)) = value(columns, row, "number") {
            numbers.counters.insert(*old, number);
        }
        renumber(row, columns.iter().position(|it| it == "number"), &numbers.counters)?;
        Ok(is_new)
    }

    fn block(
        &mut self,
        columns: &[String],
        row: &[Value],
        numbers: &Numbers,
        runs: i64,
    ) -> Result<(), Problem> {
        let number = |column| match value(columns, row, column) {
            Some(Value::Integer(number)) => *number,
            _ => 0,
        };
        let cells: Vec<i64> = parsed("block", &text(columns, row, "cells"))?;
        let cells: Option<Vec<i64>> =
            cells.iter().map(|cell| numbers.cells.get(cell).copied()).collect();
        let rounds: Vec<i64> = parsed("block", &text(columns, row, "cell_rounds"))?;
        let run = runs.checked_add(number("run")).ok_or(Problem::Dangling)?;
        let begun = self.blocks.entry(number("number"));
        let begun =
            begun.or_insert_with(|| WholeBlock { run, cells: Vec::new(), rounds: Vec::new() });
        for (cell, rounds) in cells.ok_or(Problem::Dangling)?.into_iter().zip(rounds) {
            if begun.cells.contains(&cell) {
                return Err(Problem::Twice(format!("block {} of a test", number("number"))));
            }
            begun.cells.push(cell);
            begun.rounds.push(rounds);
        }
        Ok(())
    }

    fn finish(self, transaction: &Transaction<'_>, study: &str) -> Result<(), Problem> {
        let sql = "INSERT INTO block (study, number, run, cells, cell_rounds, expected)
            VALUES (?, ?, ?, ?, ?, ?)";
        let count = index(self.blocks.len())?;
        // Blocks that are still to come have their share of the error.
        let all = if self.is_complete() { count } else { count.max(self.planned.into()) };
        for (at, (number, block)) in self.blocks.into_iter().enumerate() {
            let expected = all - index(at)?;
            let WholeBlock { run, cells, rounds } = block;
            let values = params![study, number, run, json(&cells)?, json(&rounds)?, expected];
            transaction.execute(sql, values)?;
        }
        let plan = Study {
            budget_s: self.budget_s,
            blocks: self.planned,
            setups: self.setups,
            limits: self.limits,
            ..self.plan.ok_or(Problem::Dangling)?
        };
        let sql = "UPDATE study SET started_ms = ?, plan = ? WHERE id = ?";
        transaction.execute(sql, params![self.started_ms, json(&plan)?, study])?;
        Ok(())
    }
}

fn without_secret(shard: &Value) -> Result<String, Problem> {
    let Value::Text(text) = shard else { return Err(Problem::Dangling) };
    json(&ShardRun { secret: String::new(), ..parsed("run", text)? })
}

const EXTENDED: &str = r#"{"kind":"extended""#;

#[derive(Default)]
struct Numbers {
    cells: BTreeMap<i64, i64>,
    counters: BTreeMap<i64, i64>,
}

impl StudyRows {
    pub fn shard(&self) -> Option<ShardRun> {
        let table = self.tables.iter().find(|table| table.name == "run")?;
        let shard = text(&table.columns, table.rows.last()?, "shard");
        serde_json::from_str(&shard).ok().filter(|shard: &ShardRun| shard.check().is_ok())
    }
}

fn definition(table: &RowsOfTable, row: &[Value]) -> Option<(String, String)> {
    let text = |column| text(&table.columns, row, column);
    let all = |columns: &[&str]| key(&table.columns, row, columns);
    match table.name {
        "study" => {
            let mut plan: serde_json::Value = serde_json::from_str(&text("plan")).ok()?;
            let parts = plan.as_object_mut()?;
            parts.retain(|part, _| !PARTS_OF_SHARD.contains(&part.as_str()));
            Some((String::new(), format!("{plan} {}", text("request"))))
        }
        "system" => {
            let artifact: serde_json::Value = serde_json::from_str(&text("artifact")).ok()?;
            // Paths may differ between nodes.
            let build = ["kind", "product", "version", "sha256", "url"];
            let build: Vec<_> = build.iter().map(|field| artifact.get(field)).collect();
            let rest = all(&["number", "is_base", "is_twin", "spec", "options"]);
            Some((text("name"), format!("{rest} {build:?}")))
        }
        "test" => Some((text("name"), all(&["digest", "definition"]))),
        "cell" => {
            let fields = ["test", "clients", "tables", "rows"];
            Some((all(&fields), all(&["warm_ms", "slice_ms"])))
        }
        "content" if text("start_from") == "fresh" => {
            Some((all(&["system", "tables", "rows"]), all(&["counted", "checksum"])))
        }
        _ => None,
    }
}

fn value<'a>(columns: &[String], row: &'a [Value], column: &str) -> Option<&'a Value> {
    row.get(columns.iter().position(|it| it == column)?)
}

fn text(columns: &[String], row: &[Value], column: &str) -> String {
    match value(columns, row, column) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

fn key(columns: &[String], row: &[Value], fields: &[&str]) -> String {
    let values = fields.iter().map(|column| format!("{:?}", value(columns, row, column)));
    values.collect::<Vec<_>>().join(" ")
}

fn parsed<T: serde::de::DeserializeOwned>(table: &'static str, text: &str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| Problem::Row {
        table,
        row: String::new(),
        what: error.to_string(),
    })
}

fn renumber(
    row: &mut [Value],
    at: Option<usize>,
    numbers: &BTreeMap<i64, i64>,
) -> Result<(), Problem> {
    match at.and_then(|at| row.get_mut(at)) {
        Some(Value::Integer(number)) => {
            *number = *numbers.get(number).ok_or(Problem::Dangling)?;
            Ok(())
        }
        _ => Err(Problem::Dangling),
    }
}
