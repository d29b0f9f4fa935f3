//! Tests of a user's workload whose statements return or change no rows on any server: they measure little, and rarely
//! what was intended.

use assay_model::{Class, Script, SliceOutcome, StudyRecord, Test, UserStep, WorkCounters};

const SHOWN: usize = 80;

/// A warning for each such test, with its first statement that should return or change rows.
pub(super) fn warnings(record: &StudyRecord) -> Vec<String> {
    let mut message: Vec<Test> = Vec::new();
    let mut warnings = Vec::new();
    for test in record.study.cells.iter().map(|cell| cell.id.test) {
        if test.workload().is_some() && !message.contains(&test) {
            message.push(test);
            warnings.extend(warning(record, test));
        }
    }
    warnings
}

fn warning(record: &StudyRecord, test: Test) -> Option<String> {
    let (words, count, first): (_, fn(&WorkCounters) -> u64, &[&str]) = match test.class {
        Class::Read => ("returned no rows", |work| work.rows, &READS),
        Class::Write => ("changed no row", |work| work.write, &WRITES),
    };
    let is_measured = |outcome: &SliceOutcome| !matches!(outcome, SliceOutcome::Failed(_));
    let slices = record.slices.iter().filter(|it| it.cell.test == test);
    let mut measured = slices.filter(|it| is_measured(&it.outcome)).peekable();
    measured.peek()?;
    let does_nothing = measured.all(|it| it.work.events > 0 && count(&it.work) == 0);
    let mut roles = test.roles.iter().filter(|_| does_nothing);
    let sql = roles.find_map(|role| statement(&role.script, first))?;
    Some(format!("`{}` {words} on any server: `{sql}`", test.name))
}

const READS: [&str; 5] = ["SELECT", "WITH", "TABLE", "VALUES", "("];

const WRITES: [&str; 5] = ["INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"];

/// The first statement that begins with one of the words. A statement that returns the rows it changes counts as a
/// query.
fn statement(script: &Script, first: &[&str]) -> Option<String> {
    let steps = script.mix.iter().flat_map(|it| &it.steps);
    let texts = steps.filter_map(|step| match step {
        UserStep::Send { sql, .. } => {
            let sql = sql.mysql.as_ref().or(sql.postgres.as_ref())?;
            Some(sql.with_marks(|_| "?".to_owned()))
        }
        UserStep::Sleep { .. } | UserStep::Pipeline { .. } => None,
    });
    let is_one = |text: &String| {
        let text = text.trim_start().to_ascii_uppercase();
        first.iter().any(|word| text.starts_with(word)) && !text.contains("RETURNING")
    };
    let text = texts.into_iter().find(is_one)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", text.get(..end)?),
        None => text,
    })
}
