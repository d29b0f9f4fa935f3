//! The plain log of Postgres, `log_destination = stderr`.

use assay_model::Dialect;

use super::messages::{Message, Messages};
use super::prefix::{KNOWN, Prefix, Told, severity};
use crate::entry::Sink;
use crate::reader::{Format, Given, Reader, lines};

pub(crate) const FORMAT: Format = Format {
    name: "stderr",
    about: "plain log of Postgres, whose log_line_prefix is recognised or given",
    dialect: Some(Dialect::Postgres),
    looks: |head, given| prefix(head, given).is_some(),
    open: |head, given| {
        let prefix = prefix(head, given)
            .unwrap_or_else(|| Prefix::of(KNOWN.first().copied().unwrap_or_default()));
        Box::new(Plain { prefix, messages: Messages::default(), record: None, has_begun: false })
    },
};

/// Lines from which the prefix is recognised.
const LINES: usize = 2000;

/// Longest message that is put together, bytes.
const TEXT_MAX: usize = 32 << 20;

/// The prefix that most lines have, the first of those that have it equally often.
fn prefix(head: &[u8], given: &Given) -> Option<Prefix> {
    let candidates: Vec<Prefix> = match &given.log_line_prefix {
        Some(text) => vec![Prefix::of(text)],
        None => KNOWN.iter().map(|text| Prefix::of(text)).collect(),
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

/// A message that may go on.
#[derive(Debug)]
struct Record {
    told: Told,
    severity: &'static str,
    text: Vec<u8>,
    detail: Vec<u8>,
    /// Whether the lines that follow belong to the detail, to the text, or to neither.
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
    messages: Messages,
    record: Option<Record>,
    has_begun: bool,
}

impl Reader for Plain {
    fn line(&mut self, line: &[u8], out: &mut dyn Sink) {
        // Lines that go on begin with a tab.
        if let Some(rest) = line.strip_prefix(b"\t") {
            return self.more(rest, line, out);
        }
        let read = self.prefix.read(line);
        let Some((told, (severity, text))) =
            read.and_then(|(told, rest)| Some((told, severity(rest)?)))
        else {
            if self.record.is_some() && !line.is_empty() {
                // Logs that were sent elsewhere lack the tab.
                return self.more(line, line, out);
            }
            if !line.is_empty() {
                out.unreadable(line);
            }
            return;
        };
        self.has_begun = true;
        match severity {
            "DETAIL" => self.detail(&told, text),
            "HINT" | "STATEMENT" | "CONTEXT" | "QUERY" | "LOCATION" => {
                if let Some(record) = &mut self.record {
                    record.to = To::Nothing;
                }
            }
            _ => {
                self.finish(out);
                let (text, detail) = (text.to_vec(), Vec::new());
                self.record = Some(Record { told, severity, text, detail, to: To::Text });
            }
        }
    }

    fn end(&mut self, out: &mut dyn Sink) {
        self.finish(out);
        self.messages.end(out);
    }
}

impl Plain {
    fn detail(&mut self, told: &Told, text: &[u8]) {
        if let Some(record) = self.record.as_mut().filter(|it| it.told.session == told.session) {
            record.detail = text.to_vec();
            record.to = To::Detail;
        }
    }

    fn more(&mut self, rest: &[u8], line: &[u8], out: &mut dyn Sink) {
        let Some(record) = &mut self.record else {
            if self.has_begun {
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
            at_us: record.told.at_us,
            session: record.told.session,
            database: record.told.database.as_deref(),
            application: &record.told.application,
            severity: record.severity.as_bytes(),
            text: &record.text,
            detail: &record.detail,
        };
        self.messages.take(&message, out);
    }
}
