//! Query plans: `EXPLAIN`, reduced to what can be compared between versions.

use assay_model::Product;
use assay_wire::{Connection, ResultSet};

use crate::error::Error;

/// Remarks in `Extra` that mean different work, and their names here. Estimates and remarks that only repeat the
/// statement (`Using where`) are left out.
const EXTRA: &[(&str, &str)] = &[
    ("Using index condition", "index condition"),
    ("Using index for group-by", "loose index scan"),
    ("Using index for skip scan", "skip scan"),
    ("Using index", "covering"),
    ("Using filesort", "sort"),
    ("Using temporary", "temporary table"),
    ("Using MRR", "multi-range read"),
    ("Rowid-ordered scan", "multi-range read"),
    ("Key-ordered scan", "multi-range read"),
    ("Key-ordered Rowid-ordered scan", "multi-range read"),
    ("Using join buffer", "join buffer"),
    ("Using buffer", "rows noted first"),
    ("Backward index scan", "backwards"),
    ("Range checked for each record", "planned for each row"),
    ("Using rowid filter", "rowid filter"),
    ("Impossible WHERE", "no rows"),
    ("no matching row in const table", "no rows"),
    ("Select tables optimized away", "answered while planning"),
    ("Using intersect", "index merge"),
    ("Using union", "index merge"),
    ("Using sort_union", "index merge"),
];

/// The plan of a statement (with its values in it). `None` where this version cannot explain it.
///
/// # Errors
/// When the connection is lost.
pub fn explain(
    control: &mut Connection,
    product: Product,
    sql: &str,
) -> Result<Option<String>, Error> {
    let is_postgres = product == Product::Postgres;
    let words = if is_postgres { "EXPLAIN (COSTS OFF)" } else { "EXPLAIN" };
    let mut found = control.query(&format!("{words} {sql}"));
    // Newer versions of MySQL draw a tree by default; older ones do not know the option for a table.
    if !is_postgres && found.as_ref().is_ok_and(|it| it.named(0, "select_type").is_none()) {
        found = control.query(&format!("EXPLAIN FORMAT=TRADITIONAL {sql}"));
    }
    let plan = match found {
        Ok(found) if is_postgres => nodes(&found),
        Ok(found) => accesses(&found),
        // Before MySQL 5.6 and MariaDB 10.0 only queries can be explained.
        Err(error) if error.server_code().is_some() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // Some versions have no plan for an insert.
    Ok((!plan.is_empty()).then_some(plan))
}

/// A plan of MySQL or MariaDB: each table's access method, its index and other work.
fn accesses(found: &ResultSet) -> String {
    let row = |row| {
        let column = |name| found.named(row, name).filter(|it| !it.is_empty());
        let access = match (column("select_type"), column("type"), column("key")) {
            (Some("INSERT"), ..) => Some("insert".to_owned()),
            (_, Some("ALL"), _) => Some(match column("table") {
                Some(table) if table.starts_with('<') => format!("all of {table}"),
                _ => "whole table".to_owned(),
            }),
            (_, Some(access), Some(key)) => Some(format!("{access} {key}")),
            (_, access, key) => access.or(key).map(str::to_owned),
        };
        let mut extra = extras(column("Extra").unwrap_or_default());
        // The primary key is the table: newer versions of MariaDB do not call it covering.
        extra.retain(|word| *word != "covering" || column("key") != Some("PRIMARY"));
        let words: Vec<String> =
            access.into_iter().chain(extra.into_iter().map(str::to_owned)).collect();
        words.join(", ")
    };
    // A row of constant values accesses no table.
    (0..found.rows.len()).map(row).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The relevant remarks in the column `Extra`, sorted.
fn extras(extra: &str) -> Vec<&'static str> {
    let mut words: Vec<&str> = extra
        .split(';')
        .filter_map(|part| {
            let part = part.trim();
            EXTRA.iter().find(|(begins, _)| part.starts_with(begins)).map(|(_, word)| *word)
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// A plan of Postgres: its nodes, outermost first, without their conditions.
fn nodes(found: &ResultSet) -> String {
    let lines = (0..found.rows.len()).filter_map(|row| found.text(row, 0));
    let node = |(at, line): (usize, &str)| match line.trim_start().strip_prefix("->") {
        Some(node) => Some(node.trim().to_owned()),
        // Lines below a node are its conditions.
        None => (at == 0).then(|| line.trim().to_owned()),
    };
    lines.enumerate().filter_map(node).collect::<Vec<_>>().join(" < ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[&str], rows: &[&[&str]]) -> ResultSet {
        let value = |it: &&str| (*it != "NULL").then(|| it.as_bytes().to_vec());
        ResultSet {
            columns: columns.iter().map(|it| (*it).to_owned()).collect(),
            rows: rows.iter().map(|row| row.iter().map(value).collect()).collect(),
            ..ResultSet::default()
        }
    }

    #[test]
    fn verbose_and_terse_plans_of_versions_are_equal() {
        let old = ["id", "select_type", "table", "type", "key", "key_len", "rows", "Extra"];
        let new = [
            "id",
            "select_type",
            "table",
            "partitions",
            "type",
            "key",
            "key_len",
            "rows",
            "filtered",
            "Extra",
        ];
        let one = table(
            &old,
            &[&["1", "SIMPLE", "sbtest1", "range", "k_1", "4", "100", "Using where; Using index"]],
        );
        let other = table(
            &new,
            &[&[
                "1",
                "SIMPLE",
                "sbtest1",
                "NULL",
                "range",
                "k_1",
                "4",
                "97",
                "100.00",
                "Using index; Using where",
            ]],
        );
        assert_eq!(accesses(&one), "range k_1, covering");
        assert_eq!(accesses(&one), accesses(&other));
    }

    #[test]
    fn derived_tables_are_named_and_empty_ones_omitted() {
        let columns = ["select_type", "table", "type", "key", "Extra"];
        let found = table(
            &columns,
            &[
                &["PRIMARY", "<subquery2>", "ALL", "NULL", ""],
                &["PRIMARY", "sbtest1", "eq_ref", "PRIMARY", ""],
                &["DERIVED", "NULL", "NULL", "NULL", "No tables used"],
            ],
        );
        assert_eq!(accesses(&found), "all of <subquery2>; eq_ref PRIMARY");
    }

    #[test]
    fn a_lost_index_a_sort_and_a_multi_range_read_show() {
        let columns = ["select_type", "type", "key", "Extra"];
        let of = |row: [&str; 4]| accesses(&table(&columns, &[&row]));
        assert_eq!(
            of(["SIMPLE", "ALL", "NULL", "Using where; Using filesort"]),
            "whole table, sort"
        );
        assert_eq!(
            of(["SIMPLE", "range", "k_1", "Using index condition; Rowid-ordered scan"]),
            "range k_1, index condition, multi-range read"
        );
        assert_eq!(of(["INSERT", "NULL", "NULL", "NULL"]), "insert");
        assert_eq!(of(["SIMPLE", "NULL", "NULL", "Impossible WHERE"]), "no rows");
    }

    #[test]
    fn plans_of_postgres_omit_conditions_and_estimates() {
        let lines = [
            "Aggregate",
            "  ->  Index Only Scan using k_1 on sbtest1",
            "        Index Cond: ((k >= 5) AND (k <= 9))",
        ];
        let rows: Vec<&[&str]> = lines.iter().map(std::slice::from_ref).collect();
        let found = table(&["QUERY PLAN"], &rows);
        assert_eq!(nodes(&found), "Aggregate < Index Only Scan using k_1 on sbtest1");
    }
}
