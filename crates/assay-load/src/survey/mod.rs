//! Inspects the objects that a load would replace, before anything is dropped.

mod mysql;
mod postgres;
mod shape;

use std::time::{SystemTime, UNIX_EPOCH};

use assay_model::{Dialect, Engine};
use assay_wire::{ConnectOptions, Connection, Protocol};

pub use self::shape::Survey;
use self::shape::{Object, ObjectKind, quoted};
use crate::control::{catalog_rows, connect_control, run};
use crate::error::{LoadError, Result};

/// Lists every object named like one of the first `tables` tables, or like an index that they need. Changes nothing.
pub fn survey(options: &ConnectOptions, dialect: Dialect, tables: u32) -> Result<Survey> {
    let mut control = connect_control(options, 0)?;
    let mut found = match dialect {
        Dialect::MySql => mysql::survey(&mut control, tables),
        Dialect::Postgres => postgres::survey(&mut control, tables),
    }?;
    // In numeric order.
    found.objects.sort_by_key(|object| (object.name.len(), object.name.clone()));
    Ok(found)
}

/// Numbers of the existing tables `sbtest1`, `sbtest2`, ..., whatever they contain.
pub fn numbers(control: &mut Connection, dialect: Dialect) -> Result<Vec<u32>> {
    let rows = match dialect {
        Dialect::MySql => catalog_rows(
            control,
            "SELECT table_name FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name REGEXP '^sbtest[0-9]+$'",
        ),
        Dialect::Postgres => postgres::numbers(control),
    }?;
    let number = |row: &Vec<String>| row.first()?.strip_prefix("sbtest")?.parse().ok();
    Ok(rows.iter().filter_map(number).collect())
}

/// Fails if a server lacks a storage engine. Call before anything is dropped.
pub fn check_engine(options: &ConnectOptions, engine: Engine) -> Result<()> {
    if options.protocol == Protocol::Postgres {
        return Ok(());
    }
    let sql = format!(
        "SELECT engine FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT') AND engine = '{}'",
        engine.word()
    );
    match catalog_rows(&mut connect_control(options, 0)?, &sql)?.is_empty() {
        true => Err(LoadError::NoEngine(engine)),
        false => Ok(()),
    }
}

/// Fails if the server does not number the rows of each of the first `tables` tables. Call before a test that inserts
/// rows without ids: if ids are not unique, the rows would all get the id 0.
pub fn check_numbering(options: &ConnectOptions, dialect: Dialect, tables: u32) -> Result<()> {
    let mut control = connect_control(options, 0)?;
    let numbered = match dialect {
        Dialect::MySql => catalog_rows(
            &mut control,
            "SELECT table_name FROM information_schema.columns WHERE table_schema = DATABASE() \
             AND column_name = 'id' AND extra LIKE '%auto_increment%'",
        ),
        Dialect::Postgres => postgres::numbered(&mut control),
    }?;
    let is_numbered =
        |name: &str| numbered.iter().any(|row| row.first().is_some_and(|table| table == name));
    match (1..=tables).map(|table| format!("sbtest{table}")).find(|name| !is_numbered(name)) {
        Some(table) => Err(LoadError::NotNumbered(table)),
        None => Ok(()),
    }
}

const NAMED: usize = 8;

/// Tables created per transaction: a Postgres server has room for the locks of a few thousand objects.
const AT_ONCE: usize = 400;

/// Objects that depend on a table are dropped before it.
const ORDER: [ObjectKind; 7] = [
    ObjectKind::View,
    ObjectKind::MaterializedView,
    ObjectKind::Index,
    ObjectKind::ForeignTable,
    ObjectKind::Table,
    ObjectKind::Sequence,
    ObjectKind::Type,
];

impl Survey {
    /// The objects to be dropped, such as `table sbtest1` or `index k_1 of mine`. Objects that no load created come
    /// first.
    pub fn described(&self) -> Vec<String> {
        let mut all: Vec<&Object> = self.objects.iter().collect();
        all.sort_by_key(|object| object.foreign.is_none());
        let described = |object: &&Object| {
            let of = object.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
            format!("{} {}{of}", object.kind.sql().to_lowercase(), object.name)
        };
        all.iter().map(described).collect()
    }

