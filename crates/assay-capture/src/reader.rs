//! The definition of a log format and its reader.

use assay_model::Dialect;

use crate::entry::Sink;

/// Properties of a log that the user provides, because the log lacks them.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// `log_line_prefix` of the Postgres server that wrote it.
    pub log_line_prefix: Option<String>,
    /// Dialect of plain files of statements.
    pub dialect: Option<Dialect>,
}

pub trait Reader {
    /// `line` excludes the line end.
    fn line(&mut self, line: &[u8], out: &mut dyn Sink);

    fn end(&mut self, out: &mut dyn Sink);
}

pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    pub about: &'static str,
    /// `None` for either dialect.
    pub dialect: Option<Dialect>,
    /// Whether the beginning of a file is in this format.
    pub(crate) looks: fn(&[u8], &Given) -> bool,
    pub(crate) open: fn(&[u8], &Given) -> Box<dyn Reader>,
}

impl std::fmt::Debug for Format {
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
