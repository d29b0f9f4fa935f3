//! Parsers of the messages a server sends, and the framing of those a client sends.
//!
//! A message is a byte for its kind, its length without that byte, and a body. Every parser takes a body, and returns a
//! value or a [`WireError`] for any bytes.
//!
//! Source: the Postgres manual, chapter "Frontend/Backend Protocol", "Message Formats".

use std::borrow::Cow;
use std::str::from_utf8;

use crate::error::{WireError, WireResult, code_of_state, message};
use crate::value::{AnswerColumn, Notice};

/// Kind and length before the body.
pub const HEADER: usize = 5;

pub mod kind {
    pub const AUTHENTICATION: u8 = b'R';
    /// Process id and secret of the backend.
    pub const BACKEND_KEY: u8 = b'K';
    pub const PARAMETER: u8 = b'S';
    /// The server waits for the next request.
    pub const READY: u8 = b'Z';
    pub const ERROR: u8 = b'E';
    pub const COLUMNS: u8 = b'T';
    pub const ROW: u8 = b'D';
    pub const COMPLETE: u8 = b'C';
    pub const EMPTY: u8 = b'I';
    pub const PARSED: u8 = b'1';
    pub const BOUND: u8 = b'2';
    pub const CLOSED: u8 = b'3';
    pub const PARAMETERS: u8 = b't';
    pub const NO_COLUMNS: u8 = b'n';
    pub const COPY_IN: u8 = b'G';
    pub const NOTICE: u8 = b'N';
    pub const NOTIFICATION: u8 = b'A';
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandTag {
    pub returns_rows: bool,
    pub affected: u64,
}

/// Kind and body length.
pub fn parse_header(header: [u8; HEADER]) -> WireResult<(u8, usize)> {
    let [kind, a, b, c, d] = header;
    let length = i32::from_be_bytes([a, b, c, d]);
    let body = length.checked_sub(4).and_then(|it| usize::try_from(it).ok());
    Ok((kind, body.ok_or(WireError::Protocol("a message's length"))?))
}

/// SQLSTATE of an error: other objects depend on one that is to be dropped.
const DEPENDENT: &str = "2BP01";

pub fn parse_error(body: &[u8]) -> WireError {
    let (mut state, mut words, mut detail) = (String::new(), String::new(), String::new());
    let mut rest = body;
    while let Some((field, after)) = rest.split_first().filter(|(field, _)| **field != 0) {
        let Ok((value, after)) = bytes(after) else {
            return WireError::Protocol("an error without end");
        };
        // A message is in the language and the encoding of the server.
        match field {
            b'C' => state = message(value),
            b'M' => words = message(value),
            b'D' => detail = message(value),
            _ => {}
        }
        rest = after;
    }
    // Only the detail names the dependent objects.
    if state == DEPENDENT && !detail.is_empty() {
        words = format!("{words} ({})", detail.lines().collect::<Vec<_>>().join("; "));
    }
    match code_of_state(&state) {
        Some(code) => WireError::Server { code, state, message: words },
        None => WireError::Protocol("an error without a state"),
    }
}

/// Parses the tag of a complete statement, such as `UPDATE 3` or `SELECT 100`.
pub fn parse_complete(body: &[u8]) -> WireResult<CommandTag> {
    let (tag, _) = text(body)?;
    let word = tag.split(' ').next().unwrap_or_default();
    let count = || tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
    Ok(match word {
        "SELECT" | "FETCH" | "SHOW" | "EXPLAIN" => CommandTag { returns_rows: true, affected: 0 },
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "COPY" => {
            CommandTag { returns_rows: false, affected: count() }
        }
        _ => CommandTag { returns_rows: false, affected: 0 },
    })
}

pub fn parse_columns(body: &[u8]) -> WireResult<Vec<String>> {
    /// Table, column, type, size, modifier, format.
    const FACTS: usize = 4 + 2 + 4 + 2 + 4 + 2;
    let (count, mut rest) = number(body)?;
    let mut columns = Vec::new();
    for _ in 0..count {
        let (name, after) = text(rest)?;
        rest = after.get(FACTS..).ok_or(WireError::Protocol("a column that is cut off"))?;
        columns.push(name.to_owned());
    }
    Ok(columns)
}

/// Names and types of the columns: the type's number and modifier.
pub fn parse_described(body: &[u8]) -> WireResult<Vec<AnswerColumn>> {
    const WHAT: WireError = WireError::Protocol("a column that is cut off");
    let (count, mut rest) = number(body)?;
    let mut columns = Vec::new();
    for _ in 0..count {
        let (name, after) = text(rest)?;
        // Table, column, type, size, modifier, format.
        let [_, _, _, _, _, _, a, b, c, d, _, _, e, f, g, h, _, _, after @ ..] = after else {
            return Err(WHAT);
        };
        let kind = u32::from_be_bytes([*a, *b, *c, *d]);
        let modifier = i32::from_be_bytes([*e, *f, *g, *h]);
        let kind = format!("{kind} {modifier}");
        columns.push(AnswerColumn { name: name.to_owned(), kind, is_of_table: false });
        rest = after;
    }
    Ok(columns)
}

/// `None` if the notice has no text.
pub fn parse_notice(body: &[u8]) -> Option<Notice> {
    let mut notice =
        Notice { severity: String::new(), state: String::new(), message: String::new() };
    let mut rest = body;
    while let Some((field, after)) = rest.split_first().filter(|(field, _)| **field != 0) {
        let (value, after) = bytes(after).ok()?;
        match field {
            // Not localized, unlike `S`.
            b'V' => notice.severity = message(value),
            b'C' => notice.state = message(value),
            b'M' => notice.message = message(value),
            _ => {}
        }
        rest = after;
    }
    (!notice.message.is_empty()).then_some(notice)
}

pub fn parse_parameters(body: &[u8]) -> WireResult<usize> {
    number(body).map(|(count, _)| usize::from(count))
}

/// The values of a row in order; `None` is NULL. Ends after an error.
pub fn parse_row(body: &[u8]) -> WireResult<RowValues<'_>> {
    number(body).map(|(left, rest)| RowValues { left, rest })
}

