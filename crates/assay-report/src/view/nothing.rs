//! Tests of a user's workload whose statements return no rows on any server: they measure little, and rarely what was
//! meant.

use assay_model::{Class, OwnStep, Script, SliceOutcome, StudyRecord, Test};

/// Statements are shown up to so many characters.
const SHOWN: usize = 80;

/// A warning for each such test, with its first statement that should return rows.
pub(super) fn warnings(record: &StudyRecord) -> Vec<String> {
    let mut told: Vec<Test> = Vec::new();
    for test in record.study.cells.iter().map(|cell| cell.id.test) {
        let is_of_user = test.own().is_some() && test.class == Class::Read;
        if is_of_user && !told.contains(&test) && returns_nothing(record, test) {
            told.push(test);
        }
    }
    let warning = |test: Test| {
        let sql = test.roles.iter().find_map(|role| query(&role.script))?;
        Some(format!("`{}` returned no rows on any server: `{sql}`", test.name))
    };
    told.into_iter().filter_map(warning).collect()
}

fn returns_nothing(record: &StudyRecord, test: Test) -> bool {
    let is_measured = |outcome: &SliceOutcome| !matches!(outcome, SliceOutcome::Failed(_));
    let mut slices = record.slices.iter().filter(|it| it.cell.test == test);
    let mut measured = slices.by_ref().filter(|it| is_measured(&it.outcome)).peekable();
    measured.peek().is_some() && measured.all(|it| it.work.events > 0 && it.work.rows == 0)
}

/// The first statement that asks for rows.
fn query(script: &Script) -> Option<String> {
    let steps = script.mix.iter().flat_map(|it| &it.steps);
    let texts = steps.filter_map(|step| match step {
        OwnStep::Send { sql, .. } => {
            let sql = sql.mysql.as_ref().or(sql.postgres.as_ref())?;
            Some(sql.with_marks(|_| "?".to_owned()))
        }
        OwnStep::Sleep { .. } => None,
    });
    let asks = |text: &String| {
        let begin = text.trim_start().to_ascii_uppercase();
        ["SELECT", "WITH", "TABLE", "VALUES", "("].iter().any(|word| begin.starts_with(word))
    };
    let text = texts.into_iter().find(asks)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", text.get(..end)?),
        None => text,
    })
}
