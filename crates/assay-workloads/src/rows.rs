//! The rows of the tables and the statements that load them.

use crate::content::row_checksum;
use crate::decimal::push_decimal;
use crate::random::{Stream, mix, mix_word};

/// Longest load statement in bytes: 512 KiB less one, as sysbench fills its buffer.
const MAX_STATEMENT: usize = 524_287;

/// Longest row literal with its separator: a ten-digit `k`, 119 and 59 digits and dashes, punctuation.
const MAX_ROW: usize = 1 + 1 + 10 + 2 + 121 + 2 + 61 + 1;

/// Longest id before it.
const MAX_ID: usize = 10 + 2;

pub(crate) const C_GROUPS: usize = 10;
pub(crate) const PAD_GROUPS: usize = 5;

/// One row as loaded; its `id` is its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Uniform in [1, rows].
    pub k: u32,
    /// 119 characters: ten groups of eleven digits.
    pub c: Vec<u8>,
    /// 59 characters: five groups of eleven digits.
    pub pad: Vec<u8>,
}

impl Row {
    /// A pure function of its arguments. `id` and `table` count from 1.
    #[must_use]
    pub fn new(seed: u64, table: u32, id: u32, rows: u32) -> Self {
        let mut row = Self::empty();
        row.refill(table_key(seed, table), id, rows);
        row
    }

    fn empty() -> Self {
        Self { k: 0, c: Vec::new(), pad: Vec::new() }
    }

    fn refill(&mut self, table_key: u64, id: u32, rows: u32) {
        let mut stream = Stream::new(mix(table_key, u64::from(id)));
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Batch {
    pub rows: u32,
    /// Their part of the table checksum of [`crate::content_query`].
    pub checksum: u64,
}

#[derive(Debug)]
pub struct InsertBatches {
    table: u32,
    table_key: u64,
    head: String,
    sends_ids: bool,
    next: u32,
    rows: u32,
    row: Row,
    scratch: Vec<u8>,
}

impl InsertBatches {
    /// With `sends_ids`, the statements number the rows; otherwise the server does.
    #[must_use]
    pub fn new(seed: u64, table: u32, rows: u32, sends_ids: bool) -> Self {
        let id = if sends_ids { "id, " } else { "" };
        Self {
            table,
            table_key: table_key(seed, table),
            head: format!("INSERT INTO sbtest{table}({id}k, c, pad) VALUES"),
            sends_ids,
            next: 1,
            rows,
            row: Row::empty(),
            scratch: Vec::new(),
        }
    }

    /// Replaces `statement` with the next one and returns its rows, at the end an empty batch. Each statement holds as
    /// many rows as fit in `MAX_STATEMENT` bytes.
    pub fn next_into(&mut self, statement: &mut Vec<u8>) -> Batch {
        statement.clear();
        let mut batch = Batch::default();
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            let row = Row::new(seed, table, id, rows);
            prop_assert!((1..=rows).contains(&row.k));
            prop_assert!(has_digit_groups(&row.c, 10) && has_digit_groups(&row.pad, 5));
            prop_assert_eq!(&row, &Row::new(seed, table, id, rows));
            prop_assert_ne!(&row.c, &Row::new(seed, table + 1, id, rows).c);
            prop_assert_ne!(&row.c, &Row::new(seed.wrapping_add(1), table, id, rows).c);
        }
    }

    #[test]
    fn statements_hold_the_rows_in_order() {
        let row = |id| {
            let Row { k, c, pad } = Row::new(5, 2, id, 3);
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
        (1..=rows).for_each(|id| seen[Row::new(1, 1, id, rows).k as usize - 1] = true);
        let missing = seen.iter().filter(|seen| !**seen).count() as f64 / f64::from(rows);
        assert!((missing - 0.3679).abs() < 0.005, "{missing}");
    }
}
