//! The content of a table as one number, which client and server compute in the same way.
//!
//! It is the sum over the rows of CRC-32 of `table,id,k,c,pad`, numbers in decimal: an exact
//! integer, whatever the order of the rows, the version and the character set. A digest such as MD5,
//! which Postgres has too, takes MySQL and MariaDB five times as long a row.

use assay_model::Dialect;

use crate::decimal::push_decimal;

/// How to get the rows and the checksum of a table from a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentQuery {
    /// The server computes both: one row with two numbers.
    Computed(String),
    /// The server has no CRC-32, so it sends `id`, `k`, `c` and `pad` of every row as text for [`row_checksum`], which
    /// takes them without the blanks that pad a CHAR.
    Rows(String),
}

/// The query for the content of table number `table`.
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

/// The part of a row in the checksum of its table, with numbers in decimal. `scratch` is overwritten.
pub fn row_checksum(table: u32, columns: [&[u8]; 4], scratch: &mut Vec<u8>) -> u64 {
    scratch.clear();
    push_decimal(scratch, u64::from(table));
    for column in columns {
        scratch.push(b',');
        scratch.extend_from_slice(column);
    }
    u64::from(crc32fast::hash(scratch))
}

/// The part of a row in the checksum of a user's table, as the server sends its values. A NULL differs from an empty
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

    /// `SELECT CRC32('3,17,42,1-2,3-4')` on a server.
    #[test]
    fn checksums_equal_those_of_the_server() {
        let columns = [&b"17"[..], b"42", b"1-2", b"3-4"];
        assert_eq!(row_checksum(3, columns, &mut Vec::new()), 3_084_311_673);
    }
}
