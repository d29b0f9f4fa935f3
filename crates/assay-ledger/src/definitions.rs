//! Definitions of a study's tests.

use std::collections::BTreeMap;

use assay_model::{CellId, Definition, Setup, Test};
use rusqlite::{Connection, params};

use crate::Problem;
use crate::bounds::CheckBounds as _;
use crate::rows::{Fields, rows};

pub(crate) struct TestDefinitions(BTreeMap<String, Test>);

impl TestDefinitions {
    pub(crate) fn load(connection: &Connection, study: &str) -> Result<Self, Problem> {
        let sql = "SELECT rowid, name, digest, definition FROM test WHERE study = ?";
        let tests = rows(connection, sql, [study], |row| {
            let fields = Fields::new("test", "rowid", row);
            let definition: Definition = fields.checked(fields.json("definition")?)?;
            let (name, digest): (String, String) = (fields.get("name")?, fields.get("digest")?);
            if (&definition.name, &definition.digest) != (&name, &digest) {
                return Err(fields.wrong("`definition` is of another test"));
            }
            // A known test with the same digest is the same test, so the built-in definition applies.
            let known = assay_workloads::test_by_name(&name).filter(|it| it.digest == digest);
            Ok((name, known.unwrap_or_else(|| Test::intern(definition))))
        })?;
        Ok(Self(tests.into_iter().collect()))
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<Test> {
        self.0.get(name).copied()
    }
}

impl Fields<'_> {
    pub(crate) fn cell(&self, tests: &TestDefinitions) -> Result<CellId, Problem> {
        let name: String = self.get("test")?;
        let test = tests
            .by_name(&name)
            .ok_or_else(|| self.wrong(format!("`test` is `{name}`, an unknown test")))?;
        let setup = Setup {
            clients: self.get("clients")?,
            tables: self.get("tables")?,
            rows: self.get("rows")?,
        };
        Ok(CellId { test, setup })
    }
}

pub(crate) fn add(
    connection: &Connection,
    study: &str,
    tests: impl IntoIterator<Item = Test>,
) -> Result<(), Problem> {
    let sql = "INSERT OR IGNORE INTO test (study, name, digest, definition) VALUES (?, ?, ?, ?)";
    for test in tests {
        test.definition().check().map_err(Problem::Unstorable)?;
        let definition = serde_json::to_string(test.definition())
            .map_err(|error| Problem::Unstorable(format!("a test without JSON ({error})")))?;
        connection.execute(sql, params![study, test.name, test.digest, definition])?;
    }
    Ok(())
}
