//! Puts statistics into a sandbox whose tables have no rows: by the functions of the server from Postgres 18 on, else
//! into its catalog. Every statement is written here, from checked values and quoted texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use assay_capture::{PlannerStatistics, StatisticsEntry, statistics_type};
use assay_model::Dialect;
use assay_wire::Connection;
use assay_workloads::quoted_literal;

use crate::relation_files::{PAGE, RelationFile};

/// First version with functions that restore statistics.
const FUNCTIONS_SINCE: u32 = 18;

/// First version in which the number of rows can be unknown.
const UNKNOWN_ROWS_SINCE: u32 = 14;

/// First version in which statistics have a collation.
const COLLATIONS_SINCE: u32 = 12;

/// Statistics of a column of this version.
const SLOTS: usize = 5;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RestoredStatistics {
    /// Tables for which the file has no statistics.
    pub(crate) tables_without: Vec<String>,
    /// Relations and columns of the file that the schema lacks.
    pub(crate) unknown: BTreeSet<String>,
    /// Messages of the server, each with the relation or column.
    pub(crate) refused: Vec<String>,
    pub(crate) files: Vec<RelationFile>,
    /// Pages of a file, after which the next one begins.
    pub(crate) segment: u32,
}

/// Schema and name.
type RelationName = (String, String);

pub(crate) fn restore(
    control: &mut Connection,
    statistics: &PlannerStatistics,
) -> Result<RestoredStatistics> {
    let version = control.server_version().split(|byte: char| !byte.is_ascii_digit()).next();
    let version: u32 =
        version.and_then(|digits| digits.parse().ok()).context("its version is unknown")?;
    let has_functions = version >= FUNCTIONS_SINCE;
    let relations = relations(control)?;
    if let Some(first) = statistics.relations.first() {
        ensure!(
            statistics.relations.iter().any(|entry| relations.contains_key(&name_of(entry))),
            "the dump has none of their tables and indexes, such as {}: write both files from the same database",
            shown(first)
        );
    }
    let columns = columns(control)?;
    let mut restored = RestoredStatistics { segment: segment(control)?, ..Default::default() };
    for entry in &statistics.relations {
        let Some(relation) = relations.get(&name_of(entry)) else {
            restored.unknown.insert(shown(entry));
            continue;
        };
        let sql = if has_functions {
            call("pg_restore_relation_stats", entry)
        } else {
            relation_update(relation.oid, entry, version)
        };
        send(control, &sql, &shown(entry), &mut restored.refused)?;
    }
    for entry in &statistics.columns {
        let mut of_relation = columns.get(&name_of(entry)).into_iter().flatten();
        let Some(column) = of_relation.find(|column| column.is_of(entry)) else {
            let column = value(entry, "attname", value(entry, "attnum", ""));
            restored.unknown.insert(format!("{}.{column}", shown(entry)));
            continue;
        };
        let sql = if has_functions {
            call("pg_restore_attribute_stats", entry)
        } else {
            column_insert(column, entry, version >= COLLATIONS_SINCE)
        };
        let name = format!("{}.{}", shown(entry), column.name);
        send(control, &sql, &name, &mut restored.refused)?;
    }
    if !has_functions {
        let found = control.query(UNPAIRED)?;
        let names = (0..found.rows.len()).filter_map(|row| found.text(row, 0));
        restored.refused.extend(
            names.map(|name| format!("{name}: frequent values and their shares differ in number")),
        );
    }
    let known: BTreeMap<RelationName, &StatisticsEntry> =
        statistics.relations.iter().map(|entry| (name_of(entry), entry)).collect();
    for (name, relation) in &relations {
        let entry = known.get(name);
        let is_analyzed =
            entry.is_some_and(|entry| !value(entry, "reltuples", "-1").starts_with('-'));
        if relation.is_table && !is_analyzed {
            restored.tables_without.push(format!("{}.{}", name.0, name.1));
        }
    }
    restored.files = files(control, &known)?;
    Ok(restored)
}

