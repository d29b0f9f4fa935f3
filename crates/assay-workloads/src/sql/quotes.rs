//! How long quoted texts and comments of SQL are.

/// The bytes of a comment that MySQL and MariaDB execute, and whether it has an end: strings and quoted names in it may
/// contain `*/`.
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

/// The bytes of a comment that may hold others, as those of Postgres, and whether it has an end.
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

/// The bytes of a quoted text, quotes included, and whether it has an end. A doubled quote belongs to it, and so does a
/// quote after a backslash if those have a meaning.
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
