//! Bounds on a user's workload.

use assay_model::limits::captured::{LINES, WIDTH};
use assay_model::limits::user::{
    COLUMNS, EVENT_BYTES, KINDS, ROW_BYTES, SETTINGS, STATEMENTS, STEPS, TABLES, TERMS, TEXT,
    TIMES, USES, VALUES, VARIABLES,
};
use assay_model::{Captured, Generator, Logged, Range, Transaction, UserData, UserRows, UserStep};

use super::range::{distribution, within};

const DEPTH: u32 = 8;

pub(super) fn mix(mix: &[Transaction]) -> Result<(), String> {
    within("kinds", mix.len(), &(0..=KINDS))?;
    for kind in mix {
        within("weight", kind.weight, &(f64::MIN_POSITIVE..=1e9))?;
        within("variables", kind.variables.len(), &(0..=VARIABLES))?;
        within("steps", kind.steps.len(), &(0..=STEPS))?;
        within("session", kind.session.len(), &(0..=SETTINGS))?;
        for values in kind.variables.iter().filter_map(|it| it.values.as_ref()) {
            generator(values, 0)?;
        }
        if let Some(Logged { share, .. }) = &kind.logged {
            within("share", *share, &(0.0..=1.0))?;
        }
        if let Some(Captured { lines, width, .. }) = &kind.captured {
            within("lines", *lines as usize, &(1..=LINES))?;
            within("width", *width as usize, &(1..=WIDTH))?;
        }
        within("statements", kind.statements(), &(0..=STATEMENTS))?;
        within("bytes", kind.most_bytes(), &(0..=EVENT_BYTES))?;
        let last = kind.variables.len().saturating_sub(1) as u32;
        for step in &kind.steps {
            let (sql, times, keep) = match step {
                UserStep::Send { sql, times, keep, when, .. } => {
                    when.iter().try_for_each(|it| within("when", *it, &(0..=last)))?;
                    (sql, times, keep)
                }
                UserStep::Pipeline { when, .. } => {
                    when.iter().try_for_each(|it| within("when", *it, &(0..=last)))?;
                    continue;
                }
                UserStep::Sleep { us, when } => {
                    when.iter().try_for_each(|it| within("when", *it, &(0..=last)))?;
                    generator(us, 0)?;
                    continue;
                }
            };
            within("times", *times, &(1..=TIMES))?;
            let statements = [&sql.mysql, &sql.postgres].into_iter().flatten();
            for statement in statements {
                within("pieces", statement.pieces.len(), &(1..=USES + 1))?;
                if statement.pieces.len() != statement.variables.len() + 1 {
                    return Err(
                        "a statement does not have exactly one place for each variable".to_owned()
                    );
                }
                statement
                    .variables
                    .iter()
                    .try_for_each(|it| within("variable", *it, &(0..=last)))?;
                if !statement.variables.is_empty() && kind.variables.is_empty() {
                    return Err("a statement has a variable that is not defined".to_owned());
                }
            }
            keep.iter().try_for_each(|it| within("keep", *it, &(0..=last)))?;
        }
    }
    Ok(())
}

pub(super) fn data(data: &UserData) -> Result<(), String> {
    within("tables", data.tables.len(), &(0..=TABLES))?;
    for table in &data.tables {
        let UserRows::Generated { columns, .. } = &table.rows else { continue };
        within("columns", columns.len(), &(1..=COLUMNS))?;
        columns.iter().try_for_each(|column| generator(&column.values, 0))?;
        let bytes = columns.iter().map(|it| it.values.most_bytes()).fold(0, u64::saturating_add);
        within("bytes", bytes, &(0..=ROW_BYTES))?;
    }
    Ok(())
}

fn generator(values: &Generator, depth: u32) -> Result<(), String> {
    within("depth", depth, &(0..=DEPTH))?;
    match values {
        Generator::Integer(it) | Generator::Time(it) => range(it),
        Generator::Decimal { range: it, decimals } => {
            within("decimals", *decimals, &(0..=18))?;
            range(it)
        }
        Generator::Text { least, most } => {
            within("most", *most, &(0..=TEXT))?;
            within("least", *least, &(0..=*most))
        }
        Generator::OneOf { values, weights } => {
            within("values", values.len(), &(1..=VALUES))?;
            within("weights", weights.len(), &(values.len()..=values.len()))?;
            weights.iter().try_for_each(|it| within("weight", *it, &(0.0..=1e9)))
        }
        Generator::Nullable { share, of } => {
            within("share", *share, &(0.0..=1.0))?;
            generator(of, depth + 1)
        }
        Generator::Computed(terms) => within("terms", terms.len(), &(1..=TERMS)),
        Generator::Sequence { each, .. } => within("each", *each, &(1..=u32::MAX)),
        Generator::Captured { column, .. } => within("column", *column as usize, &(0..=WIDTH - 1)),
        Generator::Constant(_) | Generator::Pattern(_) | Generator::TimeSequence { .. } => Ok(()),
    }
}

fn range(range: &Range) -> Result<(), String> {
    within("low", range.low, &(i64::MIN..=range.high))?;
    distribution(range.draw)
}
