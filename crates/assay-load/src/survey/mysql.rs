//! Survey of a MySQL or MariaDB server.

use std::collections::BTreeMap;

use assay_model::Dialect;
use assay_wire::Connection;

use super::shape::{
    Object, ObjectKind, Survey, TableColumn, TableIndex, listed_names, odd_columns, odd_index,
    quoted,
};
use crate::control::catalog_rows;
use crate::error::{LoadError, Result, UNSEEN, UnfitReason};

/// Storage engines that hold the rows of their tables themselves and that sysbench can use. Others (MERGE, FEDERATED,
/// CONNECT, SPIDER, ...) refer to rows elsewhere.
const ENGINES: [&str; 7] =
    ["InnoDB", "ROCKSDB", "MyISAM", "Aria", "MEMORY", "TokuDB", "ndbcluster"];

const SYSTEM: [&str; 5] = ["mysql", "information_schema", "performance_schema", "sys", "ndbinfo"];

/// Statements that list the sources of a replica, by dialect and age. The first that the server knows is used.
const SOURCES: [&str; 3] = ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"];

const SYNTAX: u32 = 1064;

pub(super) fn survey(control: &mut Connection, tables: u32) -> Result<Survey> {
    let facts =
        catalog_rows(control, "SELECT DATABASE(), @@global.read_only, @@lower_case_table_names")?;
    let [database, read_only, case] = facts.first().map(Vec::as_slice).unwrap_or_default() else {
        return Err(LoadError::Unfit { database: String::new(), unfit: UnfitReason::NoSchema });
    };
    let unfit = |unfit| Err(LoadError::Unfit { database: database.clone(), unfit });
    if database.is_empty() {
        return unfit(UnfitReason::NoSchema);
    }
    if SYSTEM.contains(&database.to_lowercase().as_str()) {
        return unfit(UnfitReason::System);
    }
    if is_replica(control)? {
        return unfit(UnfitReason::Replica);
    }
    if !["0", "OFF"].contains(&read_only.as_str()) {
        return unfit(UnfitReason::ReadOnly);
    }
    let grants = grants(control)?;
    let objects = objects(control, database, tables, case == "0", &grants)?;
    let sees_triggers =
        (1..=tables).all(|table| show_triggers(&grants, database, &format!("sbtest{table}")));
    let (dialect, schema) = (Dialect::MySql, quoted(Dialect::MySql, database));
    // Only creating a table shows whether the user may.
    Ok(Survey { dialect, schema, objects, may_create: true, sees_triggers })
}

/// False if the user may not ask. Every replica should have set `read_only`, which every user can see.
fn is_replica(control: &mut Connection) -> Result<bool> {
    for sql in SOURCES {
        match control.query(sql) {
            Ok(found) => return Ok(!found.rows.is_empty()),
            Err(error) if error.server_code() == Some(SYNTAX) => {}
            Err(error) if error.server_code().is_some() => return Ok(false),
            Err(cause) => return Err(LoadError::query(sql.as_bytes(), cause)),
        }
    }
    Ok(false)
}

fn objects(
    control: &mut Connection,
    database: &str,
    tables: u32,
    is_case_kept: bool,
    grants: &[String],
) -> Result<Vec<Object>> {
    let names = listed_names("sbtest", tables);
    let sql = format!(
        "SELECT table_name, table_type, COALESCE(create_options, ''), COALESCE(engine, ''), \
        COALESCE(table_comment, '') \
         FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ({names})"
    );
    let mut found = catalog_rows(control, &sql)?;
    // The query ignores case, but on most servers names that differ in case are distinct.
    let is_ours = |name: &str| !is_case_kept || name == name.to_lowercase();
    found.retain(|row| row.first().is_some_and(|name| is_ours(name)));
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let facts = facts(control, &names)?;
    let mut objects = Vec::new();
    for row in found {
        let Ok(table) = <[String; 5]>::try_from(row) else { continue };
        let mut foreign = facts.odd(&table);
        let [name, kind, ..] = table;
        if foreign.is_none() {
            foreign = has_check(control, &name)?.then(|| "has a CHECK constraint".to_owned());
        }
        if foreign.is_none() && !show_triggers(grants, database, &name) {
            foreign = Some(UNSEEN.to_owned());
        }
        let outside =
            facts.referrers(&name).find(|key| key.get(3).is_some_and(|inside| inside == "0"));
        let referrer = outside
            .and_then(|key| qualified_name(key))
            .map(|name| format!("a foreign key of `{name}` refers to it"));
        let kind = match kind.as_str() {
            "VIEW" | "SYSTEM VIEW" => ObjectKind::View,
            "SEQUENCE" => ObjectKind::Sequence,
            _ => ObjectKind::Table,
        };
        objects.push(Object { kind, of: None, foreign, referrer, name });
    }
    Ok(objects)
}

