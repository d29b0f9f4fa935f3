//! The queries that run while rows are inserted and deleted, and all statements that have a query plan.

use assay_model::{Dialect, IbenchQueries, IbenchQuery, IbenchStep};

use super::schema::{INDEXES, IbenchTable};
use super::{CASH_REGISTERS, PRICES, PRODUCTS};
use crate::literal::push_decimal;
use crate::random::{RandomStream, mix, mix_word};

const ROWS_PER_QUERY: u32 = 10;

/// The range of keys that point queries draw from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IbenchKeys {
    pub lowest: u64,
    /// Exclusive.
    pub highest: u64,
}

/// The text of a client's queries: a pure function of seed, step, client, number and, for point queries, the existing
/// keys.
#[derive(Debug)]
pub struct IbenchQueryText {
    kind: IbenchQuery,
    key: u64,
    /// By kind of query: its text before the value, the bound of its values, and the text after the value.
    kinds: Vec<(String, u64, &'static str)>,
    prepare: Vec<String>,
}

impl IbenchQueryText {
    pub fn new(
        table: &IbenchTable,
        indexes: u32,
        queries: IbenchQueries,
        (seed, step, client): (u64, &str, u32),
    ) -> Self {
        let key = mix(mix_word(mix_word(seed, "queue queries"), step), client.into());
        let prepares = queries.is_prepared && table.dialect() == Dialect::Postgres;
        let kinds = match queries.kind {
            IbenchQuery::Range => QueryKind::ranges(table, indexes),
            IbenchQuery::Point => vec![QueryKind::point(table)],
        };
        let mut prepare = Vec::new();
        let kinds = kinds.into_iter().map(|kind: QueryKind| {
            if !prepares {
                return (kind.before, kind.below, kind.after);
            }
            prepare.push(kind.prepare());
            (format!("EXECUTE {}(", kind.name), kind.below, ")")
        });
        let kinds = kinds.collect();
        Self { kind: queries.kind, key, kinds, prepare }
    }

    /// Statements that a connection sends before its first query.
    pub fn prepare(&self) -> &[String] {
        &self.prepare
    }

    /// Replaces `text` with query number `number`. Keys are drawn from `ids`.
    pub fn write(&self, number: u64, ids: IbenchKeys, text: &mut Vec<u8>) {
        let mut stream = RandomStream::new(mix(self.key, number));
        text.clear();
        let index = stream.below(self.kinds.len() as u64) as usize;
        let Some((before, below, after)) = self.kinds.get(index) else { return };
        text.extend_from_slice(before.as_bytes());
        match self.kind {
            IbenchQuery::Range => push_decimal(text, stream.below(*below)),
            IbenchQuery::Point => {
                for place in 0..ROWS_PER_QUERY {
                    if place > 0 {
                        text.push(b',');
                    }
                    let keys = ids.highest.saturating_sub(ids.lowest);
                    push_decimal(text, ids.lowest + stream.below(keys));
                }
            }
        }
        text.extend_from_slice(after.as_bytes());
    }
}

struct QueryKind {
    name: &'static str,
    before: String,
    after: &'static str,
    /// Exclusive upper bound of its values; 0 if they are keys.
    below: u64,
    values: u32,
}

impl QueryKind {
    fn ranges(table: &IbenchTable, indexes: u32) -> Vec<Self> {
        (0..indexes as usize).map(|index| range(table, index)).collect()
    }

    fn point(table: &IbenchTable) -> Self {
        let before = format!(
            "SELECT transactionid, productid, data FROM {} WHERE transactionid IN (",
            table.name()
        );
        Self { name: "point", before, after: ")", below: 0, values: ROWS_PER_QUERY }
    }

