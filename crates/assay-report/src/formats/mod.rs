//! The formats of pages. Each is a file of its own and a line in [`FORMATS`].

mod csv;
pub(crate) mod html;
mod json;
pub(crate) mod markdown;
mod paint;
pub(crate) mod text;
mod wrap;

use crate::page::Page;

/// All formats, in the order of the documentation.
pub const FORMATS: [Format; 5] =
    [Format::TEXT, Format::HTML, Format::MARKDOWN, Format::CSV, Format::JSON];

/// A format of pages.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The word of `--format`.
    pub word: &'static str,
    /// What it is, for the help: a line without a full stop.
    pub about: &'static str,
    /// The extensions of files that stand for it; the first one is its usual one.
    pub extensions: &'static [&'static str],
    /// Gives a page this form; `None` if it has none.
    pub(crate) render: fn(&Page<'_>, &TextOptions) -> Option<String>,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for Format {}

impl Format {
    /// Tables for a terminal.
    pub const TEXT: Self = text::FORMAT;
    /// One self-contained page for a browser.
    pub const HTML: Self = html::FORMAT;
    /// Tables for an issue, a pull request or a post.
    pub const MARKDOWN: Self = markdown::FORMAT;
    /// One line per cell and system.
    pub const CSV: Self = csv::FORMAT;
    /// Schema 1, for scripts.
    pub const JSON: Self = json::FORMAT;

    /// The format that the extension of a file stands for.
    #[must_use]
    pub fn of_extension(extension: &str) -> Option<Self> {
        FORMATS.into_iter().find(|format| format.extensions.contains(&extension))
    }
}

/// The content security policy of pages in HTML.
#[must_use]
pub fn page_policy() -> String {
    html::policy()
}

/// The layout of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to add colours; no meaning is carried by colour alone.
    pub color: bool,
    /// Whether a report has all of its sections: the answer, the causes and the table of tests come first, and are
    /// the report of most readers.
    pub verbose: bool,
}
