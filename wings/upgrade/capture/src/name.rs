//! Readable names of tests, derived from their statements.

use assay_model::Dialect;

use crate::sql::normal::{LIST, SCALAR};
use crate::sql::token::{TokenKind, TokenView, tokens_of};

/// Maximum length of a name without the number that makes it unique.
const NAME_MAX: usize = 50;

const COLUMNS: usize = 3;

/// A name such as `select-orders-by-customer`.
pub(crate) fn of_statement(form: &[u8], dialect: Dialect) -> String {
    let words = StatementWords::new(form, dialect);
    let mut name = words.verb.clone();
    match (words.tables.first(), &words.function) {
        (Some(table), _) => name = format!("{name}-{table}"),
        (None, Some(function)) => name = format!("{name}-{function}"),
        // A query of constants, with which clients check that a server is alive.
        (None, None) if name == "select" => name.push_str("-constant"),
        (None, None) => {}
    }
    if !words.columns.is_empty() && words.verb != "insert" && words.verb != "replace" {
        name = format!("{name}-by-{}", words.columns.join("-"));
    }
    cut(&name)
}

/// A name such as `transaction-product-orders`, from the tables that a transaction changes, or else reads.
pub(crate) fn of_transaction<'f>(
    forms: impl Iterator<Item = &'f [u8]>,
    dialect: Dialect,
) -> String {
    let words: Vec<StatementWords> = forms.map(|form| StatementWords::new(form, dialect)).collect();
    let is_change = |it: &&StatementWords| it.verb != "select" && it.verb != "with";
    let changes: Vec<&StatementWords> = words.iter().filter(is_change).collect();
    let named = if changes.is_empty() { words.iter().collect() } else { changes };
    let mut tables: Vec<&str> = Vec::new();
    for table in named.iter().filter_map(|words| words.tables.first()) {
        if !tables.contains(&table.as_str()) {
            tables.push(table);
        }
    }
    tables.truncate(COLUMNS);
    cut(&format!("transaction-{}", tables.join("-")))
}

struct StatementWords {
    verb: String,
    tables: Vec<String>,
    columns: Vec<String>,
    function: Option<String>,
}

impl StatementWords {
    fn new(form: &[u8], dialect: Dialect) -> Self {
        // Markers become parameter marks, which the dialect's tokenizer knows.
        let mark = if dialect == Dialect::MySql { "?" } else { "$1" };
        let text: Vec<u8> = form
            .iter()
            .flat_map(|byte| match *byte {
                SCALAR | LIST => mark.as_bytes().to_vec(),
                other if other < b' ' => vec![b' '],
                other => vec![other],
            })
            .collect();
        let tokens = tokens_of(&text, dialect);
        let view = TokenView { text: &text, tokens: &tokens };
        let verb = tokens.iter().find(|token| token.kind == TokenKind::Word);
        let verb = verb.map(|token| plain(token.bytes(&text))).filter(|verb| !verb.is_empty());
        Self {
            verb: verb.unwrap_or_else(|| "statement".to_owned()),
            tables: tables(view),
            columns: columns(view),
            function: function(view),
        }
    }
}

fn is_name(view: TokenView<'_>, at: usize) -> bool {
    matches!(view.kind(at), Some(TokenKind::Word | TokenKind::Name))
}

/// The names after `FROM`, `JOIN`, `INTO` and `UPDATE`, without their schemas.
fn tables(view: TokenView<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for at in 0..view.tokens.len() {
        if !view.is_any(at, &["FROM", "JOIN", "INTO", "UPDATE"]) {
            continue;
        }
        let mut name = at + 1;
        while view.is_any(name, &["IGNORE", "ONLY", "LOW_PRIORITY"]) {
            name += 1;
        }
        while view.bytes(name + 1) == b"." {
            name += 2;
        }
        let plain = if is_name(view, name) { plain(view.bytes(name)) } else { String::new() };
        // `FROM (SELECT` has no name, and `EXTRACT(year FROM made)` has a column.
        if !plain.is_empty() && !found.contains(&plain) && plain != "select" {
            found.push(plain);
        }
    }
    found
}

