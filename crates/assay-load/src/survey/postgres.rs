//! Survey of a Postgres server.

use std::collections::BTreeMap;

use assay_model::Dialect;
use assay_wire::{CatalogSchema, Connection};

use super::shape::{
    Object, ObjectKind, Survey, TableColumn, TableIndex, listed_names, odd_columns, odd_index,
};
use crate::control::{catalog_rows, current_schema, schema_oid};
use crate::error::{LoadError, Result, UnfitReason};

/// Databases from which others are created.
const TEMPLATES: [&str; 2] = ["template0", "template1"];

/// The first remark about each object, by oid.
type Remarks = BTreeMap<String, String>;

/// The schema in which tables are created, and its objects.
///
/// Every query uses names of `pg_catalog` alone ([`Connection::query_catalog`]): operators and functions of other users
/// must not run with the rights of this one, and none of their tables may hide a catalog.
pub(super) fn survey(control: &mut Connection, tables: u32) -> Result<Survey> {
    let schema = current_schema(control)?;
    let oid = schema.as_ref().map_or(0, |it| it.oid);
    let sql = format!(
        "SELECT current_database(), pg_is_in_recovery(), coalesce(has_schema_privilege({oid}::oid, 'CREATE'), false), \
         to_regclass('pg_publication_rel') IS NOT NULL"
    );
    let facts = catalog_rows(control, &sql)?;
    let [database, is_replica, may_create, has_publications] =
        facts.first().map(Vec::as_slice).unwrap_or_default()
    else {
        return Err(LoadError::Unfit { database: String::new(), unfit: UnfitReason::NoSchema });
    };
    let unfit = |schema: Option<&CatalogSchema>, unfit| {
        let name = schema.map(|it| format!(".{}", it.name)).unwrap_or_default();
        Err(LoadError::Unfit { database: format!("{database}{name}"), unfit })
    };
    if is_replica == "t" {
        return unfit(schema.as_ref(), UnfitReason::Replica);
    }
    let Some(schema) = schema else { return unfit(None, UnfitReason::NoSchema) };
    let is_system = schema.name.starts_with("pg_") || schema.name == "information_schema";
    if is_system || TEMPLATES.contains(&database.as_str()) {
        return unfit(Some(&schema), UnfitReason::System);
    }
    let objects = objects(control, &SurveyNames::new(oid, tables), has_publications == "t")?;
    let (dialect, schema, may_create) = (Dialect::Postgres, schema.quoted(), may_create == "t");
    Ok(Survey { dialect, schema, objects, may_create, sees_triggers: true })
}

struct SurveyNames {
    oid: u32,
    tables: String,
    indexes: String,
}

impl SurveyNames {
    fn new(oid: u32, tables: u32) -> Self {
        Self { oid, tables: listed_names("sbtest", tables), indexes: listed_names("k_", tables) }
    }

    /// The beginning of a query: `t` holds the objects with the name of a table.
    fn with(&self) -> String {
        let Self { oid, tables, .. } = self;
        format!(
            "WITH t AS (SELECT oid, relkind, relrowsecurity FROM pg_class \
             WHERE relnamespace = {oid} AND relname::text IN ({tables}))"
        )
    }
}

fn objects(
    control: &mut Connection,
    names: &SurveyNames,
    has_publications: bool,
) -> Result<Vec<Object>> {
    let rows = catalog_rows(control, &named(names))?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let columns = columns(control, names)?;
    let indexes = indexes(control, names)?;
    let oddities = first_remarks(catalog_rows(control, &oddities(names, has_publications))?);
    let referrers = first_remarks(catalog_rows(control, &referrers(names))?);
    let object = |row: Vec<String>| {
        let [oid, name, letter, of, inherits] = <[String; 5]>::try_from(row).ok()?;
        let (kind, is_plain) = kind(&letter);
        let of = (!of.is_empty()).then_some(of);
        let columns = columns.get(&oid).map(Vec::as_slice).unwrap_or_default();
        let foreign = if kind != ObjectKind::Table {
            let whose = of.as_ref().map(|table| format!(" of `{table}`")).unwrap_or_default();
            let article = if kind == ObjectKind::Index { "an" } else { "a" };
            Some(format!("is {article} {}{whose}", kind.sql().to_lowercase()))
        } else if !is_plain || inherits == "t" {
            Some("is partitioned or inherits".to_owned())
        } else if !name.starts_with("sbtest") {
            Some("is a table, and an index needs its name".to_owned())
        } else {
            odd_columns(columns)
                .or_else(|| oddities.get(&oid).cloned())
                .or_else(|| odd_index(indexes.get(&oid).map(Vec::as_slice).unwrap_or_default()))
        };
        let referrer = referrers.get(&oid).cloned();
        Some(Object { name, kind, of, foreign, referrer })
    };
    Ok(rows.into_iter().filter_map(object).collect())
}

