//! `log_line_prefix` of Postgres: the text before each message of a plain log.

use std::collections::BTreeMap;

use crate::reader::{lines, number_of};
use crate::sql::token::find;
use crate::time;

/// Prefixes to try by default: those of packages, of services, and of guides for log analyzers.
pub(super) const KNOWN: [&str; 19] = [
    "%m [%p] %q%u@%d ",
    "%m [%p] ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] user=%u,db=%d ",
    "%t [%p]: user=%u,db=%d ",
    "%m [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%m [%p]: [%l-1] user=%u,db=%d ",
    "%t [%p-%l] %q%u@%d ",
    "%t [%p]: [%l-1] ",
    "%t [%p] %u@%d ",
    "%m [%p] %u@%d ",
    "%t:%r:%u@%d:[%p]:",
    "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",
    "%t [%p] ",
    "%m ",
    "%m [%p]: [%l-1] db=%d,user=%u ",
    "%q%u@%d ",
    "sql_error_code = %e ",
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum PrefixPart {
    Text(Vec<u8>),
    /// The letter of an escape, whose value may be padded, as in `%-10u`.
    Field(u8),
    /// `%q`: only sessions have the rest.
    Stop,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinePrefix {
    parts: Vec<PrefixPart>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PrefixFields {
    pub(super) at_us: Option<i64>,
    pub(super) session: u64,
    pub(super) database: Option<String>,
    pub(super) application: Vec<u8>,
}

impl LinePrefix {
    pub(super) fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut literal = Vec::new();
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            if byte != b'%' {
                literal.push(byte);
                continue;
            }
            while bytes.next_if(|it| it.is_ascii_digit() || *it == b'-').is_some() {}
            match bytes.next() {
                Some(b'%') => literal.push(b'%'),
                Some(field) => {
                    if !literal.is_empty() {
                        parts.push(PrefixPart::Text(std::mem::take(&mut literal)));
                    }
                    parts.push(if field == b'q' {
                        PrefixPart::Stop
                    } else {
                        PrefixPart::Field(field)
                    });
                }
                None => {}
            }
        }
        if !literal.is_empty() {
            parts.push(PrefixPart::Text(literal));
        }
        Self { parts }
    }

    /// The values in a line's prefix, and the message after it, which must begin with a severity.
    pub(super) fn read<'l>(&self, line: &'l [u8]) -> Option<(PrefixFields, &'l [u8])> {
        self.to_end(line, true).or_else(|| self.to_end(line, false))
    }

    /// Like `read`, for a session, or for another process, whose prefix ends at `%q`.
    fn to_end<'l>(&self, line: &'l [u8], is_session: bool) -> Option<(PrefixFields, &'l [u8])> {
        let mut message = PrefixFields::default();
        let mut rest = line;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                PrefixPart::Text(text) => rest = rest.strip_prefix(text.as_slice())?,
                PrefixPart::Stop if is_session => {}
                PrefixPart::Stop => break,
                PrefixPart::Field(field) => {
                    let length = length(*field, rest, parts.peek().copied())?;
                    let (value, after) = rest.split_at_checked(length)?;
                    message.note(*field, value.trim_ascii());
                    rest = after;
                }
            }
        }
        severity(rest)?;
        Some((message, rest))
    }
}

fn length(field: u8, rest: &[u8], next: Option<&PrefixPart>) -> Option<usize> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match field {
        b't' | b'm' | b's' => {
            let (_, length) = time::leading(rest)?;
            // A time such as `2026-11-28T10:00:00+00:00` includes its zone.
            let has_zone = rest.get(10) == Some(&b'T');
            Some(length + if has_zone { 0 } else { zone_length(rest.get(length..)?) })
        }
        b'n' => Some(rest.iter().take_while(|it| it.is_ascii_digit() || **it == b'.').count())
            .filter(|it| *it > 0),
        b'p' | b'l' | b'P' | b'x' => (digits > 0).then_some(digits),
        b'Q' => Some(rest.iter().take_while(|it| it.is_ascii_digit() || **it == b'-').count()),
        _ => match next {
            Some(PrefixPart::Text(text)) => crate::sql::token::find(rest, text),
            // A value without a recognizable end.
            Some(_) => rest.iter().position(|byte| *byte == b' '),
            None => severity_at(rest),
        },
    }
}

/// The length of a blank and a zone after a time: a name such as `CET`, or an offset such as `+03`; not the next word.
pub(super) fn zone_length(rest: &[u8]) -> usize {
    let Some(zone) = rest.strip_prefix(b" ") else { return 0 };
    let is_offset = matches!(zone, [b'+' | b'-', digit, ..] if digit.is_ascii_digit());
    let is_part = |byte: &u8| {
        if is_offset {
            byte.is_ascii_digit() || *byte == b':'
        } else {
            byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'_')
        }
    };
    let sign = usize::from(is_offset);
    let length = sign + zone.iter().skip(sign).take_while(|byte| is_part(byte)).count();
    if length > 0 { 1 + length } else { 0 }
}

