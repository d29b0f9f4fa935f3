//! Inspects statement texts: whether an event can be repeated, and which columns a query returns.

use std::ops::Range;

use assay_model::Dialect;

use crate::sql::{first_word, is_control, leading_name, marks, words};

struct SchemaChange<'t> {
    verb: ChangeVerb,
    /// Table, index and the like.
    kind: String,
    name: &'t str,
    /// Harmless when repeated, such as `IF NOT EXISTS`.
    is_lenient: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeVerb {
    Create,
    Drop,
    Add,
}

/// The first statement that fails or does nothing from the second event on, as far as the texts show: its number and
/// the reason.
pub fn unrepeatable<'t>(
    statements: impl IntoIterator<Item = &'t str>,
    syntax: Dialect,
) -> Option<(usize, String)> {
    let statements: Vec<&str> = statements.into_iter().collect();
    let first = |text: &str| leading_name(first_word(text, syntax)).to_ascii_uppercase();
    // MySQL and MariaDB do not roll back such statements.
    if syntax == Dialect::Postgres && statements.iter().any(|text| first(text) == "ROLLBACK") {
        return None;
    }
    let changes: Vec<(usize, SchemaChange<'_>)> = (0..)
        .zip(&statements)
        .filter_map(|(number, text)| Some((number, change(text, syntax)?)))
        .collect();
    let is_undone = |change: &SchemaChange<'_>| {
        changes.iter().any(|(_, other)| match change.verb {
            ChangeVerb::Create | ChangeVerb::Drop => {
                let opposite = if change.verb == ChangeVerb::Create {
                    ChangeVerb::Drop
                } else {
                    ChangeVerb::Create
                };
                other.verb == opposite && other.name.eq_ignore_ascii_case(change.name)
            }
            // A recreated table lacks the additions.
            ChangeVerb::Add => other.verb == ChangeVerb::Drop,
        })
    };
    let lost = changes.iter().find(|(_, change)| !change.is_lenient && !is_undone(change));
    if let Some((number, change)) = lost {
        let what = change.kind.to_ascii_lowercase();
        let name = change.name.trim_matches(['"', '`']);
        let why = match change.verb {
            ChangeVerb::Create => format!(
                "the {what} `{name}` is created by the first event, and there at the second"
            ),
            ChangeVerb::Drop => {
                format!("the {what} `{name}` is dropped by the first event, and gone at the second")
            }
            ChangeVerb::Add => {
                format!("what is added to `{name}` by the first event is there at the second")
            }
        };
        return Some((*number, format!("this fails when it is repeated: {why}")));
    }
    let work = statements.iter().filter(|text| !is_control(text, syntax)).count();
    let (number, change) = changes.first()?;
    let is_idle = changes.len() == work
        && changes.iter().all(|(_, it)| it.verb == change.verb && it.is_lenient && !is_undone(it));
    let is_idle = is_idle && !statements.iter().any(|text| replaces(text, syntax));
    is_idle.then(|| (*number, "this does nothing when it is repeated".to_owned()))
}

fn replaces(text: &str, syntax: Dialect) -> bool {
    words(text, syntax).iter().take(3).any(|word| word.eq_ignore_ascii_case("REPLACE"))
}

