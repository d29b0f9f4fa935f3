//! Inspects the objects that a load would replace, before anything is dropped.

mod found;
mod grants;
mod mysql;
mod numbering;
mod postgres;
mod query;
mod replace;
mod shape;

use assay_model::{Dialect, Engine};
use assay_wire::{ConnectOptions, Connection, Protocol};

use self::found::{Found, Object};
pub use self::numbering::check_numbering;
use self::query::{ask, connect};
use crate::error::{Error, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    dialect: Dialect,
    /// Database or schema of the objects, quoted for SQL.
    schema: String,
    objects: Vec<Object>,
    /// Whether the user may create tables there, as far as known beforehand.
    may_create: bool,
    /// Whether the user would see triggers of all these tables.
    sees_triggers: bool,
}

/// Lists every object named like one of the first `tables` tables, or like an index that they need. Changes nothing.
pub fn survey(options: &ConnectOptions, dialect: Dialect, tables: u32) -> Result<Survey> {
    let mut control = connect(options)?;
    let found = match dialect {
        Dialect::MySql => mysql::survey(&mut control, tables),
        Dialect::Postgres => postgres::survey(&mut control, tables),
    };
    let Found { schema, mut objects, may_create, sees_triggers } = found?;
    // In numeric order.
    objects.sort_by_key(|it| (it.name.len(), it.name.clone()));
    Ok(Survey { dialect, schema, objects, may_create, sees_triggers })
}

/// Numbers of the existing tables `sbtest1`, `sbtest2`, ..., whatever they contain.
pub fn numbers(control: &mut Connection, dialect: Dialect) -> Result<Vec<u32>> {
    let rows = match dialect {
        Dialect::MySql => ask(
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
    match ask(&mut connect(options)?, &sql)?.is_empty() {
        true => Err(Error::NoEngine(engine)),
        false => Ok(()),
    }
}

const NAMED: usize = 8;

impl Survey {
    /// The objects to be dropped, such as `table sbtest1` or `index k_1 of mine`. Objects that no load created come
    /// first.
    #[must_use]
    pub fn described(&self) -> Vec<String> {
        let mut all: Vec<&Object> = self.objects.iter().collect();
        all.sort_by_key(|it| it.foreign.is_none());
        let described = |it: &&Object| {
            let of = it.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
            format!("{} {}{of}", it.kind.sql().to_lowercase(), it.name)
        };
        all.iter().map(described).collect()
    }

    /// The objects to be dropped, such as `tables: sbtest1, sbtest2`; `None` if empty. Names every object that no load
    /// created.
    #[must_use]
    pub fn listed(&self) -> Option<String> {
        let all = self.described();
        let bare: Option<Vec<&str>> = all.iter().map(|it| it.strip_prefix("table ")).collect();
        let (what, names) = match &bare {
            Some(names) => ("tables", names.clone()),
            None => ("objects", all.iter().map(String::as_str).collect()),
        };
        let shown = names.get(..NAMED.max(self.foreign())).unwrap_or(&names);
        let more = names.len() - shown.len();
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| format!("{what}: {}{rest}", shown.join(", ")))
    }

    #[must_use]
    pub fn foreign(&self) -> usize {
        self.objects.iter().filter(|it| it.foreign.is_some()).count()
    }

    /// Fails unless every object is a table of an earlier load, unchanged.
    pub fn refuse_foreign(&self) -> Result<()> {
        let foreign = self.said_of_foreign(|_| true);
        if foreign.is_empty() { Ok(()) } else { Err(Error::Foreign(foreign)) }
    }

    /// Like [`Survey::refuse_foreign`], for work that would change the rows of a user's own tables.
    pub fn refuse_other_tables(&self) -> Result<()> {
        // No index is created, so objects with index names are harmless.
        let foreign = self.said_of_foreign(|it| it.name.starts_with("sbtest"));
        if foreign.is_empty() { Ok(()) } else { Err(Error::OtherTables(foreign)) }
    }

    fn said_of_foreign(&self, is_meant: impl Fn(&Object) -> bool) -> Vec<String> {
        let said = |it: &Object| it.foreign.as_ref().map(|why| format!("`{}` {why}", it.name));
        self.objects.iter().filter(|it| is_meant(it)).filter_map(said).collect()
    }

    /// Fails if the tables could be loaded once but not again, because the user may not see their triggers.
    pub fn refuse_blindness(&self) -> Result<()> {
        if self.sees_triggers {
            Ok(())
        } else {
            Err(Error::Blind { database: self.schema.clone() })
        }
    }

    /// Fails if an object that is kept refers to a table to be dropped.
    pub fn refuse_referenced(&self) -> Result<()> {
        if let Some((it, by)) = self.objects.iter().find_map(|it| Some((it, it.referrer.as_ref()?)))
        {
            return Err(Error::Referenced { table: it.name.clone(), by: by.clone() });
        }
        Ok(())
    }
}
