//! A user's workload: the rows of its tables, generated or from CSV files, and the statements that load them.

use std::fmt;

use assay_model::limits::ROWS;
use assay_model::{Dialect, PerDialect, UserColumn, UserData, UserRows};
use csv::{ByteRecord, Reader, ReaderBuilder};
use sha2::{Digest as _, Sha256};

use crate::generate::ValueSource;
use crate::literal::{push_integer, push_quoted, quoted_name};
use crate::number::EventValue;
use crate::random::{RandomStream, mix, mix_word};
use crate::workload::{WorkloadDefinition, json};

/// A statement gets no more rows once it is this long, in bytes, or has this many rows.
const STATEMENT_BYTES: usize = 256 * 1024;
const STATEMENT_ROWS: u32 = 2000;

impl WorkloadDefinition for UserData {
    /// Everything but the paths of files. Samples would miss rare values.
    fn add_data(&self, digest: &mut Sha256) {
        let mut data = self.clone();
        data.name.clear();
        if let Some(PerDialect { mysql, postgres }) = &mut data.dump {
            mysql.iter_mut().chain(postgres).for_each(|dump| dump.file.path.clear());
        }
        for table in &mut data.tables {
            match &mut table.rows {
                UserRows::Csv { file, .. } => file.path.clear(),
                UserRows::Script(PerDialect { mysql, postgres }) => {
                    mysql.iter_mut().chain(postgres).for_each(|file| file.path.clear());
                }
                UserRows::Generated { .. } => {}
            }
        }
        digest.update(json(&data));
    }
}

#[derive(Debug)]
pub struct UserBatches {
    has_escapes: bool,
    /// `INSERT INTO table (columns) VALUES `.
    head: String,
    columns: Vec<ValueSource>,
    key: u64,
    next: u32,
    count: u32,
    bytes: Vec<u8>,
}

impl UserBatches {
    pub fn new(
        dialect: Dialect,
        seed: u64,
        table: &str,
        columns: &[UserColumn],
        count: u32,
    ) -> Self {
        Self {
            has_escapes: dialect.has_escapes(),
            head: head(dialect, table, columns.iter().map(|it| it.name.as_str())),
            columns: columns.iter().map(|column| ValueSource::new(&column.values)).collect(),
            key: mix_word(mix_word(seed, "own row"), table),
            next: 0,
            count,
            bytes: Vec::new(),
        }
    }

    /// Replaces `statement` with the next one and returns its number of rows. At the end, it is 0 and the statement is
    /// empty.
    pub fn next_into(&mut self, statement: &mut Vec<u8>) -> u32 {
        statement.clear();
        let first = self.next;
        while self.next < self.count
            && statement.len() < STATEMENT_BYTES
            && self.next - first < STATEMENT_ROWS
        {
            let before = if statement.is_empty() { self.head.as_bytes() } else { b"," };
            statement.extend_from_slice(before);
            self.push_row(statement);
            self.next += 1;
        }
        self.next - first
    }

    fn push_row(&mut self, statement: &mut Vec<u8>) {
        let row = u64::from(self.next);
        let mut stream = RandomStream::new(mix(self.key, row));
        self.bytes.clear();
        for (number, column) in self.columns.iter().enumerate() {
            statement.push(if number == 0 { b'(' } else { b',' });
            match column.value(row, &mut stream, &mut self.bytes) {
                EventValue::Int(value) => push_integer(statement, value),
                EventValue::Text(range)
                | EventValue::Rows(range)
                | EventValue::Raw(range)
                | EventValue::Computed(_, range) => {
                    push_quoted(statement, self.has_escapes, &self.bytes[range])
                }
                EventValue::Null | EventValue::Kept(_) => statement.extend_from_slice(b"NULL"),
            }
        }
        statement.push(b')');
    }
}

#[derive(Debug)]
pub struct CsvBatches<'f> {
    has_escapes: bool,
    head: String,
    rows: CsvRows<'f>,
}

impl<'f> CsvBatches<'f> {
    pub fn new(dialect: Dialect, table: &str, rows: CsvRows<'f>) -> Self {
        let head = head(dialect, table, rows.columns().iter().map(String::as_str));
        Self { has_escapes: dialect.has_escapes(), head, rows }
    }