/// Decodes `pg_class.relkind`; true for an ordinary table like ours.
fn kind(letter: &str) -> (ObjectKind, bool) {
    match letter {
        "r" => (ObjectKind::Table, true),
        "v" => (ObjectKind::View, false),
        "m" => (ObjectKind::MaterializedView, false),
        "S" => (ObjectKind::Sequence, false),
        "i" | "I" => (ObjectKind::Index, false),
        "f" => (ObjectKind::ForeignTable, false),
        "c" => (ObjectKind::Type, false),
        _ => (ObjectKind::Table, false),
    }
}

/// Query for the tables, for other objects with the name of one of their indexes, and for types, which share the names
/// of tables.
fn named(SurveyNames { oid, tables, indexes }: &SurveyNames) -> String {
    format!(
        "SELECT c.oid, c.relname, c.relkind, coalesce(t.relname::text, ''), \
           EXISTS (SELECT FROM pg_inherits h WHERE c.oid IN (h.inhrelid, h.inhparent)) \
         FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid \
         WHERE c.relnamespace = {oid} AND (c.relname::text IN ({tables}) OR c.relname::text IN ({indexes}) \
           AND (t.oid IS NULL OR t.relname::text NOT IN ({tables}))) \
         UNION ALL \
         SELECT t.oid, t.typname, 'c', '', false FROM pg_type t \
         WHERE t.typnamespace = {oid} AND t.typname::text IN ({tables}) AND t.typrelid = 0"
    )
}

/// Columns by table oid. Catalog columns that old versions lack are read by name.
fn columns(
    control: &mut Connection,
    names: &SurveyNames,
) -> Result<BTreeMap<String, Vec<TableColumn>>> {
    let sql = format!(
        "{} SELECT t.oid, a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, \
           coalesce(pg_get_expr(d.adbin, d.adrelid), ''), coalesce(to_jsonb(a) ->> 'attidentity', ''), \
           coalesce(to_jsonb(a) ->> 'attgenerated', '') \
         FROM t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped \
           LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum ORDER BY t.oid, a.attnum",
        names.with()
    );
    let mut all = BTreeMap::<String, Vec<TableColumn>>::new();
    for row in catalog_rows(control, &sql)? {
        let Ok([oid, name, kind, null, default, identity, generated]) =
            <[String; 7]>::try_from(row)
        else {
            continue;
        };
        let extra = match (identity.is_empty(), generated.is_empty()) {
            (_, false) => "generated",
            (false, _) => "an identity",
            _ => "",
        };
        let column = TableColumn {
            kind: kind.replace("character(", "char("),
            is_nullable: null == "t",
            default: plain_default(&name, default),
            extra: extra.to_owned(),
            name,
        };
        all.entry(oid).or_default().push(column);
    }
    Ok(all)
}

/// A default without its type; empty for `id` if it is the next number of a sequence.
fn plain_default(column: &str, default: String) -> String {
    let sequence = default.strip_prefix("nextval('").and_then(|it| it.strip_suffix("'::regclass)"));
    match sequence {
        // A single literal without a quote in it: only a sequence.
        Some(name) if column == "id" && !name.contains('\'') => String::new(),
        _ if default == "''::bpchar" => String::new(),
        _ => default,
    }
}

fn indexes(
    control: &mut Connection,
    names: &SurveyNames,
) -> Result<BTreeMap<String, Vec<TableIndex>>> {
    let sql = format!(
        "{} SELECT t.oid, c.relname, CASE WHEN i.indnatts = 1 AND i.indpred IS NULL AND m.amname::text = 'btree' \
           THEN pg_get_indexdef(c.oid, 1, true) ELSE pg_get_indexdef(c.oid) END, i.indisprimary, i.indisunique \
         FROM t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class c ON c.oid = i.indexrelid \
           JOIN pg_am m ON m.oid = c.relam ORDER BY t.oid, c.relname",
        names.with()
    );
    let mut all = BTreeMap::<String, Vec<TableIndex>>::new();
    for row in catalog_rows(control, &sql)? {
        let Ok([oid, name, column, primary, unique]) = <[String; 5]>::try_from(row) else {
            continue;
        };
        let (columns, is_primary, is_unique) = (vec![column], primary == "t", unique == "t");
        all.entry(oid).or_default().push(TableIndex { name, columns, is_primary, is_unique });
    }
    Ok(all)
}

