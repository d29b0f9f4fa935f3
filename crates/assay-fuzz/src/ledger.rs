//! Untrusted ledgers: damaged files, and files with rows that no assay writes.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use assay_ledger::Ledger;
use assay_model::{Count, Profile, StudyRecord};
use assay_report::{FORMATS, Format, TextOptions};
use assay_study::{Driver, Outcome, Shard, StudyAction, StudyEnd};
use assay_verdict::{Fitness, SliceSample};
use fs_err as fs;
use rusqlite::Connection;
use rusqlite::types::Value;

/// A ledger with one small study.
const SMALL: &[u8] = include_bytes!("../../../fuzz/corpus/ledger_file/small");

pub(crate) fn file(bytes: &[u8]) {
    with(bytes, |path| {
        read_file(path);
        if let Ok(ledger) = Ledger::open(path) {
            ledger.studies().ok();
        }
    });
}

/// Applies the bytes to a ledger as changes of fields: table, column, kind, length of the value, value.
pub(crate) fn rows(bytes: &[u8]) {
    with(SMALL, |path| {
        change(path, bytes).ok();
        read_file(path);
    });
}

fn with(bytes: &[u8], act: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let path = directory.path().join("ledger.db");
    fs::write(&path, bytes).unwrap_or_else(|error| panic!("{error}"));
    act(&path);
}

fn read_file(path: &Path) {
    if let Ok(ledger) = Ledger::open_read_only(path) {
        read(&ledger);
    }
}

pub(crate) fn read(ledger: &Ledger) {
    ledger.latest().ok();
    let studies = ledger.studies().unwrap_or_default();
    for format in FORMATS {
        let _ = assay_study_pages::studies(&studies, &BTreeSet::new()).render(format, &OPTIONS);
    }
    // Reads the study of the small ledger even if the list of studies is damaged.
    for id in studies.iter().map(|study| study.id.as_str()).chain(["sample"]) {
        ledger.settings(id).ok();
        ledger.conclusions(id).ok();
        if let Ok(documents) = ledger.documents(id) {
            documents.check::<Profile>().ok();
            documents.check::<Count>().ok();
        }
        if let Ok(record) = ledger.read(id) {
            assay_plan::request_of(&record.study).ok();
            if let Some(slice) = record.slices.first().map(assay_model::Slice::id) {
                ledger.series(id, slice).ok();
                for name in ledger.attachments(id, slice).unwrap_or_default() {
                    ledger.attachment(id, slice, &name).ok();
                }
            }
            show(&record);
        }
    }
}

const OPTIONS: TextOptions = TextOptions { width: 80, color: true, verbose: true };

/// Judges a record and renders it in every format: everything that a ledger returns can be shown.
pub fn show(record: &StudyRecord) {
    let judgement = assay_verdict::judge(record);
    replay(record);
    for format in FORMATS.into_iter().chain([Format::BRIEF]) {
        let _: String = assay_report::render(record, &judgement, format, &OPTIONS);
    }
}

/// Number of actions requested after a record was replayed.
const ACTIONS: usize = 20;

/// Replays a record into a driver and answers its first actions.
fn replay(record: &StudyRecord) {
    let mut driver = Driver::new(record, Shard::WHOLE);
    let measured = |cell: usize, block, round, systems: &[usize]| {
        let id = record.study.cells.get(cell).map(|planned| planned.id);
        let sample = |(cell, &system)| {
            let (rate, cpu_per_op) = (Some(100.0), None);
            SliceSample {
                system,
                cell,
                block,
                node: 0,
                round,
                fitness: Fitness::Good,
                rate,
                seconds: 0.1,
                events: 10,
                elapsed_s: 0.1,
                cpu_per_op,
                serving_cpu_per_op: cpu_per_op,
                cpu_waits_per_op: None,
                p99: None,
                dispersion: None,
                twos: Vec::new(),
            }
        };
        let samples = id.into_iter().cycle().zip(systems).map(sample).collect();
        Outcome::Measured { samples, seconds: 0.1 }
    };
    for _ in 0..ACTIONS {
        let ControlFlow::Continue(action) = driver.next() else { break };
        let outcome = match action {
            StudyAction::Load => Outcome::Loaded { rates: vec![100.0; record.study.cells.len()] },
            StudyAction::Size { .. } => Outcome::Sized { rate: 100.0 },
            StudyAction::Trace { .. } => Outcome::Traced { systems: Vec::new(), seconds: 0.1 },
            StudyAction::Round { cell, block, round, order } => {
                measured(cell, block, round, &order)
            }
            StudyAction::Once { cell, system, .. } => measured(cell, 0, 0, &[system]),
            StudyAction::Step { cell, system, block, .. } => measured(cell, block, 0, &[system]),
            _ => Outcome::Done,
        };
        driver.receive(&outcome, 0.0);
    }
    let next = driver.next();
    assert!(!matches!(next, ControlFlow::Break(StudyEnd::WrongOutcome(_))), "{next:?}");
}

fn change(path: &Path, mut bytes: &[u8]) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA foreign_keys = OFF;
         PRAGMA ignore_check_constraints = ON;",
    )?;
    let sql = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
        WHERE m.type = 'table' ORDER BY m.name, c.cid";
    let mut statement = connection.prepare(sql)?;
    let columns: Vec<(String, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    while let Some(([column, kind, length], rest)) = bytes.split_first_chunk::<3>() {
        let (value, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = rest;
        let Some((table, column)) = columns.get(usize::from(*column) % columns.len().max(1)) else {
            return Ok(());
        };
        let sql = format!("UPDATE \"{table}\" SET \"{column}\" = ?");
        // A value that the table itself refuses cannot be in a ledger.
        connection.execute(&sql, [as_value(*kind, value)]).ok();
    }
    Ok(())
}

fn as_value(kind: u8, bytes: &[u8]) -> Value {
    let mut eight = [0; 8];
    eight.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    match kind % 5 {
        0 => Value::Null,
        1 => Value::Integer(i64::from_le_bytes(eight)),
        2 => Value::Real(f64::from_le_bytes(eight)),
        3 => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        _ => Value::Blob(bytes.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise no fuzzer would get beyond its header.
    #[test]
    fn the_small_ledger_can_be_read() {
        with(SMALL, |path| {
            let ledger = Ledger::open_read_only(path).unwrap();
            assert!(ledger.read("sample").is_ok());
        });
    }
}
