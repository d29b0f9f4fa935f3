//! The look at a MySQL or MariaDB server.

use std::collections::BTreeMap;

use assay_model::Product;
use assay_wire::Control;

use super::grants::{grants, show_triggers};
use super::shape::{Column, Index, odd_columns, odd_index};
use super::{Found, Kind, Object, Unfit, ask, list, quoted};
use crate::error::UNSEEN;
use crate::{Error, Result};

/// Storage engines that hold the rows of their tables themselves, and that sysbench may be told to use. Tables of
/// others (MERGE, FEDERATED, CONNECT, SPIDER, ...) lead to rows that are elsewhere.
const ENGINES: [&str; 7] =
    ["InnoDB", "ROCKSDB", "MyISAM", "Aria", "MEMORY", "TokuDB", "ndbcluster"];

/// Databases of the server itself.
const SYSTEM: [&str; 5] = ["mysql", "information_schema", "performance_schema", "sys", "ndbinfo"];

/// Ways to ask for the sources of a replica, by product and age: the first that the server understands counts.
const SOURCES: [&str; 3] = ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"];

/// The server's code for a statement that it does not understand.
const SYNTAX: u32 = 1064;

/// The database and what is in it.
pub(super) fn survey(control: &mut Control, tables: u32) -> Result<Found> {
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
    let grants = grants(control)?;
    let objects = objects(control, database, tables, case == "0", &grants)?;
    let sees_triggers =
        (1..=tables).all(|it| show_triggers(&grants, database, &format!("sbtest{it}")));
    // Whether tables may be created is only known once one was.
    Ok(Found { schema: quoted(Product::MySql, database), objects, may_create: true, sees_triggers })
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

fn objects(
    control: &mut Control,
    database: &str,
    tables: u32,
    is_case_kept: bool,
    grants: &[String],
) -> Result<Vec<Object>> {
    let names = list("sbtest", tables);
    let sql = format!(
        "SELECT table_name, table_type, COALESCE(create_options, ''), COALESCE(engine, ''), \
        COALESCE(table_comment, '') \
         FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ({names})"
    );
    let mut found = ask(control, &sql)?;
    // Names are compared without case; on most servers they are distinct all the same.
    let is_ours = |name: &str| !is_case_kept || name == name.to_lowercase();
    found.retain(|row| row.first().is_some_and(|name| is_ours(name)));
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let facts = facts(control, &names)?;
    let mut objects = Vec::new();
    for row in found {
        let Ok([name, kind, options, engine, comment]) = <[String; 5]>::try_from(row) else {
            continue;
        };
        let table = Table { kind: &kind, options: &options, engine: &engine, comment: &comment };
        let mut foreign = facts.odd(&name, &table);
        if foreign.is_none() {
            foreign = has_check(control, &name)?.then(|| "has a CHECK constraint".to_owned());
        }
        if foreign.is_none() && !show_triggers(grants, database, &name) {
            foreign = Some(UNSEEN.to_owned());
        }
        let outside =
            facts.referrers(&name).find(|it| it.get(3).is_some_and(|inside| inside == "0"));
        let referrer = outside
            .and_then(|it| told(it))
            .map(|it| format!("a foreign key of `{it}` refers to it"));
        let kind = match kind.as_str() {
            "VIEW" | "SYSTEM VIEW" => Kind::View,
            "SEQUENCE" => Kind::Sequence,
            _ => Kind::Table,
        };
        objects.push(Object { kind, of: None, foreign, referrer, name });
    }
    Ok(objects)
}

/// What `information_schema.tables` says of one.
struct Table<'a> {
    kind: &'a str,
    options: &'a str,
    engine: &'a str,
    comment: &'a str,
}

/// What the server says of the tables, by name.
struct Facts {
    columns: BTreeMap<String, Vec<Column>>,
    indexes: BTreeMap<String, Vec<Index>>,
    triggers: BTreeMap<String, String>,
    outward: BTreeMap<String, String>,
    /// A table, the schema and name of one that refers to it, and whether that is one of ours.
    inward: Vec<Vec<String>>,
}

