//! Postgres log lines wrapped in syslog lines, or in Heroku logs.

use crate::reader::number_of;
use crate::sql::token::find;
use crate::time;

const HEAD: usize = 300;

/// A line without the other log's prefix.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrapped<'l> {
    /// Time of logging, if it has a year.
    pub(super) at_us: Option<i64>,
    /// The process.
    pub(super) session: u64,
    /// The line begins a message.
    pub(super) is_first: bool,
    pub(super) text: &'l [u8],
}

/// Parses `Nov 28 10:00:00 host postgres[77]: [5-1] LOG:  ...`, whose message continues with `[5-2]`, or
/// `2026-11-28T10:00:00+00:00 app[postgres.77]: [DATABASE] [5-1] ... LOG:  ...`.
pub(super) fn unwrapped(line: &[u8]) -> Option<Wrapped<'_>> {
    let head = line.get(..line.len().min(HEAD)).filter(|head| time::is_of_syslog(head))?;
    let colon = find(head, b"]: [")?;
    let open = head.get(..colon)?.iter().rposition(|byte| *byte == b'[')?;
    // Prefixes of Postgres have `[%p]: [%l-1]` after a blank.
    let is_program = open.checked_sub(1).and_then(|at| head.get(at))?.is_ascii_alphanumeric();
    let process = head.get(open + 1..colon)?;
    let number = process.strip_prefix(b"postgres.").unwrap_or(process);
    if !is_program || number.is_empty() || !number.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut rest = line.get(colon + 3..)?;
    let mut line_number = None;
    // The color of a Heroku database precedes the line's number.
    for _ in 0..2 {
        let end = rest.get(..rest.len().min(HEAD))?.iter().position(|byte| *byte == b']')?;
        let inside = rest.strip_prefix(b"[")?.get(..end - 1)?;
        rest = rest.get(end + 1..)?;
        line_number = part_number(inside);
        if line_number.is_some() {
            break;
        }
        rest = rest.strip_prefix(b" ")?;
    }
    let is_first = line_number? == 1;
    let text = match is_first {
        true => rest.trim_ascii_start(),
        // The tab of a continuation line.
        false => {
            let rest = rest.strip_prefix(b" ").unwrap_or(rest);
            rest.strip_prefix(b"#011").or(rest.strip_prefix(b"\t")).unwrap_or(rest)
        }
    };
    let at_us = time::leading(line).map(|(at, _)| at);
    Some(Wrapped { at_us, session: number_of(number), is_first, text })
}

/// The second number of `5-1`.
fn part_number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (message, part) = text.split_once('-')?;
    message.parse::<u64>().ok()?;
    part.parse().ok()
}

/// The first lines of a log's messages, without the other log's prefix.
pub(super) fn unwrapped_head(head: &[u8]) -> Vec<u8> {
    let lines = crate::reader::lines(head).filter_map(unwrapped).filter(|it| it.is_first);
    lines.flat_map(|it| it.text.iter().copied().chain([b'\n'])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_out_of_other_logs() {
        let of = |line: &'static str| {
            let found = unwrapped(line.as_bytes())?;
            let text = std::str::from_utf8(found.text).unwrap();
            Some((found.at_us.is_some(), found.session == number_of(b"77"), found.is_first, text))
        };
        for (line, expected) in [
            (
                "Nov 28 10:00:00 db1 postgres[77]: [5-1] me@shop LOG:  duration: 1 ms",
                Some((false, true, true, "me@shop LOG:  duration: 1 ms")),
            ),
            (
                "Nov 28 10:00:00 db1 postgres[77]: [5-2] #011FROM t",
                Some((false, true, false, "FROM t")),
            ),
            ("<134>1 2026-11-28T10:00:00+00:00 host app postgres.77 - [5-1] x", None),
            (
                "2026-11-28T10:00:00+00:00 app[postgres.77]: [DATABASE] [5-1]  sql_error_code = 00000 LOG:  x",
                Some((true, true, true, "sql_error_code = 00000 LOG:  x")),
            ),
            (
                "2026-11-28T10:00:00+00:00 app[postgres.77]: [DATABASE] [5-2]  \tFROM t",
                Some((true, true, false, " \tFROM t")),
            ),
            ("2026-11-27 22:45:19 CET [77]: [3-1] user=me,db=shop LOG:  x", None),
            ("SELECT a[1]: [2-1]", None),
            ("Nov 28 10:00:00 ]: [", None),
            ("Nov 28 10:00:00 a[]: [1-1] x", None),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }
}
