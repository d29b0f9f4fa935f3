//! The formats of pages: one line in [`FORMATS`] each, and one file for those that lay out a document.

mod grid;
mod html;
mod markdown;
pub(crate) mod markup;
mod text;

use crate::page::Format;

/// In the order of the documentation: those of all pages. [`Format::BRIEF`] is only for studies.
pub const FORMATS: [Format; 5] =
    [Format::TEXT, Format::HTML, Format::MARKDOWN, Format::CSV, Format::JSON];

impl Format {
    /// Tables for a terminal.
    pub const TEXT: Self = text::FORMAT;
    /// Half a page of text.
    pub const BRIEF: Self = text::BRIEF;
    pub const HTML: Self = html::FORMAT;
    /// Tables for an issue, a pull request or a post.
    pub const MARKDOWN: Self = markdown::FORMAT;
    pub const CSV: Self = Self {
        word: "csv",
        about: "One line per cell and system",
        extensions: &["csv"],
        render: |page, _| page.csv(),
    };
    pub const JSON: Self = Self {
        word: "json",
        about: "For scripts: schema 1",
        extensions: &["json"],
        render: |page, _| page.json(),
    };

    pub fn of_extension(extension: &str) -> Option<Self> {
        FORMATS.into_iter().find(|format| format.extensions.contains(&extension))
    }
}