    /// The objects to be dropped, such as `tables: sbtest1, sbtest2`; `None` if empty. Names every object that no load
    /// created.
    pub fn listed(&self) -> Option<String> {
        let all = self.described();
        let bare: Option<Vec<&str>> =
            all.iter().map(|object| object.strip_prefix("table ")).collect();
        let (what, names) = match &bare {
            Some(names) => ("tables", names.clone()),
            None => ("objects", all.iter().map(String::as_str).collect()),
        };
        let shown = names.get(..NAMED.max(self.foreign())).unwrap_or(&names);
        let more = names.len() - shown.len();
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| format!("{what}: {}{rest}", shown.join(", ")))
    }

    pub fn foreign(&self) -> usize {
        self.objects.iter().filter(|object| object.foreign.is_some()).count()
    }

    /// Fails unless every object is a table of an earlier load, unchanged.
    pub fn refuse_foreign(&self) -> Result<()> {
        let foreign = self.said_of_foreign(|_| true);
        if foreign.is_empty() { Ok(()) } else { Err(LoadError::Foreign(foreign)) }
    }

    /// Like [`Survey::refuse_foreign`], for work that would change the rows of a user's own tables.
    pub fn refuse_other_tables(&self) -> Result<()> {
        // No index is created, so objects with index names are harmless.
        let foreign = self.said_of_foreign(|object| object.name.starts_with("sbtest"));
        if foreign.is_empty() { Ok(()) } else { Err(LoadError::OtherTables(foreign)) }
    }

    fn said_of_foreign(&self, is_meant: impl Fn(&Object) -> bool) -> Vec<String> {
        let meant = self.objects.iter().filter(|object| is_meant(object));
        meant.filter_map(|it| Some(format!("`{}` {}", it.name, it.foreign.as_ref()?))).collect()
    }

    /// Fails if the tables could be loaded once but not again, because the user may not see their triggers.
    pub fn refuse_blindness(&self) -> Result<()> {
        match self.sees_triggers {
            true => Ok(()),
            false => Err(LoadError::Blind { database: self.schema.clone() }),
        }
    }

    /// Fails if an object that is kept refers to a table to be dropped.
    pub fn refuse_referenced(&self) -> Result<()> {
        match self.objects.iter().find_map(|object| Some((object, object.referrer.clone()?))) {
            Some((object, by)) => Err(LoadError::Referenced { table: object.name.clone(), by }),
            None => Ok(()),
        }
    }

    /// Drops every object, whatever it is, and creates the tables with the given statements.
    ///
    /// On Postgres both happen or neither, for up to [`AT_ONCE`] tables. MySQL and MariaDB have no transactional DDL,
    /// so a table is first created and dropped, to prove that the user may; then objects are dropped one by one.
    ///
    /// [`Survey::refuse_referenced`] and [`LoadError::MayNotCreate`] fail before anything is dropped.
    pub(crate) fn replace(&self, options: &ConnectOptions, tables: &[String]) -> Result<()> {
        self.refuse_referenced()?;
        if !self.may_create {
            return Err(LoadError::MayNotCreate { schema: self.schema.clone() });
        }
        let mut control = connect_control(options, 0)?;
        match self.dialect {
            Dialect::Postgres => {
                let mut first = self.drop_statements();
                let mut groups = tables.chunks(AT_ONCE);
                first.extend(groups.next().into_iter().flatten().cloned());
                run_together(&mut control, &first)?;
                groups.try_for_each(|group| run_together(&mut control, group))
            }
            Dialect::MySql => {
                if !self.objects.is_empty() {
                    self.try_to_create(&mut control)?;
                    self.drop_one_by_one(&mut control)?;
                }
                tables.iter().try_for_each(|sql| run(&mut control, sql))
            }
        }
    }

    /// One statement per kind. Names are qualified, because a search path may lead to other tables of that name.
    fn drop_statements(&self) -> Vec<String> {
        let statement = |kind: ObjectKind| {
            let objects = self.objects.iter().filter(|object| object.kind == kind);
            let names: Vec<String> = objects.map(|object| self.qualified(&object.name)).collect();
            let sql = format!("DROP {} {}", kind.sql(), names.join(", "));
            (!names.is_empty()).then_some(sql)
        };
        ORDER.into_iter().filter_map(statement).collect()
    }

    fn qualified(&self, name: &str) -> String {
        format!("{}.{}", self.schema, quoted(self.dialect, name))
    }

    fn try_to_create(&self, control: &mut Connection) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let name = self.qualified(&format!("assay_probe_{}_{now}", std::process::id()));
        run(control, &format!("CREATE TABLE {name} (id INT PRIMARY KEY)"))?;
        run(control, &format!("DROP TABLE {name}"))
    }

    /// Retries an object that another one refers to after that one is gone. Foreign keys stay checked, because the
    /// server sees some that this user may not see.
    fn drop_one_by_one(&self, control: &mut Connection) -> Result<()> {
        let of_kind =
            |kind: ObjectKind| self.objects.iter().filter(move |object| object.kind == kind);
        let mut left: Vec<&Object> = ORDER.into_iter().flat_map(of_kind).collect();
        let mut gone = Vec::new();
        while !left.is_empty() {
            let (mut waiting, mut failure) = (Vec::new(), None);
            for object in &left {
                let sql = format!("DROP {} {}", object.kind.sql(), self.qualified(&object.name));
                match control.query(&sql) {
                    Ok(_) => gone.push(object.name.clone()),
                    Err(error) if error.server_code().is_some() => {
                        waiting.push(*object);
                        failure = failure.or(Some((object.name.clone(), sql, error)));
                    }
                    Err(cause) => return Err(LoadError::query(sql.as_bytes(), cause)),
                }
            }
            if let Some((name, sql, cause)) = failure.filter(|_| waiting.len() == left.len()) {
                return Err(match gone.is_empty() {
                    true => LoadError::query(sql.as_bytes(), cause),
                    false => LoadError::HalfDropped { name, gone, cause },
                });
            }
            left = waiting;
        }
        Ok(())
    }
}