#[derive(Clone, Debug)]
pub struct RowValues<'a> {
    left: u16,
    rest: &'a [u8],
}

impl<'a> Iterator for RowValues<'a> {
    type Item = WireResult<Option<&'a [u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = self.value();
        if value.is_err() {
            self.left = 0;
        }
        Some(value)
    }
}

impl<'a> RowValues<'a> {
    /// Remaining values, as announced by the server.
    pub(crate) fn left(&self) -> usize {
        usize::from(self.left)
    }

    fn value(&mut self) -> WireResult<Option<&'a [u8]>> {
        let cut_off = WireError::Protocol("a row that is cut off");
        let Some((length, rest)) = self.rest.split_first_chunk::<4>() else { return Err(cut_off) };
        self.rest = rest;
        let length = match i32::from_be_bytes(*length) {
            -1 => return Ok(None),
            length => usize::try_from(length).ok(),
        };
        let parts = length.and_then(|it| rest.split_at_checked(it));
        let (value, rest) = parts.ok_or(cut_off)?;
        self.rest = rest;
        Ok(Some(value))
    }
}

/// Name and value of a setting that the server reports.
pub fn parse_parameter(body: &[u8]) -> WireResult<(&str, Cow<'_, str>)> {
    let (name, rest) = text(body)?;
    Ok((name, String::from_utf8_lossy(bytes(rest)?.0)))
}

pub fn parse_backend(body: &[u8]) -> WireResult<u32> {
    let id = body.first_chunk::<4>().ok_or(WireError::Protocol("a backend without process id"))?;
    Ok(u32::from_be_bytes(*id))
}

/// Text up to its terminating zero, and the bytes after it. Fails if it is not UTF-8.
fn text(all: &[u8]) -> WireResult<(&str, &[u8])> {
    let (text, rest) = bytes(all)?;
    let text = from_utf8(text).map_err(|_| WireError::Protocol("a text that is not UTF-8"))?;
    Ok((text, rest))
}

