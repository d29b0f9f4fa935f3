//! Row count and checksum of a server's tables.

use assay_model::{DataSet, Dialect, TableForm, counted};
use assay_wire::Error as WireError;
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::{Batch, ContentQuery, cache_queries, content_query, row_checksum};

use crate::error::{Error, Result};
use crate::share::{Reports, for_rows, for_whole_tables, share_tables};

/// The content of all tables combined. Equal data have equal content, regardless of version, character set and row
/// order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Content {
    pub rows: u64,
    /// Hexadecimal checksum of all columns of all rows. For a user's tables, a prefix names the method.
    pub checksum: String,
}

impl Content {
    pub fn check(&self, loaded: &Self) -> Result<()> {
        let words = |it: &Self| {
            let Self { rows, checksum } = it;
            format!("{} with checksum {checksum}", counted(*rows, "row"))
        };
        if self == loaded {
            return Ok(());
        }
        Err(Error::WrongContent { found: words(self), expected: words(loaded) })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sum {
    rows: u64,
    checksum: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, rows: u64, checksum: u64) {
        self.rows += rows;
        self.checksum = self.checksum.wrapping_add(checksum);
    }

    pub(crate) fn add_batch(&mut self, batch: Batch) {
        self.add(u64::from(batch.rows), batch.checksum);
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn content(&self) -> Content {
        Content { rows: self.rows, checksum: format!("{:016x}", self.checksum) }
    }
}

pub fn content(options: &ConnectOptions, dialect: Dialect, data: DataSet) -> Result<Content> {
    let options = for_whole_tables(options);
    let connect =
        |client| Connection::control(&options).map_err(|source| Error::Connect { client, source });
    let ask = |control: &mut Connection, table, reports: &Reports<_>| {
        let query = content_query(dialect, table);
        let (ContentQuery::Computed(sql) | ContentQuery::Rows(sql)) = &query;
        let answer = match &query {
            ContentQuery::Computed(sql) => two_numbers(control, sql),
            ContentQuery::Rows(sql) => sum_rows(control, sql, table),
        };
        reports.send(answer.map_err(|cause| Error::query(sql.as_bytes(), cause))?)
    };
    let mut sum = Sum::default();
    share_tables(data.tables, connect, ask, |(rows, checksum)| sum.add(rows, checksum))?;
    Ok(sum.content())
}

/// Makes the server read every table and its indexes once, to fill its cache.
pub fn fill_cache(
    options: &ConnectOptions,
    dialect: Dialect,
    form: &TableForm,
    data: DataSet,
) -> Result<()> {
    let options = for_rows(options, data.rows.into());
    let mut control =
        Connection::control(&options).map_err(|source| Error::Connect { client: 0, source })?;
    let schema =
        control.schema().map_err(|cause| Error::query(b"SELECT current_schema()", cause))?;
    for sql in (1..=data.tables).flat_map(|table| cache_queries(dialect, form, table)) {
        let found = match sql.starts_with("SELECT") {
            true => control.query_tables(schema.as_ref(), &sql),
            false => control.query(&sql),
        };
        found.map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    }
    Ok(())
}

fn two_numbers(control: &mut Connection, sql: &str) -> Result<(u64, u64), WireError> {
    let result = control.query(sql)?;
    let number = |column| result.text(0, column)?.parse().ok();
    number(0).zip(number(1)).ok_or(WireError::Protocol("an answer that is no number"))
}

fn sum_rows(control: &mut Connection, sql: &str, table: u32) -> Result<(u64, u64), WireError> {
    let (mut sum, mut scratch) = (Sum::default(), Vec::new());
    control.query_rows(sql, &mut |mut values| {
        let mut columns = [&b""[..]; 4];
        for column in &mut columns {
            let value = values.next().transpose()?.flatten();
            let value = value.ok_or(WireError::Protocol("a row without all its values"))?;
            *column = without_padding(value);
        }
        sum.add(1, row_checksum(table, columns, &mut scratch));
        Ok(())
    })?;
    Ok((sum.rows, sum.checksum))
}

/// Removes CHAR padding. Doing it in SQL might call another user's function.
fn without_padding(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
    value.get(..end).unwrap_or_default()
}

/// SQL for the text of a MySQL or MariaDB column, by its type; `name` is quoted.
pub(crate) fn value_text(name: &str, kind: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    // Bytes need not be valid text.
    match kind.ends_with("binary") || kind.ends_with("blob") || kind == "bit" {
        true => format!("COALESCE(HEX({name}), 'NULL')"),
        false => format!("COALESCE(CONVERT(QUOTE({name}) USING utf8mb4), '?')"),
    }
}

#[cfg(test)]
mod tests {
    use super::without_padding;

    #[test]
    fn trailing_blanks_are_ignored() {
        assert_eq!(without_padding(b" a b  "), b" a b");
        assert_eq!((without_padding(b"   "), without_padding(b"")), (&b""[..], &b""[..]));
    }
}