/// Removes statistics whose frequent values, always in the first slot, lack shares: the planner would read beyond them.
/// The functions check this themselves.
const UNPAIRED: &str = "DELETE FROM pg_catalog.pg_statistic WHERE stakind1 = 1 AND array_length(stavalues1, 1) \
                        IS DISTINCT FROM array_length(stanumbers1, 1) RETURNING starelid::regclass::text";

fn send(control: &mut Connection, sql: &str, name: &str, refused: &mut Vec<String>) -> Result<()> {
    match control.query(sql) {
        Ok(found) if found.text(0, 0) == Some("f") => {
            refused.push(format!("{name}: the server did not take all of its statistics"));
        }
        Ok(_) => {}
        Err(error) if error.server_code().is_some() => refused.push(format!("{name}: {error}")),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn name_of(entry: &StatisticsEntry) -> RelationName {
    (entry.schema.clone(), entry.relation.clone())
}

fn shown(entry: &StatisticsEntry) -> String {
    format!("{}.{}", entry.schema, entry.relation)
}

fn value<'e>(entry: &'e StatisticsEntry, argument: &str, default: &'e str) -> &'e str {
    entry.values.get(argument).map_or(default, String::as_str)
}

fn quoted(text: &str) -> String {
    quoted_literal(Dialect::Postgres, text)
}

/// A call of a function that restores statistics.
fn call(function: &str, entry: &StatisticsEntry) -> String {
    let (schema, relation) = (quoted(&entry.schema), quoted(&entry.relation));
    let mut sql = format!(
        "SELECT * FROM pg_catalog.{function}('schemaname', {schema}, 'relname', {relation}"
    );
    for (argument, value) in &entry.values {
        // A column has one name.
        if *argument == "attnum" && entry.values.contains_key("attname") {
            continue;
        }
        let sql_type = statistics_type(argument).expect("only known arguments are read");
        let _ = write!(sql, ", '{argument}', {}::{sql_type}", quoted(value));
    }
    sql + ")"
}

fn relation_update(oid: u32, entry: &StatisticsEntry, version: u32) -> String {
    let rows = value(entry, "reltuples", "-1");
    let is_zero = rows.starts_with('-') && version < UNKNOWN_ROWS_SINCE;
    let rows = if is_zero { "0" } else { rows };
    format!(
        "UPDATE pg_catalog.pg_class SET relpages = {}::integer, reltuples = {}::real, relallvisible = {}::integer \
         WHERE oid = {oid}",
        quoted(value(entry, "relpages", "0")),
        quoted(rows),
        quoted(value(entry, "relallvisible", "0"))
    )
}

struct CatalogRelation {
    oid: u32,
    is_table: bool,
}

fn relations(control: &mut Connection) -> Result<BTreeMap<RelationName, CatalogRelation>> {
    let found = control.query_catalog(&format!(
        "SELECT n.nspname, c.relname, c.oid, c.relkind IN ('r', 'm') FROM pg_class c \
         JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {OWN}"
    ))?;
    let relation = |row| {
        let name = (found.text(row, 0)?.to_owned(), found.text(row, 1)?.to_owned());
        let oid = found.text(row, 2)?.parse().ok()?;
        Some((name, CatalogRelation { oid, is_table: found.text(row, 3) == Some("t") }))
    };
    Ok((0..found.rows.len()).filter_map(relation).collect())
}

/// Tables and indexes of the dump.
const OWN: &str = "c.relkind IN ('r', 'm', 'p', 'i', 'I') AND n.nspname <> 'information_schema' \
                   AND left(n.nspname, 3) <> 'pg_' AND left(c.relname, 14) <> 'assay_workload'";

/// A column, with the types and operators that the catalog stores beside its statistics; 0 where there are none.
#[derive(Debug, Default)]
struct CatalogColumn {
    name: String,
    number: u32,
    relation: u32,
    /// Without its domain.
    value_type: u32,
    collation: u32,
    less: u32,
    equal: u32,
    /// Type of the elements of an array or a text search vector.
    element: u32,
    element_equal: u32,
}

impl CatalogColumn {
    fn is_of(&self, entry: &StatisticsEntry) -> bool {
        match entry.values.get("attname") {
            Some(name) => *name == self.name,
            None => value(entry, "attnum", "") == self.number.to_string(),
        }
    }
}

/// The operators are those of the default class for B-trees, as `ANALYZE` chooses them. Classes of polymorphic types
/// serve enumerations (3500), ranges (3831), multiranges (4537), rows (2249) and arrays (2277). A text search vector
/// (3614) has elements of type text (25).
fn columns(control: &mut Connection) -> Result<BTreeMap<RelationName, Vec<CatalogColumn>>> {
    let found = control.query_catalog(&format!(
        "WITH RECURSIVE base(oid, key) AS ( \
           SELECT oid, oid FROM pg_type WHERE typtype <> 'd' \
           UNION ALL SELECT d.oid, b.key FROM pg_type d JOIN base b ON d.typbasetype = b.oid WHERE d.typtype = 'd' \
         ), typed AS ( \
           SELECT b.oid, b.key, CASE WHEN t.typcategory = 'A' THEN t.typelem WHEN b.key = 3614 THEN 25 ELSE 0 END \
             AS element, CASE WHEN t.typtype = 'e' THEN 3500 WHEN t.typtype = 'r' THEN 3831 \
             WHEN t.typtype = 'm' THEN 4537 WHEN t.typtype = 'c' THEN 2249 \
             WHEN t.typcategory = 'A' THEN 2277 ELSE b.key END AS general \
           FROM base b JOIN pg_type t ON t.oid = b.key \
         ), ordered AS ( \
           SELECT t.oid, t.key, t.element, lt.amopopr AS less, eq.amopopr AS equal FROM typed t \
           LEFT JOIN LATERAL (SELECT o.opcfamily, o.opcintype FROM pg_opclass o \
             WHERE o.opcmethod = 403 AND o.opcdefault AND (o.opcintype = t.general OR EXISTS ( \
               SELECT 1 FROM pg_cast p WHERE p.castsource = t.key AND p.casttarget = o.opcintype \
               AND p.castmethod = 'b' AND p.castcontext = 'i')) \
             ORDER BY o.opcintype = t.general DESC, \
               (SELECT y.typispreferred FROM pg_type y WHERE y.oid = o.opcintype) DESC LIMIT 1) o ON true \
           LEFT JOIN pg_amop lt ON lt.amopfamily = o.opcfamily AND lt.amoplefttype = o.opcintype \
             AND lt.amoprighttype = o.opcintype AND lt.amopstrategy = 1 \
           LEFT JOIN pg_amop eq ON eq.amopfamily = o.opcfamily AND eq.amoplefttype = o.opcintype \
             AND eq.amoprighttype = o.opcintype AND eq.amopstrategy = 3 \
         ) SELECT n.nspname, c.relname, a.attname, a.attnum, c.oid, t.key, a.attcollation, t.less, t.equal, \
           t.element, e.equal \
         FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
         JOIN ordered t ON t.oid = a.atttypid LEFT JOIN ordered e ON e.oid = t.element \
         WHERE a.attnum > 0 AND NOT a.attisdropped AND {OWN}"
    ))?;
    let mut columns: BTreeMap<RelationName, Vec<CatalogColumn>> = BTreeMap::new();
    for row in 0..found.rows.len() {
        let text = |column| found.text(row, column).unwrap_or_default().to_owned();
        // A type without order has no operators.
        let number =
            |column| found.text(row, column).and_then(|text| text.parse().ok()).unwrap_or(0);
        columns.entry((text(0), text(1))).or_default().push(CatalogColumn {
            name: text(2),
            number: number(3),
            relation: number(4),
            value_type: number(5),
            collation: number(6),
            less: number(7),
            equal: number(8),
            element: number(9),
            element_equal: number(10),
        });
    }
    Ok(columns)
}

struct StatisticsSlot<'e> {
    /// `STATISTIC_KIND_...`.
    kind: u32,
    operator: u32,
    numbers: Option<String>,
    /// An array and the type of its elements.
    values: Option<(&'e str, u32)>,
}

/// The operator that orders the lengths of ranges, and their type.
const LENGTH_LESS: u32 = 672;
const LENGTH: u32 = 701;

fn slots<'e>(column: &CatalogColumn, entry: &'e StatisticsEntry) -> Vec<StatisticsSlot<'e>> {
    let get = |argument: &str| entry.values.get(argument).map(String::as_str);
    let slot = |kind, operator, numbers: Option<&str>, values| {
        let numbers = numbers.map(str::to_owned);
        StatisticsSlot { kind, operator, numbers, values }
    };
    let mut slots = Vec::new();
    if let Some((values, shares)) = get("most_common_vals").zip(get("most_common_freqs")) {
        slots.push(slot(1, column.equal, Some(shares), Some((values, column.value_type))));
    }
    if let Some(bounds) = get("histogram_bounds") {
        slots.push(slot(2, column.less, None, Some((bounds, column.value_type))));
    }
    if let Some(correlation) = get("correlation") {
        slots.push(slot(3, column.less, Some(&format!("{{{correlation}}}")), None));
    }
    if let Some((values, shares)) = get("most_common_elems").zip(get("most_common_elem_freqs")) {
        slots.push(slot(4, column.element_equal, Some(shares), Some((values, column.element))));
    }
    if let Some(counts) = get("elem_count_histogram") {
        slots.push(slot(5, column.element_equal, Some(counts), None));
    }
    if let Some((lengths, empty)) = get("range_length_histogram").zip(get("range_empty_frac")) {
        slots.push(slot(6, LENGTH_LESS, Some(&format!("{{{empty}}}")), Some((lengths, LENGTH))));
    }
    if let Some(bounds) = get("range_bounds_histogram") {
        slots.push(slot(7, 0, None, Some((bounds, column.value_type))));
    }
    slots.truncate(SLOTS);
    slots
}