fn change(text: &str, syntax: Dialect) -> Option<SchemaChange<'_>> {
    const KINDS: [&str; 13] = [
        "TABLE",
        "INDEX",
        "VIEW",
        "SEQUENCE",
        "SCHEMA",
        "DATABASE",
        "TYPE",
        "FUNCTION",
        "PROCEDURE",
        "TRIGGER",
        "EXTENSION",
        "ROLE",
        "USER",
    ];
    let rest = first_word(text, syntax);
    let verb = leading_name(rest);
    let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
    let mut tokens = rest.split_whitespace().skip(1);
    let is_alter = is(verb, "ALTER");
    if !is_alter && !is(verb, "CREATE") && !is(verb, "DROP") {
        return None;
    }
    let mut is_lenient = false;
    let kind = tokens.by_ref().take(5).find(|token| {
        is_lenient |= is(token, "REPLACE");
        KINDS.iter().any(|kind| is(token, kind))
    })?;
    const BETWEEN: [&str; 5] = ["IF", "NOT", "EXISTS", "CONCURRENTLY", "ONLY"];
    let named = tokens.by_ref().find(|token| {
        is_lenient |= is(token, "EXISTS");
        !BETWEEN.iter().any(|word| is(token, word))
    })?;
    let name = named.split(['(', ';', ',']).next().filter(|name| !name.is_empty())?;
    // An unnamed index gets a new name each time.
    if is(kind, "INDEX") && is(name, "ON") {
        return None;
    }
    let words = words(text, syntax);
    let has = |word: &str| words.iter().any(|it| is(it, word));
    let verb = match () {
        () if is_alter => {
            let adds = has("ADD") && !has("EXISTS") && !has("DROP");
            if !adds {
                return has("DROP").then(|| SchemaChange {
                    verb: ChangeVerb::Drop,
                    kind: kind.to_owned(),
                    name,
                    is_lenient: true,
                });
            }
            ChangeVerb::Add
        }
        () if is(verb, "CREATE") => ChangeVerb::Create,
        () => ChangeVerb::Drop,
    };
    // `ON COMMIT DROP`
    is_lenient |= verb == ChangeVerb::Create && has("COMMIT") && has("DROP");
    Some(SchemaChange { verb, kind: kind.to_owned(), name, is_lenient })
}

/// The names of the columns that a query returns, in order; `None` if its text does not show them. An unnamed column is
/// `?column?`, as in Postgres.
pub fn column_names(text: &str, syntax: Dialect) -> Option<Vec<String>> {
    let rest = first_word(text, syntax);
    let list = list_of(rest, syntax)?;
    let mut names = Vec::new();
    for item in parts(list, syntax) {
        names.push(name_of(item.trim(), syntax)?);
    }
    Some(names)
}

fn list_of(text: &str, syntax: Dialect) -> Option<&str> {
    let is = |place: &Range<usize>, word: &str| {
        text.get(place.clone()).is_some_and(|it| it.eq_ignore_ascii_case(word))
    };
    let outer = outer_words(text, syntax);
    let is_query = outer.first().is_some_and(|word| is(word, "SELECT") || is(word, "WITH"));
    let keyword = if is_query { "SELECT" } else { "RETURNING" };
    let begin = outer.iter().position(|word| is(word, keyword))?;
    const ENDS: [&str; 12] = [
        "FROM",
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "FOR",
        "OFFSET",
        "WINDOW",
    ];
    let start = outer.get(begin)?.end;
    let rest = outer.get(begin + 1..)?;
    let end = rest.iter().find(|word| ENDS.iter().any(|end| is(word, end)));
    let list = text.get(start..end.map_or(text.len(), |word| word.start))?.trim();
    let list = list.strip_suffix(';').unwrap_or(list);
    let words = leading_name(list);
    match words.to_ascii_uppercase().as_str() {
        "DISTINCT" | "ALL" => list.get(words.len()..),
        _ => Some(list),
    }
}

/// Marks outside parentheses. Words in parentheses are passed as a whole, too.
fn outer_marks(
    text: &str,
    syntax: Dialect,
    length: impl Fn(&str) -> Option<usize>,
) -> Vec<Range<usize>> {
    let depth = std::cell::Cell::new(0_i32);
    marks(text, syntax, |rest| {
        match rest.chars().next()? {
            '(' | '[' => depth.set(depth.get() + 1),
            ')' | ']' => depth.set(depth.get() - 1),
            _ => {}
        }
        length(rest).filter(|_| depth.get() == 0)
    })
}

fn outer_words(text: &str, syntax: Dialect) -> Vec<Range<usize>> {
    outer_marks(text, syntax, |rest| Some(leading_name(rest).len()))
}

fn parts(text: &str, syntax: Dialect) -> Vec<&str> {
    let commas = outer_marks(text, syntax, |rest| rest.starts_with(',').then_some(1));
    let ends = commas.iter().map(|comma| comma.start).chain([text.len()]);
    let starts = std::iter::once(0).chain(commas.iter().map(|comma| comma.end));
    starts.zip(ends).filter_map(|(start, end)| text.get(start..end)).collect()
}