    fn prepare(&self) -> String {
        let listed = |write: &dyn Fn(u32) -> String| {
            (1..=self.values).map(write).collect::<Vec<_>>().join(", ")
        };
        let types = listed(&|_| "bigint".to_owned());
        let values = listed(&|value| format!("${value}"));
        format!("PREPARE {} ({types}) AS {}{values}{}", self.name, self.before, self.after)
    }
}

fn range(table: &IbenchTable, index: usize) -> QueryKind {
    let (end, _) = INDEXES[index];
    let name = table.name();
    let forced = match table.dialect() {
        Dialect::Postgres => String::new(),
        Dialect::MySql => format!(" FORCE INDEX ({name}_{end})"),
    };
    // The comparison of `register` is strict, as published: its last value finds nothing.
    let (kind, columns, compared, after, below) = match index {
        0 => (
            "market",
            "productid, customerid, price",
            "productid >= ",
            ") ORDER BY productid, customerid, price LIMIT 10",
            PRODUCTS,
        ),
        1 => (
            "register",
            "cashregisterid, customerid, price",
            "cashregisterid > ",
            ") ORDER BY cashregisterid, customerid, price LIMIT 10",
            CASH_REGISTERS,
        ),
        _ => (
            "pdc",
            "price, dateandtime, customerid",
            "price >= ",
            ") ORDER BY price, dateandtime, customerid LIMIT 10",
            PRICES,
        ),
    };
    let before = format!("SELECT {columns} FROM {name}{forced} WHERE ({compared}");
    QueryKind { name: kind, before, after, below, values: 1 }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IbenchStatement {
    /// `range queries`, `point queries` or `deletes`.
    pub purpose: &'static str,
    pub shape: String,
    pub sql: String,
}

/// The distinct deletions of these steps, queries for the lowest key, and range and point queries. `lowest` is the
/// lowest key in the table.
pub fn ibench_statements<'a>(
    table: &IbenchTable,
    steps: impl IntoIterator<Item = &'a IbenchStep>,
    lowest: u64,
) -> Vec<IbenchStatement> {
    let mut statements: Vec<IbenchStatement> = Vec::new();
    for step in steps {
        let deletes = step.deletes.then(|| deletes(table, step.rows_per_statement(), lowest));
        let queries = step.queries.map(|queries| match queries.kind {
            IbenchQuery::Range => ("range queries", QueryKind::ranges(table, step.tables.indexes)),
            IbenchQuery::Point => ("point queries", vec![QueryKind::point(table)]),
        });
        let queries = queries.into_iter().flat_map(|(purpose, kinds)| {
            kinds.into_iter().map(move |kind| query(purpose, &kind, lowest))
        });
        for statement in deletes.into_iter().flatten().chain(queries) {
            if !statements.iter().any(|it| it.shape == statement.shape) {
                statements.push(statement);
            }
        }
    }
    statements
}

fn deletes(table: &IbenchTable, rows: u32, lowest: u64) -> [IbenchStatement; 2] {
    let mut text = Vec::new();
    table.delete(lowest, rows, &mut text);
    let sql = String::from_utf8_lossy(&text).into_owned();
    let (from, limit) = (format!(">= {lowest} "), format!("LIMIT {rows}"));
    let shape = sql.replacen(&from, ">= ? ", 1).replacen(&limit, "LIMIT ?", 1);
    let find = table.lowest();
    [(shape, sql), (find.clone(), find)].map(|(shape, sql)| IbenchStatement {
        purpose: "deletes",
        shape,
        sql,
    })
}

/// A query with values from the middle of their range. Keys follow the lowest one.
fn query(purpose: &'static str, kind: &QueryKind, lowest: u64) -> IbenchStatement {
    let value = |number: u32| match kind.below {
        0 => lowest + u64::from(number),
        below => below / 2,
    };
    let values: Vec<_> = (0..kind.values).map(|number| value(number).to_string()).collect();
    let around = |values: &str| format!("{}{values}{}", kind.before, kind.after);
    let marks = if kind.values > 1 { "?, ..." } else { "?" };
    IbenchStatement { purpose, shape: around(marks), sql: around(&values.join(",")) }
}

#[cfg(test)]
mod tests {
    use assay_model::IbenchTables;

    use super::*;
    use crate::ibench::{IbenchSizes, ibench_steps};

    fn texts(dialect: Dialect, kind: IbenchQuery, count: u64) -> Vec<String> {
        let table = IbenchTable::new(dialect, 1);
        let queries = IbenchQueries { kind, is_prepared: true };
        let queries = IbenchQueryText::new(&table, 3, queries, (1, "qr100", 0));
        let (mut text, ids) = (Vec::new(), IbenchKeys { lowest: 100, highest: 110 });
        let write = |number| {
            queries.write(number, ids, &mut text);
            String::from_utf8(text.clone()).unwrap()
        };
        (0..count).map(write).collect()
    }