/// A row of `pg_statistic`.
fn column_insert(column: &CatalogColumn, entry: &StatisticsEntry, has_collations: bool) -> String {
    let of_column = |argument: &str, sql_type: &str| {
        let default = if sql_type == "boolean" { "f" } else { "0" };
        format!("{}::{sql_type}", quoted(value(entry, argument, default)))
    };
    let mut row = vec![
        ("starelid".to_owned(), column.relation.to_string()),
        ("staattnum".to_owned(), column.number.to_string()),
        ("stainherit".to_owned(), of_column("inherited", "boolean")),
        ("stanullfrac".to_owned(), of_column("null_frac", "real")),
        ("stawidth".to_owned(), of_column("avg_width", "integer")),
        ("stadistinct".to_owned(), of_column("n_distinct", "real")),
    ];
    let mut slots = slots(column, entry).into_iter();
    for number in 1..=SLOTS {
        let slot = slots.next();
        let (kind, operator) = slot.as_ref().map_or((0, 0), |slot| (slot.kind, slot.operator));
        row.push((format!("stakind{number}"), kind.to_string()));
        row.push((format!("staop{number}"), operator.to_string()));
        if has_collations {
            let collation = if kind == 0 { 0 } else { column.collation };
            row.push((format!("stacoll{number}"), collation.to_string()));
        }
        let Some(StatisticsSlot { numbers, values, .. }) = slot else { continue };
        if let Some(numbers) = numbers {
            row.push((format!("stanumbers{number}"), format!("{}::real[]", quoted(&numbers))));
        }
        if let Some((values, of_type)) = values {
            let array = format!("pg_catalog.array_in({}, {of_type}::oid, -1)", quoted(values));
            row.push((format!("stavalues{number}"), array));
        }
    }
    let (names, values): (Vec<String>, Vec<String>) = row.into_iter().unzip();
    let (names, values) = (names.join(", "), values.join(", "));
    format!("INSERT INTO pg_catalog.pg_statistic ({names}) VALUES ({values})")
}