fn name_of(item: &str, syntax: Dialect) -> Option<String> {
    let words = outer_words(item, syntax);
    let last = words.last().and_then(|place| item.get(place.clone()));
    if item.ends_with('*') && !item.contains('(') || item.is_empty() {
        return None;
    }
    if let Some(quoted) = item.strip_suffix('"') {
        return Some(quoted.rsplit('"').next().unwrap_or_default().to_owned());
    }
    let ends_in_word = words.last().is_some_and(|place| place.end == item.len());
    let name = match last {
        Some(word) if ends_in_word => Some(word),
        // `count(*)` is called `count`.
        Some(word) if words.len() == 1 && item.starts_with(word) && item.ends_with(')') => {
            Some(word)
        }
        _ => None,
    };
    Some(name.map_or_else(|| "?column?".to_owned(), str::to_ascii_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_unrepeatable(statements: &[&str]) -> Option<usize> {
        let found = Dialect::ALL
            .map(|syntax| unrepeatable(statements.iter().copied(), syntax).map(|it| it.0));
        assert_eq!(found[0], found[1], "{statements:?}");
        found[0]
    }

    #[test]
    fn what_only_the_first_event_can_do_is_found() {
        assert_eq!(first_unrepeatable(&["CREATE TABLE notes (id int PRIMARY KEY)"]), Some(0));
        assert_eq!(first_unrepeatable(&["SELECT 1", "create unique index i on t (a)"]), Some(1));
        assert_eq!(first_unrepeatable(&["DROP TABLE t"]), Some(0));
        assert_eq!(first_unrepeatable(&["ALTER TABLE t ADD COLUMN c int"]), Some(0));
        assert_eq!(first_unrepeatable(&["CREATE TABLE IF NOT EXISTS t (a int)"]), Some(0));
        assert_eq!(
            first_unrepeatable(&["CREATE TEMP TABLE a AS SELECT 1", "DROP TABLE b"]),
            Some(0)
        );
        for statements in [
            &["CREATE TEMPORARY TABLE t (a int)", "INSERT INTO t VALUES (1)", "DROP TABLE t"][..],
            &["DROP TABLE IF EXISTS t", "CREATE TABLE t (a int)"],
            &["CREATE TABLE IF NOT EXISTS t (a int)", "INSERT INTO t VALUES (1)"],
            &["CREATE OR REPLACE VIEW v AS SELECT 1"],
            &["ALTER TABLE t ADD COLUMN c int", "ALTER TABLE t DROP COLUMN c"],
            &["INSERT INTO t VALUES (1)"],
            &["SELECT 'CREATE TABLE t'"],
            &["BEGIN", "COMMIT"],
        ] {
            assert_eq!(first_unrepeatable(statements), None, "{statements:?}");
        }
        let rolled_back = ["BEGIN", "CREATE TABLE t (a int)", "ROLLBACK"];
        assert_eq!(unrepeatable(rolled_back, Dialect::Postgres), None);
        assert!(unrepeatable(rolled_back, Dialect::MySql).is_some());
    }

    #[test]
    fn columns_have_the_names_that_postgres_gives_them() {
        let names = |text| column_names(text, Dialect::Postgres);
        let known_names = |names: &[&str]| Some(names.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(names("SELECT bid FROM t WHERE aid = :a"), known_names(&["bid"]));
        assert_eq!(
            names("SELECT t.Bid, sum(a + b) AS total, count(*) FROM t"),
            known_names(&["bid", "total", "count"])
        );
        assert_eq!(
            names("SELECT 1, a + 1, \"X y\", (SELECT 2) z"),
            known_names(&["?column?", "?column?", "X y", "z"])
        );
        assert_eq!(
            names("WITH a AS (SELECT 1 AS x) SELECT DISTINCT x FROM a"),
            known_names(&["x"])
        );
        assert_eq!(names("INSERT INTO t VALUES (1) RETURNING id, v"), known_names(&["id", "v"]));
        assert_eq!(names("SELECT * FROM t"), None);
        assert_eq!(names("UPDATE t SET a = 1"), None);
    }
}
