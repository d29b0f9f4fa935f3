//! The look at a MySQL or MariaDB server.

use std::collections::BTreeMap;

use assay_model::Product;
use assay_wire::Control;

use super::{Kind, Object, Unfit, ask, list, quoted};
use crate::{Error, Result};

/// The columns of our tables, as [`columns`] writes them.
const COLUMNS: &str = "id int, k int, c char(120), pad char(60)";

/// Databases of the server itself.
const SYSTEM: [&str; 5] = ["mysql", "information_schema", "performance_schema", "sys", "ndbinfo"];

/// Ways to ask for the sources of a replica, by product and age: the first that the server understands counts.
const SOURCES: [&str; 3] = ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"];

/// The server's code for a statement that it does not understand.
const SYNTAX: u32 = 1064;

/// The database, quoted, and what is in it.
pub(super) fn survey(control: &mut Control, tables: u32) -> Result<(String, Vec<Object>)> {
    let facts = ask(control, "SELECT DATABASE(), @@global.read_only, @@lower_case_table_names")?;
    let [database, read_only, case] = facts.first().map(Vec::as_slice).unwrap_or_default() else {
        return Err(Error::Unfit { database: String::new(), unfit: Unfit::NoSchema });
    };
    let unfit = |unfit| Err(Error::Unfit { database: database.clone(), unfit });
    if database.is_empty() {
        return unfit(Unfit::NoSchema);
    }
    if SYSTEM.contains(&database.to_lowercase().as_str()) {
        return unfit(Unfit::System);
    }
    if is_replica(control)? {
        return unfit(Unfit::Replica);
    }
    if !["0", "OFF"].contains(&read_only.as_str()) {
        return unfit(Unfit::ReadOnly);
    }
    let objects = objects(control, tables, case == "0")?;
    Ok((quoted(Product::MySql, database), objects))
}

/// A user who may not ask is not told; `read_only`, which every replica should have set, is known to all.
fn is_replica(control: &mut Control) -> Result<bool> {
    for sql in SOURCES {
        match control.query(sql) {
            Ok(found) => return Ok(!found.rows.is_empty()),
            Err(error) if error.server_code() == Some(SYNTAX) => {}
            Err(error) if error.server_code().is_some() => return Ok(false),
            Err(cause) => return Err(Error::query(sql.as_bytes(), cause)),
        }
    }
    Ok(false)
}

fn objects(control: &mut Control, tables: u32, is_case_kept: bool) -> Result<Vec<Object>> {
    let names = list("sbtest", tables);
    let sql = format!(
        "SELECT table_name, table_type, COALESCE(create_options, '') FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name IN ({names})"
    );
    let mut found = ask(control, &sql)?;
    // Names are compared without case; on most servers they are distinct all the same.
    let is_ours = |name: &str| !is_case_kept || name == name.to_lowercase();
    found.retain(|row| row.first().is_some_and(|name| is_ours(name)));
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let columns = columns(control, &names)?;
    let triggers = first_by_table(
        control,
        &format!(
            "SELECT event_object_table, trigger_name FROM information_schema.triggers \
             WHERE event_object_schema = DATABASE() AND event_object_table IN ({names})"
        ),
    )?;
    let outward = first_by_table(
        control,
        &format!(
            "SELECT table_name, referenced_table_name FROM information_schema.key_column_usage \
             WHERE table_schema = DATABASE() AND table_name IN ({names}) AND referenced_table_name IS NOT NULL"
        ),
    )?;
    let inward = ask(
        control,
        &format!(
            "SELECT referenced_table_name, table_schema, table_name, \
             table_schema = DATABASE() AND BINARY table_name IN ({names}) \
             FROM information_schema.key_column_usage \
             WHERE referenced_table_schema = DATABASE() AND referenced_table_name IN ({names})"
        ),
    )?;
    let object = |row: Vec<String>| {
        let [name, kind, options] = <[String; 3]>::try_from(row).ok()?;
        let referrers = || inward.iter().filter(|it| it.first() == Some(&name));
        let told = |it: &Vec<String>| Some(format!("{}.{}", it.get(1)?, it.get(2)?));
        let outside = referrers().find(|it| it.get(3).is_some_and(|inside| inside == "0"));
        let columns = columns.get(&name).map(String::as_str).unwrap_or_default();
        let foreign = if kind == "SYSTEM VERSIONED" {
            Some("is a system-versioned table".to_owned())
        } else if kind != "BASE TABLE" {
            Some(format!("is a {}", kind.to_lowercase()))
        } else if columns != COLUMNS {
            Some(format!("has the columns ({columns})"))
        } else if options.contains("partitioned") {
            Some("is partitioned".to_owned())
        } else if let Some(trigger) = triggers.get(&name) {
            Some(format!("has the trigger `{trigger}`"))
        } else if let Some(other) = outward.get(&name) {
            Some(format!("refers to `{other}` by a foreign key"))
        } else {
            let referrer = referrers().find_map(told);
            referrer.map(|other| format!("is referred to by a foreign key of `{other}`"))
        };
        let kind = match kind.as_str() {
            "VIEW" | "SYSTEM VIEW" => Kind::View,
            "SEQUENCE" => Kind::Sequence,
            _ => Kind::Table,
        };
        Some(Object { kind, foreign, referrer: outside.and_then(told), name })
    };
    Ok(found.into_iter().filter_map(object).collect())
}

/// Names and types of each table's columns. Old servers tell a width of integers, which means nothing.
fn columns(control: &mut Control, names: &str) -> Result<BTreeMap<String, String>> {
    let sql = format!(
        "SELECT table_name, GROUP_CONCAT(column_name, ' ', REPLACE(LOWER(column_type), 'int(11)', 'int'), \
         IF(is_nullable = 'NO', '', ' null') ORDER BY ordinal_position SEPARATOR ', ') \
         FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ({names}) \
         GROUP BY table_name"
    );
    first_by_table(control, &sql)
}

/// The answer to a query for pairs of a table and something of it.
fn first_by_table(control: &mut Control, sql: &str) -> Result<BTreeMap<String, String>> {
    let pair = |row: Vec<String>| <[String; 2]>::try_from(row).ok().map(|[table, it]| (table, it));
    Ok(ask(control, sql)?.into_iter().filter_map(pair).collect())
}
