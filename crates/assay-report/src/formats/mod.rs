//! The formats of pages. Each is a file of its own and a line in [`FORMATS`].

mod csv;
mod grid;
pub(crate) mod html;
mod json;
mod markdown;
pub(crate) mod markup;
mod paint;
pub(crate) mod text;
mod wrap;

use crate::page::Format;

/// All formats, in the order of the documentation.
pub const FORMATS: [Format; 5] =
    [Format::TEXT, Format::HTML, Format::MARKDOWN, Format::CSV, Format::JSON];

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
