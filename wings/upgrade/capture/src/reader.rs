//! The definition of a log format, its reader, and the statements that it finds.

use std::io::{self, BufRead};

use assay_model::Dialect;

/// Properties of a log that the user provides, because the log lacks them.
#[derive(Debug, Clone, Default)]
pub struct LogHints {
    /// `log_line_prefix` of the Postgres server that wrote it.
    pub log_line_prefix: Option<String>,
    /// Dialect of plain files of statements.
    pub dialect: Option<Dialect>,
}

pub trait LogReader {
    /// `line` excludes the line end.
    fn line(&mut self, line: &[u8], out: &mut dyn EntrySink);

    fn end(&mut self, out: &mut dyn EntrySink);
}

pub struct LogFormat {
    /// Name on the command line.
    pub name: &'static str,
    pub about: &'static str,
    /// `None` for either dialect.
    pub dialect: Option<Dialect>,
    /// Whether the beginning of a file is in this format.
    pub(crate) looks: fn(&[u8], &LogHints) -> bool,
    pub(crate) open: fn(&[u8], &LogHints) -> Box<dyn LogReader>,
}

impl std::fmt::Debug for LogFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The lines of the beginning of a file, the last of which may be truncated.
pub(crate) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Strips a UTF-8 byte order mark.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Hash of a name, such as that of a session.
pub(crate) fn number_of(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// One line of a log, or one row of a table of digests: a statement that was executed once or more often.
#[derive(Debug, Clone, Copy)]
pub struct LogEntry<'a> {
    pub dialect: Dialect,
    /// Time of logging, microseconds since 1970.
    pub at_us: Option<i64>,
    /// Number of the session, unique in a log.
    pub session: Option<u64>,
    pub database: Option<&'a str>,
    pub text: &'a [u8],
    /// The values of `$1`, `$2` and so on, if the log has them separately. `None` is NULL.
    pub parameters: &'a [Option<Vec<u8>>],
    pub is_prepared: bool,
    pub calls: u64,
    /// Total time of these calls, microseconds.
    pub time_us: Option<f64>,
    /// The log has only the beginning of the text.
    pub is_cut: bool,
}

impl<'a> LogEntry<'a> {
    /// A statement that was executed once, and of which nothing else is known.
    pub(crate) fn new(dialect: Dialect, text: &'a [u8]) -> Self {
        Self {
            dialect,
            at_us: None,
            session: None,
            database: None,
            text,
            parameters: &[],
            is_prepared: false,
            calls: 1,
            time_us: None,
            is_cut: false,
        }
    }
}

pub trait EntrySink {
    fn entry(&mut self, entry: &LogEntry<'_>);

    fn skip(&mut self, why: Skip);

    /// The current line is invalid in this format.
    fn unreadable(&mut self, line: &[u8]) {
        self.unreadable_before(0, line);
    }

    /// Like `unreadable`, for a line this many lines before the current one.
    fn unreadable_before(&mut self, lines: u64, line: &[u8]);

    fn failed(&mut self, session: Option<u64>);

    fn ended(&mut self, session: u64);

    /// A session began, or was reset to the server's settings.
    fn began(&mut self, _session: u64) {}

    /// The server was restarted, and session numbers start over.
    fn restarted(&mut self) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// A command of the protocol, such as `Quit` or `Ping`.
    Administration,
    /// `SET`, `SHOW`, `EXPLAIN`, cursors: it concerns the session.
    Session,
    /// It creates, changes, drops or maintains an object.
    Definition,
    System,
    Replication,
    Dump,
    /// It reaches outside the database: files, other servers, other sessions.
    Outside,
    Cut,
    Failed,
    /// It ran in a function, not on its own.
    Nested,
    /// Its text is too long, or it has too many values.
    TooLong,
    /// Too many different statements preceded it.
    TooMany,
    /// Its text is not UTF-8 outside of values.
    NotText,
    /// Sent by assay itself, to a server that it started or loaded.
    Own,
}

impl Skip {
    /// In the order of [`Skip`].
    pub const ALL: [Self; 14] = [
        Self::Administration,
        Self::Session,
        Self::Definition,
        Self::System,
        Self::Replication,
        Self::Dump,
        Self::Outside,
        Self::Cut,
        Self::Failed,
        Self::Nested,
        Self::TooLong,
        Self::TooMany,
        Self::NotText,
        Self::Own,
    ];

    /// Singular noun of the skipped statements and its complement, for a line of the summary.
    pub fn what(self) -> (&'static str, &'static str) {
        match self {
            Self::Administration => ("command", "of the protocol, such as Quit and Ping"),
            Self::Session => ("statement", "on the session, such as SET, SHOW and EXPLAIN"),
            Self::Definition => {
                ("statement", "of definition or maintenance, such as CREATE and ANALYZE")
            }
            Self::System => ("statement", "on system schemas, such as information_schema"),
            Self::Replication => ("statement", "of replication"),
            Self::Dump => ("statement", "of dumps"),
            Self::Outside => (
                "statement",
                "that reach outside the database, such as into files or other servers",
            ),
            Self::Cut => ("statement", "whose text is cut off"),
            Self::Failed => ("statement", "that the server refused"),
            Self::Nested => ("statement", "that ran in functions"),
            Self::TooLong => ("statement", "with a text that is too long, or with too many values"),
            Self::TooMany => ("statement", "beyond the limit on different statements"),
            Self::NotText => ("statement", "with names that are not UTF-8"),
            Self::Own => ("statement", "of assay itself"),
        }
    }
}

/// Maximum length of a line. A statement may be as long as a packet of the server.
pub(crate) const LINE_MAX: usize = 32 << 20;

/// Passes each line to `take`, without its end and without a leading byte order mark; a longer one is truncated to
/// [`LINE_MAX`].
pub(crate) fn each_line(source: &mut dyn BufRead, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    let mut is_cut = false;
    let mut is_first = true;
    let mut take = |line: &[u8]| {
        let line = if std::mem::take(&mut is_first) { without_mark(line) } else { line };
        take(line.strip_suffix(b"\r").unwrap_or(line));
    };
    loop {
        let available = match source.fill_buf() {
            Ok(it) => it,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            break;
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        let used = part.len() + usize::from(end.is_some());
        // Most lines are complete in the buffer and are not copied.
        if end.is_some() && line.is_empty() && !is_cut {
            take(part);
        } else {
            let room = LINE_MAX.saturating_sub(line.len());
            is_cut |= part.len() > room;
            line.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
            if end.is_some() {
                take(&line);
                line.clear();
                is_cut = false;
            }
        }
        source.consume(used);
    }
    if !line.is_empty() {
        take(&line);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_whatever_the_buffer() {
        for size in [1, 2, 3, 64] {
            let text = "\u{feff}a\r\n\nbcd\ne";
            let mut source = io::BufReader::with_capacity(size, text.as_bytes());
            let mut found = Vec::new();
            each_line(&mut source, |line| found.push(line.to_vec())).unwrap();
            let texts: Vec<&[u8]> = found.iter().map(Vec::as_slice).collect();
            assert_eq!(texts, [b"a".as_slice(), b"", b"bcd", b"e"]);
        }
    }
}