    #[test]
    fn range_queries_read_each_index_equally_often() {
        let texts = texts(Dialect::MySql, IbenchQuery::Range, 3000);
        for (end, _) in INDEXES {
            let forced = format!("FORCE INDEX (pi1_{end})");
            let count = texts.iter().filter(|text| text.contains(&forced)).count();
            assert!((900..1100).contains(&count), "{end} {count}");
        }
        let expected = "SELECT cashregisterid, customerid, price FROM pi1 FORCE INDEX (pi1_registersegment) WHERE \
                        (cashregisterid > ";
        assert!(texts.iter().any(|text| text.starts_with(expected)));
    }

    #[test]
    fn point_queries_draw_ten_keys() {
        let texts = texts(Dialect::MySql, IbenchQuery::Point, 100);
        for text in texts {
            let (_, ids) = text.split_once("IN (").unwrap();
            let ids: Vec<u64> =
                ids.trim_end_matches(')').split(',').map(|id| id.parse().unwrap()).collect();
            assert_eq!(ids.len(), 10);
            assert!(ids.iter().all(|id| (100..110).contains(id)), "{ids:?}");
        }
    }

    #[test]
    fn postgres_prepares_what_it_executes() {
        let table = IbenchTable::new(Dialect::Postgres, 1);
        let queries = IbenchQueries { kind: IbenchQuery::Range, is_prepared: true };
        let queries = IbenchQueryText::new(&table, 3, queries, (1, "qr100", 0));
        assert_eq!(
            queries.prepare()[2],
            "PREPARE pdc (bigint) AS SELECT price, dateandtime, customerid FROM pi1 WHERE (price >= $1) ORDER BY \
             price, dateandtime, customerid LIMIT 10"
        );
        let executed = texts(Dialect::Postgres, IbenchQuery::Range, 50);
        assert!(executed.iter().all(|text| text.starts_with("EXECUTE ") && text.ends_with(')')));
        let point = &texts(Dialect::Postgres, IbenchQuery::Point, 1)[0];
        assert!(point.starts_with("EXECUTE point(1"), "{point}");
    }

    fn step_statements(dialect: Dialect, indexes: u32) -> Vec<IbenchStatement> {
        let tables =
            IbenchTables { is_shared: false, indexes, partitions: None, exceed_cache: false };
        let sizes = IbenchSizes {
            tables,
            rows: [1000, 1000, 1000],
            query_s: 1,
            maintain_s: 0,
            indexed_at_start: false,
            is_prepared: true,
            transaction_s: None,
        };
        let tests = ibench_steps(&sizes);
        let steps = tests.iter().filter_map(|test| test.ibench());
        ibench_statements(&IbenchTable::new(dialect, 1), steps, 77)
    }

    #[test]
    fn every_statement_comes_once_with_a_value_that_exists() {
        let all = step_statements(Dialect::MySql, 3);
        let purposes: Vec<_> = all.iter().map(|it| it.purpose).collect();
        let ranges = ["range queries"; 3];
        assert_eq!(purposes, [&["deletes"; 2][..], &ranges, &["point queries"]].concat());
        assert_eq!(
            all[0].shape,
            "DELETE FROM pi1 WHERE transactionid >= ? ORDER BY transactionid ASC LIMIT ?"
        );
        assert!(all[0].sql.ends_with(">= 77 ORDER BY transactionid ASC LIMIT 50"), "{all:#?}");
        assert!(all[2].sql.contains("(productid >= 5000) ORDER"), "{all:#?}");
        assert!(all[5].shape.ends_with("IN (?, ...)"), "{all:#?}");
        assert!(all[5].sql.ends_with("IN (77,78,79,80,81,82,83,84,85,86)"), "{all:#?}");
    }

    #[test]
    fn only_queries_of_indexes_that_exist_are_there() {
        let all = step_statements(Dialect::Postgres, 1);
        assert_eq!(all.iter().filter(|it| it.purpose == "range queries").count(), 1);
        assert!(all.iter().all(|it| !it.sql.contains("FORCE") && !it.sql.contains("EXECUTE")));
    }
}
