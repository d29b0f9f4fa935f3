//! Writes studies. Each call is one transaction, which is on disk when the call returns.

use std::time::{SystemTime, UNIX_EPOCH};

use assay_model::{
    AuditFinding, CellId, Conclusions, DataContent, InstanceRecord, PlannedBlock, PlannedCell,
    Priority, Run, Setup, Slice, SliceId, SliceOutcome, Study, StudyEvent, System,
};
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql, Transaction, TransactionBehavior, params, params_from_iter};

use crate::bounds;
use crate::counters;
use crate::limits::COUNT_MAX;
use crate::values::{index, integer, json, storable, word};
use crate::{Error, Ledger, Problem, conclusions, definitions, manage, runs};

impl Ledger {
    /// Adds a study with its cells, first run, and systems in the order of [`assay_model::StudyRecord::systems`].
    pub fn create_study(
        &mut self,
        study: &Study,
        run: &Run,
        systems: &[System],
    ) -> Result<(), Error> {
        self.written(create_study(&self.connection, study, run, systems))
    }

    /// Adds a block before it is measured.
    pub fn add_block(&mut self, study: &str, block: &PlannedBlock) -> Result<(), Error> {
        self.written(add_block(&self.connection, study, block))
    }

    pub fn set_content(&mut self, study: &str, content: &DataContent) -> Result<(), Error> {
        self.named(set_content(&self.connection, study, content))
    }

    pub fn add_instance(&mut self, study: &str, instance: &InstanceRecord) -> Result<(), Error> {
        self.named(add_instance(&self.connection, study, instance))
    }

    /// Once this returns, the slice survives a crash of assay or the machine.
    pub fn add_slice(&mut self, study: &str, slice: &Slice) -> Result<(), Error> {
        self.written(add_slice(&self.connection, study, slice))
    }

    /// The same with several slices in one transaction: after an error, none of them is added.
    pub fn add_slices(&mut self, study: &str, slices: &[Slice]) -> Result<(), Error> {
        self.written(add_slices(&self.connection, study, slices))
    }

    pub fn add_event(&mut self, study: &str, event: &StudyEvent) -> Result<(), Error> {
        self.written(add_event(&self.connection, study, event))
    }

    pub fn set_audit(&mut self, study: &str, findings: &[AuditFinding]) -> Result<(), Error> {
        self.named(set_audit(&self.connection, study, findings))
    }

    pub fn set_calibrated_events(
        &mut self,
        study: &str,
        cell: CellId,
        events: u64,
    ) -> Result<(), Error> {
        self.named(set_calibrated_events(&self.connection, study, cell, events))
    }

    /// Sets the measured part, milliseconds, and the warm part, microseconds, of the turns of a cell.
    pub fn set_turn(
        &mut self,
        study: &str,
        cell: CellId,
        turn_ms: u32,
        warm_us: u32,
    ) -> Result<(), Error> {
        self.named(set_turn(&self.connection, study, cell, turn_ms, warm_us))
    }

    pub fn set_priority(
        &mut self,
        study: &str,
        cell: CellId,
        priority: Priority,
    ) -> Result<(), Error> {
        self.named(set_priority(&self.connection, study, cell, priority))
    }

    /// Removes a study without slices; returns whether it did. A study with slices always stays.
    pub fn withdraw(&mut self, study: &str) -> Result<bool, Error> {
        self.named(withdraw(&self.connection, study))
    }

    pub fn finish(&mut self, study: &str) -> Result<(), Error> {
        self.written(finish(&self.connection, study))
    }

    /// Marks a study as finished and stores its conclusions in one transaction.
    pub fn conclude(&mut self, study: &str, concluded: &Conclusions) -> Result<(), Error> {
        self.written(conclude(&self.connection, study, concluded))
    }

    /// Marks a finished study as continued. Its conclusions no longer hold.
    pub fn reopen(&mut self, study: &str) -> Result<(), Error> {
        self.written(reopen(&self.connection, study))
    }
}

fn create_study(
    connection: &Connection,
    study: &Study,
    run: &Run,
    systems: &[System],
) -> Result<(), Problem> {
    // Data read before the first row is written must not change meanwhile.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    insert_study(&transaction, study, run, systems)?;
    Ok(transaction.commit()?)
}

