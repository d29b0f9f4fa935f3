//! Expected results of statements on freshly loaded sbtest tables.
//!
//! Results are computed without a server, from the statement's text and the loaded data. Only statement forms used by
//! shipped tests are supported.

use std::collections::BTreeMap;

use assay_model::DataSet;

use crate::sbtest::{RowsChecksum, SbtestRow, row_checksum};

pub fn is_ordered(sql: &str) -> bool {
    sql.contains(" ORDER BY ")
}

#[derive(Debug)]
pub struct LoadedData {
    seed: u64,
    data: DataSet,
    /// Rows and checksum of all tables, once computed.
    content: Option<RowsChecksum>,
    /// `k` and `id` of all rows of a table, sorted; only for tables that were queried by `k`.
    by_k: BTreeMap<u32, Vec<(u32, u32)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SelectedColumn {
    Id,
    K,
    C,
    Pad,
    SumK,
    Count,
}

#[derive(Debug, PartialEq, Eq)]
struct SbtestSelect {
    columns: Vec<SelectedColumn>,
    is_distinct: bool,
    table: u32,
    /// The ranges are of `k`, not of `id`.
    is_by_k: bool,
    /// Inclusive ranges. A row in several of them is returned once.
    ranges: Vec<(u32, u32)>,
    is_ordered: bool,
}

impl LoadedData {
    pub fn new(seed: u64, data: DataSet) -> Self {
        Self { seed, data, content: None, by_k: BTreeMap::new() }
    }

    /// Rows and checksum of all tables, as in [`crate::content_query`].
    pub fn content(&mut self) -> RowsChecksum {
        if let Some(known) = self.content {
            return known;
        }
        let (mut sum, mut scratch) = (RowsChecksum::default(), Vec::new());
        for table in 1..=self.data.tables {
            for id in 1..=self.data.rows {
                let SbtestRow { k, c, pad } = self.row(table, id);
                let columns = [id.to_string().into_bytes(), k.to_string().into_bytes(), c, pad];
                let columns = columns.each_ref().map(Vec::as_slice);
                let checksum = row_checksum(table, columns, &mut scratch);
                sum.add(RowsChecksum { rows: 1, checksum });
            }
        }
        self.content = Some(sum);
        sum
    }

    /// Expected result of a statement with its values; `None` if its form is unsupported.
    pub fn answer(&mut self, sql: &str) -> Option<RowsChecksum> {
        let select = SbtestSelect::parse(sql).filter(|it| it.table <= self.data.tables)?;
        let ids = self.ids(&select);
        let mut answer = RowsChecksum::default();
        if let [aggregate @ (SelectedColumn::SumK | SelectedColumn::Count)] =
            select.columns.as_slice()
        {
            let rows = ids.iter().map(|id| u64::from(self.row(select.table, *id).k));
            let value = match aggregate {
                SelectedColumn::Count => Some(ids.len() as u64),
                _ => (!ids.is_empty()).then(|| rows.sum()),
            };
            let text = value.map(|value| value.to_string());
            answer.add_row(std::iter::once(text.as_deref().map(str::as_bytes)), false);
            return Some(answer);
        }
        let values = |id: &u32| -> Vec<Vec<u8>> {
            let row = self.row(select.table, *id);
            let value = |column: &SelectedColumn| match column {
                SelectedColumn::Id => id.to_string().into_bytes(),
                SelectedColumn::K => row.k.to_string().into_bytes(),
                SelectedColumn::C => row.c.clone(),
                SelectedColumn::Pad => row.pad.clone(),
                SelectedColumn::SumK | SelectedColumn::Count => Vec::new(),
            };
            select.columns.iter().map(value).collect()
        };
        let mut rows: Vec<Vec<Vec<u8>>> = ids.iter().map(values).collect();
        if select.is_ordered || select.is_distinct {
            rows.sort();
        }
        if select.is_distinct {
            rows.dedup();
        }
        for row in &rows {
            answer.add_row(row.iter().map(|value| Some(value.as_slice())), select.is_ordered);
        }
        Some(answer)
    }

