//! The TPC-C-like workload: loads its tables in parallel, one connection per part, checks their consistency conditions,
//! and runs its transactions.

mod client;
mod transactions;

use std::time::Instant;

use assay_model::{Dialect, Tpcc};
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::{
    TPCC_CONDITIONS, TPCC_TABLES, TpccBatch, TpccBatches, TpccForm, TpccTable, tpcc_data,
    tpcc_procedures,
};

pub(crate) use self::client::TpccActor;
use crate::control::{connect_control, execute, query, run};
use crate::error::{LoadError, Result};
use crate::fill::{LoadProgress, LoadReport, LoadTarget};
use crate::share::{Reports, for_whole_tables, share_tables};
use crate::user::{connect_session, drop_existing, existing, note, read_back, refuse_others};

struct LoadedBatch {
    batch: TpccBatch,
    bytes: u64,
}

/// Drops the tables of an earlier load, creates and loads new ones, with their indexes and procedures, and checks the
/// row counts. Tables that no load created are replaced only if the server `is_ours`.
pub(crate) fn fill_tpcc(
    tpcc: &Tpcc,
    target: &LoadTarget<'_>,
    is_ours: bool,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport> {
    let start = Instant::now();
    let LoadTarget { options, dialect, engine, seed, .. } = *target;
    let options = ConnectOptions { may_copy: true, ..for_whole_tables(options) };
    let data = tpcc_data(tpcc);
    let mut control = connect_session(&options)?;
    let there = existing(&mut control, &data)?;
    if !is_ours {
        refuse_others(&mut control, &data.name, &there)?;
    }
    drop_existing(&mut control, &there)?;
    for table in &TPCC_TABLES {
        run(&mut control, &table.create(dialect, engine))?;
        note(&mut control, &data.name, table.name)?;
    }
    let mut sent = [0_u64; TPCC_TABLES.len()];
    let (mut rows, mut bytes_sent, rows_total) = (0, 0, tpcc.rows());
    let way = LoadWay::choose(&mut control, dialect, is_ours)?;
    let load = |connection: &mut Connection, part, reports: &Reports<_>| {
        let batches = TpccBatches::new(way.form, seed, part - 1);
        load_part(connection, (dialect, way.form), batches, reports)
    };
    let parts = TpccBatches::parts(tpcc.warehouses);
    let loaded = share_tables(
        parts,
        |client| connect_control(&options, client),
        load,
        |done: LoadedBatch| {
            sent[done.batch.table] += u64::from(done.batch.rows);
            rows += u64::from(done.batch.rows);
            bytes_sent += done.bytes;
            progress(LoadProgress { rows, rows_total: rows_total.max(rows), is_dump: false });
        },
    );
    way.end(&mut control)?;
    loaded?;
    create_indexes(&options)?;
    if tpcc.procedures {
        for procedure in tpcc_procedures(dialect) {
            run(&mut control, &procedure.drop)?;
            run(&mut control, &procedure.create)?;
        }
    }
    let elapsed = start.elapsed();
    let names = TPCC_TABLES.each_ref().map(|table| table.name.to_owned());
    let (content, found) = read_back(&options, &names)?;
    for ((table, sent), found) in TPCC_TABLES.iter().zip(sent).zip(found) {
        if sent != found {
            return Err(LoadError::RowsDiffer { table: table.name.to_owned(), sent, found });
        }
    }
    let (tables, rows, restored) = (names.len() as u32, content.rows, Vec::new());
    Ok(LoadReport { tables, rows, content, bytes_sent, elapsed, restored })
}

/// MySQL and MariaDB variable that allows `LOAD DATA LOCAL`.
const LOCAL: &str = "local_infile";

/// How a server takes many rows. Copying saves parsing statements.
struct LoadWay {
    form: TpccForm,
    /// `local_infile` was turned on for the load.
    is_switched: bool,
}

impl LoadWay {
    /// Copies rows if the server allows it. On a server of ours, it is enabled.
    fn choose(control: &mut Connection, dialect: Dialect, is_ours: bool) -> Result<Self> {
        if dialect == Dialect::Postgres {
            return Ok(Self { form: TpccForm::Copy, is_switched: false });
        }
        let found = query(control, &format!("SELECT @@GLOBAL.{LOCAL}"))?;
        let is_on = found.text(0, 0).is_some_and(|value| value != "0");
        let is_switched = !is_on && is_ours && run(control, &switch(true)).is_ok();
        let form = if is_on || is_switched { TpccForm::Copy } else { TpccForm::Insert };
        Ok(Self { form, is_switched })
    }

    fn end(&self, control: &mut Connection) -> Result<()> {
        if self.is_switched { run(control, &switch(false)) } else { Ok(()) }
    }
}

fn switch(is_on: bool) -> String {
    format!("SET GLOBAL {LOCAL} = {}", u32::from(is_on))
}

fn copy_into(dialect: Dialect, table: &str) -> String {
    match dialect {
        Dialect::MySql => format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table}"),
        Dialect::Postgres => format!("COPY {table} FROM STDIN"),
    }
}

fn load_part(
    connection: &mut Connection,
    way: (Dialect, TpccForm),
    mut batches: TpccBatches,
    reports: &Reports<LoadedBatch>,
) -> Result<()> {
    let mut text = Vec::new();
    while let Some(batch) = batches.next_into(&mut text) {
        let before = connection.bytes_sent();
        send(connection, way, batch, &text)?;
        reports.send(LoadedBatch { batch, bytes: connection.bytes_sent() - before })?;
    }
    Ok(())
}

fn send(
    connection: &mut Connection,
    (dialect, form): (Dialect, TpccForm),
    batch: TpccBatch,
    text: &[u8],
) -> Result<()> {
    match form {
        TpccForm::Insert => execute(connection, text),
        TpccForm::Copy => {
            let sql = copy_into(dialect, TPCC_TABLES[batch.table].name);
            let done = connection.copy_in(&sql, text);
            done.map(drop).map_err(|cause| LoadError::query(sql.as_bytes(), cause))
        }
    }
}

fn create_indexes(options: &ConnectOptions) -> Result<()> {
    let all: Vec<String> = TPCC_TABLES.iter().filter_map(TpccTable::create_index).collect();
    let create = |connection: &mut Connection, number: u32, _: &Reports<()>| {
        run(connection, &all[number as usize - 1])
    };
    share_tables(all.len() as u32, |client| connect_control(options, client), create, |()| ())
}

pub(crate) fn check_conditions(options: &ConnectOptions) -> Result<()> {
    let mut control = connect_session(&for_whole_tables(options))?;
    for condition in &TPCC_CONDITIONS {
        let found = query(&mut control, condition.violation)?;
        if found.rows.is_empty() {
            continue;
        }
        let values = (0..condition.columns.len()).map(|column| found.text(0, column));
        let (number, demands) = (condition.number, condition.demands);
        return Err(LoadError::Inconsistent {
            number,
            demands,
            found: condition.violation_words(values),
        });
    }
    Ok(())
}
