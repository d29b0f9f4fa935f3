//! The queries that run while rows are inserted and deleted.

use assay_model::{Dialect, IbenchQueries, IbenchQuery};

use super::schema::{INDEXES, IbenchTable};
use super::{CASH_REGISTERS, PRICES, PRODUCTS};
use crate::decimal::push_decimal;
use crate::random::{Stream, mix, mix_word};

const ROWS_PER_QUERY: u32 = 10;

/// The range of keys that point queries draw from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ids {
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
    #[must_use]
    pub fn new(
        table: &IbenchTable,
        indexes: u32,
        queries: IbenchQueries,
        (seed, step, client): (u64, &str, u32),
    ) -> Self {
        let key = mix(mix_word(mix_word(seed, "queue queries"), step), client.into());
        let prepares = queries.is_prepared && table.dialect() == Dialect::Postgres;
        let kinds = match queries.kind {
            IbenchQuery::Range => Kind::ranges(table, indexes),
            IbenchQuery::Point => vec![Kind::point(table)],
        };
        let mut prepare = Vec::new();
        let kinds = kinds.into_iter().map(|kind: Kind| {
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
    #[must_use]
    pub fn prepare(&self) -> &[String] {
        &self.prepare
    }

    /// Replaces `text` with query number `number`. Keys are drawn from `ids`.
    pub fn write(&self, number: u64, ids: Ids, text: &mut Vec<u8>) {
        let mut stream = Stream::new(mix(self.key, number));
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

pub(super) struct Kind {
    name: &'static str,
    pub(super) before: String,
    pub(super) after: &'static str,
    /// Exclusive upper bound of its values; 0 if they are keys.
    pub(super) below: u64,
    pub(super) values: u32,
}

impl Kind {
    pub(super) fn ranges(table: &IbenchTable, indexes: u32) -> Vec<Self> {
        (0..indexes as usize).map(|index| range(table, index)).collect()
    }

    pub(super) fn point(table: &IbenchTable) -> Self {
        let before = format!(
            "SELECT transactionid, productid, data FROM {} WHERE transactionid IN (",
            table.name()
        );
        Self { name: "point", before, after: ")", below: 0, values: ROWS_PER_QUERY }
    }

    fn prepare(&self) -> String {
        let of = |write: &dyn Fn(u32) -> String| {
            (1..=self.values).map(write).collect::<Vec<_>>().join(", ")
        };
        let types = of(&|_| "bigint".to_owned());
        let values = of(&|value| format!("${value}"));
        format!("PREPARE {} ({types}) AS {}{values}{}", self.name, self.before, self.after)
    }
}

fn range(table: &IbenchTable, index: usize) -> Kind {
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
    Kind { name: kind, before, after, below, values: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(dialect: Dialect, kind: IbenchQuery, count: u64) -> Vec<String> {
        let table = IbenchTable::new(dialect, 1);
        let queries = IbenchQueries { kind, is_prepared: true };
        let queries = IbenchQueryText::new(&table, 3, queries, (1, "qr100", 0));
        let (mut text, ids) = (Vec::new(), Ids { lowest: 100, highest: 110 });
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
}