struct TableFacts {
    columns: BTreeMap<String, Vec<TableColumn>>,
    indexes: BTreeMap<String, Vec<TableIndex>>,
    triggers: BTreeMap<String, String>,
    outward: BTreeMap<String, String>,
    /// A table, schema and name of a table that refers to it, and whether that is one of ours.
    inward: Vec<Vec<String>>,
}

impl TableFacts {
    fn odd(&self, [name, kind, options, engine, comment]: &[String; 5]) -> Option<String> {
        let columns = self.columns.get(name).map(Vec::as_slice).unwrap_or_default();
        let indexes = self.indexes.get(name).map(Vec::as_slice).unwrap_or_default();
        if kind == "SYSTEM VERSIONED" {
            Some("is a system-versioned table".to_owned())
        } else if kind != "BASE TABLE" {
            Some(format!("is a {}", kind.to_lowercase()))
        } else if let Some(why) = odd_columns(columns) {
            Some(why)
        } else if !ENGINES.iter().any(|own| own.eq_ignore_ascii_case(engine)) {
            Some(format!("has the storage engine `{engine}`"))
        } else if options.contains("partitioned") {
            Some("is partitioned".to_owned())
        } else if !comment.is_empty() {
            Some("has a comment".to_owned())
        } else if let Some(trigger) = self.triggers.get(name) {
            Some(format!("has the trigger `{trigger}`"))
        } else if let Some(other) = self.outward.get(name) {
            Some(format!("refers to `{other}` by a foreign key"))
        } else if let Some(other) = self.referrers(name).find_map(|key| qualified_name(key)) {
            Some(format!("is referred to by a foreign key of `{other}`"))
        } else {
            odd_index(indexes)
        }
    }

    fn referrers(&self, name: &str) -> impl Iterator<Item = &Vec<String>> {
        self.inward.iter().filter(move |key| key.first().is_some_and(|table| table == name))
    }
}

fn qualified_name(row: &[String]) -> Option<String> {
    Some(format!("{}.{}", row.get(1)?, row.get(2)?))
}

fn facts(control: &mut Connection, names: &str) -> Result<TableFacts> {
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
    let inward = catalog_rows(
        control,
        &format!(
            "SELECT referenced_table_name, table_schema, table_name, \
             table_schema = DATABASE() AND BINARY table_name IN ({names}) \
             FROM information_schema.key_column_usage \
             WHERE referenced_table_schema = DATABASE() AND referenced_table_name IN ({names})"
        ),
    )?;
    let (columns, indexes) = (columns(control, names)?, indexes(control, names)?);
    Ok(TableFacts { columns, indexes, triggers, outward, inward })
}

fn columns(control: &mut Connection, names: &str) -> Result<BTreeMap<String, Vec<TableColumn>>> {
    let sql = format!(
        "SELECT table_name, column_name, column_type, is_nullable, COALESCE(column_default, ''), extra, column_comment \
         FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ({names}) \
         ORDER BY table_name, ordinal_position"
    );
    let mut all = BTreeMap::<String, Vec<TableColumn>>::new();
    for row in catalog_rows(control, &sql)? {
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
            // Old servers show a display width of integers, which means nothing.
            "int" | "int(11)" => "integer".to_owned(),
            other => other.to_owned(),
        };
        // Newer versions of MariaDB quote texts, and show `NULL` only for nullable columns.
        let bare = default.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
        let default = bare.unwrap_or(&default).to_owned();
        let is_nullable = null != "NO";
        all.entry(table).or_default().push(TableColumn { name, kind, is_nullable, default, extra });
    }
    Ok(all)
}

fn indexes(control: &mut Connection, names: &str) -> Result<BTreeMap<String, Vec<TableIndex>>> {
    let sql = format!(
        "SELECT table_name, index_name, non_unique, column_name FROM information_schema.statistics \
         WHERE table_schema = DATABASE() AND table_name IN ({names}) ORDER BY table_name, index_name, seq_in_index"
    );
    let mut all = BTreeMap::<String, Vec<TableIndex>>::new();
    for row in catalog_rows(control, &sql)? {
        let Ok([table, name, common, column]) = <[String; 4]>::try_from(row) else { continue };
        let of_table = all.entry(table).or_default();
        match of_table.last_mut().filter(|it| it.name == name) {
            Some(index) => index.columns.push(column),
            None => of_table.push(TableIndex {
                is_primary: name == "PRIMARY",
                is_unique: common == "0",
                columns: vec![column],
                name,
            }),
        }
    }
    Ok(all)
}

/// Whether a table has a CHECK constraint, which not every server lists in `information_schema`. Only for tables
/// without a comment, since a comment may contain such words.
fn has_check(control: &mut Connection, name: &str) -> Result<bool> {
    let rows =
        catalog_rows(control, &format!("SHOW CREATE TABLE {}", quoted(Dialect::MySql, name)))?;
    let made = rows.first().and_then(|row| row.get(1)).map(String::as_str).unwrap_or_default();
    Ok(made.contains(" CHECK ("))
}

