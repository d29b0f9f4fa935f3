//! Reads tables with a header, separated by commas or tabs, whose fields may span several lines.

use crate::reader::{EntrySink, LINE_MAX, LogReader, Skip};

const RECORD_MAX: usize = 32 << 20;

#[derive(Debug)]
pub(super) struct CsvRecords {
    separator: u8,
    record: Vec<u8>,
    is_open: bool,
    /// Too long to be kept: only its end is searched.
    is_long: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CsvLine {
    /// The record is complete; its fields.
    Record(Vec<Vec<u8>>),
    More,
    TooLong,
}

impl CsvRecords {
    /// Tab-separated tables come from the client `mysql` and have backslash escapes.
    pub(super) fn new(separator: u8) -> Self {
        Self { separator, record: Vec::new(), is_open: false, is_long: false }
    }

    pub(super) fn line(&mut self, line: &[u8]) -> CsvLine {
        if self.separator == b'\t' {
            return CsvLine::Record(line.split(|it| *it == b'\t').map(unescaped).collect());
        }
        let quotes = line.iter().filter(|byte| **byte == b'"').count();
        if self.is_long || self.record.len() + line.len() > RECORD_MAX || line.len() >= LINE_MAX {
            self.record = Vec::new();
            self.is_open ^= quotes % 2 == 1;
            // A truncated line has lost its end. It counts as the last one of the record.
            self.is_open &= line.len() < LINE_MAX;
            let was_long = std::mem::replace(&mut self.is_long, self.is_open);
            return if was_long { CsvLine::More } else { CsvLine::TooLong };
        }
        if self.is_open {
            self.record.push(b'\n');
        }
        self.record.extend_from_slice(line);
        self.is_open ^= quotes % 2 == 1;
        if self.is_open {
            return CsvLine::More;
        }
        let fields = fields(&self.record, self.separator);
        self.record.clear();
        CsvLine::Record(fields)
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }
}

/// Quoted fields have doubled quotes.
fn fields(record: &[u8], separator: u8) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let (mut field, mut is_quoted) = (Vec::new(), false);
    let mut bytes = record.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_quoted && bytes.peek() == Some(&b'"') => {
                bytes.next();
                field.push(b'"');
            }
            b'"' => is_quoted = !is_quoted,
            byte if byte == separator && !is_quoted => found.push(std::mem::take(&mut field)),
            byte => field.push(byte),
        }
    }
    found.push(field);
    found
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut bytes = field.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => out.push(match bytes.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'0') => 0,
                Some(other) => other,
                None => b'\\',
            }),
            byte => out.push(byte),
        }
    }
    out
}

#[derive(Debug, Default)]
pub(super) struct CsvColumns {
    names: Vec<String>,
}

impl CsvColumns {
    pub(super) fn new(fields: &[Vec<u8>]) -> Self {
        let name = |field: &Vec<u8>| String::from_utf8_lossy(field).trim().to_ascii_lowercase();
        Self { names: fields.iter().map(name).collect() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|it| it == name)
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The field of a record, unless it is NULL.
    pub(super) fn get<'r>(&self, record: &'r [Vec<u8>], name: &str) -> Option<&'r [u8]> {
        let at = self.names.iter().position(|it| it == name)?;
        let field = record.get(at)?.as_slice();
        (field != b"NULL" && field != b"\\N" && !field.is_empty()).then_some(field)
    }

    pub(super) fn number(&self, record: &[Vec<u8>], name: &str) -> Option<f64> {
        let text = std::str::from_utf8(self.get(record, name)?).ok()?;
        text.parse().ok().filter(|it: &f64| (0.0..=1e15).contains(it))
    }
}

pub(super) fn header(head: &[u8]) -> Option<(u8, CsvColumns)> {
    let line = crate::reader::lines(head).next()?;
    let separator = [b'\t', b',', b';'].into_iter().find(|it| line.contains(it))?;
    match CsvRecords::new(separator).line(line) {
        CsvLine::Record(fields) => Some((separator, CsvColumns::new(&fields))),
        CsvLine::More | CsvLine::TooLong => None,
    }
}

/// Takes a table's columns, a record's fields, and the record's last line.
type TakeRecord = fn(&CsvColumns, &[Vec<u8>], &[u8], &mut dyn EntrySink);

/// Reads a table whose first line names the columns.
#[derive(Debug)]
pub(super) struct CsvTable {
    records: CsvRecords,
    columns: Option<CsvColumns>,
    take: TakeRecord,
}

impl CsvTable {
    pub(super) fn new(head: &[u8], take: TakeRecord) -> Self {
        let separator = header(head).map_or(b',', |(separator, _)| separator);
        Self { records: CsvRecords::new(separator), columns: None, take }
    }
}

impl LogReader for CsvTable {
    fn line(&mut self, line: &[u8], out: &mut dyn EntrySink) {
        let record = match self.records.line(line) {
            CsvLine::Record(fields) => fields,
            CsvLine::More => return,
            CsvLine::TooLong => return out.skip(Skip::TooLong),
        };
        match &self.columns {
            None => self.columns = Some(CsvColumns::new(&record)),
            Some(_) if record.iter().all(Vec::is_empty) => {}
            Some(columns) if record.len() != columns.len() => out.unreadable(line),
            Some(columns) => (self.take)(columns, &record, line, out),
        }
    }

    fn end(&mut self, out: &mut dyn EntrySink) {
        if self.records.is_open() {
            out.unreadable(b"the last record has no end");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_may_have_several_lines() {
        let mut records = CsvRecords::new(b',');
        assert_eq!(records.line(b"1,\"a"), CsvLine::More);
        let fields = vec![b"1".to_vec(), b"a\n\"b\",".to_vec(), b"".to_vec()];
        assert_eq!(records.line(b"\"\"b\"\",\","), CsvLine::Record(fields));
        let mut records = CsvRecords::new(b'\t');
        assert_eq!(
            records.line(b"a\\nb\tc"),
            CsvLine::Record(vec![b"a\nb".to_vec(), b"c".to_vec()])
        );
    }
}
