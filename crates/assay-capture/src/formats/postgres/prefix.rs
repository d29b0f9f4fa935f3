//! `log_line_prefix` of Postgres: the text before each message of a plain log.

use crate::reader::number_of;
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
enum Part {
    Text(Vec<u8>),
    /// The letter of an escape, whose value may be padded, as in `%-10u`.
    Field(u8),
    /// `%q`: only sessions have the rest.
    Stop,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix {
    parts: Vec<Part>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PrefixFields {
    pub(super) at_us: Option<i64>,
    pub(super) session: u64,
    pub(super) database: Option<String>,
    pub(super) application: Vec<u8>,
}

impl Prefix {
    pub(super) fn of(text: &str) -> Self {
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
                        parts.push(Part::Text(std::mem::take(&mut literal)));
                    }
                    parts.push(if field == b'q' { Part::Stop } else { Part::Field(field) });
                }
                None => {}
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
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
                Part::Text(text) => rest = rest.strip_prefix(text.as_slice())?,
                Part::Stop if is_session => {}
                Part::Stop => break,
                Part::Field(field) => {
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

fn length(field: u8, rest: &[u8], next: Option<&Part>) -> Option<usize> {
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
            Some(Part::Text(text)) => crate::sql::token::find(rest, text),
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
    let is_part = |byte: &u8| match is_offset {
        true => byte.is_ascii_digit() || *byte == b':',
        false => byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'_'),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_read() {
        let of = |prefix: &str, line: &'static str| {
            let (message, rest) = Prefix::of(prefix).read(line.as_bytes())?;
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
            assert_eq!(of(prefix, line), Some(expected), "{prefix}");
        }
        assert_eq!(of("%m [%p] ", "select 1"), None);
        assert_eq!(of("%m [%p] ", "2026-11-27 22:45:19.100 UTC [77] hello"), None);
    }
}