fn segment(control: &mut Connection) -> Result<u32> {
    let found = control.query_catalog(
        "SELECT setting FROM pg_settings WHERE name IN ('block_size', 'segment_size') ORDER BY name",
    )?;
    let number = |row| found.text(row, 0).and_then(|text| text.parse::<u32>().ok());
    ensure!(number(0) == Some(PAGE as u32), "its pages have another size than {PAGE} bytes");
    number(1).filter(|pages| *pages > 0).context("the length of its files is unknown")
}

/// Files of the relations with the pages of the statistics. Widths of keys are those of the restored columns.
fn files(
    control: &mut Connection,
    statistics: &BTreeMap<RelationName, &StatisticsEntry>,
) -> Result<Vec<RelationFile>> {
    let found = control.query_catalog(&format!(
        "SELECT n.nspname, c.relname, pg_relation_filepath(c.oid), \
         CASE WHEN m.amname = 'btree' THEN (SELECT sum(CASE WHEN a.attlen > 0 THEN a.attlen ELSE COALESCE(( \
           SELECT s.stawidth FROM pg_statistic s WHERE s.starelid = x.indrelid \
           AND s.staattnum = x.indkey[a.attnum - 1] AND NOT s.stainherit), 16) END) \
           FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0) END \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_index x ON x.indexrelid = c.oid LEFT JOIN pg_am m ON m.oid = c.relam \
         WHERE c.relkind IN ('r', 'm', 'i') AND {OWN}"
    ))?;
    let file = |row| {
        let name = (found.text(row, 0)?.to_owned(), found.text(row, 1)?.to_owned());
        let pages = value(statistics.get(&name)?, "relpages", "0").parse().ok()?;
        let path = found.text(row, 2)?.to_owned();
        let key_bytes = found.text(row, 3).and_then(|text| text.parse().ok());
        // A partitioned table has -1, and no file.
        (pages > 0).then_some(RelationFile { path, pages, key_bytes })
    };
    Ok((0..found.rows.len()).filter_map(file).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(values: &[(&'static str, &str)]) -> StatisticsEntry {
        let values = values.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        StatisticsEntry { schema: "s".to_owned(), relation: "it's".to_owned(), values }
    }

    #[test]
    fn statements_are_built_of_quoted_values() {
        let of_relation = entry(&[("relpages", "3"), ("reltuples", "-1")]);
        assert_eq!(
            call("pg_restore_relation_stats", &of_relation),
            "SELECT * FROM pg_catalog.pg_restore_relation_stats('schemaname', 's', 'relname', 'it''s', 'relpages', \
             '3'::integer, 'reltuples', '-1'::real)"
        );
        assert_eq!(
            relation_update(7, &of_relation, 13),
            "UPDATE pg_catalog.pg_class SET relpages = '3'::integer, reltuples = '0'::real, relallvisible = \
             '0'::integer WHERE oid = 7"
        );
        let column = CatalogColumn {
            name: "a".to_owned(),
            number: 2,
            relation: 7,
            value_type: 25,
            collation: 100,
            less: 664,
            equal: 98,
            ..CatalogColumn::default()
        };
        let of_column = entry(&[
            ("attname", "a"),
            ("n_distinct", "-1"),
            ("most_common_vals", "{it's}"),
            ("most_common_freqs", "{0.5}"),
            ("correlation", "1"),
        ]);
        assert!(column.is_of(&of_column));
        let sql = column_insert(&column, &of_column, true);
        assert_eq!(
            sql,
            "INSERT INTO pg_catalog.pg_statistic (starelid, staattnum, stainherit, stanullfrac, stawidth, stadistinct, \
             stakind1, staop1, stacoll1, stanumbers1, stavalues1, stakind2, staop2, stacoll2, stanumbers2, stakind3, \
             staop3, stacoll3, stakind4, staop4, stacoll4, stakind5, staop5, stacoll5) VALUES (7, 2, 'f'::boolean, \
             '0'::real, '0'::integer, '-1'::real, 1, 98, 100, '{0.5}'::real[], pg_catalog.array_in('{it''s}', \
             25::oid, -1), 3, 664, 100, '{1}'::real[], 0, 0, 0, 0, 0, 0, 0, 0, 0)"
        );
    }
}
