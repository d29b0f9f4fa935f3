//! Creates and loads the tables in parallel, one connection per part.

use std::time::Instant;

use assay_model::{Dialect, Engine, Tpcc};
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::{
    TPCC_TABLES, TpccBatch, TpccBatches, TpccForm, TpccTable, tpcc_data, tpcc_procedures,
};

use crate::error::{Error, Result};
use crate::fill::{LoadProgress, LoadReport};
use crate::share::{Reports, for_whole_tables, share_tables};
use crate::user::{connect, drop_existing, existing, note, read_back, refuse_others, run};

/// The tables to load. Equal values give equal rows on every server.
pub(crate) struct TpccTables<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) engine: Engine,
    pub(crate) tpcc: &'a Tpcc,
    pub(crate) seed: u64,
}

struct Sent {
    batch: TpccBatch,
    bytes: u64,
}

/// Drops the tables of an earlier load, creates and loads new ones, with their indexes and procedures, and checks the
/// row counts. Tables that no load created are replaced only if the server `is_ours`.
pub(crate) fn fill_tpcc(
    options: &ConnectOptions,
    tables: &TpccTables<'_>,
    is_ours: bool,
    progress: &mut dyn FnMut(LoadProgress),
) -> Result<LoadReport> {
    let start = Instant::now();
    let TpccTables { dialect, engine, tpcc, seed } = *tables;
    let options = ConnectOptions { may_copy: true, ..for_whole_tables(options) };
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
    let way = Way::choose(&mut control, dialect, is_ours)?;
    let load = |connection: &mut Connection, part, reports: &Reports<_>| {
        load_part(
            connection,
            (dialect, way.form),
            TpccBatches::new(way.form, seed, part - 1),
            reports,
        )
    };
    let parts = TpccBatches::parts(tpcc.warehouses);
    let loaded = share_tables(
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
    let names = TPCC_TABLES.each_ref().map(|table| table.name);
    let (content, found) = read_back(&options, dialect, &names)?;
    for ((table, sent), found) in TPCC_TABLES.iter().zip(sent).zip(found) {
        if sent != found {
            return Err(Error::RowsDiffer { table: table.name.to_owned(), sent, found });
        }
    }
    let tables = names.len() as u32;
    Ok(LoadReport {
        tables,
        rows: content.rows,
        content,
        bytes_sent,
        elapsed,
        restored: Vec::new(),
    })
}

fn connect_client(options: &ConnectOptions, client: u32) -> Result<Connection> {
    Connection::control(options).map_err(|source| Error::Connect { client, source })
}

/// MySQL and MariaDB variable that allows `LOAD DATA LOCAL`.
const LOCAL: &str = "local_infile";

/// How a server takes many rows. Copying saves parsing statements.
struct Way {
    form: TpccForm,
    /// `local_infile` was turned on for the load.
    is_switched: bool,
}

impl Way {
    /// Copies rows if the server allows it. On a server of ours, it is enabled.
    fn choose(control: &mut Connection, dialect: Dialect, is_ours: bool) -> Result<Self> {
        if dialect == Dialect::Postgres {
            return Ok(Self { form: TpccForm::Copy, is_switched: false });
        }
        let sql = format!("SELECT @@GLOBAL.{LOCAL}");
        let found = control.query(&sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
        let is_on = found.text(0, 0).is_some_and(|it| it != "0");
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
    reports: &Reports<Sent>,
) -> Result<()> {
    let mut text = Vec::new();
    while let Some(batch) = batches.next_into(&mut text) {
        let before = connection.bytes_sent();
        send(connection, way, batch, &text)?;
        reports.send(Sent { batch, bytes: connection.bytes_sent() - before })?;
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
        TpccForm::Insert => {
            let done = connection.execute_text(text);
            done.map(drop).map_err(|cause| Error::query(text, cause))
        }
        TpccForm::Copy => {
            let table = TPCC_TABLES.get(batch.table).map_or("", |table| table.name);
            let sql = copy_into(dialect, table);
            let done = connection.copy_in(&sql, text);
            done.map(drop).map_err(|cause| Error::query(sql.as_bytes(), cause))
        }
    }
}

fn create_indexes(options: &ConnectOptions) -> Result<()> {
    let all: Vec<String> = TPCC_TABLES.iter().filter_map(TpccTable::create_index).collect();
    let create = |connection: &mut Connection, number: u32, _: &Reports<()>| {
        all.get(number as usize - 1).map_or(Ok(()), |sql| run(connection, sql))
    };
    share_tables(all.len() as u32, |client| connect_client(options, client), create, |()| ())
}