impl PrefixFields {
    fn note(&mut self, field: u8, value: &[u8]) {
        match field {
            b't' | b'm' => self.at_us = time::leading(value).map(|(at, _)| at),
            b'n' => self.at_us = time::epoch(value),
            // The session id identifies more than its process, whose number may be reused.
            b'c' => self.session = number_of(value),
            b'p' if self.session == 0 => {
                self.session = number_of(value);
            }
            b'd' if !matches!(value, b"[unknown]" | b"") => {
                self.database = Some(String::from_utf8_lossy(value).into_owned());
            }
            b'a' => self.application = value.to_vec(),
            _ => {}
        }
    }
}

const SEVERITIES: [&str; 19] = [
    "LOG",
    "ERROR",
    "FATAL",
    "PANIC",
    "WARNING",
    "NOTICE",
    "INFO",
    "DETAIL",
    "HINT",
    "STATEMENT",
    "CONTEXT",
    "QUERY",
    "LOCATION",
    "DEBUG",
    "DEBUG1",
    "DEBUG2",
    "DEBUG3",
    "DEBUG4",
    "DEBUG5",
];

/// The severity at the beginning of a text, and the message after it.
pub(super) fn severity(text: &[u8]) -> Option<(&'static str, &[u8])> {
    SEVERITIES.iter().find_map(|word| {
        let rest = text.strip_prefix(word.as_bytes())?.strip_prefix(b":")?;
        Some((*word, rest.strip_prefix(b"  ").unwrap_or(rest.trim_ascii_start())))
    })
}

/// Position of the first severity in a line, a word with two blanks after its colon.
pub(super) fn severity_at(rest: &[u8]) -> Option<usize> {
    let is_here = |at: &usize| {
        let is_begin = at
            .checked_sub(1)
            .and_then(|at| rest.get(at))
            .is_none_or(|it| !it.is_ascii_alphanumeric());
        let rest = rest.get(*at..).filter(|_| is_begin);
        rest.is_some_and(|rest| {
            SEVERITIES.iter().any(|word| {
                rest.strip_prefix(word.as_bytes()).is_some_and(|it| it.starts_with(b":  "))
            })
        })
    };
    (0..rest.len().min(200)).find(is_here)
}

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
    use super::*;

    #[test]
    fn prefixes_are_read() {
        let fields = |prefix: &str, line: &'static str| {
            let (message, rest) = LinePrefix::parse(prefix).read(line.as_bytes())?;
            Some((
                message.at_us,
                message.session,
                message.database,
                String::from_utf8_lossy(rest).into_owned(),
            ))
        };
        let at = Some(1_795_819_519_100_000);
        let seconds = Some(1_795_819_519_000_000);
        let pid = number_of(b"77");
        for (prefix, line, expected) in [
            (
                "%m [%p] %q%u@%d ",
                "2026-11-27 22:45:19.100 UTC [77] me@shop LOG:  x",
                (at, pid, Some("shop")),
            ),
            ("%m [%p] %q%u@%d ", "2026-11-27 22:45:19.100 UTC [77] LOG:  x", (at, pid, None)),
            (
                KNOWN[2],
                "2026-11-27 22:45:19 CET [77]: [3-1] user=me,db=shop,app=psql,client=[local] LOG:  x",
                (seconds, pid, Some("shop")),
            ),
            (
                "%t:%r:%u@%d:[%p]:",
                "2026-11-27 22:45:19 UTC:10.0.0.1(5432):me@shop:[77]:LOG:  x",
                (seconds, pid, Some("shop")),
            ),
            (
                "%n %c %d%%",
                "1795819519.100 a.b shop%LOG:  x",
                (at, number_of(b"a.b"), Some("shop")),
            ),
        ] {
            let (at, session, database) = expected;
            let expected = (at, session, database.map(str::to_owned), "LOG:  x".to_owned());
            assert_eq!(fields(prefix, line), Some(expected), "{prefix}");
        }
        assert_eq!(fields("%m [%p] ", "select 1"), None);
        assert_eq!(fields("%m [%p] ", "2026-11-27 22:45:19.100 UTC [77] hello"), None);
    }

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
            assert!(LinePrefix::parse(expected).read(line.as_bytes()).is_some(), "{line}");
        }
        assert!(inferred(b"<app|shop|77>LOG:  duration: 1 ms").is_empty());
        assert!(inferred(b"2026-11-28 10:00:00 INFO:  ready\n").is_empty());
        assert!(is_message(b"2026-11-28 10:00:00.123 UTC [1] LOG:  x"));
        assert!(!is_message(b"FROM t WHERE a = 'LOG:  x'"));
    }
}
