//! Drops what a survey has found, and makes the tables anew.

use std::time::{SystemTime, UNIX_EPOCH};

use assay_model::Product;
use assay_wire::{ConnectOptions, Control};

use super::{Kind, Object, Survey, connect, quoted};
use crate::{Error, Result};

/// So many tables are created in one transaction: a Postgres server has room for the locks of a few thousand objects.
const AT_ONCE: usize = 400;

/// What needs a table is dropped before it.
const ORDER: [Kind; 7] = [
    Kind::View,
    Kind::MaterializedView,
    Kind::Index,
    Kind::ForeignTable,
    Kind::Table,
    Kind::Sequence,
    Kind::Type,
];

impl Survey {
    /// Drops all of it, whatever it is; see [`Survey::replace`].
    ///
    /// # Errors
    /// As there.
    pub fn drop_all(&self, options: &ConnectOptions) -> Result<()> {
        self.replace(options, &[])
    }

    /// Drops all of it, whatever it is, and creates tables by the statements of each.
    ///
    /// On Postgres both happen or none does, for up to [`AT_ONCE`] tables. MySQL and MariaDB have no transactions for
    /// that: a table is created there first and dropped, which shows that the user may; the rest goes one by one.
    ///
    /// # Errors
    /// Those of [`Survey::refuse_referenced`], and [`Error::MayNotCreate`], before anything is dropped;
    /// [`Error::HalfDropped`]; else when the server refuses.
    pub(crate) fn replace(&self, options: &ConnectOptions, tables: &[Vec<String>]) -> Result<()> {
        self.refuse_referenced()?;
        if !self.may_create {
            return Err(Error::MayNotCreate { schema: self.schema.clone() });
        }
        let mut control = connect(options)?;
        match self.product {
            Product::Postgres => {
                let mut first = self.drop_statements();
                let mut groups = tables.chunks(AT_ONCE);
                first.extend(groups.next().into_iter().flatten().flatten().cloned());
                run_together(&mut control, &first)?;
                groups.try_for_each(|it| run_together(&mut control, &it.concat()))
            }
            Product::MariaDb | Product::MySql => {
                if !self.objects.is_empty() {
                    self.try_to_create(&mut control)?;
                    self.drop_one_by_one(&mut control)?;
                }
                tables.iter().flatten().try_for_each(|sql| run(&mut control, sql))
            }
        }
    }

    /// One statement for each kind. Every name is qualified: a search path may lead to other tables of that name.
    fn drop_statements(&self) -> Vec<String> {
        let statement = |kind: Kind| {
            let names = self.objects.iter().filter(|it| it.kind == kind);
            let names: Vec<String> = names.map(|it| self.qualified(&it.name)).collect();
            let sql = format!("DROP {} {}", kind.sql(), names.join(", "));
            (!names.is_empty()).then_some(sql)
        };
        ORDER.into_iter().filter_map(statement).collect()
    }

    fn qualified(&self, name: &str) -> String {
        format!("{}.{}", self.schema, quoted(self.product, name))
    }

    /// Creates a table that nobody needs and drops it.
    fn try_to_create(&self, control: &mut Control) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_nanos());
        let name = self.qualified(&format!("assay_probe_{}_{now}", std::process::id()));
        run(control, &format!("CREATE TABLE {name} (id INT PRIMARY KEY)"))?;
        run(control, &format!("DROP TABLE {name}"))
    }

    /// Those that another one refers to wait for it. Foreign keys are checked all the time: the server sees some that
    /// this user may not see.
    fn drop_one_by_one(&self, control: &mut Control) -> Result<()> {
        let of_kind = |kind: Kind| self.objects.iter().filter(move |it| it.kind == kind);
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
                    Err(cause) => return Err(Error::query(sql.as_bytes(), cause)),
                }
            }
            if let Some((name, sql, cause)) = failure.filter(|_| waiting.len() == left.len()) {
                return Err(match gone.is_empty() {
                    true => Error::query(sql.as_bytes(), cause),
                    false => Error::HalfDropped { name, gone, cause },
                });
            }
            left = waiting;
        }
        Ok(())
    }
}

/// Several statements in one message are one transaction.
fn run_together(control: &mut Control, statements: &[String]) -> Result<()> {
    if statements.is_empty() {
        return Ok(());
    }
    run(control, &statements.join("; "))
}

fn run(control: &mut Control, sql: &str) -> Result<()> {
    control.query(sql).map(drop).map_err(|cause| Error::query(sql.as_bytes(), cause))
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
            object("k_1", Kind::Index, Some("mine"), Some("is an index of `mine`")),
            object("sbtest1", Kind::Table, None, None),
            object("sbtest2", Kind::View, None, Some("is a view")),
            object("sbtest3", Kind::Table, None, None),
        ];
        Survey {
            product: Product::Postgres,
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
    fn what_is_dropped_is_told_by_its_kind_and_what_no_load_has_made_first() {
        let told = ["index k_1 of mine", "view sbtest2", "table sbtest1", "table sbtest3"];
        assert_eq!((survey().described(), survey().foreign()), (told.map(str::to_owned).into(), 2));
        // `bench` creates no index.
        let Err(Error::OtherTables(other)) = survey().refuse_other_tables() else { panic!() };
        assert_eq!(other, ["`sbtest2` is a view"]);
    }
}
