//! The look at a Postgres server.

use assay_model::Product;
use assay_wire::Control;

use super::{Kind, Object, Unfit, ask, list, quoted};
use crate::{Error, Result};

/// The columns of our tables, as the query below writes them.
const COLUMNS: &str = "id integer, k integer, c character(120), pad character(60)";

/// Databases that others are made from.
const TEMPLATES: [&str; 2] = ["template0", "template1"];

/// The schema in which tables are created, quoted, and what is in it.
pub(super) fn survey(control: &mut Control, tables: u32) -> Result<(String, Vec<Object>)> {
    let sql = "SELECT current_database(), coalesce(current_schema(), ''), pg_is_in_recovery()";
    let facts = ask(control, sql)?;
    let [database, schema, is_replica] = facts.first().map(Vec::as_slice).unwrap_or_default()
    else {
        return Err(Error::Unfit { database: String::new(), unfit: Unfit::NoSchema });
    };
    let unfit = |unfit| {
        let database =
            if schema.is_empty() { database.clone() } else { format!("{database}.{schema}") };
        Err(Error::Unfit { database, unfit })
    };
    if is_replica == "t" {
        return unfit(Unfit::Replica);
    }
    if schema.is_empty() {
        return unfit(Unfit::NoSchema);
    }
    let is_system = schema.starts_with("pg_") || schema == "information_schema";
    if is_system || TEMPLATES.contains(&database.as_str()) {
        return unfit(Unfit::System);
    }
    let rows = ask(control, &query(tables))?;
    let objects = rows.into_iter().filter_map(object).collect();
    Ok((quoted(Product::Postgres, schema), objects))
}

/// The tables, what has the name of one of their indexes though it is none, and types, whose names tables share.
fn query(tables: u32) -> String {
    let names = list("sbtest", tables);
    let others = [list("k_", tables), list("xid", tables)].join(", ");
    format!(
        "SELECT c.relname, c.relkind, \
           (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) \
                   || CASE WHEN a.attnotnull THEN '' ELSE ' null' END, ', ' ORDER BY a.attnum) \
            FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), \
           EXISTS (SELECT FROM pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)), \
           EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND c.oid IN (f.conrelid, f.confrelid)), \
           EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal), \
           c.relhasrules AND c.relkind = 'r', \
           (SELECT f.conrelid::regclass::text FROM pg_constraint f JOIN pg_class r ON r.oid = f.conrelid \
            WHERE f.contype = 'f' AND f.confrelid = c.oid \
            AND NOT (r.relnamespace = c.relnamespace AND r.relname IN ({names})) LIMIT 1) \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = current_schema() AND (c.relname IN ({names}) OR c.relname IN ({others}) \
           AND NOT EXISTS (SELECT FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid \
                           WHERE i.indexrelid = c.oid AND t.relname IN ({names}))) \
         UNION ALL \
         SELECT t.typname, 'c', '', false, false, false, false, NULL \
         FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace \
         WHERE n.nspname = current_schema() AND t.typname IN ({names}) AND t.typrelid = 0 \
         ORDER BY 1"
    )
}

fn object(row: Vec<String>) -> Option<Object> {
    let [name, kind, columns, inherits, keys, triggers, rules, referrer] =
        <[String; 8]>::try_from(row).ok()?;
    let (kind, is_plain) = match kind.as_str() {
        "r" => (Kind::Table, true),
        "v" => (Kind::View, false),
        "m" => (Kind::MaterializedView, false),
        "S" => (Kind::Sequence, false),
        "i" | "I" => (Kind::Index, false),
        "f" => (Kind::ForeignTable, false),
        "c" => (Kind::Type, false),
        _ => (Kind::Table, false),
    };
    let is_true = |word: &str| word == "t";
    let foreign = if kind != Kind::Table {
        Some(format!("is {}", kind.words()))
    } else if !is_plain || is_true(&inherits) {
        Some("is partitioned or inherits".to_owned())
    } else if columns != COLUMNS || !name.starts_with("sbtest") {
        Some(format!("has the columns ({columns})"))
    } else if is_true(&keys) {
        Some("is part of a foreign key".to_owned())
    } else if is_true(&triggers) {
        Some("has a trigger".to_owned())
    } else {
        is_true(&rules).then(|| "has a rule".to_owned())
    };
    let referrer = (!referrer.is_empty()).then_some(referrer);
    Some(Object { name, kind, foreign, referrer })
}
