//! The content of a table as one number, computed identically by client and server.
//!
//! It is the sum over the rows of CRC-32 of `table,id,k,c,pad`, numbers in decimal: an exact integer, independent of
//! row order, version and character set. A digest such as MD5, which Postgres has too, takes MySQL and MariaDB five
//! times as long per row.

use assay_model::Dialect;

use crate::decimal::push_decimal;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentQuery {
    /// The server computes both: one row with two numbers.
    Computed(String),
    /// The server has no CRC-32, so it sends `id`, `k`, `c` and `pad` of every row as text for [`row_checksum`], which
    /// expects them without CHAR padding.
    Rows(String),
}

#[must_use]
pub fn content_query(dialect: Dialect, table: u32) -> ContentQuery {
    match dialect {
        Dialect::MySql => ContentQuery::Computed(format!(
            "SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS(',', {table}, id, k, c, pad))), 0) \
             FROM sbtest{table}"
        )),
        Dialect::Postgres => ContentQuery::Rows(format!("SELECT id, k, c, pad FROM sbtest{table}")),
    }
}

/// A row's part of its table's checksum, with numbers in decimal. `scratch` is overwritten.
pub fn row_checksum(table: u32, columns: [&[u8]; 4], scratch: &mut Vec<u8>) -> u64 {
    scratch.clear();
    push_decimal(scratch, u64::from(table));
    for column in columns {
        scratch.push(b',');
        scratch.extend_from_slice(column);
    }
    u64::from(crc32fast::hash(scratch))
}

/// A row's part of the checksum of a user's table, from the values as sent by the server. NULL differs from an empty
/// text.
pub fn user_row_checksum<'v>(
    table: u32,
    values: impl Iterator<Item = Option<&'v [u8]>>,
    scratch: &mut Vec<u8>,
) -> u64 {
    scratch.clear();
    push_decimal(scratch, u64::from(table));
    for value in values {
        let length = value.map_or(u64::MAX, |value| value.len() as u64);
        scratch.extend_from_slice(&length.to_le_bytes());
        scratch.extend_from_slice(value.unwrap_or_default());
    }
    u64::from(crc32fast::hash(scratch))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with `SELECT CRC32('3,17,42,1-2,3-4')` on a server.
    #[test]
    fn checksums_equal_those_of_the_server() {
        let columns = [&b"17"[..], b"42", b"1-2", b"3-4"];
        assert_eq!(row_checksum(3, columns, &mut Vec::new()), 3_084_311_673);
    }
}
