//! Drops the objects found by a survey and creates the tables.

use std::time::{SystemTime, UNIX_EPOCH};

use assay_model::Dialect;
use assay_wire::{ConnectOptions, Connection};

use super::Survey;
use super::found::{Object, ObjectKind};
use super::query::{connect, quoted};
use crate::error::{Error, Result};

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
    /// Drops every object, whatever it is, and creates the tables with the given statements.
    ///
    /// On Postgres both happen or neither, for up to [`AT_ONCE`] tables. MySQL and MariaDB have no transactional DDL,
    /// so a table is first created and dropped, to prove that the user may; then objects are dropped one by one.
    ///
    /// # Errors
    /// Those of [`Survey::refuse_referenced`] and [`Error::MayNotCreate`], before anything is dropped;
    /// [`Error::HalfDropped`]. Also when the server refuses a statement.
    pub(crate) fn replace(&self, options: &ConnectOptions, tables: &[String]) -> Result<()> {
        self.refuse_referenced()?;
        if !self.may_create {
            return Err(Error::MayNotCreate { schema: self.schema.clone() });
        }
        let mut control = connect(options)?;
        match self.dialect {
            Dialect::Postgres => {
                let mut first = self.drop_statements();
                let mut groups = tables.chunks(AT_ONCE);
                first.extend(groups.next().into_iter().flatten().cloned());
                run_together(&mut control, &first)?;
                groups.try_for_each(|it| run_together(&mut control, it))
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
            let names = self.objects.iter().filter(|it| it.kind == kind);
            let names: Vec<String> = names.map(|it| self.qualified(&it.name)).collect();
            let sql = format!("DROP {} {}", kind.sql(), names.join(", "));
            (!names.is_empty()).then_some(sql)
        };
        ORDER.into_iter().filter_map(statement).collect()
    }

    fn qualified(&self, name: &str) -> String {
        format!("{}.{}", self.schema, quoted(self.dialect, name))
    }

    fn try_to_create(&self, control: &mut Connection) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_nanos());
        let name = self.qualified(&format!("assay_probe_{}_{now}", std::process::id()));
        run(control, &format!("CREATE TABLE {name} (id INT PRIMARY KEY)"))?;
        run(control, &format!("DROP TABLE {name}"))
    }

    /// Retries an object that another one refers to after that one is gone. Foreign keys stay checked, because the
    /// server sees some that this user may not see.
    fn drop_one_by_one(&self, control: &mut Connection) -> Result<()> {
        let of_kind = |kind: ObjectKind| self.objects.iter().filter(move |it| it.kind == kind);
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

/// Runs several statements in one message, which makes them one transaction.
fn run_together(control: &mut Connection, statements: &[String]) -> Result<()> {
    if statements.is_empty() {
        return Ok(());
    }
    run(control, &statements.join("; "))
}

fn run(control: &mut Connection, sql: &str) -> Result<()> {
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
        let Err(Error::OtherTables(other)) = survey().refuse_other_tables() else { panic!() };
        assert_eq!(other, ["`sbtest2` is a view"]);
    }
}