fn bytes(all: &[u8]) -> WireResult<(&[u8], &[u8])> {
    let end = all.iter().position(|byte| *byte == 0);
    let (bytes, rest) = end
        .and_then(|at| all.split_at_checked(at))
        .ok_or(WireError::Protocol("a text without end"))?;
    Ok((bytes, rest.get(1..).unwrap_or_default()))
}

fn number(bytes: &[u8]) -> WireResult<(u16, &[u8])> {
    let (number, rest) =
        bytes.split_first_chunk::<2>().ok_or(WireError::Protocol("a count that is cut off"))?;
    Ok((u16::from_be_bytes(*number), rest))
}

pub(crate) fn put_message(
    kind: u8,
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>),
) -> WireResult<()> {
    out.push(kind);
    put_length(out, put)
}

/// Appends a length that counts itself and the bytes appended by `put`.
pub(crate) fn put_length(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) -> WireResult<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put(out);
    let length = i32::try_from(out.len() - start)
        .map_err(|_| WireError::Usage("a message of 2 GiB or more"))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Appends text and a terminating zero.
pub(crate) fn put_text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
    out.push(0);
}

/// The text as bytes. Fails if it contains a zero, which would end it early.
pub(crate) fn checked(text: &str) -> WireResult<&[u8]> {
    if text.contains('\0') {
        return Err(WireError::Usage("a text that holds a zero byte"));
    }
    Ok(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_give_the_result_of_a_statement() {
        let complete = |tag: &[u8]| parse_complete(tag).unwrap();
        let rows = CommandTag { returns_rows: true, affected: 0 };
        assert_eq!([complete(b"SELECT 100\0"), complete(b"SHOW\0")], [rows, rows]);
        let changed = |affected| CommandTag { returns_rows: false, affected };
        assert_eq!(complete(b"INSERT 0 7\0"), changed(7));
        assert_eq!(complete(b"UPDATE 0\0"), changed(0));
        assert_eq!(complete(b"BEGIN\0"), changed(0));
        assert!(parse_complete(b"BEGIN").is_err());
    }

    #[test]
    fn errors_have_state_and_message() {
        let body = b"SERROR\0VERROR\0C40001\0Mcould not serialize\0Fexecmain.c\0\0";
        let error = parse_error(body);
        assert_eq!(error.to_string(), "server error `40001`: could not serialize");
        assert_eq!(error.server_code(), code_of_state("40001"));
        let latin1 = parse_error(b"C40P01\0Mverklemmt \xfc\0\0");
        assert_eq!(latin1.server_code(), code_of_state("40P01"));
        for bad in [&b""[..], b"\0", b"Mno state\0\0", b"C40001", b"Cabc\0\0"] {
            assert!(matches!(parse_error(bad), WireError::Protocol(_)), "{bad:?}");
        }
        let long = [b"C40001\0M", &vec![b'x'; 20 << 20][..], b"\0\0"].concat();
        let text = parse_error(&long).to_string();
        assert!(text.len() < 2200 && text.contains("cut off"), "{} bytes", text.len());
    }

    #[test]
    fn rows_hold_values_and_nulls() {
        let row = parse_row(b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0").unwrap();
        let values: Vec<_> = row.map(Result::unwrap).collect();
        assert_eq!(values, [Some(&b"ab"[..]), None, Some(&b""[..])]);
        for bad in [&b""[..], b"\0\x01", b"\0\x01\0\0\0\x02a", b"\0\x01\xff\xff\xff\xfe"] {
            assert!(
                parse_row(bad).and_then(|mut row| row.try_for_each(|it| it.map(drop))).is_err(),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn impossible_lengths_are_refused() {
        assert_eq!(parse_header([b'Z', 0, 0, 0, 5]).unwrap(), (b'Z', 1));
        for length in [[0, 0, 0, 3], [0xff; 4], [0x80, 0, 0, 0]] {
            let [a, b, c, d] = length;
            assert!(parse_header([b'Z', a, b, c, d]).is_err());
        }
    }
}
