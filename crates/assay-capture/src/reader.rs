//! What a format of logs is, and how it is read.

use assay_model::Dialect;

use crate::entry::Sink;

/// What a user says about a log, because the log does not.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// `log_line_prefix` of the Postgres server that wrote it.
    pub log_line_prefix: Option<String>,
    /// The dialect of plain files of statements.
    pub dialect: Option<Dialect>,
}

/// Reads a log line by line.
pub trait Reader {
    /// Takes a line without its end.
    fn line(&mut self, line: &[u8], out: &mut dyn Sink);

    /// The log has ended.
    fn end(&mut self, out: &mut dyn Sink);
}

/// A format of logs.
pub struct Format {
    /// Its word on the command line.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// The dialect of its statements; `None` if it may have those of either.
    pub dialect: Option<Dialect>,
    /// Whether the beginning of a file is in this format.
    pub(crate) looks: fn(&[u8], &Given) -> bool,
    /// Makes a reader, given the beginning of the file.
    pub(crate) open: fn(&[u8], &Given) -> Box<dyn Reader>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The lines of the beginning of a file, the last of which may be cut off.
pub(crate) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// A text without the mark with which some programs begin text in UTF-8.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// The text as far as it is UTF-8.
pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A number that stands for a name, such as that of a session.
pub(crate) fn number_of(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
