//! What stands where the tables are to be loaded: seen before anything is dropped.

mod mysql;
mod postgres;

use assay_model::{Engine, Product};
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
    /// Why it is not simply a table of an earlier load.
    foreign: Option<String>,
    /// A table of the user's that refers to it.
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
}

/// Looks at everything that is named like one of the first `tables` tables; changes nothing.
///
/// # Errors
/// [`Error::Unfit`] for a system database, a replica or a read-only server; else when the server cannot be asked.
pub fn survey(options: &ConnectOptions, product: Product, tables: u32) -> Result<Survey> {
    let mut control = connect(options)?;
    let found = match product {
        Product::MariaDb | Product::MySql => mysql::survey(&mut control, tables),
        Product::Postgres => postgres::survey(&mut control, tables),
    };
    let (schema, mut objects) = found?;
    // By number, as people count.
    objects.sort_by_key(|it| (it.name.len(), it.name.clone()));
    Ok(Survey { product, schema, objects })
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
    let found = control.query(sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    let text =
        |value: Option<Vec<u8>>| String::from_utf8_lossy(&value.unwrap_or_default()).into_owned();
    Ok(found.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
}

impl Survey {
    /// The names of what would be dropped.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.objects.iter().map(|it| it.name.as_str())
    }

    /// Fails unless everything that is there is a table as an earlier load has left it.
    ///
    /// # Errors
    /// [`Error::Foreign`] with each object that is something else.
    pub fn refuse_foreign(&self) -> Result<()> {
        let said = |it: &Object| it.foreign.as_ref().map(|why| format!("`{}` {why}", it.name));
        let foreign: Vec<String> = self.objects.iter().filter_map(said).collect();
        if foreign.is_empty() { Ok(()) } else { Err(Error::Foreign(foreign)) }
    }

    /// Fails as [`Survey::refuse_foreign`], for work that would change rows of a user's own.
    ///
    /// # Errors
    /// [`Error::OtherTables`] with each object that is something else.
    pub fn refuse_other_tables(&self) -> Result<()> {
        self.refuse_foreign().map_err(|error| match error {
            Error::Foreign(objects) => Error::OtherTables(objects),
            other => other,
        })
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

    /// Drops all of it, whatever it is: in one go where the server can.
    ///
    /// # Errors
    /// Those of [`Survey::refuse_referenced`], before anything is dropped; else when the server refuses.
    pub fn drop_all(&self, options: &ConnectOptions) -> Result<()> {
        self.refuse_referenced()?;
        let statements = self.drop_statements();
        if statements.is_empty() {
            return Ok(());
        }
        let mut control = connect(options)?;
        match self.product {
            // Several statements in one message are one transaction.
            Product::Postgres => ask(&mut control, &statements.join("; ")).map(drop),
            Product::MariaDb | Product::MySql => {
                // Tables of others may refer to each other. Checks stay on where none does: they also see references
                // that this user cannot.
                if self.objects.iter().any(|it| it.foreign.is_some()) {
                    ask(&mut control, "SET SESSION foreign_key_checks = 0")?;
                }
                statements.iter().try_for_each(|sql| ask(&mut control, sql).map(drop))
            }
        }
    }

    /// One statement for each kind. Every name is qualified: a search path may lead to other tables of that name.
    fn drop_statements(&self) -> Vec<String> {
        // What needs a table goes first.
        let order = [
            Kind::View,
            Kind::MaterializedView,
            Kind::Index,
            Kind::ForeignTable,
            Kind::Table,
            Kind::Sequence,
            Kind::Type,
        ];
        let statement = |kind: Kind| {
            let names = self.objects.iter().filter(|it| it.kind == kind);
            let names: Vec<String> =
                names.map(|it| format!("{}.{}", self.schema, self.quoted(&it.name))).collect();
            let sql = format!("DROP {} {}", kind.sql(), names.join(", "));
            (!names.is_empty()).then_some(sql)
        };
        order.into_iter().filter_map(statement).collect()
    }

    fn quoted(&self, name: &str) -> String {
        quoted(self.product, name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_dropped_by_kind_and_with_its_schema() {
        let object = |name: &str, kind| Object {
            name: name.to_owned(),
            kind,
            foreign: None,
            referrer: None,
        };
        let objects = vec![
            object("sbtest1", Kind::Table),
            object("sbtest2", Kind::View),
            object("sbtest3", Kind::Table),
        ];
        let survey = Survey { product: Product::Postgres, schema: "\"a\"\"b\"".into(), objects };
        assert_eq!(
            survey.drop_statements(),
            [r#"DROP VIEW "a""b"."sbtest2""#, r#"DROP TABLE "a""b"."sbtest1", "a""b"."sbtest3""#,]
        );
    }
}
