//! Recognizes a file by its beginning.

use crate::formats::{FORMATS, ForeignFile, binary, foreign, packed};
use crate::reader::{EntrySink, LogEntry, LogFormat, LogHints, Skip, lines, without_mark};

/// Bytes of a file from which its format is recognized.
pub const HEAD_BYTES: usize = 256 << 10;

#[derive(Debug, Clone, Copy)]
pub struct LogProbe {
    pub format: &'static LogFormat,
    /// Time of its first statement, microseconds since 1970.
    pub first_us: Option<i64>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("its content is in no format that assay reads")]
    Unknown,
    #[error("it is {}", .0.what)]
    Foreign(ForeignFile),
    #[error("it is UTF-16")]
    Utf16,
    #[error("it is empty")]
    Empty,
}

pub fn format_named(name: &str) -> Option<&'static LogFormat> {
    FORMATS.iter().find(|it| it.name == name)
}

pub fn probe(
    head: &[u8],
    format: Option<&'static LogFormat>,
    given: &LogHints,
) -> Result<LogProbe, ProbeError> {
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
    let mut first = FirstTime::default();
    let mut reader = (format.open)(head, given);
    for line in lines(head) {
        if first.at_us.is_some() {
            break;
        }
        reader.line(line, &mut first);
    }
    Ok(LogProbe { format, first_us: first.at_us })
}

fn recognised(head: &[u8], given: &LogHints) -> Result<&'static LogFormat, ProbeError> {
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
struct FirstTime {
    at_us: Option<i64>,
}

impl EntrySink for FirstTime {
    fn entry(&mut self, entry: &LogEntry<'_>) {
        self.at_us = self.at_us.or(entry.at_us);
    }

    fn skip(&mut self, _: Skip) {}

    fn unreadable_before(&mut self, _: u64, _: &[u8]) {}

    fn failed(&mut self, _: Option<u64>) {}

    fn ended(&mut self, _: u64) {}
}

const LINES: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    /// Such as `mysql`.
    pub product: &'static str,
    /// Such as `8.0.33`.
    pub version: String,
}

pub fn server_version(head: &[u8]) -> Option<ServerVersion> {
    let text = String::from_utf8_lossy(head);
    text.lines().take(LINES).find_map(of_line)
}

fn of_line(line: &str) -> Option<ServerVersion> {
    const MARKS: [&str; 3] =
        [", Version: ", "-- Server version\t", "-- Dumped from database version "];
    let (mark, rest) = MARKS.iter().find_map(|mark| Some((*mark, line.split_once(mark)?.1)))?;
    let is_part = |it: char| it.is_ascii_digit() || it == '.';
    let version = rest.split(|it| !is_part(it)).next().unwrap_or_default().trim_end_matches('.');
    let product = match mark {
        "-- Dumped from database version " => "postgres",
        _ if rest.contains("MariaDB") => "mariadb",
        _ => "mysql",
    };
    let is_known = version.starts_with(|it: char| it.is_ascii_digit()) && version.contains('.');
    is_known.then(|| ServerVersion { product, version: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_in_first_lines() {
        for (line, expected) in [
            (
                "/usr/sbin/mysqld, Version: 8.0.33 (MySQL Community Server - GPL). started with:",
                Some(("mysql", "8.0.33")),
            ),
            (
                "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB-0+deb12u1-log (Debian 12). started with:",
                Some(("mariadb", "10.11.6")),
            ),
            ("-- Server version\t8.0.36-28", Some(("mysql", "8.0.36"))),
            ("-- Server version\t10.11.6-MariaDB", Some(("mariadb", "10.11.6"))),
            ("-- Dumped from database version 15.4 (Debian 15.4-1)", Some(("postgres", "15.4"))),
            ("-- Dumped by pg_dump version 16.1", None),
            ("SELECT ', Version: x'", None),
        ] {
            let found = server_version(format!("\n{line}\n").as_bytes());
            let found = found.map(|it| (it.product, it.version));
            let expected = expected.map(|(product, version)| (product, version.to_owned()));
            assert_eq!(found, expected, "{line}");
        }
    }
}