    fn row(&self, table: u32, id: u32) -> SbtestRow {
        SbtestRow::new(self.seed, table, id, self.data.rows)
    }

    fn ids(&mut self, select: &SbtestSelect) -> Vec<u32> {
        let last = self.data.rows;
        let mut ids: Vec<u32> = if select.is_by_k {
            let by_k = self.by_k(select.table);
            let of_range = |(from, to): &(u32, u32)| {
                let start = by_k.partition_point(|(k, _)| k < from);
                let end = by_k.partition_point(|(k, _)| k <= to);
                by_k.get(start..end.max(start)).unwrap_or_default()
            };
            select.ranges.iter().flat_map(of_range).map(|(_, id)| *id).collect()
        } else {
            select.ranges.iter().flat_map(|(from, to)| *from.max(&1)..=*to.min(&last)).collect()
        };
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn by_k(&mut self, table: u32) -> &[(u32, u32)] {
        let (seed, rows) = (self.seed, self.data.rows);
        self.by_k.entry(table).or_insert_with(|| {
            let pair = |id| (SbtestRow::new(seed, table, id, rows).k, id);
            let mut pairs: Vec<(u32, u32)> = (1..=rows).map(pair).collect();
            pairs.sort_unstable();
            pairs
        })
    }
}

impl SbtestSelect {
    fn parse(sql: &str) -> Option<Self> {
        let (head, rest) = split_at_word(sql, " FROM sbtest")?;
        let columns = head.strip_prefix("SELECT ")?;
        let (columns, is_distinct) = match columns.strip_prefix("DISTINCT ") {
            Some(columns) => (columns, true),
            None => (columns, false),
        };
        let (table, filter) = split_at_word(rest, " WHERE ")?;
        let (filter, is_ordered) = match filter.strip_suffix(" ORDER BY c") {
            Some(filter) => (filter, true),
            None => (filter, false),
        };
        let columns: Option<Vec<SelectedColumn>> = match columns {
            "*" => Some(vec![
                SelectedColumn::Id,
                SelectedColumn::K,
                SelectedColumn::C,
                SelectedColumn::Pad,
            ]),
            columns => columns.split(", ").map(column).collect(),
        };
        let (is_by_k, ranges) = conditions(filter)?;
        Some(Self {
            columns: columns?,
            is_distinct,
            table: table.parse().ok()?,
            is_by_k,
            ranges,
            is_ordered,
        })
    }
}

fn split_at_word<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    // sysbench's scan has a lower-case `from`.
    let at = text.to_ascii_uppercase().find(&word.to_ascii_uppercase())?;
    Some((text.get(..at)?, text.get(at + word.len()..)?))
}

fn column(name: &str) -> Option<SelectedColumn> {
    Some(match name {
        "id" => SelectedColumn::Id,
        "k" => SelectedColumn::K,
        "c" => SelectedColumn::C,
        "pad" => SelectedColumn::Pad,
        "SUM(k)" => SelectedColumn::SumK,
        "count(c)" | "count(k)" => SelectedColumn::Count,
        _ => return None,
    })
}

fn conditions(filter: &str) -> Option<(bool, Vec<(u32, u32)>)> {
    if filter == "LENGTH(c) < 0" {
        return Some((false, Vec::new()));
    }
    let mut all = Vec::new();
    let mut keys = Vec::new();
    for condition in filter.split(" OR ") {
        let (key, rest) = condition.split_at_checked(condition.find([' ', '='])?)?;
        keys.push(key);
        if let Some(value) = rest.strip_prefix('=') {
            let value = value.parse().ok()?;
            all.push((value, value));
        } else if let Some(list) = rest.strip_prefix(" IN (") {
            for value in list.strip_suffix(')')?.split(", ") {
                let value = value.parse().ok()?;
                all.push((value, value));
            }
        } else {
            let (from, to) = rest.strip_prefix(" BETWEEN ")?.split_once(" AND ")?;
            all.push((from.parse().ok()?, to.parse().ok()?));
        }
    }
    let is_same = keys.windows(2).all(|two| matches!(two, [a, b] if a == b));
    match keys.first().filter(|_| is_same) {
        Some(&"id") => Some((false, all)),
        Some(&"k") => Some((true, all)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_model::{Class, Dialect, Setup, StatementMode, TestSet};

    use super::*;
    use crate::OltpOptions;
    use crate::{EventBuf, EventProgram, Operation, ProgramClient, oltp_tests, tests_of};

    const DATA: DataSet = DataSet { tables: 2, rows: 1000 };

    #[test]
    fn every_read_has_a_known_form() {
        let mut data = LoadedData::new(1, DATA);
        let oltp = oltp_tests(&OltpOptions::default());
        for test in
            tests_of(TestSet::Set47).iter().chain(&oltp).filter(|test| test.class == Class::Read)
        {
            let setup = Setup { clients: 1, tables: 2, rows: 1000 };
            let program = EventProgram::new(Dialect::MySql, *test, setup, StatementMode::Text);
            let client = ProgramClient::new(Arc::new(program), 1, 0);
            let mut event = EventBuf::default();
            client.write_event(0, 0, &mut event);
            let mut known = 0;
            for operation in event.operations() {
                let Operation::Query { sql, .. } = operation else { panic!("{test} is text") };
                let sql = std::str::from_utf8(sql).unwrap();
                if sql != "BEGIN" && sql != "COMMIT" {
                    assert!(data.answer(sql).is_some(), "{test}: {sql}");
                    known += 1;
                }
            }
            assert!(known > 0, "{test}");
        }
    }

    #[test]
    fn answers_are_those_of_the_rows() {
        let mut data = LoadedData::new(7, DATA);
        let rows = |sql: &str, data: &mut LoadedData| data.answer(sql).unwrap().rows;
        assert_eq!(rows("SELECT c FROM sbtest1 WHERE id=5", &mut data), 1);
        assert_eq!(rows("SELECT c FROM sbtest1 WHERE id=1001", &mut data), 0);
        assert_eq!(rows("SELECT c FROM sbtest1 WHERE id IN (5, 5, 7)", &mut data), 2);
        assert_eq!(rows("SELECT id FROM sbtest2 WHERE id BETWEEN 950 AND 1050", &mut data), 51);
        assert_eq!(rows("SELECT * from sbtest1 WHERE LENGTH(c) < 0", &mut data), 0);
        assert_eq!(rows("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 2000 AND 2099", &mut data), 1);
        let k = SbtestRow::new(7, 1, 5, 1000).k;
        let of_k = (1..=1000).filter(|id| SbtestRow::new(7, 1, *id, 1000).k == k).count() as u64;
        let overlapping =
            format!("SELECT k FROM sbtest1 WHERE k BETWEEN {k} AND {k} OR k BETWEEN {k} AND {k}");
        assert_eq!(rows(&overlapping, &mut data), of_k);
        let (a, b) = ("SELECT c FROM sbtest1 WHERE id=5", "SELECT c FROM sbtest2 WHERE id=5");
        assert_ne!(data.answer(a), data.answer(b));
        assert_eq!(data.answer("SELECT sleep(1)"), None);
        assert_eq!(data.answer("SELECT c FROM sbtest1 WHERE id=5 OR k=5"), None);
    }

    #[test]
    fn the_order_of_rows_counts_where_it_was_asked_for() {
        let checksum = |values: [&str; 2], is_ordered| {
            let mut answer = RowsChecksum::default();
            values
                .iter()
                .for_each(|it| answer.add_row(std::iter::once(Some(it.as_bytes())), is_ordered));
            answer
        };
        assert_eq!(checksum(["a", "b"], false), checksum(["b ", "a"], false));
        assert_ne!(checksum(["a", "b"], true), checksum(["b", "a"], true));
    }
}
