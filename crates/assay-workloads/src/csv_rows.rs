//! CSV files with the rows of a table.

use std::fmt;

use assay_model::limits::ROWS;
use csv::{ByteRecord, Reader, ReaderBuilder};

/// The first line names the columns.
pub struct CsvRows<'f> {
    reader: Reader<&'f [u8]>,
    columns: Vec<String>,
    record: ByteRecord,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CsvError(String);

impl<'f> CsvRows<'f> {
    pub fn new(content: &'f [u8]) -> Result<Self, CsvError> {
        if let Err(error) = std::str::from_utf8(content) {
            let line = content[..error.valid_up_to()].iter().filter(|it| **it == b'\n').count() + 1;
            return Err(CsvError(format!("line {line} is not UTF-8")));
        }
        let mut reader = ReaderBuilder::new().from_reader(content);
        let header = reader.headers().map_err(message)?;
        let columns: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        if columns.is_empty() || columns.iter().any(String::is_empty) {
            return Err(CsvError("the first line must name all columns".to_owned()));
        }
        Ok(Self { reader, columns, record: ByteRecord::new() })
    }

    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The next row's values. An empty value means the default of its column.
    pub fn next_row(&mut self) -> Result<Option<impl Iterator<Item = &[u8]>>, CsvError> {
        let has_row = self.reader.read_byte_record(&mut self.record).map_err(message)?;
        Ok(has_row.then(|| self.record.iter()))
    }

    pub fn count_all(mut self) -> Result<u32, CsvError> {
        let mut count = 0_u32;
        while self.next_row()?.is_some() {
            count = count.saturating_add(1);
        }
        match count {
            0 => Err(CsvError("the file has no rows after the line with the names".to_owned())),
            count if count > *ROWS.end() => Err(CsvError("the file has too many rows".to_owned())),
            count => Ok(count),
        }
    }
}

impl fmt::Debug for CsvRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvRows").field("columns", &self.columns).finish_non_exhaustive()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is used where errors are mapped")]
fn message(error: csv::Error) -> CsvError {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            CsvError(format!("line {line} has {len} values, not {expected_len}"))
        }
        _ => CsvError(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<Vec<String>>, String> {
        let mut rows = CsvRows::new(text.as_bytes()).map_err(|error| error.to_string())?;
        let mut all = vec![rows.columns().to_vec()];
        while let Some(row) = rows.next_row().map_err(|error| error.to_string())? {
            all.push(row.map(|value| String::from_utf8(value.to_vec()).unwrap()).collect());
        }
        Ok(all)
    }

    #[test]
    fn values_may_have_quotes_commas_and_newlines() {
        let text = "id, name\n1,\"a, \"\"b\"\"\n\"\n2,\n";
        assert_eq!(rows(text).unwrap(), [["id", "name"], ["1", "a, \"b\"\n"], ["2", ""]]);
        assert_eq!(CsvRows::new(text.as_bytes()).unwrap().count_all(), Ok(2));
    }

    #[test]
    fn a_broken_file_is_refused_with_its_line() {
        assert_eq!(rows("a,b\n1,2\n3\n").unwrap_err(), "line 3 has 1 values, not 2");
        assert_eq!(rows("").unwrap_err(), "the first line must name all columns");
        assert_eq!(rows("a,,c\n1,2,3\n").unwrap_err(), "the first line must name all columns");
        let message = CsvRows::new(b"a\n\xff\n").unwrap_err().to_string();
        assert_eq!(message, "line 2 is not UTF-8");
        assert!(CsvRows::new(b"a\n").unwrap().count_all().is_err());
    }
}