/// Runs a query for pairs of a table and a property; keeps the first of each table.
fn first_by_table(control: &mut Connection, sql: &str) -> Result<BTreeMap<String, String>> {
    let pair = |row: Vec<String>| <[String; 2]>::try_from(row).ok().map(<(String, String)>::from);
    Ok(catalog_rows(control, sql)?.into_iter().filter_map(pair).collect())
}

fn grants(control: &mut Connection) -> Result<Vec<String>> {
    let first = |rows: Vec<Vec<String>>| rows.into_iter().filter_map(|row| row.into_iter().next());
    // MySQL shows the privileges of roles only if they are named, in the syntax in which it returns them. MariaDB
    // always shows them, and old versions have no roles.
    let roles = control.query("SELECT CURRENT_ROLE()").ok().and_then(|it| it.first_string());
    if let Some(roles) = roles.filter(|it| it.starts_with('`')) {
        let sql = format!("SHOW GRANTS FOR CURRENT_USER() USING {roles}");
        if let Ok(found) = catalog_rows(control, &sql) {
            return Ok(first(found).collect());
        }
    }
    Ok(first(catalog_rows(control, "SHOW GRANTS")?).collect())
}

/// Whether these grants let the user see the triggers of a table. Without the privilege, none are shown.
fn show_triggers(grants: &[String], database: &str, table: &str) -> bool {
    let is_said = |verb: &str, end: &str| {
        grants.iter().any(|line| {
            let parts = line.strip_prefix(verb).and_then(|it| it.split_once(" ON "));
            let Some((rights, rest)) = parts else { return false };
            let has_it = |right: &str| ["TRIGGER", "ALL PRIVILEGES", "ALL"].contains(&right.trim());
            let target = rest.split(end).next().unwrap_or_default();
            rights.split(',').any(has_it) && covers(target, database, table)
        })
    };
    is_said("GRANT ", " TO ") && !is_said("REVOKE ", " FROM ")
}

/// Whether `*.*`, `` `db`.* `` or `` `db`.`table` `` covers a table.
fn covers(target: &str, database: &str, table: &str) -> bool {
    if target == "*.*" {
        return true;
    }
    let is_quote = |mark: char| mark == '`' || mark == '"';
    let bare = |name: &str| name.trim_matches(is_quote).replace("``", "`");
    if let Some(name) = target.strip_suffix(".*") {
        return is_like(bare(name).as_bytes(), database.as_bytes());
    }
    let is_table = |(database_said, table_said): (&str, &str)| {
        bare(database_said) == database && bare(table_said) == table
    };
    ["`.`", "\".\"", "."].iter().find_map(|mark| target.split_once(mark)).is_some_and(is_table)
}

fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([b'%', rest @ ..], _) => (0..=name.len()).any(|at| is_like(rest, &name[at..])),
        ([b'\\', mark, rest @ ..], [byte, name @ ..]) => mark == byte && is_like(rest, name),
        ([b'_', rest @ ..], [_, name @ ..]) => is_like(rest, name),
        ([mark, rest @ ..], [byte, name @ ..]) => mark == byte && is_like(rest, name),
        ([], name) => name.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::show_triggers;

    #[test]
    fn the_trigger_privilege_makes_triggers_visible() {
        let is_seen = |lines: &[&str]| {
            let grants: Vec<String> = lines.iter().map(|it| (*it).to_owned()).collect();
            show_triggers(&grants, "sb_test", "sbtest1")
        };
        for line in [
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
            "GRANT SELECT, CREATE VIEW, TRIGGER, DROP ON *.* TO `a`@`%`",
            "GRANT ALL PRIVILEGES ON `sb_test`.* TO `a`@`%`",
            "GRANT TRIGGER ON `sb\\_test`.* TO 'a'@'%'",
            "GRANT TRIGGER ON `sb%`.* TO 'a'@'%'",
            "GRANT TRIGGER ON \"sb_test\".* TO \"a\"@\"%\"",
            "GRANT SELECT, TRIGGER ON `sb_test`.`sbtest1` TO 'a'@'%'",
        ] {
            assert!(is_seen(&["GRANT USAGE ON *.* TO `a`@`%`", line]), "{line}");
        }
        for line in [
            "GRANT SELECT, INSERT, CREATE, DROP ON `sb_test`.* TO `a`@`%`",
            "GRANT ALL PRIVILEGES ON `other`.* TO `a`@`%`",
            "GRANT ALL PRIVILEGES ON `sb\\_test2`.* TO `a`@`%`",
            "GRANT TRIGGER ON `sb_test`.`sbtest2` TO 'a'@'%'",
            "GRANT PROXY ON ''@'' TO 'root'@'localhost'",
        ] {
            assert!(!is_seen(&[line]), "{line}");
        }
        let revoked = "REVOKE TRIGGER ON `sb_test`.* FROM `a`@`%`";
        assert!(!is_seen(&["GRANT TRIGGER ON *.* TO `a`@`%`", revoked]));
    }
}
