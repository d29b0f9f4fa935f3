//! The table `events_statements_summary_by_digest` of the performance schema, as CSV or output of `mysql --batch`.

use assay_model::Dialect;

use super::tables::{CsvColumns, CsvTable, header};
use crate::reader::{EntrySink, LogEntry, LogFormat, LogHints, LogReader, shown};
use crate::time;

pub(super) const FORMAT: LogFormat = LogFormat {
    name: "digests",
    about: "table events_statements_summary_by_digest of the performance schema, CSV or TSV",
    dialect: Some(Dialect::MySql),
    looks,
    open,
};

/// Picoseconds per microsecond: the table's times are in picoseconds.
const PS: f64 = 1e6;

fn looks(head: &[u8], _: &LogHints) -> bool {
    header(head).is_some_and(|(_, columns)| {
        columns.has("count_star")
            && (columns.has("digest_text") || columns.has("query_sample_text"))
    })
}

fn open(head: &[u8], _: &LogHints) -> Box<dyn LogReader> {
    Box::new(CsvTable::new(head, row))
}

fn row(columns: &CsvColumns, record: &[Vec<u8>], line: &[u8], out: &mut dyn EntrySink) {
    let Some(calls) = columns.number(record, "count_star") else { return out.unreadable(line) };
    // A sample has the values of one call, unless it is truncated.
    let sample = columns.get(record, "query_sample_text").filter(|it| !it.ends_with(b"..."));
    let Some(text) = sample.or_else(|| columns.get(record, "digest_text")) else {
        // The row for all statements that did not fit into the table.
        return out.skip(crate::reader::Skip::TooMany);
    };
    let database = columns.get(record, "schema_name").map(shown);
    let seen = columns.get(record, "last_seen").and_then(time::leading);
    out.entry(&LogEntry {
        at_us: seen.map(|(at, _)| at),
        database: database.as_deref(),
        calls: calls as u64,
        time_us: columns.number(record, "sum_timer_wait").map(|it| it / PS),
        is_cut: sample.is_none() && (text.ends_with(b"...") || text.ends_with(b"... ")),
        ..LogEntry::new(Dialect::MySql, text)
    });
}
