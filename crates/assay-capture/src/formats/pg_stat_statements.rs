//! The view `pg_stat_statements` of Postgres as CSV. It has no values.

use assay_model::Dialect;

use super::csv::{Columns, Rows, header};
use crate::entry::{Entry, Sink, Skip};
use crate::reader::{Format, Given, Reader, shown};

pub(super) const FORMAT: Format = Format {
    name: "pg-stat-statements",
    about: "view pg_stat_statements of Postgres as CSV, without values",
    dialect: Some(Dialect::Postgres),
    looks,
    open,
};

fn looks(head: &[u8], _: &Given) -> bool {
    header(head).is_some_and(|(_, columns)| {
        let has_time = columns.has("total_exec_time") || columns.has("total_time");
        columns.has("query") && columns.has("calls") && has_time
    })
}

fn open(head: &[u8], _: &Given) -> Box<dyn Reader> {
    Box::new(Rows::new(head, row))
}

fn row(columns: &Columns, record: &[Vec<u8>], line: &[u8], out: &mut dyn Sink) {
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
    out.entry(&Entry {
        dialect: Dialect::Postgres,
        at_us: None,
        session: None,
        database: database.as_deref(),
        text,
        parameters: &[],
        is_prepared: false,
        calls: calls as u64,
        time_us,
        is_cut: false,
    });
}