pub(crate) fn insert_study(
    connection: &Connection,
    study: &Study,
    run: &Run,
    systems: &[System],
) -> Result<(), Problem> {
    storable(study)?;
    manage::refuse_taken(connection, &study.id)?;
    bounds::systems(systems, study.cells.len()).map_err(Problem::Unstorable)?;
    add_study(connection, study)?;
    runs::add(connection, &study.id, run)?;
    for (number, system) in systems.iter().enumerate() {
        add_system(connection, &study.id, number, system)?;
    }
    definitions::add(connection, &study.id, study.cells.iter().map(|cell| cell.id.test))?;
    for (number, cell) in study.cells.iter().enumerate() {
        add_cell(connection, &study.id, number, cell)?;
    }
    Ok(())
}

fn add_study(connection: &Connection, study: &Study) -> Result<(), Problem> {
    connection.execute(
        "INSERT INTO study (id, started_ms, request, plan) VALUES (?, ?, ?, ?)",
        params![study.id, study.started_ms, json(&study.request)?, json(study)?],
    )?;
    Ok(())
}

fn add_cell(
    connection: &Connection,
    study: &str,
    number: usize,
    cell: &PlannedCell,
) -> Result<(), Problem> {
    storable(cell)?;
    let setup = cell.id.setup;
    connection.execute(
        "INSERT INTO cell (study, number, test, clients, tables, rows, warm_ms, warm_us, turn_ms,
            slice_ms, events, placement, priority)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            study,
            index(number)?,
            cell.id.test.name,
            setup.clients,
            setup.tables,
            setup.rows,
            cell.warm_ms,
            cell.warm_us,
            cell.turn_ms,
            cell.slice_ms,
            cell.events.map(|events| integer("events", events)).transpose()?,
            word(&cell.placement)?,
            word(&cell.priority)?,
        ],
    )?;
    Ok(())
}

fn add_system(
    connection: &Connection,
    study: &str,
    number: usize,
    system: &System,
) -> Result<(), Problem> {
    connection.execute(
        "INSERT INTO system (study, number, name, is_base, is_twin, spec, artifact, options)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            study,
            index(number)?,
            system.name,
            system.is_base,
            system.is_twin,
            json(&system.spec)?,
            json(&system.artifact)?,
            json(&system.options)?,
        ],
    )?;
    Ok(())
}

fn add_block(connection: &Connection, study: &str, block: &PlannedBlock) -> Result<(), Problem> {
    storable(block)?;
    let numbers: Vec<i64> = block
        .cells
        .iter()
        .map(|cell| cell_number(connection, study, cell.id))
        .collect::<Result<_, _>>()?;
    let rounds: Vec<u32> = block.cells.iter().map(|cell| cell.rounds).collect();
    connection.execute(
        "INSERT INTO block (study, number, run, cells, cell_rounds, expected)
        VALUES (?, ?, ?, ?, ?, ?)",
        params![
            study,
            block.number,
            runs::id(connection, study, block.run)?,
            json(&numbers)?,
            json(&rounds)?,
            block.left,
        ],
    )?;
    Ok(())
}

pub(crate) fn cell_number(
    connection: &Connection,
    study: &str,
    cell: CellId,
) -> Result<i64, Problem> {
    let sql = "SELECT number FROM cell
        WHERE study = ? AND test = ? AND clients = ? AND tables = ? AND rows = ?";
    let setup = cell.setup;
    let test = &cell.test.name;
    let values = params![study, test, setup.clients, setup.tables, setup.rows];
    match connection.query_row(sql, values, |row| row.get(0)) {
        Err(rusqlite::Error::QueryReturnedNoRows) => {
            Err(Problem::NoSuchCell { study: study.to_owned(), cell: Box::new(cell) })
        }
        number => Ok(number?),
    }
}

fn set_content(connection: &Connection, study: &str, content: &DataContent) -> Result<(), Problem> {
    storable(&content.data)?;
    connection.execute(
        "INSERT OR REPLACE INTO content (study, system, tables, rows, start_from, counted, checksum)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        params![
            study,
            index(content.system)?,
            content.data.tables,
            content.data.rows,
            word(&content.start_from)?,
            integer("counted", content.rows)?,
            content.checksum,
        ],
    )?;
    Ok(())
}

