//! Parts common to tables and tests of a workload file.

use std::ops::Range;

use assay_model::limits::user::{NAME_BYTES, STATEMENT_BYTES};
use assay_model::{Dialect, PerDialect};

use crate::document::{FileFault, FileResult, FileTable, FileValue};
use assay_workloads::sql::{statements, unterminated, words};

pub(super) const MYSQL: &str = "mysql";

pub(super) const POSTGRES: &str = "postgres";

/// Checks that a key is a name of letters, digits and characters in `more`.
pub(super) fn check_name(value: &FileValue<'_>, what: &str, more: &str) -> FileResult<()> {
    let name = value.key;
    let is_part = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    let is_name = !name.is_empty() && name.len() <= NAME_BYTES && name.chars().all(is_part);
    if is_name && !name.starts_with(['-', '.', '=']) {
        return Ok(());
    }
    let shown: Vec<String> = more.chars().map(|c| format!("`{c}`")).collect();
    Err(FileFault::at(value.key_span.clone(), format!("`{name}` cannot name a {what}"))
        .hint(format!("a name has at most {NAME_BYTES} letters, digits and {}", shown.join(", "))))
}

/// Statements of the products, in sequence: one product may have more than the other.
pub(super) fn all_per_product(value: &FileValue<'_>) -> FileResult<Vec<PerDialect<String>>> {
    let parts = per_product(value)?;
    let statements = |part: Option<FileValue<'_>>, syntax| -> FileResult<Vec<String>> {
        let Some(part) = part else { return Ok(Vec::new()) };
        Ok(all_statements(&part, syntax)?.into_iter().map(|(text, _)| text.to_owned()).collect())
    };
    let [of_mysql, of_postgres] = syntaxes(&parts);
    let (mysql, postgres) =
        (statements(parts.mysql, of_mysql)?, statements(parts.postgres, of_postgres)?);
    let count = mysql.len().max(postgres.len());
    let (mut mysql, mut postgres) = (mysql.into_iter(), postgres.into_iter());
    Ok((0..count).map(|_| PerDialect { mysql: mysql.next(), postgres: postgres.next() }).collect())
}

pub(super) fn per_product<'t>(value: &FileValue<'t>) -> FileResult<PerDialect<FileValue<'t>>> {
    const EXPECTED: &str = "a text, or a table such as `{ mysql = \"...\", postgres = \"...\" }`";
    if value.value.is_str() {
        return Ok(PerDialect::all(value.clone()));
    }
    let table = value.table(EXPECTED)?;
    table.refuse_unknown(&[MYSQL, POSTGRES])?;
    parts_of(&table).ok_or_else(|| value.fault(format!("`{}` is empty", value.key)))
}

pub(super) fn parts_of<'t>(table: &FileTable<'t>) -> Option<PerDialect<FileValue<'t>>> {
    let (mysql, postgres) = (table.get(MYSQL), table.get(POSTGRES));
    (mysql.is_some() || postgres.is_some()).then_some(PerDialect { mysql, postgres })
}

pub(super) fn try_each<'t, U>(
    parts: PerDialect<FileValue<'t>>,
    mut function: impl FnMut(FileValue<'t>, Dialect) -> FileResult<U>,
) -> FileResult<PerDialect<U>> {
    let [mysql, postgres] = syntaxes(&parts);
    let mysql = parts.mysql.map(|part| function(part, mysql)).transpose()?;
    let postgres = parts.postgres.map(|part| function(part, postgres)).transpose()?;
    Ok(PerDialect { mysql, postgres })
}

/// The syntax for each product's text. A text for all products is read in the only syntax that terminates its quotes,
/// if there is just one: `'it\\'s'` is meant for MySQL.
fn syntaxes(parts: &PerDialect<FileValue<'_>>) -> [Dialect; 2] {
    const OWN: [Dialect; 2] = [Dialect::MySql, Dialect::Postgres];
    let (Some(mysql), Some(postgres)) = (&parts.mysql, &parts.postgres) else { return OWN };
    let text = mysql.value.as_str().filter(|_| mysql.span == postgres.span);
    let has_end = |syntax| text.is_some_and(|text| unterminated(text, syntax).is_none());
    match OWN.map(has_end) {
        [true, false] => [Dialect::MySql; 2],
        [false, true] => [Dialect::Postgres; 2],
        _ => OWN,
    }
}

/// Whether these are the first and last parts of a routine's definition, whose body contains semicolons.
fn defines_routine(text: &str, first: &Range<usize>, last: &Range<usize>, syntax: Dialect) -> bool {
    let words_of = |part: &Range<usize>| words(text.get(part.clone()).unwrap_or_default(), syntax);
    let is = |word: &&str, name: &str| word.eq_ignore_ascii_case(name);
    let begins_with = |words: &[&str], name: &str| words.first().is_some_and(|word| is(word, name));
    let head = words_of(first);
    let kind = head.iter().find_map(|word| {
        let routine =
            ["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"].iter().any(|name| is(word, name));
        let other = ["TABLE", "INDEX", "VIEW"].iter().any(|name| is(word, name));
        (routine || other).then_some(routine)
    });
    begins_with(&head, "CREATE")
        && kind == Some(true)
        && head.iter().any(|word| is(word, "BEGIN"))
        && begins_with(&words_of(last), "END")
}

/// The single statement of a text, without its final semicolon, and its place.
pub(super) fn one_statement<'t>(
    value: &FileValue<'t>,
    syntax: Dialect,
) -> FileResult<(&'t str, Range<usize>)> {
    match all_statements(value, syntax)?.as_slice() {
        [(text, only)] => Ok((text, only.clone())),
        [_, (_, second), ..] => {
            Err(FileFault::at(value.span_of(second.clone()), "this is a second statement")
                .hint("write each statement as a text of its own"))
        }
        [] => Err(value.fault("there is no statement")),
    }
}

/// The statements of a text, at least one, without their final semicolons, and their places. A routine's definition is
/// one statement, whatever its body.
pub(super) fn all_statements<'t>(
    value: &FileValue<'t>,
    syntax: Dialect,
) -> FileResult<Vec<(&'t str, Range<usize>)>> {
    let text = value.text("an SQL statement in quotes")?;
    if text.len() > STATEMENT_BYTES {
        return Err(value.fault(format!("a statement may have at most {STATEMENT_BYTES} bytes")));
    }
    if let Some(at) = unterminated(text, syntax) {
        return Err(FileFault::at(value.span_of(at..at + 1), "what begins here has no end"));
    }
    let parts = statements(text, syntax);
    if parts.is_empty() {
        return Err(value.fault("there is no statement"));
    }
    let begins_with = |part: &Range<usize>, name: &str| {
        let words = words(text.get(part.clone()).unwrap_or_default(), syntax);
        words.first().is_some_and(|word| word.eq_ignore_ascii_case(name))
    };
    let mut found = Vec::with_capacity(parts.len());
    let mut rest = parts.as_slice();
    while let [first, after @ ..] = rest {
        // A routine extends to its last `END` before another definition.
        let body = after.iter().take_while(|part| !begins_with(part, "CREATE")).count();
        let end =
            after.iter().take(body).rposition(|part| defines_routine(text, first, part, syntax));
        let (end, left) = match end {
            Some(at) => after.split_at(at + 1),
            None => after.split_at(0),
        };
        let whole = first.start..end.last().unwrap_or(first).end;
        found.push((text.get(whole.clone()).unwrap_or_default(), whole));
        rest = left;
    }
    Ok(found)
}
