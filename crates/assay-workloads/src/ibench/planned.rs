//! The statements of the Insert Benchmark that have a query plan.

use assay_model::{IbenchQuery, IbenchStep};

use super::query::Kind;
use super::schema::IbenchTable;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IbenchStatement {
    /// `range queries`, `point queries` or `deletes`.
    pub purpose: &'static str,
    pub shape: String,
    pub sql: String,
}

/// The distinct deletions of these steps, queries for the lowest key, and range and point queries. `lowest` is the
/// lowest key in the table.
#[must_use]
pub fn ibench_statements<'a>(
    table: &IbenchTable,
    steps: impl IntoIterator<Item = &'a IbenchStep>,
    lowest: u64,
) -> Vec<IbenchStatement> {
    let mut statements: Vec<IbenchStatement> = Vec::new();
    for step in steps {
        let deletes = step.deletes.then(|| deletes(table, step.rows_per_statement(), lowest));
        let queries = step.queries.map(|queries| match queries.kind {
            IbenchQuery::Range => ("range queries", Kind::ranges(table, step.tables.indexes)),
            IbenchQuery::Point => ("point queries", vec![Kind::point(table)]),
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
fn query(purpose: &'static str, kind: &Kind, lowest: u64) -> IbenchStatement {
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
    use assay_model::{Dialect, IbenchTables};

    use super::*;
    use crate::ibench::{IbenchSizes, ibench_steps};

    fn of(dialect: Dialect, indexes: u32) -> Vec<IbenchStatement> {
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
        let all = of(Dialect::MySql, 3);
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
        let all = of(Dialect::Postgres, 1);
        assert_eq!(all.iter().filter(|it| it.purpose == "range queries").count(), 1);
        assert!(all.iter().all(|it| !it.sql.contains("FORCE") && !it.sql.contains("EXECUTE")));
    }
}
