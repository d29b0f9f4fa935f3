//! Renders normal forms as SQL text with variables.

use std::fmt::Write as _;

use crate::sql::normal::{LIST, ROWS, ROWS_END, SCALAR};

/// Renders a normal form as SQL: `rows` is the number of rows of `VALUES`, and `value` returns the text for each value
/// in order, given the preceding text of the statement.
pub(crate) fn rendered(
    form: &[u8],
    rows: usize,
    mut value: impl FnMut(usize, &str) -> String,
) -> String {
    let text = String::from_utf8_lossy(form);
    let mut out = String::with_capacity(text.len());
    let mut number = 0;
    let mut write = |part: &str, out: &mut String| {
        for char in part.chars() {
            if char == char::from(SCALAR) || char == char::from(LIST) {
                let shown = value(number, out);
                out.push_str(&shown);
                number += 1;
            } else {
                out.push(char);
            }
        }
    };
    let (begin, end) = (char::from(ROWS), char::from(ROWS_END));
    match text.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?))) {
        Some((before, (row, after))) => {
            write(before, &mut out);
            for at in 0..rows.max(1) {
                out.push_str(if at > 0 { ", " } else { "" });
                write(row, &mut out);
            }
            write(after, &mut out);
        }
        None => write(&text, &mut out),
    }
    out
}

/// A readable normal form, with `?` for values and `...` for further ones.
pub(crate) fn shown(form: &[u8]) -> String {
    let text = String::from_utf8_lossy(form);
    let marks = [(SCALAR, "?"), (LIST, "?, ..."), (ROWS, ""), (ROWS_END, ", ...")];
    let marked = marks
        .iter()
        .fold(text.into_owned(), |text, (mark, shown)| text.replace(char::from(*mark), shown));
    // Literals that are kept, and hints, may have several lines.
    marked.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn key(name: &str) -> String {
    let is_bare = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' || control == '\u{7f}' => {
                let _ = write!(out, "\\u{:04X}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_often_as_they_are_needed() {
        let form = b"INSERT INTO t VALUES \x03(\x01, NOW())\x04 ON DUPLICATE KEY UPDATE a = \x01";
        let sql = rendered(form, 2, |number, _| format!(":p{number}"));
        assert_eq!(
            sql,
            "INSERT INTO t VALUES (:p0, NOW()), (:p1, NOW()) ON DUPLICATE KEY UPDATE a = :p2"
        );
        assert_eq!(
            shown(form),
            "INSERT INTO t VALUES (?, NOW()), ... ON DUPLICATE KEY UPDATE a = ?"
        );
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted("a\"b\\c\nd\u{1}"), "\"a\\\"b\\\\c\\nd\\u0001\"");
        assert_eq!(key("a-b_1"), "a-b_1");
        assert_eq!(key("a.b"), "\"a.b\"");
    }
}
