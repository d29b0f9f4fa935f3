//! The plain log of Postgres, `log_destination = stderr`.

use assay_model::Dialect;

use super::inferred::{inferred, is_message};
use super::messages::{Message, Messages};
use super::prefix::{KNOWN, Prefix, PrefixFields, severity};
use super::wrapped::{Wrapped, unwrapped, unwrapped_head};
use crate::entry::Sink;
use crate::reader::{Format, Given, Reader, lines};

pub(crate) const FORMAT: Format = Format {
    name: "stderr",
    about: "plain log of Postgres, also in syslog, whose log_line_prefix is recognised or given",
    dialect: Some(Dialect::Postgres),
    looks: |head, given| recognised(head, given).is_some(),
    open: |head, given| {
        let (prefix, is_wrapped) = recognised(head, given)
            .unwrap_or_else(|| (Prefix::of(KNOWN.first().copied().unwrap_or_default()), false));
        Box::new(Plain {
            prefix,
            is_wrapped,
            messages: Messages::default(),
            record: None,
            has_begun: false,
        })
    },
};

const LINES: usize = 2000;

const TEXT_MAX: usize = 32 << 20;

/// The prefix of a log, and whether its lines are wrapped in those of another log.
fn recognised(head: &[u8], given: &Given) -> Option<(Prefix, bool)> {
    let plain = || Some((prefix(head, given, false)?, false));
    let wrapped = || Some((prefix(&unwrapped_head(head), given, true)?, true));
    match given.log_line_prefix {
        // The given prefix may be that of the other log.
        Some(_) => plain().or_else(wrapped),
        None => wrapped().or_else(plain),
    }
}

/// The most frequent prefix. Ties go to the first.
fn prefix(head: &[u8], given: &Given, is_wrapped: bool) -> Option<Prefix> {
    let candidates: Vec<Prefix> = match &given.log_line_prefix {
        Some(text) => vec![Prefix::of(text)],
        None => {
            let known = KNOWN.iter().map(|text| Prefix::of(text));
            let empty = (is_wrapped || has_no_prefix(head)).then(|| Prefix::of(""));
            let inferred = inferred(head).into_iter().map(|text| Prefix::of(&text));
            known.chain(empty).chain(inferred).collect()
        }
    };
    let count = |prefix: &Prefix| {
        lines(head).take(LINES).filter(|line| prefix.read(line).is_some()).count()
    };
    let mut best: Option<(usize, Prefix)> = None;
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
struct Record {
    prefix_fields: PrefixFields,
    severity: &'static str,
    text: Vec<u8>,
    detail: Vec<u8>,
    /// Whether the following lines belong to the detail, the text, or neither.
    to: To,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Text,
    Detail,
    Nothing,
}

#[derive(Debug)]
struct Plain {
    prefix: Prefix,
    /// Its lines are wrapped in those of another log.
    is_wrapped: bool,
    messages: Messages,
    record: Option<Record>,
    has_begun: bool,
}

impl Reader for Plain {
    fn line(&mut self, line: &[u8], out: &mut dyn Sink) {
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

    fn end(&mut self, out: &mut dyn Sink) {
        self.finish(out);
        self.messages.end(out);
    }
}

impl Plain {
    fn inner(&mut self, line: &[u8], wrapped: Option<&Wrapped<'_>>, out: &mut dyn Sink) {
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
                    record.to = To::Nothing;
                }
            }
            _ => {
                self.finish(out);
                let (text, detail) = (text.to_vec(), Vec::new());
                self.record = Some(Record { prefix_fields, severity, text, detail, to: To::Text });
            }
        }
    }

    fn detail(&mut self, prefix_fields: &PrefixFields, text: &[u8]) {
        if let Some(record) =
            self.record.as_mut().filter(|it| it.prefix_fields.session == prefix_fields.session)
        {
            record.detail = text.to_vec();
            record.to = To::Detail;
        }
    }

    fn more(&mut self, rest: &[u8], line: &[u8], out: &mut dyn Sink) {
        let Some(record) = &mut self.record else {
            // A log may begin in the middle of a message.
            if self.has_begun || !line.trim_ascii().is_empty() {
                out.unreadable(line);
            }
            return;
        };
        let into = match record.to {
            To::Text => &mut record.text,
            To::Detail => &mut record.detail,
            To::Nothing => return,
        };
        if into.len() + rest.len() <= TEXT_MAX {
            into.push(b'\n');
            into.extend_from_slice(rest);
        }
    }

    fn finish(&mut self, out: &mut dyn Sink) {
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
