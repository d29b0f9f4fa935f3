//! Creates the tables.

use assay_model::{Dialect, Engine, IbenchStep, Preparation};
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::IbenchTable;

use crate::error::{Error, Result};
use crate::share::for_whole_tables;

/// Drops and recreates the tables of the Insert Benchmark, if the step begins with that.
pub fn create_ibench_tables(
    options: &ConnectOptions,
    (dialect, engine): (Dialect, Engine),
    step: &IbenchStep,
    clients: u32,
) -> Result<()> {
    let indexes = match step.before {
        Preparation::Create => 0,
        Preparation::CreateIndexed => step.tables.indexes,
        Preparation::Maintain { .. } | Preparation::Nothing => return Ok(()),
    };
    let mut control = Connection::control(&for_whole_tables(options))
        .map_err(|source| Error::Connect { client: 0, source })?;
    for number in 1..=numbers_of(step, clients) {
        let table = IbenchTable::new(dialect, number);
        let statements = [table.drop()]
            .into_iter()
            .chain(table.create(engine, &step.tables))
            .chain(table.create_indexes(engine, indexes));
        for statement in statements {
            control.query(&statement).map_err(|cause| Error::query(statement.as_bytes(), cause))?;
        }
    }
    Ok(())
}

fn numbers_of(step: &IbenchStep, clients: u32) -> u32 {
    if step.tables.is_shared { 1 } else { clients }
}

pub(super) fn table_of(dialect: Dialect, step: &IbenchStep, client: u32) -> IbenchTable {
    IbenchTable::new(dialect, if step.tables.is_shared { 1 } else { client + 1 })
}
