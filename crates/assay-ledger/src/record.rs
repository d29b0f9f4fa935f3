//! Adds whole studies.

use assay_model::StudyRecord;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::parts::add_series;
use crate::write::{add_event, add_slice, finish, insert_study};
use crate::{Error, Ledger, Problem};

impl Ledger {
    /// Adds a finished study of published results with its systems, cells, slices, events and series in one
    /// transaction.
    pub fn add_record(&mut self, record: &StudyRecord) -> Result<(), Error> {
        self.written(add_record(&self.connection, record))
    }
}

fn add_record(connection: &Connection, record: &StudyRecord) -> Result<(), Problem> {
    let id = &record.study.id;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let run = record.runs.first().ok_or(Problem::Dangling)?;
    insert_study(&transaction, &record.study, run, &record.systems)?;
    for slice in &record.slices {
        add_slice(&transaction, id, slice)?;
    }
    for event in &record.events {
        add_event(&transaction, id, event)?;
    }
    for (slice, series) in &record.series {
        add_series(&transaction, id, *slice, series)?;
    }
    finish(&transaction, id)?;
    Ok(transaction.commit()?)
}
