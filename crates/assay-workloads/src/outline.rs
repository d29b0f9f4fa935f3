//! Readable list of a test's statements.

use assay_model::{Definition, Dialect, PipelineMark, Schema, UserStep};

use crate::tpcc::{tpcc_example, tpcc_procedures};

/// The statements of one event on MariaDB and MySQL in order, with `?` for parameters, on a table `sbtest`. Repeated
/// statements are listed once, and long lists are shortened. Those of a user's test are listed by kind of event.
pub fn outline(test: &Definition) -> Vec<String> {
    let short = |sql: &str| match sql.split_once(" IN (") {
        Some((before, _)) => format!("{before} IN (?, ...)"),
        None => sql.to_owned(),
    };
    if let Schema::Lua(script) = &test.schema {
        return vec![format!("what `{}` says", script.path())];
    }
    let all = outline_of(test, Dialect::MySql);
    if matches!(test.schema, Schema::User(_) | Schema::Tpcc(_)) {
        all
    } else {
        all.iter().map(|it| short(it)).collect()
    }
}

/// For any dialect, with all parameters of a list. A statement that the dialect lacks is taken from another one.
pub fn outline_of(test: &Definition, dialect: Dialect) -> Vec<String> {
    if let Schema::Tpcc(tpcc) = &test.schema {
        return match tpcc.procedures {
            true => tpcc_procedures(dialect).into_iter().map(|it| it.call).collect(),
            false => tpcc_example().into_iter().map(|(sql, _)| sql).collect(),
        };
    }
    let steps = test.roles.iter().flat_map(|role| &role.script.steps);
    let own = test.roles.iter().flat_map(|role| &role.script.mix).flat_map(|kind| &kind.steps);
    let own = own.map(|step| user_step(step, dialect));
    steps.map(|step| step.sql(dialect).to_owned()).chain(own).collect()
}

fn user_step(step: &UserStep, dialect: Dialect) -> String {
    match step {
        UserStep::Send { sql, .. } => {
            let sql = sql.of(dialect).or(sql.mysql.as_ref()).or(sql.postgres.as_ref());
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