    /// Like [`UserBatches::next_into`]. An empty value becomes the default of its column.
    pub fn next_into(&mut self, statement: &mut Vec<u8>) -> Result<u32, CsvError> {
        statement.clear();
        let mut count = 0;
        while statement.len() < STATEMENT_BYTES && count < STATEMENT_ROWS {
            let Some(values) = self.rows.next_row()? else { break };
            let before = if count == 0 { self.head.as_bytes() } else { b"," };
            statement.extend_from_slice(before);
            for (number, value) in values.enumerate() {
                statement.push(if number == 0 { b'(' } else { b',' });
                match value {
                    b"" => statement.extend_from_slice(b"DEFAULT"),
                    value => push_quoted(statement, self.has_escapes, value),
                }
            }
            statement.push(b')');
            count += 1;
        }
        Ok(count)
    }
}

fn head<'a>(dialect: Dialect, table: &str, columns: impl Iterator<Item = &'a str>) -> String {
    let columns: Vec<String> = columns.map(|name| quoted_name(dialect, name)).collect();
    format!("INSERT INTO {} ({}) VALUES ", quoted_name(dialect, table), columns.join(", "))
}

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
        let header = reader.headers().map_err(csv_error)?;
        let columns: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        if columns.is_empty() || columns.iter().any(String::is_empty) {
            return Err(CsvError("the first line must name all columns".to_owned()));
        }
        Ok(Self { reader, columns, record: ByteRecord::new() })
    }

    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The next row's values. An empty value means the default of its column.
    pub fn next_row(&mut self) -> Result<Option<impl Iterator<Item = &[u8]>>, CsvError> {
        let has_row = self.reader.read_byte_record(&mut self.record).map_err(csv_error)?;
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
fn csv_error(error: csv::Error) -> CsvError {
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
    use assay_model::{Generator, Scalar};

    use super::*;

    fn column(name: &str, values: Generator) -> UserColumn {
        UserColumn { name: name.to_owned(), values }
    }

    fn statements(dialect: Dialect, columns: &[UserColumn], count: u32) -> Vec<(u32, String)> {
        let mut batches = UserBatches::new(dialect, 1, "t", columns, count);
        let (mut all, mut statement) = (Vec::new(), Vec::new());
        loop {
            let rows = batches.next_into(&mut statement);
            if rows == 0 {
                assert!(statement.is_empty());
                return all;
            }
            all.push((rows, String::from_utf8(statement.clone()).unwrap()));
        }
    }

    #[test]
    fn values_are_literals_of_the_product() {
        let text = Generator::Constant(Scalar::Text("it's \\".to_owned()));
        let of = Box::new(text.clone());
        let columns = [
            column("id", Generator::Sequence { first: 1, each: 1 }),
            column("a`b\"c", text),
            column("none", Generator::Nullable { share: 1.0, of }),
        ];
        let [mysql, postgres] = Dialect::ALL.map(|it| statements(it, &columns, 2));
        let expected = "INSERT INTO `t` (`id`, `a``b\"c`, `none`) VALUES \
                        (1,'it''s \\\\',NULL),(2,'it''s \\\\',NULL)";
        assert_eq!(mysql, [(2, expected.to_owned())]);
        let expected = "INSERT INTO \"t\" (\"id\", \"a`b\"\"c\", \"none\") VALUES \
                        (1,'it''s \\',NULL),(2,'it''s \\',NULL)";
        assert_eq!(postgres, [(2, expected.to_owned())]);
    }

    #[test]
    fn empty_values_of_a_file_become_defaults() {
        let rows = CsvRows::new(b"Id,text\n1,it's\n2,\n").unwrap();
        let mut batches = CsvBatches::new(Dialect::Postgres, "T", rows);
        let mut statement = Vec::new();
        assert_eq!(batches.next_into(&mut statement), Ok(2));
        let expected = "INSERT INTO \"t\" (\"id\", \"text\") VALUES ('1','it''s'),('2',DEFAULT)";
        assert_eq!(String::from_utf8_lossy(&statement), expected);
        assert_eq!(batches.next_into(&mut statement), Ok(0));
    }

    #[test]
    fn long_and_many_rows_take_several_statements() {
        let short = [column("id", Generator::Sequence { first: 1, each: 1 })];
        let rows: Vec<u32> =
            statements(Dialect::MySql, &short, 5000).iter().map(|(rows, _)| *rows).collect();
        assert_eq!(rows, [2000, 2000, 1000]);
        let long = [column("text", Generator::Text { least: 100_000, most: 100_000 })];
        let rows: Vec<u32> =
            statements(Dialect::MySql, &long, 5).iter().map(|(rows, _)| *rows).collect();
        assert_eq!(rows, [3, 2]);
    }

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
