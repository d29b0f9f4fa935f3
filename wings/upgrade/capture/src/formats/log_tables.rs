//! The tables `mysql.slow_log` and `mysql.general_log` (`log_output = TABLE`), as CSV or output of `mysql --batch`.

use assay_model::Dialect;

use super::tables::{CsvColumns, CsvTable, header};
use crate::reader::{EntrySink, LogEntry, LogFormat, LogHints, LogReader, Skip, shown};
use crate::time;

pub(super) const FORMAT: LogFormat = LogFormat {
    name: "log-tables",
    about: "table mysql.slow_log or mysql.general_log, CSV or TSV with a header",
    dialect: Some(Dialect::MySql),
    looks,
    open,
};

fn looks(head: &[u8], _: &LogHints) -> bool {
    header(head).is_some_and(|(_, columns)| {
        let has = |names: [&str; 3]| names.iter().all(|name| columns.has(name));
        has(["start_time", "query_time", "sql_text"])
            || has(["event_time", "command_type", "argument"])
    })
}

fn open(head: &[u8], _: &LogHints) -> Box<dyn LogReader> {
    Box::new(CsvTable::new(head, row))
}

fn row(columns: &CsvColumns, record: &[Vec<u8>], line: &[u8], out: &mut dyn EntrySink) {
    let field = |name| columns.get(record, name);
    let is_general = columns.has("argument");
    let is_prepared = match field("command_type") {
        Some(b"Query") => false,
        Some(b"Execute") => true,
        Some(_) => return out.skip(Skip::Administration),
        None if is_general => return out.unreadable(line),
        None => false,
    };
    let time_us = field("query_time").and_then(duration);
    let Some(text) = field(if is_general { "argument" } else { "sql_text" }) else {
        return out.unreadable(line);
    };
    if !is_general && time_us.is_none() {
        return out.unreadable(line);
    }
    let at = field(if is_general { "event_time" } else { "start_time" }).and_then(time::leading);
    let database = field("db").map(shown);
    let text = text.trim_ascii_end();
    let text = text.strip_suffix(b";").unwrap_or(text);
    out.entry(&LogEntry {
        at_us: at.map(|(at, _)| at),
        session: columns.number(record, "thread_id").map(|it| it as u64),
        database: database.as_deref(),
        is_prepared,
        time_us,
        ..LogEntry::new(Dialect::MySql, text)
    });
}

/// `00:00:01.500000` as microseconds.
fn duration(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let mut seconds = 0.0;
    for part in text.split(':') {
        let part: f64 = part.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0)?;
        seconds = seconds * 60.0 + part;
    }
    Some(seconds * 1e6).filter(|it| it.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        assert_eq!(duration(b"00:00:01.500000"), Some(1_500_000.0));
        assert_eq!(duration(b"01:00:00"), Some(3_600_000_000.0));
        assert_eq!(duration(b"x"), None);
        assert_eq!(duration(b"-1"), None);
    }
}