/// Query for properties that none of our tables has: oid, description, and a name to append.
fn oddities(names: &SurveyNames, has_publications: bool) -> String {
    let publications = match has_publications {
        true => {
            "UNION ALL SELECT t.oid, 'is part of the publication', p.pubname FROM t \
             JOIN pg_publication_rel r ON r.prrelid = t.oid JOIN pg_publication p ON p.oid = r.prpubid"
        }
        false => "",
    };
    format!(
        "{} SELECT t.oid, 'is part of the foreign key', f.conname FROM t \
           JOIN pg_constraint f ON f.contype = 'f' AND t.oid IN (f.conrelid, f.confrelid) \
         UNION ALL SELECT t.oid, 'has the constraint', f.conname FROM t \
           JOIN pg_constraint f ON f.conrelid = t.oid AND f.contype NOT IN ('p', 'f', 'n') \
         UNION ALL SELECT t.oid, 'has the trigger', g.tgname FROM t \
           JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal \
         UNION ALL SELECT t.oid, 'has the rule', w.rulename FROM t \
           JOIN pg_rewrite w ON w.ev_class = t.oid AND t.relkind = 'r' \
         UNION ALL SELECT t.oid, 'has the policy', p.polname FROM t JOIN pg_policy p ON p.polrelid = t.oid \
         UNION ALL SELECT t.oid, 'has row-level security', '' FROM t WHERE t.relrowsecurity \
         UNION ALL SELECT t.oid, 'has a comment', '' FROM t JOIN pg_description d \
           ON d.classoid = 'pg_class'::regclass AND d.objoid = t.oid {publications}",
        names.with()
    )
}

/// Query for objects that are kept and prevent dropping a table.
fn referrers(names: &SurveyNames) -> String {
    format!(
        "{} SELECT t.oid, 'a foreign key refers to it from', f.conrelid::regclass::text FROM t \
           JOIN pg_constraint f ON f.contype = 'f' AND f.confrelid = t.oid \
           WHERE f.conrelid NOT IN (SELECT oid FROM t) \
         UNION ALL SELECT t.oid, 'it is read by the view', w.ev_class::regclass::text FROM t \
           JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid \
             AND d.classid = 'pg_rewrite'::regclass \
           JOIN pg_rewrite w ON w.oid = d.objid WHERE w.ev_class NOT IN (SELECT oid FROM t)",
        names.with()
    )
}

fn first_remarks(rows: Vec<Vec<String>>) -> Remarks {
    let mut remarks = Remarks::new();
    for row in rows {
        let Ok([oid, words, name]) = <[String; 3]>::try_from(row) else { continue };
        let name = if name.is_empty() { name } else { format!(" `{name}`") };
        remarks.entry(oid).or_insert_with(|| format!("{words}{name}"));
    }
    remarks
}

/// Names of the tables whose rows the server numbers.
pub(super) fn numbered(control: &mut Connection) -> Result<Vec<Vec<String>>> {
    let sql = format!(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
         WHERE c.relnamespace = {} AND a.attname::text = 'id' AND a.atthasdef",
        schema_oid(control)?
    );
    catalog_rows(control, &sql)
}

/// Names of the tables that `bench` may read. Views and tables with policies are left out: they would run code of other
/// users.
pub(super) fn numbers(control: &mut Connection) -> Result<Vec<Vec<String>>> {
    let Some(schema) = current_schema(control)? else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT relname FROM pg_class WHERE relnamespace = {} AND relkind IN ('r', 'p') AND NOT relrowsecurity \
         AND relname::text ~ '^sbtest[0-9]+$'",
        schema.oid
    );
    catalog_rows(control, &sql)
}

#[cfg(test)]
mod tests {
    use super::plain_default;

    #[test]
    fn only_the_sequence_of_id_is_accepted_as_its_default() {
        let own_default = |column: &str, default: &str| plain_default(column, default.to_owned());
        assert_eq!(own_default("id", "nextval('public.sbtest1_id_seq'::regclass)"), "");
        assert_eq!(own_default("c", "''::bpchar"), "");
        for (column, other) in [
            ("k", "nextval('public.a'::regclass)"),
            ("id", "(nextval('a'::regclass) + public.f('b'::regclass))"),
            ("id", "nextval('a'::regclass) + public.f('b'::regclass)"),
            ("id", "public.nextval('a'::regclass)"),
        ] {
            assert_eq!(own_default(column, other), other);
        }
    }
}
