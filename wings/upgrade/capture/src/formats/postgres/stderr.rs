//! The plain log of Postgres, `log_destination = stderr`.

use assay_model::Dialect;

use super::messages::{Message, StatementMessages};
use super::prefix::{KNOWN, LinePrefix, PrefixFields, inferred, is_message, severity};
use crate::reader::{EntrySink, LogFormat, LogHints, LogReader, lines, number_of};
use crate::sql::token::find;
use crate::time;

pub(crate) const FORMAT: LogFormat = LogFormat {
    name: "stderr",
    about: "plain log of Postgres, also in syslog, whose log_line_prefix is recognised or given",
    dialect: Some(Dialect::Postgres),
    looks: |head, given| recognised(head, given).is_some(),
    open: |head, given| {
        let (prefix, is_wrapped) = recognised(head, given).unwrap_or_else(|| {
            (LinePrefix::parse(KNOWN.first().copied().unwrap_or_default()), false)
        });
        Box::new(PlainLog {
            prefix,
            is_wrapped,
            messages: StatementMessages::default(),
            record: None,
            has_begun: false,
        })
    },
};

const LINES: usize = 2000;

const TEXT_MAX: usize = 32 << 20;

/// The prefix of a log, and whether its lines are wrapped in those of another log.
fn recognised(head: &[u8], given: &LogHints) -> Option<(LinePrefix, bool)> {
    let plain = || Some((prefix(head, given, false)?, false));
    let wrapped = || Some((prefix(&unwrapped_head(head), given, true)?, true));
    match given.log_line_prefix {
        // The given prefix may be that of the other log.
        Some(_) => plain().or_else(wrapped),
        None => wrapped().or_else(plain),
    }
}

/// The most frequent prefix. Ties go to the first.
fn prefix(head: &[u8], given: &LogHints, is_wrapped: bool) -> Option<LinePrefix> {
    let candidates: Vec<LinePrefix> = match &given.log_line_prefix {
        Some(text) => vec![LinePrefix::parse(text)],
        None => {
            let known = KNOWN.iter().map(|text| LinePrefix::parse(text));
            let empty = (is_wrapped || has_no_prefix(head)).then(|| LinePrefix::parse(""));
            let inferred = inferred(head).into_iter().map(|text| LinePrefix::parse(&text));
            known.chain(empty).chain(inferred).collect()
        }
    };
    let count = |prefix: &LinePrefix| {
        lines(head).take(LINES).filter(|line| prefix.read(line).is_some()).count()
    };
    let mut best: Option<(usize, LinePrefix)> = None;
    for prefix in candidates {
        let found = count(&prefix);
        if found > best.as_ref().map_or(0, |(most, _)| *most) {
            best = Some((found, prefix));
        }
    }
    best.map(|(_, prefix)| prefix)
}

/// Whether messages about statements begin their lines.
fn has_no_prefix(head: &[u8]) -> bool {
    const BEGINS: [&[u8]; 3] = [b"LOG:  duration: ", b"LOG:  statement: ", b"LOG:  execute "];
    lines(head).any(|line| BEGINS.iter().any(|begin| line.starts_with(begin)))
}

#[derive(Debug)]
struct StderrRecord {
    prefix_fields: PrefixFields,
    severity: &'static str,
    text: Vec<u8>,
    detail: Vec<u8>,
    /// Whether the following lines belong to the detail, the text, or neither.
    to: RecordPart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordPart {
    Text,
    Detail,
    Nothing,
}

#[derive(Debug)]
struct PlainLog {
    prefix: LinePrefix,
    /// Its lines are wrapped in those of another log.
    is_wrapped: bool,
    messages: StatementMessages,
    record: Option<StderrRecord>,
    has_begun: bool,
}

impl LogReader for PlainLog {
    fn line(&mut self, line: &[u8], out: &mut dyn EntrySink) {
        if !self.is_wrapped {
            return self.inner(line, None, out);
        }
        match unwrapped(line) {
            Some(wrapped) if wrapped.is_first => self.inner(wrapped.text, Some(&wrapped), out),
            Some(wrapped) => self.more(wrapped.text, line, out),
            None if line.is_empty() => {}
            None => out.unreadable(line),
        }
    }

