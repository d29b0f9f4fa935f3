//! Query plans of MySQL and MariaDB, reduced to the parts comparable between versions.

use assay_wire::{Connection, ResultSet, WireError};

use crate::products::kind::StatementExplanation;

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
    ("FirstMatch", "first match"),
    ("LooseScan", "loose scan"),
    ("Start temporary", "duplicates removed"),
    ("Select tables optimized away", "answered while planning"),
    ("Using intersect", "index merge"),
    ("Using union", "index merge"),
    ("Using sort_union", "index merge"),
];

/// Kinds of subqueries that are executed again for rows of the outer query.
const AGAIN: [&str; 3] = ["DEPENDENT", "UNCACHEABLE", "LATERAL"];

/// Precedes the work for each row of the outer query.
const FOR_EACH: &str = "for each row:";

pub(super) fn explain(
    control: &mut Connection,
    sql: &str,
) -> Result<StatementExplanation, WireError> {
    let mut found = control.query(&format!("EXPLAIN {sql}"))?;
    // Newer versions draw a tree by default; older ones do not know the option for a table.
    if found.named(0, "select_type").is_none() {
        found = control.query(&format!("EXPLAIN FORMAT=TRADITIONAL {sql}"))?;
    }
    Ok(StatementExplanation {
        plan: accesses(&found),
        warnings: warnings(&control.query("SHOW WARNINGS")?),
    })
}

const WARNING_MAX: usize = 300;

/// The warnings among a server's messages. Notes only repeat the statement as the server has rewritten it.
fn warnings(found: &ResultSet) -> Vec<String> {
    let warning = |row| {
        let text = found.named(row, "Message").filter(|it| !it.is_empty())?;
        let is_warning = found.named(row, "Level") == Some("Warning");
        is_warning.then(|| {
            format!("EXPLAIN warns: {}", text.chars().take(WARNING_MAX).collect::<String>())
        })
    };
    let mut warnings: Vec<String> = (0..found.rows.len()).filter_map(warning).collect();
    warnings.sort_unstable();
    warnings.dedup();
    warnings
}

/// Each table's access method, its index and other work.
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
        let kind = column("select_type").unwrap_or_default();
        let again = AGAIN.iter().any(|it| kind.starts_with(it)).then_some(FOR_EACH);
        let mut extra = extras(column("Extra").unwrap_or_default());
        // The primary key is the table: newer versions of MariaDB do not call it covering.
        extra.retain(|word| *word != "covering" || column("key") != Some("PRIMARY"));
        let words: Vec<String> =
            access.into_iter().chain(extra.into_iter().map(str::to_owned)).collect();
        match (words.is_empty(), again) {
            (false, Some(again)) => format!("{again} {}", words.join(", ")),
            _ => words.join(", "),
        }
    };
    // A row of constant values accesses no table.
    (0..found.rows.len()).map(row).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ")
}

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
    fn a_subquery_for_each_row_is_another_plan_than_a_join() {
        let columns = ["select_type", "table", "type", "key", "Extra"];
        let plan = |kind, extra| {
            let outer = ["PRIMARY", "p", "range", "k", ""];
            accesses(&table(&columns, &[&outer, &[kind, "r", "ref", "k_r", extra]]))
        };
        let joined = plan("PRIMARY", "Using where; FirstMatch(p)");
        assert_eq!(joined, "range k; ref k_r, first match");
        let again = plan("DEPENDENT SUBQUERY", "Using where");
        assert_eq!(again, "range k; for each row: ref k_r");
        assert_eq!(plan("SUBQUERY", "Using where"), "range k; ref k_r");
    }

    #[test]
    fn a_lost_index_a_sort_and_a_multi_range_read_show() {
        let columns = ["select_type", "type", "key", "Extra"];
        let plan = |row: [&str; 4]| accesses(&table(&columns, &[&row]));
        assert_eq!(
            plan(["SIMPLE", "ALL", "NULL", "Using where; Using filesort"]),
            "whole table, sort"
        );
        assert_eq!(
            plan(["SIMPLE", "range", "k_1", "Using index condition; Rowid-ordered scan"]),
            "range k_1, index condition, multi-range read"
        );
        assert_eq!(plan(["INSERT", "NULL", "NULL", "NULL"]), "insert");
        assert_eq!(plan(["SIMPLE", "NULL", "NULL", "Impossible WHERE"]), "no rows");
    }

    #[test]
    fn warnings_of_the_planner_are_kept_and_notes_are_not() {
        let found = table(
            &["Level", "Code", "Message"],
            &[
                &["Warning", "3170", "Memory capacity exceeded."],
                &["Note", "1003", "/* select#1 */"],
            ],
        );
        assert_eq!(warnings(&found), ["EXPLAIN warns: Memory capacity exceeded."]);
    }
}
