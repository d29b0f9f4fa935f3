//! The tables `sbtest1`, `sbtest2`, ...: their creation, rows and content.

use assay_model::{Definition, Dialect, Engine, Sbtest, TableForm};
use sha2::{Digest as _, Sha256};

use crate::literal::push_decimal;
use crate::random::{RandomStream, mix, mix_word};
use crate::workload::{EXAMPLES, SETUP, WorkloadDefinition};

impl WorkloadDefinition for Sbtest {
    fn add_data(&self, digest: &mut Sha256) {
        let form = TableForm::default();
        for dialect in Dialect::ALL {
            digest.update(create_table(dialect, Engine::InnoDb, &form, 1));
        }
        for id in 1..=EXAMPLES {
            let SbtestRow { k, c, pad } = SbtestRow::new(1, 1, id, SETUP.rows);
            digest.update(format!("\n{id} {k} "));
            digest.update(c);
            digest.update(pad);
        }
    }

    fn outline(&self, test: &Definition) -> Vec<String> {
        let short = |sql: String| match sql.split_once(" IN (") {
            Some((before, _)) => format!("{before} IN (?, ...)"),
            None => sql,
        };
        self.statements(test, Dialect::MySql).into_iter().map(short).collect()
    }
}

/// The statement that creates table number `table` (from 1), empty, ready to be loaded.
pub fn create_table(dialect: Dialect, engine: Engine, form: &TableForm, table: u32) -> String {
    let id = match (form.auto_inc, dialect) {
        (false, _) => "INTEGER NOT NULL",
        (true, Dialect::Postgres) => "SERIAL",
        (true, Dialect::MySql) => "INTEGER NOT NULL AUTO_INCREMENT",
    };
    let mut tail = match dialect {
        Dialect::Postgres => String::new(),
        Dialect::MySql => format!(" /*! ENGINE = {} */", engine.word()),
    };
    if !form.create_table_options.is_empty() {
        tail.extend([" ", &form.create_table_options]);
    }
    format!(
        "CREATE TABLE sbtest{table} (id {id}, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)){tail}"
    )
}

/// Run after the load; `None` if the form has no secondary index.
pub fn create_index(form: &TableForm, table: u32) -> Option<String> {
    form.create_secondary.then(|| format!("CREATE INDEX k_{table} ON sbtest{table}(k)"))
}

/// Statements that read every page of a table and of its indexes into the server's cache.
pub fn cache_queries(dialect: Dialect, form: &TableForm, table: u32) -> Vec<String> {
    match dialect {
        Dialect::MySql => {
            // The primary key is the table itself.
            let mut all = vec![format!("SELECT SUM(LENGTH(c)) FROM sbtest{table}")];
            if form.create_secondary {
                all.push(format!(
                    "SELECT SUM(k) FROM sbtest{table} FORCE INDEX (k_{table}) WHERE k > 0"
                ));
            }
            all
        }
        // A sequential scan of a large table goes through a small ring of buffers and leaves nothing in the cache; so
        // does a bitmap scan. The key of `id` is an index beside the table.
        Dialect::Postgres => {
            let mut all = vec![
                "SET enable_seqscan = off".to_owned(),
                "SET enable_bitmapscan = off".to_owned(),
                format!("SELECT SUM(LENGTH(c)) FROM sbtest{table} WHERE id > 0"),
            ];
            if form.create_secondary {
                all.push(format!("SELECT SUM(k) FROM sbtest{table} WHERE k > 0"));
            }
            all
        }
    }
}

/// Longest load statement in bytes: 512 KiB less one, as sysbench fills its buffer.
const MAX_STATEMENT: usize = 524_287;

/// Longest row literal with its separator: a ten-digit `k`, 119 and 59 digits and dashes, punctuation.
const MAX_ROW: usize = 1 + 1 + 10 + 2 + 121 + 2 + 61 + 1;

const MAX_ID: usize = 10 + 2;

pub(crate) const C_GROUPS: usize = 10;
pub(crate) const PAD_GROUPS: usize = 5;

/// One row as loaded; its `id` is its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SbtestRow {
    /// Uniform in [1, rows].
    pub k: u32,
    /// 119 characters: ten groups of eleven digits.
    pub c: Vec<u8>,
    /// 59 characters: five groups of eleven digits.
    pub pad: Vec<u8>,
}

impl SbtestRow {
    pub fn new(seed: u64, table: u32, id: u32, rows: u32) -> Self {
        let mut row = Self::empty();
        row.refill(table_key(seed, table), id, rows);
        row
    }

    fn empty() -> Self {
        Self { k: 0, c: Vec::new(), pad: Vec::new() }
    }

    fn refill(&mut self, table_key: u64, id: u32, rows: u32) {
        let mut stream = RandomStream::new(mix(table_key, u64::from(id)));
        self.c.clear();
        stream.digit_groups(C_GROUPS, &mut self.c);
        self.pad.clear();
        stream.digit_groups(PAD_GROUPS, &mut self.pad);
        self.k = 1 + stream.below(u64::from(rows)) as u32;
    }
}

