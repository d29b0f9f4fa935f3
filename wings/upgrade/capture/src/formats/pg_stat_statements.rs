//! The view `pg_stat_statements` of Postgres as CSV. It has no values.

use assay_model::Dialect;

use super::tables::{CsvColumns, CsvTable, header};
use crate::reader::{EntrySink, LogEntry, LogFormat, LogHints, LogReader, Skip, shown};

pub(super) const FORMAT: LogFormat = LogFormat {
    name: "pg-stat-statements",
    about: "view pg_stat_statements of Postgres as CSV, without values",
    dialect: Some(Dialect::Postgres),
    looks,
    open,
};

fn looks(head: &[u8], _: &LogHints) -> bool {
    header(head).is_some_and(|(_, columns)| {
        let has_time = columns.has("total_exec_time") || columns.has("total_time");
        columns.has("query") && columns.has("calls") && has_time
    })
}

fn open(head: &[u8], _: &LogHints) -> Box<dyn LogReader> {
    Box::new(CsvTable::new(head, row))
}

fn row(columns: &CsvColumns, record: &[Vec<u8>], line: &[u8], out: &mut dyn EntrySink) {
    if columns.get(record, "toplevel").is_some_and(|it| it == b"f" || it == b"false") {
        return out.skip(Skip::Nested);
    }
    let calls = columns.number(record, "calls");
    let (Some(calls), Some(text)) = (calls, columns.get(record, "query")) else {
        return out.unreadable(line);
    };
    let time = |name| columns.number(record, name);
    let executing = time("total_exec_time").or_else(|| time("total_time"));
    let time_us = executing.map(|it| (it + time("total_plan_time").unwrap_or(0.0)) * 1e3);
    // The view has the database's oid; a query that joins `pg_database` has its name.
    let database = columns.get(record, "datname").or_else(|| columns.get(record, "dbid"));
    let database = database.map(shown);
    let (database, calls) = (database.as_deref(), calls as u64);
    out.entry(&LogEntry { database, calls, time_us, ..LogEntry::new(Dialect::Postgres, text) });
}
