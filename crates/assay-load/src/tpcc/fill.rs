//! Creates and loads the tables: parts of them at the same time, each on a connection of its own.

use std::time::Instant;

use assay_model::{Dialect, Engine, Tpcc};
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::{TPCC_TABLES, TpccBatch, TpccBatches, TpccTable, tpcc_data, tpcc_procedures};

use crate::error::{Error, Result};
use crate::fill::{LoadProgress, LoadReport};
use crate::share::{Reports, for_whole_tables, share_tables};
use crate::user::{connect, drop_existing, existing, note, read_back, refuse_others, run};

/// The tables to load: the same values give the same rows on every server.
pub(crate) struct TpccTables<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) engine: Engine,
    pub(crate) tpcc: &'a Tpcc,
    pub(crate) seed: u64,
}

/// A statement that was carried out, and its bytes.
struct Sent {
    batch: TpccBatch,
    bytes: u64,
}

/// Drops the tables of an earlier load, creates and loads new ones, with their indexes and procedures, and makes sure
/// that each holds as many rows as were sent. Tables that no load has made are replaced only if the server `is_ours`.
pub(crate) fn fill_tpcc(
    options: &ConnectOptions,
    tables: &TpccTables<'_>,
    is_ours: bool,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport> {
    let start = Instant::now();
    let TpccTables { dialect, engine, tpcc, seed } = *tables;
    let options = for_whole_tables(options);
    let data = tpcc_data(tpcc);
    let mut control = connect(&options)?;
    let there = existing(&mut control, dialect, &data)?;
    if !is_ours {
        refuse_others(&mut control, dialect, &data, &there)?;
    }
    drop_existing(&mut control, dialect, &there)?;
    for table in &TPCC_TABLES {
        run(&mut control, &table.create(dialect, engine))?;
        note(&mut control, dialect, &data, table.name)?;
    }
    let mut sent = [0_u64; TPCC_TABLES.len()];
    let (mut rows, mut bytes_sent, rows_total) = (0, 0, tpcc.rows());
    let load = |connection: &mut Connection, part, reports: &Reports<_>| {
        load_part(connection, TpccBatches::new(seed, part - 1), reports)
    };
    let parts = TpccBatches::parts(tpcc.warehouses);
    share_tables(
        parts,
        |client| connect_client(&options, client),
        load,
        |done: Sent| {
            if let Some(count) = sent.get_mut(done.batch.table) {
                *count += u64::from(done.batch.rows);
            }
            rows += u64::from(done.batch.rows);
            bytes_sent += done.bytes;
            progress(LoadProgress { rows, rows_total: rows_total.max(rows), is_dump: false });
        },
    )?;
    create_indexes(&options)?;
    if tpcc.procedures {
        for procedure in tpcc_procedures(dialect) {
            run(&mut control, &procedure.drop)?;
            run(&mut control, &procedure.create)?;
        }
    }
    let elapsed = start.elapsed();
    let names = TPCC_TABLES.each_ref().map(|table| table.name);
    let (content, found) = read_back(&options, dialect, &names)?;
    for ((table, sent), found) in TPCC_TABLES.iter().zip(sent).zip(found) {
        if sent != found {
            return Err(Error::RowsDiffer { table: table.name.to_owned(), sent, found });
        }
    }
    Ok(LoadReport { rows: content.rows, content, bytes_sent, elapsed, restored: Vec::new() })
}

fn connect_client(options: &ConnectOptions, client: u32) -> Result<Connection> {
    Connection::connect(options).map_err(|source| Error::Connect { client, source })
}

/// Loads a part, and reports after each statement.
fn load_part(
    connection: &mut Connection,
    mut batches: TpccBatches,
    reports: &Reports<Sent>,
) -> Result<()> {
    let mut statement = Vec::new();
    while let Some(batch) = batches.next_into(&mut statement) {
        let before = connection.bytes_sent();
        let done = connection.execute_text(&statement);
        done.map_err(|cause| Error::query(&statement, cause))?;
        reports.send(Sent { batch, bytes: connection.bytes_sent() - before })?;
    }
    Ok(())
}

/// Creates the secondary indexes at the same time.
fn create_indexes(options: &ConnectOptions) -> Result<()> {
    let all: Vec<String> = TPCC_TABLES.iter().filter_map(TpccTable::create_index).collect();
    let create = |connection: &mut Connection, number: u32, _: &Reports<()>| {
        all.get(number as usize - 1).map_or(Ok(()), |sql| run(connection, sql))
    };
    share_tables(all.len() as u32, |client| connect_client(options, client), create, |()| ())
}