    fn end(&mut self, out: &mut dyn EntrySink) {
        self.finish(out);
        self.messages.end(out);
    }
}

impl PlainLog {
    fn inner(&mut self, line: &[u8], wrapped: Option<&WrappedLine<'_>>, out: &mut dyn EntrySink) {
        // Continuation lines begin with a tab.
        if let Some(rest) = line.strip_prefix(b"\t") {
            return self.more(rest, line, out);
        }
        let read = self.prefix.read(line);
        let Some((mut prefix_fields, (severity, text))) =
            read.and_then(|(prefix_fields, rest)| Some((prefix_fields, severity(rest)?)))
        else {
            // Forwarded logs lack the tab.
            if self.record.is_some() && wrapped.is_none() && !line.is_empty() && !is_message(line) {
                return self.more(line, line, out);
            }
            if !line.is_empty() {
                self.finish(out);
                out.unreadable(line);
            }
            return;
        };
        if let Some(wrapped) = wrapped {
            prefix_fields.at_us = prefix_fields.at_us.or(wrapped.at_us);
            prefix_fields.session =
                if prefix_fields.session == 0 { wrapped.session } else { prefix_fields.session };
        }
        self.has_begun = true;
        match severity {
            "DETAIL" => self.detail(&prefix_fields, text),
            "HINT" | "STATEMENT" | "CONTEXT" | "QUERY" | "LOCATION" => {
                if let Some(record) = &mut self.record {
                    record.to = RecordPart::Nothing;
                }
            }
            _ => {
                self.finish(out);
                let (text, detail) = (text.to_vec(), Vec::new());
                self.record = Some(StderrRecord {
                    prefix_fields,
                    severity,
                    text,
                    detail,
                    to: RecordPart::Text,
                });
            }
        }
    }

    fn detail(&mut self, prefix_fields: &PrefixFields, text: &[u8]) {
        if let Some(record) =
            self.record.as_mut().filter(|it| it.prefix_fields.session == prefix_fields.session)
        {
            record.detail = text.to_vec();
            record.to = RecordPart::Detail;
        }
    }

    fn more(&mut self, rest: &[u8], line: &[u8], out: &mut dyn EntrySink) {
        let Some(record) = &mut self.record else {
            // A log may begin in the middle of a message.
            if self.has_begun || !line.trim_ascii().is_empty() {
                out.unreadable(line);
            }
            return;
        };
        let into = match record.to {
            RecordPart::Text => &mut record.text,
            RecordPart::Detail => &mut record.detail,
            RecordPart::Nothing => return,
        };
        if into.len() + rest.len() <= TEXT_MAX {
            into.push(b'\n');
            into.extend_from_slice(rest);
        }
    }

    fn finish(&mut self, out: &mut dyn EntrySink) {
        let Some(record) = self.record.take() else { return };
        let message = Message {
            at_us: record.prefix_fields.at_us,
            session: record.prefix_fields.session,
            database: record.prefix_fields.database.as_deref(),
            application: &record.prefix_fields.application,
            severity: record.severity.as_bytes(),
            text: &record.text,
            detail: &record.detail,
        };
        self.messages.take(&message, out);
    }
}

const HEAD: usize = 300;

/// A line without the other log's prefix.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrappedLine<'l> {
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
pub(super) fn unwrapped(line: &[u8]) -> Option<WrappedLine<'_>> {
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
    Some(WrappedLine { at_us, session: number_of(number), is_first, text })
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
        let taken_out = |line: &'static str| {
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
            assert_eq!(taken_out(line), expected, "{line}");
        }
    }
}