impl Facts {
    /// Why a table is none of ours.
    fn odd(&self, name: &str, table: &Table<'_>) -> Option<String> {
        let columns = self.columns.get(name).map(Vec::as_slice).unwrap_or_default();
        let indexes = self.indexes.get(name).map(Vec::as_slice).unwrap_or_default();
        let is_ours = |engine: &&str| engine.eq_ignore_ascii_case(table.engine);
        if table.kind == "SYSTEM VERSIONED" {
            Some("is a system-versioned table".to_owned())
        } else if table.kind != "BASE TABLE" {
            Some(format!("is a {}", table.kind.to_lowercase()))
        } else if let Some(why) = odd_columns(columns) {
            Some(why)
        } else if !ENGINES.iter().any(is_ours) {
            Some(format!("has the storage engine `{}`", table.engine))
        } else if table.options.contains("partitioned") {
            Some("is partitioned".to_owned())
        } else if !table.comment.is_empty() {
            Some("has a comment".to_owned())
        } else if let Some(trigger) = self.triggers.get(name) {
            Some(format!("has the trigger `{trigger}`"))
        } else if let Some(other) = self.outward.get(name) {
            Some(format!("refers to `{other}` by a foreign key"))
        } else if let Some(other) = self.referrers(name).find_map(|it| told(it)) {
            Some(format!("is referred to by a foreign key of `{other}`"))
        } else {
            odd_index(indexes)
        }
    }

    fn referrers(&self, name: &str) -> impl Iterator<Item = &Vec<String>> {
        self.inward.iter().filter(move |it| it.first().is_some_and(|it| it == name))
    }
}

fn told(row: &[String]) -> Option<String> {
    Some(format!("{}.{}", row.get(1)?, row.get(2)?))
}

fn facts(control: &mut Control, names: &str) -> Result<Facts> {
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
    let (columns, indexes) = (columns(control, names)?, indexes(control, names)?);
    Ok(Facts { columns, indexes, triggers, outward, inward })
}

fn columns(control: &mut Control, names: &str) -> Result<BTreeMap<String, Vec<Column>>> {
    let sql = format!(
        "SELECT table_name, column_name, column_type, is_nullable, COALESCE(column_default, ''), extra, column_comment \
         FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ({names}) \
         ORDER BY table_name, ordinal_position"
    );
    let mut all = BTreeMap::<String, Vec<Column>>::new();
    for row in ask(control, &sql)? {
        let Ok([table, name, kind, null, default, extra, comment]) = <[String; 7]>::try_from(row)
        else {
            continue;
        };
        let extra = match extra.to_lowercase() {
            extra if extra == "auto_increment" && name == "id" => String::new(),
            extra if extra.is_empty() && !comment.is_empty() => "commented".to_owned(),
            extra => extra,
        };
        let kind = match kind.to_lowercase().as_str() {
            // Old servers tell a width of integers, which means nothing.
            "int" | "int(11)" => "integer".to_owned(),
            other => other.to_owned(),
        };
        // A newer MariaDB tells texts with their quotes, and `NULL` only where a column may be.
        let bare = default.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
        let default = bare.unwrap_or(&default).to_owned();
        let is_nullable = null != "NO";
        all.entry(table).or_default().push(Column { name, kind, is_nullable, default, extra });
    }
    Ok(all)
}

fn indexes(control: &mut Control, names: &str) -> Result<BTreeMap<String, Vec<Index>>> {
    let sql = format!(
        "SELECT table_name, index_name, non_unique, column_name FROM information_schema.statistics \
         WHERE table_schema = DATABASE() AND table_name IN ({names}) ORDER BY table_name, index_name, seq_in_index"
    );
    let mut all = BTreeMap::<String, Vec<Index>>::new();
    for row in ask(control, &sql)? {
        let Ok([table, name, common, column]) = <[String; 4]>::try_from(row) else { continue };
        let of_table = all.entry(table).or_default();
        match of_table.last_mut().filter(|it| it.name == name) {
            Some(index) => index.columns.push(column),
            None => of_table.push(Index {
                is_primary: name == "PRIMARY",
                is_unique: common == "0",
                columns: vec![column],
                name,
            }),
        }
    }
    Ok(all)
}

/// Whether a table has a constraint that `information_schema` does not tell on all servers. To be asked of tables that
/// have no comment: nothing else holds such words.
fn has_check(control: &mut Control, name: &str) -> Result<bool> {
    let rows = ask(control, &format!("SHOW CREATE TABLE {}", quoted(Product::MySql, name)))?;
    let made = rows.first().and_then(|row| row.get(1)).map(String::as_str).unwrap_or_default();
    Ok(made.contains(" CHECK ("))
}

/// The answer to a query for pairs of a table and something of it.
fn first_by_table(control: &mut Control, sql: &str) -> Result<BTreeMap<String, String>> {
    let pair = |row: Vec<String>| <[String; 2]>::try_from(row).ok().map(|[table, it]| (table, it));
    Ok(ask(control, sql)?.into_iter().filter_map(pair).collect())
}