fn function(view: TokenView<'_>) -> Option<String> {
    let is_call = |at: &usize| is_name(view, *at) && view.bytes(at + 1) == b"(";
    let called = (1..view.tokens.len()).find(is_call)?;
    Some(plain(view.bytes(called))).filter(|name| !name.is_empty())
}

/// The columns compared with values after `WHERE`.
fn columns(view: TokenView<'_>) -> Vec<String> {
    const PASSED: [&str; 9] =
        ["LIKE", "ILIKE", "IN", "BETWEEN", "NOT", "ANY", "ARRAY", "CAST", "INTERVAL"];
    let Some(begin) = (0..view.tokens.len()).find(|at| view.is(*at, "WHERE")) else {
        return Vec::new();
    };
    let mut found: Vec<String> = Vec::new();
    let mut last: Option<String> = None;
    for at in begin + 1..view.tokens.len() {
        if view.is(at, "LIMIT") {
            break;
        }
        if view.is_any(at, &["AND", "OR", "ORDER", "GROUP"]) {
            last = None;
        } else if is_name(view, at) {
            // A function is no column.
            if !view.is_any(at, &PASSED) && view.bytes(at + 1) != b"(" {
                last = Some(plain(view.bytes(at)));
            }
        } else if view.kind(at) == Some(TokenKind::Mark)
            && let Some(column) = last.take().filter(|it| !it.is_empty() && !found.contains(it))
        {
            found.push(column);
        }
    }
    found.truncate(COLUMNS);
    found
}

/// A name in lower case, with only letters, digits and `_`.
fn plain(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let kept = text.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '_');
    kept.collect::<String>().to_ascii_lowercase()
}

/// Shortens a name, cutting between its parts.
fn cut(name: &str) -> String {
    if name.len() <= NAME_MAX {
        return name.trim_end_matches('-').to_owned();
    }
    let head = name.get(..NAME_MAX).unwrap_or_default();
    let end = head.rfind('-').filter(|at| *at > NAME_MAX / 3).unwrap_or(NAME_MAX);
    let head = head.get(..end).unwrap_or_default();
    head.trim_end_matches("-by").trim_end_matches('-').to_owned()
}

pub(crate) fn unique(name: String, others: &mut std::collections::HashSet<String>) -> String {
    let mut found = name.clone();
    let mut number = 2_u32;
    while !others.insert(found.clone()) {
        found = format!("{name}-{number}");
        number += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_statements_do() {
        for (form, expected) in [
            (
                "SELECT id FROM orders WHERE customer = \x01 AND status = 'open' LIMIT \x01",
                "select-orders-by-customer",
            ),
            ("SELECT * FROM `shop`.`Order Line` WHERE id IN (\x02)", "select-orderline-by-id"),
            ("INSERT INTO t (a, b) VALUES \x03(\x01, \x01)\x04", "insert-t"),
            ("UPDATE product SET stock = stock - \x01 WHERE id = \x01", "update-product-by-id"),
            ("DELETE FROM a WHERE b BETWEEN \x01 AND \x01 OR c LIKE \x01", "delete-a-by-b-c"),
            ("SELECT \x01", "select-constant"),
            ("SELECT COALESCE(NOW(), \x01)", "select-coalesce"),
            ("CALL refresh(\x01)", "call-refresh"),
        ] {
            assert_eq!(of_statement(form.as_bytes(), Dialect::MySql), expected);
        }
        let forms =
            [b"SELECT a FROM x".as_slice(), b"UPDATE y SET a = 1", b"INSERT INTO z VALUES (1)"];
        assert_eq!(of_transaction(forms.into_iter(), Dialect::Postgres), "transaction-y-z");
        let long = format!("SELECT a FROM {} WHERE b = \x01", "long_name_".repeat(9));
        assert!(of_statement(long.as_bytes(), Dialect::MySql).len() <= NAME_MAX);
    }
}
