//! Recognizes a file by its beginning.

use crate::entry::{Entry, Sink, Skip};
use crate::formats::{FORMATS, Foreign, binary, foreign, packed};
use crate::reader::{Format, Given, lines, without_mark};

/// Bytes of a file from which its format is recognized.
pub const HEAD_BYTES: usize = 256 << 10;

#[derive(Debug, Clone, Copy)]
pub struct Probe {
    pub format: &'static Format,
    /// Time of its first statement, microseconds since 1970.
    pub first_us: Option<i64>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("its content is in no format that assay reads")]
    Unknown,
    #[error("it is {}", .0.what)]
    Foreign(Foreign),
    #[error("it is UTF-16")]
    Utf16,
    #[error("it is empty")]
    Empty,
}

#[must_use]
pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|it| it.name == name)
}

pub fn probe(
    head: &[u8],
    format: Option<&'static Format>,
    given: &Given,
) -> Result<Probe, ProbeError> {
    if head.trim_ascii().is_empty() {
        return Err(ProbeError::Empty);
    }
    if let Some(binary) = binary(head) {
        return Err(ProbeError::Foreign(binary));
    }
    if is_utf16(head) {
        return Err(ProbeError::Utf16);
    }
    let head = without_mark(head);
    let format = match format {
        Some(format) => format,
        None => recognised(head, given)?,
    };
    let mut first = First::default();
    let mut reader = (format.open)(head, given);
    for line in lines(head) {
        if first.at_us.is_some() {
            break;
        }
        reader.line(line, &mut first);
    }
    Ok(Probe { format, first_us: first.at_us })
}

fn recognised(head: &[u8], given: &Given) -> Result<&'static Format, ProbeError> {
    if let Some(foreign) = foreign(head) {
        return Err(ProbeError::Foreign(foreign));
    }
    let found = FORMATS.iter().find(|it| (it.looks)(head, given));
    found.ok_or_else(|| packed(head).map_or(ProbeError::Unknown, ProbeError::Foreign))
}

/// Whether a text is UTF-16: it has a byte order mark, or each second byte of its beginning is 0.
fn is_utf16(head: &[u8]) -> bool {
    let head = head.get(..head.len().min(64)).unwrap_or_default();
    let is_zero = |from: usize| {
        let mut bytes = head.iter().skip(from).step_by(2).peekable();
        bytes.peek().is_some() && bytes.all(|byte| *byte == 0)
    };
    head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || is_zero(0) || is_zero(1)
}

#[derive(Debug, Default)]
struct First {
    at_us: Option<i64>,
}

impl Sink for First {
    fn entry(&mut self, entry: &Entry<'_>) {
        self.at_us = self.at_us.or(entry.at_us);
    }

    fn skip(&mut self, _: Skip) {}

    fn unreadable_before(&mut self, _: u64, _: &[u8]) {}

    fn failed(&mut self, _: Option<u64>) {}

    fn ended(&mut self, _: u64) {}
}
