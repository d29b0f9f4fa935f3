//! Kinds of work, as digests and readers see them.

use assay_model::{Definition, Dialect, PipelineMark, Sbtest, Schema, Setup, UserStep};
use serde::Serialize;
use sha2::Sha256;

/// Rows, and events of one client, that enter the digest: enough to exercise every way of drawing.
pub(crate) const EXAMPLES: u32 = 16;
pub(crate) const SETUP: Setup = Setup { clients: 1, tables: 3, rows: 100_000 };

pub(crate) trait WorkloadDefinition {
    /// Adds the tables and what is in them to the digest of a test.
    fn add_data(&self, digest: &mut Sha256);

    /// See [`outline`].
    fn outline(&self, test: &Definition) -> Vec<String> {
        self.statements(test, Dialect::MySql)
    }

    /// See [`outline_of`].
    fn statements(&self, test: &Definition, dialect: Dialect) -> Vec<String> {
        let steps = test.roles.iter().flat_map(|role| &role.script.steps);
        let own = test.roles.iter().flat_map(|role| &role.script.mix).flat_map(|kind| &kind.steps);
        let own = own.map(|step| user_step(step, dialect));
        steps.map(|step| step.sql(dialect).to_owned()).chain(own).collect()
    }
}

pub(crate) fn definition_of(schema: &Schema) -> &dyn WorkloadDefinition {
    match schema {
        Schema::Sbtest => &Sbtest,
        Schema::User(data) => data,
        Schema::Ibench(step) => step,
        Schema::Lua(script) => script,
        Schema::Tpcc(tpcc) => tpcc,
    }
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("definitions have only texts, numbers and lists")
}

/// The statements of one event on MariaDB and MySQL in order, with `?` for parameters, on a table `sbtest`. Repeated
/// statements are listed once, and long lists are shortened. Those of a user's test are listed by kind of event.
pub fn outline(test: &Definition) -> Vec<String> {
    definition_of(&test.schema).outline(test)
}

/// For any dialect, with all parameters of a list. A statement that the dialect lacks is taken from another one.
pub fn outline_of(test: &Definition, dialect: Dialect) -> Vec<String> {
    definition_of(&test.schema).statements(test, dialect)
}

fn user_step(step: &UserStep, dialect: Dialect) -> String {
    match step {
        UserStep::Send { sql, .. } => {
            let sql = sql.for_dialect(dialect).or(sql.mysql.as_ref()).or(sql.postgres.as_ref());
            let text = sql.map(|sql| sql.with_marks(|_| "?".to_owned())).unwrap_or_default();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        UserStep::Sleep { .. } => "a pause".to_owned(),
        UserStep::Pipeline { mark: PipelineMark::Start, .. } => "a pipeline begins".to_owned(),
        UserStep::Pipeline { mark: PipelineMark::Sync, .. } => "the pipeline is sent".to_owned(),
        UserStep::Pipeline { mark: PipelineMark::End, .. } => "the pipeline ends".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::TestSet;

    use super::*;
    use crate::tests_of;

    #[test]
    fn every_test_has_a_line_and_statements() {
        for test in tests_of(TestSet::All) {
            let line = &test.does;
            assert!((10..120).contains(&line.chars().count()), "{test}: {line}");
            let statements = outline(&test);
            let in_transaction = statements.first().is_some_and(|sql| sql == "BEGIN");
            assert_eq!(line.contains("transaction"), in_transaction, "{test}: {line}");
            let aggregates = statements.iter().any(|sql| sql.contains("SUM("));
            let message = line.contains("SUM") || test.name.starts_with("read-write");
            assert_eq!(message, aggregates, "{test}: {line}");
        }
    }
}
