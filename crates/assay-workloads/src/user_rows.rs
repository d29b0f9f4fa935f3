//! The rows of a user's tables and the statements that load them.

use assay_model::{Dialect, UserColumn};

use crate::csv_rows::{CsvError, CsvRows};
use crate::decimal::push_integer;
use crate::generate::Source;
use crate::quoted::push_quoted;
use crate::random::{Stream, mix, mix_word};
use crate::value::Value;

/// A statement gets no more rows once it is this long, in bytes, or has this many rows.
const STATEMENT_BYTES: usize = 256 * 1024;
const STATEMENT_ROWS: u32 = 2000;

#[derive(Debug)]
pub struct UserBatches {
    has_escapes: bool,
    /// `INSERT INTO table (columns) VALUES `.
    head: String,
    columns: Vec<Source>,
    key: u64,
    next: u32,
    count: u32,
    bytes: Vec<u8>,
}

impl UserBatches {
    /// A pure function of the arguments.
    #[must_use]
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
            columns: columns.iter().map(|column| Source::new(&column.values)).collect(),
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
        let mut stream = Stream::new(mix(self.key, row));
        self.bytes.clear();
        for (number, column) in self.columns.iter().enumerate() {
            statement.push(if number == 0 { b'(' } else { b',' });
            match column.value(row, &mut stream, &mut self.bytes) {
                Value::Int(value) => push_integer(statement, value),
                Value::Text(range)
                | Value::Rows(range)
                | Value::Raw(range)
                | Value::Computed(_, range) => {
                    push_quoted(statement, self.has_escapes, &self.bytes[range])
                }
                Value::Null | Value::Kept(_) => statement.extend_from_slice(b"NULL"),
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
    #[must_use]
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

/// Quotes a name; for Postgres in lower case, as if unquoted.
#[must_use]
pub fn quoted_name(dialect: Dialect, name: &str) -> String {
    let mark = dialect.quote();
    let name = match dialect {
        Dialect::Postgres => name.to_ascii_lowercase(),
        Dialect::MySql => name.to_owned(),
    };
    format!("{mark}{}{mark}", name.replace(mark, &format!("{mark}{mark}")))
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
}