fn table_key(seed: u64, table: u32) -> u64 {
    mix(mix_word(seed, "row"), u64::from(table))
}

/// A number of rows and a checksum of their values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowsChecksum {
    pub rows: u64,
    /// Sum over the rows: of their parts of the checksum of [`content_query`], or of hashes of the values of an
    /// answer, in which row order counts only if the statement has `ORDER BY`.
    pub checksum: u64,
}

impl RowsChecksum {
    /// Adds a row. With `is_ordered`, its position counts. Trailing blanks are ignored, because CHAR values are padded.
    /// NULL counts as an empty value.
    pub fn add_row<'v>(
        &mut self,
        values: impl Iterator<Item = Option<&'v [u8]>>,
        is_ordered: bool,
    ) {
        let mut hash = crc32fast::Hasher::new();
        for value in values {
            hash.update(value.unwrap_or_default().trim_ascii_end());
            hash.update(b",");
        }
        self.rows += 1;
        let factor = if is_ordered { self.rows } else { 1 };
        self.checksum = self.checksum.wrapping_add(factor.wrapping_mul(hash.finalize().into()));
    }

    pub fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.checksum = self.checksum.wrapping_add(other.checksum);
    }
}

#[derive(Debug)]
pub struct InsertBatches {
    table: u32,
    table_key: u64,
    head: String,
    sends_ids: bool,
    next: u32,
    rows: u32,
    row: SbtestRow,
    scratch: Vec<u8>,
}

impl InsertBatches {
    /// With `sends_ids`, the statements number the rows; otherwise the server does.
    pub fn new(seed: u64, table: u32, rows: u32, sends_ids: bool) -> Self {
        let id = if sends_ids { "id, " } else { "" };
        Self {
            table,
            table_key: table_key(seed, table),
            head: format!("INSERT INTO sbtest{table}({id}k, c, pad) VALUES"),
            sends_ids,
            next: 1,
            rows,
            row: SbtestRow::empty(),
            scratch: Vec::new(),
        }
    }

    /// Replaces `statement` with the next one and returns its rows, at the end an empty batch. Each statement holds as
    /// many rows as fit in `MAX_STATEMENT` bytes.
    pub fn next_into(&mut self, statement: &mut Vec<u8>) -> RowsChecksum {
        statement.clear();
        let mut batch = RowsChecksum::default();
        let longest = MAX_ROW + if self.sends_ids { MAX_ID } else { 0 };
        while self.next <= self.rows && statement.len() + longest <= MAX_STATEMENT {
            if statement.is_empty() {
                statement.extend_from_slice(self.head.as_bytes());
            } else {
                statement.push(b',');
            }
            self.row.refill(self.table_key, self.next, self.rows);
            statement.push(b'(');
            if self.sends_ids {
                push_decimal(statement, u64::from(self.next));
                statement.extend_from_slice(b", ");
            }
            push_decimal(statement, u64::from(self.row.k));
            push_texts(statement, &self.row.c, &self.row.pad);
            batch.checksum += self.checksum();
            batch.rows += 1;
            self.next += 1;
        }
        batch
    }

    fn checksum(&mut self) -> u64 {
        let (mut id, mut k) = (itoa::Buffer::new(), itoa::Buffer::new());
        let (id, k) = (id.format(self.next), k.format(self.row.k));
        let columns = [id.as_bytes(), k.as_bytes(), &self.row.c, &self.row.pad];
        row_checksum(self.table, columns, &mut self.scratch)
    }
}

/// Appends the end of a row literal: `c` and `pad` after the numbers.
pub(crate) fn push_texts(out: &mut Vec<u8>, c: &[u8], pad: &[u8]) {
    for (before, text) in [(", '", c), ("', '", pad)] {
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(text);
    }
    out.extend_from_slice(b"')");
}

