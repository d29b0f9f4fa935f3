//! The formats of pages: one file and one line in [`FORMATS`] each.

mod csv;
mod grid;
mod html;
mod json;
mod markdown;
pub(crate) mod markup;
mod paint;
pub(crate) mod text;
mod wrap;

use crate::page::Format;

/// In the order of the documentation.
pub const FORMATS: [Format; 5] =
    [Format::TEXT, Format::HTML, Format::MARKDOWN, Format::CSV, Format::JSON];

impl Format {
    /// Tables for a terminal.
    pub const TEXT: Self = text::FORMAT;
    pub const HTML: Self = html::FORMAT;
    /// Tables for an issue, a pull request or a post.
    pub const MARKDOWN: Self = markdown::FORMAT;
    pub const CSV: Self = csv::FORMAT;
    /// Schema 1, for scripts.
    pub const JSON: Self = json::FORMAT;

    #[must_use]
    pub fn of_extension(extension: &str) -> Option<Self> {
        FORMATS.into_iter().find(|format| format.extensions.contains(&extension))
    }
}
