//! What stands where the tables are to be loaded: seen before anything is dropped.

mod grants;
mod mysql;
mod postgres;
mod replace;
mod shape;

use assay_model::{Engine, IdKey, Product};
use assay_wire::{ConnectOptions, Control};

use crate::{Error, Result};

/// Why nothing is loaded into a database at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It belongs to the server itself.
    System,
    /// The server copies another one.
    Replica,
    /// The server is set to take no writes.
    ReadOnly,
    /// The search path names no schema that exists.
    NoSchema,
}

impl Unfit {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::System => "it belongs to the server itself",
            Self::Replica => "the server is a replica of another one",
            Self::ReadOnly => "the server is read-only (`read_only` is set)",
            Self::NoSchema => "the search path of the user names no schema that exists",
        }
    }

    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::System => {
                "create a database for the tables, such as `sbtest`, and name it in the URL"
            }
            Self::Replica | Self::ReadOnly => {
                "name a server in the URL that takes writes, such as the primary"
            }
            Self::NoSchema => {
                "create the schema, or set `search_path` of the user to one that exists"
            }
        }
    }
}

/// Something that has a name which the load needs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    name: String,
    kind: Kind,
    /// The table of an index.
    of: Option<String>,
    /// Why it is not simply a table of an earlier load.
    foreign: Option<String>,
    /// What stays and refers to it, in words: it keeps it from being dropped.
    referrer: Option<String>,
}

/// What is dropped in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Table,
    View,
    MaterializedView,
    Sequence,
    Index,
    ForeignTable,
    Type,
}

impl Kind {
    /// As in `DROP ...`.
    fn sql(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::View => "VIEW",
            Self::MaterializedView => "MATERIALIZED VIEW",
            Self::Sequence => "SEQUENCE",
            Self::Index => "INDEX",
            Self::ForeignTable => "FOREIGN TABLE",
            Self::Type => "TYPE",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Table => "a table",
            Self::View => "a view",
            Self::MaterializedView => "a materialized view",
            Self::Sequence => "a sequence",
            Self::Index => "an index",
            Self::ForeignTable => "a foreign table",
            Self::Type => "a type",
        }
    }
}

/// What a load of so many tables would replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    product: Product,
    /// Where the objects are, quoted for SQL: a database or a schema.
    schema: String,
    objects: Vec<Object>,
    /// Whether the user may create tables there, as far as that is known beforehand.
    may_create: bool,
    /// Whether the user would see triggers of all these tables.
    sees_triggers: bool,
}

/// What the look at a server of one family finds.
struct Found {
    schema: String,
    objects: Vec<Object>,
    may_create: bool,
    sees_triggers: bool,
}

/// Looks at everything that is named like one of the first `tables` tables, or like an index that they need with this
/// key of `id`; changes nothing.
///
/// # Errors
/// [`Error::Unfit`] for a system database, a replica or a read-only server; else when the server cannot be asked.
pub fn survey(
    options: &ConnectOptions,
    product: Product,
    tables: u32,
    key: IdKey,
) -> Result<Survey> {
    let mut control = connect(options)?;
    let found = match product {
        Product::MariaDb | Product::MySql => mysql::survey(&mut control, tables),
        Product::Postgres => postgres::survey(&mut control, tables, key),
    };
    let Found { schema, mut objects, may_create, sees_triggers } = found?;
    // By number, as people count.
    objects.sort_by_key(|it| (it.name.len(), it.name.clone()));
    Ok(Survey { product, schema, objects, may_create, sees_triggers })
}

/// The numbers of the tables `sbtest1`, `sbtest2`, ... that there are, whatever is in them.
///
/// # Errors
/// When the server cannot be asked.
pub fn numbers(control: &mut Control, product: Product) -> Result<Vec<u32>> {
    let rows = match product {
        Product::MariaDb | Product::MySql => ask(
            control,
            "SELECT table_name FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name REGEXP '^sbtest[0-9]+$'",
        ),
        Product::Postgres => postgres::numbers(control),
    }?;
    let number = |row: &Vec<String>| row.first()?.strip_prefix("sbtest")?.parse().ok();
    Ok(rows.iter().filter_map(number).collect())
}