fn add_instance(
    connection: &Connection,
    study: &str,
    instance: &InstanceRecord,
) -> Result<(), Problem> {
    storable(instance)?;
    connection.execute(
        "INSERT INTO instance (study, system, run, block, start_from, started_ms, start_took_ms,
            tables, rows)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            study,
            index(instance.system)?,
            runs::id(connection, study, instance.run)?,
            instance.block,
            word(&instance.start_from)?,
            instance.started_ms,
            integer("start_took_ms", instance.start_took_ms)?,
            instance.data.tables,
            instance.data.rows,
        ],
    )?;
    Ok(())
}

fn add_slices(connection: &Connection, study: &str, slices: &[Slice]) -> Result<(), Problem> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    for slice in slices {
        add_slice(&transaction, study, slice)?;
    }
    Ok(transaction.commit()?)
}

pub(crate) fn add_slice(
    connection: &Connection,
    study: &str,
    slice: &Slice,
) -> Result<(), Problem> {
    storable(slice)?;
    let run = runs::id(connection, study, slice.run)?;
    let (counter_names, values) = counters::names_and_values(slice)?;
    let mut row = slice_row(study, slice, run)?;
    let number = counters::number(connection, study, &counter_names)?;
    row.push(("counter_names".to_owned(), number.into()));
    row.push(("counters".to_owned(), json(&values)?.into()));
    let names: Vec<&str> = row.iter().map(|(name, _)| name.as_str()).collect();
    let places = vec!["?"; row.len()].join(", ");
    let sql = format!("INSERT INTO slice ({}) VALUES ({places})", names.join(", "));
    let mut statement = connection.prepare_cached(&sql)?;
    match statement.execute(params_from_iter(row.into_iter().map(|(_, value)| value))) {
        Ok(_) => Ok(()),
        Err(error) => Err(match Problem::from(error) {
            Problem::Twice(_) => Problem::Twice(format!("a {}", slice_in_words(slice.id()))),
            other => other,
        }),
    }
}

pub(crate) fn slice_in_words(slice: SliceId) -> String {
    let SliceId { system, cell: CellId { test, setup }, block, round } = slice;
    format!("slice of system {system}, {test} at {setup}, block {block}, round {round}")
}

