//! What tables hold, in a few bytes: computed by a server from its rows and by the generator from what it sends.

use std::fmt;

use assay_model::Product;

use crate::random::mix;
use crate::rows::push_decimal;

/// Number of rows of a table and a checksum of them that does not depend on their order.
///
/// The checksum is the sum, over all rows, of the CRC-32 of `id,k,c,pad` as text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableContent {
    /// Rows.
    pub rows: u64,
    /// Sum of the rows' CRC-32.
    pub sum: u64,
}

impl TableContent {
    /// Counts one more row; `text` is a buffer to build it in.
    pub(crate) fn add(&mut self, id: u32, k: u32, c: &[u8], pad: &[u8], text: &mut Vec<u8>) {
        text.clear();
        push_decimal(text, id);
        text.push(b',');
        push_decimal(text, k);
        for part in [c, pad] {
            text.push(b',');
            text.extend_from_slice(part);
        }
        self.rows += 1;
        self.sum += u64::from(crc32fast::hash(text));
    }
}

/// The statement that has a server compute rows and sum of a table; none for products that have no CRC-32.
#[must_use]
pub fn select_content(product: Product, table: u32) -> Option<String> {
    match product {
        Product::MariaDb | Product::MySql => Some(format!(
            "SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS(',', id, k, c, pad))), 0) FROM sbtest{table}"
        )),
        Product::Postgres => None,
    }
}

/// Rows and checksum of all tables of a data set, in the tables' order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checksum {
    /// Rows of all tables.
    pub rows: u64,
    digest: u64,
}

impl Checksum {
    /// Adds the next table.
    #[must_use]
    pub fn with(self, table: TableContent) -> Self {
        let digest = mix(mix(self.digest, table.rows), table.sum);
        Self { rows: self.rows + table.rows, digest }
    }
}

/// The checksum in hexadecimal.
impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.digest)
    }
}