/// Fails where a server has no such storage engine: to be asked before anything is dropped.
///
/// # Errors
/// [`Error::NoEngine`]; else when the server cannot be asked.
pub fn check_engine(options: &ConnectOptions, engine: Engine) -> Result<()> {
    if engine == Engine::Heap {
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

fn connect(options: &ConnectOptions) -> Result<Control> {
    Control::connect(options).map_err(|source| Error::Connect { client: 0, source })
}

fn ask(control: &mut Control, sql: &str) -> Result<Vec<Vec<String>>> {
    let found = control.query_catalog(sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    let text =
        |value: Option<Vec<u8>>| String::from_utf8_lossy(&value.unwrap_or_default()).into_owned();
    Ok(found.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
}

impl Survey {
    /// What would be dropped, as `table sbtest1` or `index k_1 of mine`; what no load has made comes first.
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

    /// How many objects would be dropped that no load has made.
    #[must_use]
    pub fn foreign(&self) -> usize {
        self.objects.iter().filter(|it| it.foreign.is_some()).count()
    }

    /// Fails unless everything that is there is a table as an earlier load has left it.
    ///
    /// # Errors
    /// [`Error::Foreign`] with each object that is something else.
    pub fn refuse_foreign(&self) -> Result<()> {
        let foreign = self.said_of_foreign(|_| true);
        if foreign.is_empty() { Ok(()) } else { Err(Error::Foreign(foreign)) }
    }

    /// Fails as [`Survey::refuse_foreign`], for work that would change rows of a user's own.
    ///
    /// # Errors
    /// [`Error::OtherTables`] with each object that is something else.
    pub fn refuse_other_tables(&self) -> Result<()> {
        // No index is created: its name may belong to anything.
        let foreign = self.said_of_foreign(|it| it.name.starts_with("sbtest"));
        if foreign.is_empty() { Ok(()) } else { Err(Error::OtherTables(foreign)) }
    }

    fn said_of_foreign(&self, is_meant: impl Fn(&Object) -> bool) -> Vec<String> {
        let said = |it: &Object| it.foreign.as_ref().map(|why| format!("`{}` {why}", it.name));
        self.objects.iter().filter(|it| is_meant(it)).filter_map(said).collect()
    }

    /// Fails where the tables could be loaded once, but not again: what the user may not see of them would be refused.
    ///
    /// # Errors
    /// [`Error::Blind`].
    pub fn refuse_blindness(&self) -> Result<()> {
        if self.sees_triggers {
            Ok(())
        } else {
            Err(Error::Blind { database: self.schema.clone() })
        }
    }

    /// Fails where a table that stays refers to one that would be dropped.
    ///
    /// # Errors
    /// [`Error::Referenced`].
    pub fn refuse_referenced(&self) -> Result<()> {
        if let Some((it, by)) = self.objects.iter().find_map(|it| Some((it, it.referrer.as_ref()?)))
        {
            return Err(Error::Referenced { table: it.name.clone(), by: by.clone() });
        }
        Ok(())
    }
}

/// A name as SQL takes it, whatever is in it.
fn quoted(product: Product, name: &str) -> String {
    let mark = match product {
        Product::MariaDb | Product::MySql => "`",
        Product::Postgres => "\"",
    };
    format!("{mark}{}{mark}", name.replace(mark, &mark.repeat(2)))
}

/// `'sbtest1', 'sbtest2', ...`
fn list(stem: &str, tables: u32) -> String {
    let names: Vec<String> = (1..=tables).map(|number| format!("'{stem}{number}'")).collect();
    names.join(", ")
}