/// A query for the content of a table as one number, computed identically by client and server: the sum over the rows
/// of CRC-32 of `table,id,k,c,pad`, numbers in decimal. It is an exact integer, independent of row order, version and
/// character set. A digest such as MD5, which Postgres has too, takes MySQL and MariaDB five times as long per row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentQuery {
    /// The server computes both: one row with two numbers.
    Computed(String),
    /// The server has no CRC-32, so it sends `id`, `k`, `c` and `pad` of every row as text for [`row_checksum`], which
    /// expects them without CHAR padding.
    Rows(String),
}

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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ddl_follows_product_and_engine() {
        let form = TableForm::default();
        let mysql = create_table(Dialect::MySql, Engine::RocksDb, &form, 3);
        assert_eq!(
            mysql,
            "CREATE TABLE sbtest3 (id INTEGER NOT NULL AUTO_INCREMENT, \
             k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = rocksdb */"
        );
        let postgres = create_table(Dialect::Postgres, Engine::Heap, &form, 1);
        assert!(postgres.starts_with("CREATE TABLE sbtest1 (id SERIAL, "));
        assert!(postgres.ends_with("pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"));
    }

    /// Statements of sysbench with its options `auto_inc`, `create_secondary` and `create_table_options`.
    #[test]
    fn ddl_follows_the_form() {
        let form = TableForm {
            auto_inc: false,
            create_secondary: false,
            create_table_options: "ROW_FORMAT=COMPRESSED".to_owned(),
        };
        let mysql = create_table(Dialect::MySql, Engine::InnoDb, &form, 1);
        assert!(mysql.starts_with("CREATE TABLE sbtest1 (id INTEGER NOT NULL, k "), "{mysql}");
        let tail = "PRIMARY KEY (id)) /*! ENGINE = innodb */ ROW_FORMAT=COMPRESSED";
        assert!(mysql.ends_with(tail), "{mysql}");
        assert_eq!(create_index(&form, 1), None);
        for dialect in [Dialect::MySql, Dialect::Postgres] {
            let queries = cache_queries(dialect, &form, 1);
            assert!(queries.iter().all(|sql| !sql.contains("(k")), "{queries:?}");
        }
    }

    fn statements(seed: u64, table: u32, rows: u32) -> Vec<Vec<u8>> {
        let mut batches = InsertBatches::new(seed, table, rows, false);
        let (mut all, mut statement) = (Vec::new(), Vec::new());
        while batches.next_into(&mut statement).rows > 0 {
            all.push(statement.clone());
        }
        all
    }

    fn has_digit_groups(text: &[u8], groups: usize) -> bool {
        let parts: Vec<&[u8]> = text.split(|byte| *byte == b'-').collect();
        parts.len() == groups
            && parts.iter().all(|part| part.len() == 11 && part.iter().all(u8::is_ascii_digit))
    }

    proptest! {
        #[test]
        fn rows_have_the_published_form(seed: u64, table in 1..9u32, rows in 1..=u32::MAX, at: f64) {
            let id = 1 + (at.abs().fract() * f64::from(rows - 1)) as u32;
            let row = SbtestRow::new(seed, table, id, rows);
            prop_assert!((1..=rows).contains(&row.k));
            prop_assert!(has_digit_groups(&row.c, 10) && has_digit_groups(&row.pad, 5));
            prop_assert_eq!(&row, &SbtestRow::new(seed, table, id, rows));
            prop_assert_ne!(&row.c, &SbtestRow::new(seed, table + 1, id, rows).c);
            prop_assert_ne!(&row.c, &SbtestRow::new(seed.wrapping_add(1), table, id, rows).c);
        }
    }

    #[test]
    fn statements_hold_the_rows_in_order() {
        let row = |id| {
            let SbtestRow { k, c, pad } = SbtestRow::new(5, 2, id, 3);
            let text = |bytes| String::from_utf8(bytes).unwrap();
            format!("({k}, '{}', '{}')", text(c), text(pad))
        };
        let all = statements(5, 2, 3);
        let expected =
            format!("INSERT INTO sbtest2(k, c, pad) VALUES{},{},{}", row(1), row(2), row(3));
        assert_eq!(all, [expected.into_bytes()]);
        assert!(statements(5, 2, 0).is_empty());
    }

    /// Published: about 2,674 rows of a seven-digit k fill 512 KiB.
    #[test]
    fn statements_are_filled_up_to_the_limit() {
        let rows = 9_000_000;
        let mut batches = InsertBatches::new(1, 1, rows, false);
        let mut statement = Vec::new();
        let mut last = 0;
        for _ in 0..3 {
            last = batches.next_into(&mut statement).rows;
            assert!(statement.len() <= MAX_STATEMENT && statement.len() + MAX_ROW > MAX_STATEMENT);
        }
        assert!((2_660..2_690).contains(&last), "{last}");
    }

    /// Published: 36.8% of the values of k occur in no row after the load.
    #[test]
    fn k_is_spread_as_a_poisson_of_mean_one() {
        let rows = 100_000;
        let mut seen = vec![false; rows as usize];
        (1..=rows).for_each(|id| seen[SbtestRow::new(1, 1, id, rows).k as usize - 1] = true);
        let missing = seen.iter().filter(|seen| !**seen).count() as f64 / f64::from(rows);
        assert!((missing - 0.3679).abs() < 0.005, "{missing}");
    }

    /// Compared with `SELECT CRC32('3,17,42,1-2,3-4')` on a server.
    #[test]
    fn checksums_equal_those_of_the_server() {
        let columns = [&b"17"[..], b"42", b"1-2", b"3-4"];
        assert_eq!(row_checksum(3, columns, &mut Vec::new()), 3_084_311_673);
    }
}