/// Runs several statements in one message, which makes them one transaction.
fn run_together(control: &mut Connection, statements: &[String]) -> Result<()> {
    if statements.is_empty() { Ok(()) } else { run(control, &statements.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey() -> Survey {
        let object = |name: &str, kind, of: Option<&str>, foreign: Option<&str>| Object {
            name: name.to_owned(),
            kind,
            of: of.map(str::to_owned),
            foreign: foreign.map(str::to_owned),
            referrer: None,
        };
        let objects = vec![
            object("k_1", ObjectKind::Index, Some("mine"), Some("is an index of `mine`")),
            object("sbtest1", ObjectKind::Table, None, None),
            object("sbtest2", ObjectKind::View, None, Some("is a view")),
            object("sbtest3", ObjectKind::Table, None, None),
        ];
        Survey {
            dialect: Dialect::Postgres,
            schema: "\"a\"\"b\"".into(),
            objects,
            may_create: true,
            sees_triggers: true,
        }
    }

    #[test]
    fn everything_is_dropped_by_kind_and_with_its_schema() {
        let dropped = [
            r#"DROP VIEW "a""b"."sbtest2""#,
            r#"DROP INDEX "a""b"."k_1""#,
            r#"DROP TABLE "a""b"."sbtest1", "a""b"."sbtest3""#,
        ];
        assert_eq!(survey().drop_statements(), dropped);
    }

    #[test]
    fn dropped_objects_are_listed_by_kind_with_foreign_ones_first() {
        let message = ["index k_1 of mine", "view sbtest2", "table sbtest1", "table sbtest3"];
        assert_eq!(
            (survey().described(), survey().foreign()),
            (message.map(str::to_owned).into(), 2)
        );
        // `bench` creates no index.
        let Err(LoadError::OtherTables(other)) = survey().refuse_other_tables() else { panic!() };
        assert_eq!(other, ["`sbtest2` is a view"]);
    }
}