fn slice_row(study: &str, slice: &Slice, run: i64) -> Result<Vec<(String, Value)>, Problem> {
    let setup = slice.cell.setup;
    let (outcome, failure) = match &slice.outcome {
        SliceOutcome::Good => ("good", None),
        SliceOutcome::Troubled => ("troubled", None),
        SliceOutcome::Failed(why) => ("failed", Some(why.clone())),
        SliceOutcome::Unanswered(why) => ("unanswered", Some(why.clone())),
    };
    let published = Some(&slice.published).filter(|it| !it.is_empty());
    let mut row = [
        ("study", Value::from(study.to_owned())),
        ("system", index(slice.system)?.into()),
        ("test", slice.cell.test.name.clone().into()),
        ("clients", setup.clients.into()),
        ("tables", setup.tables.into()),
        ("rows", setup.rows.into()),
        ("run", run.into()),
        ("block", slice.block.into()),
        ("round", slice.round.into()),
        ("position", slice.position.into()),
        ("started_ms", slice.started_ms.into()),
        ("written_ms", now_ms().into()),
        ("outcome", outcome.to_owned().into()),
        ("failure", failure.into()),
        ("trouble", json(&slice.trouble)?.into()),
        ("errors", json(&slice.work.errors)?.into()),
        ("turns", json(&slice.turns)?.into()),
        ("step", slice.step.as_ref().map(json).transpose()?.into()),
        ("published", published.map(json).transpose()?.into()),
        ("latency_hdr", slice.work.latency_hdr.clone().into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    let mut problem = None;
    counters::visit_work(&mut slice.work.clone(), |name, number| match integer(name, *number) {
        Ok(value) => row.push((name.to_owned(), value.into())),
        Err(error) => problem = Some(error),
    });
    problem.map_or(Ok(row), Err)
}

pub(crate) fn add_event(
    connection: &Connection,
    study: &str,
    event: &StudyEvent,
) -> Result<(), Problem> {
    storable(event)?;
    connection.execute(
        "INSERT INTO event (study, when_ms, system, what) VALUES (?, ?, ?, ?)",
        params![study, event.when_ms, event.system.map(index).transpose()?, json(&event.what)?],
    )?;
    Ok(())
}

fn set_audit(
    connection: &Connection,
    study: &str,
    findings: &[AuditFinding],
) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute("DELETE FROM audit WHERE study = ?", [study])?;
    for finding in findings {
        transaction.execute(
            r#"INSERT INTO audit (study, setting, "values", class, why, is_asked, statements)
               VALUES (?, ?, ?, ?, ?, ?, ?)"#,
            params![
                study,
                finding.setting,
                json(&finding.values)?,
                word(&finding.class)?,
                finding.why,
                finding.is_asked,
                json(&finding.statements)?
            ],
        )?;
    }
    Ok(transaction.commit()?)
}

fn set_calibrated_events(
    connection: &Connection,
    study: &str,
    cell: CellId,
    events: u64,
) -> Result<(), Problem> {
    if events > COUNT_MAX {
        return Err(Problem::Unstorable(format!("{events} events of a slice")));
    }
    update_cell(connection, study, cell, "events = ?", &[integer("events", events)?])
}

fn set_turn(
    connection: &Connection,
    study: &str,
    cell: CellId,
    turn_ms: u32,
    warm_us: u32,
) -> Result<(), Problem> {
    bounds::turn(turn_ms, warm_us).map_err(Problem::Unstorable)?;
    let values = [i64::from(turn_ms), i64::from(warm_us)];
    update_cell(connection, study, cell, "turn_ms = ?, warm_us = ?", &values)
}

fn set_priority(
    connection: &Connection,
    study: &str,
    cell: CellId,
    priority: Priority,
) -> Result<(), Problem> {
    update_cell(connection, study, cell, "priority = ?", &[word(&priority)?])
}

fn update_cell(
    connection: &Connection,
    study: &str,
    cell: CellId,
    set: &str,
    values: &[impl ToSql],
) -> Result<(), Problem> {
    let Setup { clients, tables, rows } = cell.setup;
    let sql = format!(
        "UPDATE cell SET {set}
         WHERE study = ? AND test = ? AND clients = ? AND tables = ? AND rows = ?"
    );
    let name = cell.test.name.as_str();
    let of_cell: [&dyn ToSql; 5] = [&study, &name, &clients, &tables, &rows];
    let values = values.iter().map(|value| value as &dyn ToSql).chain(of_cell);
    match connection.execute(&sql, params_from_iter(values))? {
        0 => Err(Problem::NoSuchCell { study: study.to_owned(), cell: Box::new(cell) }),
        _ => Ok(()),
    }
}

fn withdraw(connection: &Connection, study: &str) -> Result<bool, Problem> {
    // In an immediate transaction, no other process can add a slice after the check.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let is_measured = "SELECT EXISTS (SELECT * FROM slice WHERE study = ?)";
    if transaction.query_row(is_measured, [study], |row| row.get(0))? {
        return Ok(false);
    }
    let exists = "SELECT EXISTS (SELECT * FROM study WHERE id = ?)";
    let removed = transaction.query_row(exists, [study], |row| row.get(0))?;
    manage::delete(&transaction, study)?;
    transaction.commit()?;
    Ok(removed)
}

pub(crate) fn finish(connection: &Connection, study: &str) -> Result<(), Problem> {
    match connection.execute("UPDATE study SET finished = 1 WHERE id = ?", [study])? {
        0 => Err(Problem::NoSuchStudy(study.to_owned())),
        _ => Ok(()),
    }
}

fn conclude(connection: &Connection, study: &str, concluded: &Conclusions) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    finish(&transaction, study)?;
    conclusions::replace(&transaction, study, concluded)?;
    Ok(transaction.commit()?)
}

fn reopen(connection: &Connection, study: &str) -> Result<(), Problem> {
    let transaction = connection.unchecked_transaction()?;
    conclusions::remove(&transaction, study)?;
    transaction.execute("UPDATE study SET finished = 0 WHERE id = ?", [study])?;
    Ok(transaction.commit()?)
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}
