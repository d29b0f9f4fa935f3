//! Infers `log_line_prefix` from the lines of a log.

use std::collections::BTreeMap;

use super::prefix::{severity_at, zone_length};
use crate::reader::lines;
use crate::sql::token::find;
use crate::time;

const LINES: usize = 200;

const PREFIXES: usize = 8;

const LENGTH: usize = 200;

/// Words before a value, and the value's field.
const KEYS: [(&str, &str); 28] = [
    ("user", "%u"),
    ("usr", "%u"),
    ("u", "%u"),
    ("role", "%u"),
    ("db", "%d"),
    ("dbname", "%d"),
    ("database", "%d"),
    ("d", "%d"),
    ("app", "%a"),
    ("appname", "%a"),
    ("application", "%a"),
    ("application_name", "%a"),
    ("a", "%a"),
    ("client", "%h"),
    ("host", "%h"),
    ("remote", "%r"),
    ("ip", "%h"),
    ("h", "%h"),
    ("r", "%r"),
    ("pid", "%p"),
    ("p", "%p"),
    ("session", "%c"),
    ("sess", "%c"),
    ("line", "%l"),
    ("xid", "%x"),
    ("vxid", "%v"),
    ("cmd", "%i"),
    ("tag", "%i"),
];

/// The prefixes of a log's lines, the most frequent first. A log must have lines with durations or statements.
pub(super) fn inferred(head: &[u8]) -> Vec<String> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut has_statements = false;
    for line in lines(head).take(LINES) {
        let Some(at) = severity_at(line).filter(|at| (1..=LENGTH).contains(at)) else { continue };
        let message = line.get(at..).unwrap_or_default();
        has_statements |= [b"LOG:  duration: ".as_slice(), b"LOG:  statement: ", b"LOG:  execute "]
            .iter()
            .any(|begin| message.starts_with(begin));
        let Ok(text) = std::str::from_utf8(line.get(..at).unwrap_or_default()) else { continue };
        if let Some(prefix) = prefix_of(text) {
            *found.entry(prefix).or_default() += 1;
        }
    }
    if !has_statements {
        return Vec::new();
    }
    let mut found: Vec<(String, usize)> = found.into_iter().collect();
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found.into_iter().take(PREFIXES).map(|(prefix, _)| prefix).collect()
}

/// The setting that would produce a text before a message: it must have a time, and no word that may be an unknown
/// value.
fn prefix_of(text: &str) -> Option<String> {
    let mut out = String::new();
    let (mut has_process, mut has_time) = (false, false);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((field, length)) = timestamp(rest) {
            out.push_str(field);
            has_time = true;
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() {
            if first == '%' {
                out.push('%');
            }
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        let key = KEYS.iter().find(|(key, _)| word.eq_ignore_ascii_case(key));
        if let (Some(value), Some((_, field))) = (after.strip_prefix('='), key) {
            out.push_str(word);
            out.push('=');
            out.push_str(field);
            let end = value.find([',', ' ', ']', ')', '|', ';', '/']).unwrap_or(value.len());
            rest = value.get(end..).unwrap_or_default();
        } else if let Some(value) = after.strip_prefix('@') {
            out.push_str("%u@%d");
            let is_part = |c| is_part(c) || c == '-';
            let end = value.find(|c| !is_part(c)).unwrap_or(value.len());
            rest = value.get(end..).unwrap_or_default();
        } else {
            let field = of_word(word, has_process)?;
            has_process |= field == "%p";
            has_time |= field == "%n";
            out.push_str(field);
            rest = after;
        }
    }
    has_time.then_some(out)
}

/// A time at the beginning of a text: its field, and its length with the zone.
fn timestamp(text: &str) -> Option<(&'static str, usize)> {
    let (_, length) = time::leading(text.as_bytes()).filter(|(_, length)| *length > 10)?;
    let field = if text.get(..length)?.contains('.') { "%m" } else { "%t" };
    let zone = text.get(length..)?.as_bytes();
    // A word of the prefix is no zone, whose name has capitals.
    let is_zone = zone.get(1).is_some_and(|it| !it.is_ascii_lowercase());
    Some((field, length + if is_zone { zone_length(zone) } else { 0 }))
}

/// The field of a word without a key.
fn of_word(word: &str, has_process: bool) -> Option<&'static str> {
    let are = |text: &str, is: fn(&u8) -> bool| !text.is_empty() && text.bytes().all(|it| is(&it));
    if are(word, u8::is_ascii_digit) {
        return Some(if has_process { "%l" } else { "%p" });
    }
    let (before, after) = word.split_once('.')?;
    let is_session = before.len() >= 8 && are(before, u8::is_ascii_hexdigit);
    match () {
        () if before.len() == 10 && are(word, |it| it.is_ascii_digit() || *it == b'.') => {
            Some("%n")
        }
        () if is_session && are(after, u8::is_ascii_hexdigit) => Some("%c"),
        () => None,
    }
}

/// Whether a line begins a message under an unknown prefix: it begins with a time and has a severity.
pub(super) fn is_message(line: &[u8]) -> bool {
    let head = line.get(..line.len().min(LENGTH)).unwrap_or_default();
    let has_digit = head.iter().take(20).any(u8::is_ascii_digit);
    has_digit
        && find(head, b":  ").is_some()
        && severity_at(line).is_some_and(|at| at > 0)
        && (0..head.len().min(40)).any(|at| {
            head.get(at..).is_some_and(|rest| time::leading(rest).is_some_and(|(_, end)| end > 10))
        })
}

#[cfg(test)]
mod tests {
    use super::super::prefix::Prefix;
    use super::*;

    #[test]
    fn the_prefix_follows_from_the_lines() {
        for (line, expected) in [
            ("2026-11-28 10:00:00.123 UTC-6a1b2c3d.4d-LOG:  duration: 1 ms", "%m-%c-"),
            (
                "2026-11-28 10:00:00 CET <7> db=shop,user=me LOG:  duration: 1 ms",
                "%t <%p> db=%d,user=%u ",
            ),
            ("1795819519.100 [77] 100% LOG:  duration: 1 ms", "%n [%p] %l%% "),
        ] {
            assert_eq!(inferred(line.as_bytes()), [expected], "{line}");
            assert!(Prefix::of(expected).read(line.as_bytes()).is_some(), "{line}");
        }
        assert!(inferred(b"<app|shop|77>LOG:  duration: 1 ms").is_empty());
        assert!(inferred(b"2026-11-28 10:00:00 INFO:  ready\n").is_empty());
        assert!(is_message(b"2026-11-28 10:00:00.123 UTC [1] LOG:  x"));
        assert!(!is_message(b"FROM t WHERE a = 'LOG:  x'"));
    }
}
