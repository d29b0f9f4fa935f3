//! Row count and checksum of a server's tables.

use assay_model::{DataSet, Dialect, TableForm, counted};
use assay_wire::{ConnectOptions, Connection, ResultSet, WireError};
use assay_workloads::{ContentQuery, RowsChecksum, cache_queries, content_query, row_checksum};

use crate::control::{connect_control, current_schema};
use crate::error::{LoadError, Result};
use crate::share::{Reports, for_rows, for_whole_tables, share_tables};

/// The content of all tables combined. Equal data have equal content, regardless of version, character set and row
/// order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct TableContent {
    pub rows: u64,
    /// Hexadecimal checksum of all columns of all rows. For a user's tables, a prefix names the method.
    pub checksum: String,
}

impl From<RowsChecksum> for TableContent {
    fn from(RowsChecksum { rows, checksum }: RowsChecksum) -> Self {
        Self { rows, checksum: format!("{checksum:016x}") }
    }
}

impl TableContent {
    pub fn check(&self, loaded: &Self) -> Result<()> {
        let words = |Self { rows, checksum }: &Self| {
            format!("{} with checksum {checksum}", counted(*rows, "row"))
        };
        match self == loaded {
            true => Ok(()),
            false => Err(LoadError::WrongContent { found: words(self), expected: words(loaded) }),
        }
    }
}

pub fn content(options: &ConnectOptions, dialect: Dialect, data: DataSet) -> Result<TableContent> {
    let options = for_whole_tables(options);
    let connect = |client| connect_control(&options, client);
    let ask = |control: &mut Connection, table, reports: &Reports<_>| {
        let query = content_query(dialect, table);
        let (ContentQuery::Computed(sql) | ContentQuery::Rows(sql)) = &query;
        let answer = match &query {
            ContentQuery::Computed(sql) => control.query(sql).and_then(|it| computed_sum(&it)),
            ContentQuery::Rows(sql) => sum_rows(control, sql, table),
        };
        reports.send(answer.map_err(|cause| LoadError::query(sql.as_bytes(), cause))?)
    };
    let mut sum = RowsChecksum::default();
    share_tables(data.tables, connect, ask, |part| sum.add(part))?;
    Ok(sum.into())
}

pub fn fill_cache(
    options: &ConnectOptions,
    dialect: Dialect,
    form: &TableForm,
    data: DataSet,
) -> Result<()> {
    let options = for_rows(options, data.rows.into());
    let mut control = connect_control(&options, 0)?;
    let schema = current_schema(&mut control)?;
    for sql in (1..=data.tables).flat_map(|table| cache_queries(dialect, form, table)) {
        let found = match sql.starts_with("SELECT") {
            true => control.query_tables(schema.as_ref(), &sql),
            false => control.query(&sql),
        };
        found.map_err(|cause| LoadError::query(sql.as_bytes(), cause))?;
    }
    Ok(())
}

pub(crate) fn computed_sum(result: &ResultSet) -> Result<RowsChecksum, WireError> {
    let number = |column| result.text(0, column)?.parse().ok();
    let sum = number(0).zip(number(1)).map(|(rows, checksum)| RowsChecksum { rows, checksum });
    sum.ok_or(WireError::Protocol("an answer that is no number"))
}

fn sum_rows(control: &mut Connection, sql: &str, table: u32) -> Result<RowsChecksum, WireError> {
    let (mut sum, mut scratch) = (RowsChecksum::default(), Vec::new());
    control.query_rows(sql, &mut |mut values| {
        let mut columns = [&b""[..]; 4];
        for column in &mut columns {
            let value = values.next().transpose()?.flatten();
            let value = value.ok_or(WireError::Protocol("a row without all its values"))?;
            *column = without_padding(value);
        }
        sum.add(RowsChecksum { rows: 1, checksum: row_checksum(table, columns, &mut scratch) });
        Ok(())
    })?;
    Ok(sum)
}

/// Removes CHAR padding. Doing it in SQL might call another user's function.
fn without_padding(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
    &value[..end]
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
