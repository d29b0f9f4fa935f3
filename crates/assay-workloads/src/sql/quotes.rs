//! Lengths of quoted texts and comments in SQL.

/// The bytes of a comment that MySQL and MariaDB execute, and whether it is terminated: strings and quoted names in it
/// may contain `*/`.
pub(super) fn executed_comment(rest: &str) -> (usize, bool) {
    let mut at = "/*!".len();
    while let Some(rest) = rest.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("*/") {
            return (at + 2, true);
        }
        at += match rest.chars().next() {
            Some(quote @ ('\'' | '"' | '`')) => match quoted(rest, quote, quote != '`') {
                (length, true) => length,
                (length, false) => return (at + length, false),
            },
            other => other.map_or(1, char::len_utf8),
        };
    }
    (at, false)
}

/// The bytes of a nestable comment, as in Postgres, and whether it is terminated.
pub(super) fn nested_comment(rest: &str) -> (usize, bool) {
    let (mut depth, mut at) = (0_u32, 0);
    while let Some(rest) = rest.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth.saturating_sub(1), at + 2);
            if depth == 0 {
                return (at, true);
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    (at, false)
}

/// The bytes of a quoted text including quotes, and whether it is terminated. A doubled quote is part of it, and so is
/// a backslash-escaped one if `has_escapes`.
pub(super) fn quoted(rest: &str, quote: char, has_escapes: bool) -> (usize, bool) {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, char)) = chars.next() {
        if char == '\\' && has_escapes {
            chars.next();
        } else if char == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return (at + 1, true);
        }
    }
    (rest.len(), false)
}
