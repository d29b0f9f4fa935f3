//! `log_destination = csvlog` of Postgres.

use assay_model::Dialect;

use super::super::tables::{CsvLine, CsvRecords};
use super::messages::{Message, StatementMessages};
use crate::reader::{EntrySink, LogFormat, LogHints, LogReader, Skip, lines, number_of, shown};
use crate::time;

pub(crate) const FORMAT: LogFormat = LogFormat {
    name: "csvlog",
    about: "csvlog of Postgres",
    dialect: Some(Dialect::Postgres),
    looks,
    open: |_, _| {
        Box::new(CsvLog {
            records: CsvRecords::new(b','),
            messages: StatementMessages::default(),
            has_begun: false,
        })
    },
};

/// Columns of the oldest supported version.
const COLUMNS_MIN: usize = 22;

mod column {
    pub(super) const TIME: usize = 0;
    pub(super) const DATABASE: usize = 2;
    pub(super) const SESSION: usize = 5;
    pub(super) const SEVERITY: usize = 11;
    pub(super) const MESSAGE: usize = 13;
    pub(super) const DETAIL: usize = 14;
    pub(super) const APPLICATION: usize = 22;
}

fn looks(head: &[u8], _: &LogHints) -> bool {
    let mut records = CsvRecords::new(b',');
    lines(head).any(|line| {
        // A truncated record would extend to the end.
        let goes_on = records.is_open();
        is_record(line)
            || (goes_on || begins_record(line))
                && matches!(records.line(line), CsvLine::Record(fields) if are_of_record(&fields))
    })
}

fn is_record(line: &[u8]) -> bool {
    if !begins_record(line) {
        return false;
    }
    matches!(CsvRecords::new(b',').line(line), CsvLine::Record(fields) if are_of_record(&fields))
}

/// Whether fields form a record, by their number and by those that are numbers.
fn are_of_record(fields: &[Vec<u8>]) -> bool {
    let is_number = |at: usize| {
        fields.get(at).is_some_and(|it| !it.is_empty() && it.iter().all(u8::is_ascii_digit))
    };
    fields.len() >= COLUMNS_MIN && is_number(3) && is_number(6)
}

/// Whether a line begins with a time, which may be in quotes.
fn begins_record(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    time::leading(line).is_some_and(|(_, end)| end > 10)
}

#[derive(Debug)]
struct CsvLog {
    records: CsvRecords,
    messages: StatementMessages,
    has_begun: bool,
}

impl LogReader for CsvLog {
    fn line(&mut self, line: &[u8], out: &mut dyn EntrySink) {
        // A log may begin in the middle of a record, and a record may be truncated before the next one.
        if !self.has_begun && !begins_record(line) {
            if !line.is_empty() {
                out.unreadable(line);
            }
            return;
        }
        self.has_begun = true;
        if self.records.is_open() && is_record(line) {
            out.unreadable_before(1, b"a record has no end");
            self.records = CsvRecords::new(b',');
        }
        let fields = match self.records.line(line) {
            CsvLine::Record(fields) => fields,
            CsvLine::More => return,
            CsvLine::TooLong => return out.skip(Skip::TooLong),
        };
        let field = |at: usize| fields.get(at).map_or(b"".as_slice(), Vec::as_slice);
        let at_us = time::leading(field(column::TIME)).map(|(at, _)| at);
        if fields.len() < COLUMNS_MIN || at_us.is_none() {
            if fields.len() > 1 || !field(0).is_empty() {
                out.unreadable(line);
            }
            return;
        }
        let database = shown(field(column::DATABASE));
        let message = Message {
            at_us,
            session: number_of(field(column::SESSION)),
            database: Some(database.as_str()).filter(|it| !it.is_empty()),
            application: field(column::APPLICATION),
            severity: field(column::SEVERITY),
            text: field(column::MESSAGE),
            detail: field(column::DETAIL),
        };
        self.messages.take(&message, out);
    }

    fn end(&mut self, out: &mut dyn EntrySink) {
        if self.records.is_open() {
            out.unreadable(b"the last record has no end");
        }
        self.messages.end(out);
        (self.records, self.has_begun) = (CsvRecords::new(b','), false);
    }
}
