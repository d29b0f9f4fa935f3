//! What a table holds, as one number that client and server compute alike.
//!
//! It is the sum over the rows of CRC-32 of `table,id,k,c,pad`, numbers in decimal: an exact
//! integer, whatever the order of the rows, the version and the character set. A digest such as MD5,
//! which Postgres has too, takes MySQL and MariaDB five times as long a row.

use assay_model::Product;

use crate::rows::{Row, push_decimal};

/// The query that has the server compute rows and checksum of a table; none for a product whose
/// servers have no CRC-32.
#[must_use]
pub fn content_query(product: Product, table: u32) -> Option<String> {
    let has_crc = matches!(product, Product::MariaDb | Product::MySql);
    has_crc.then(|| {
        format!(
            "SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS(',', {table}, id, k, c, pad))), 0) \
             FROM sbtest{table}"
        )
    })
}

/// What a row adds to the checksum of its table. `scratch` is overwritten.
pub(crate) fn row_checksum(table: u32, id: u32, row: &Row, scratch: &mut Vec<u8>) -> u64 {
    scratch.clear();
    for number in [table, id, row.k] {
        push_decimal(scratch, u64::from(number));
        scratch.push(b',');
    }
    scratch.extend_from_slice(&row.c);
    scratch.push(b',');
    scratch.extend_from_slice(&row.pad);
    u64::from(crc32fast::hash(scratch))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SELECT CRC32('3,17,42,1-2,3-4')` on a server.
    #[test]
    fn checksums_are_the_servers() {
        let row = Row { k: 42, c: b"1-2".to_vec(), pad: b"3-4".to_vec() };
        assert_eq!(row_checksum(3, 17, &row, &mut Vec::new()), 3_084_311_673);
    }
}
