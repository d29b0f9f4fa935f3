//! Terminal table, HTML page, Markdown, CSV and JSON from a study and its judgement. Pure: data in, text out.
//!
//! One module per format; what formats share is in `number`, `words` and `findings`.

mod audit;
mod csv;
mod doubt;
mod findings;
mod headline;
mod html;
mod json;
mod label;
mod markdown;
mod number;
mod studies;
mod tests_list;
mod text;
mod trouble;
mod words;

pub use audit::{Compared, audit_json, audit_text};
pub use studies::studies;
pub use tests_list::{ListedTest, tests_json, tests_text};

use assay_model::{StudyRecord, printable_json, printable_lines};
use assay_verdict::Judgement;

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Tables for a terminal.
    Text,
    /// One page with everything in it, for a browser.
    Html,
    /// Tables for an issue, a pull request or a post.
    Markdown,
    /// One line per cell and system.
    Csv,
    /// Schema 1, for scripts.
    Json,
}

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to add colours; nothing is told by colour alone.
    pub color: bool,
}

/// Renders a study. Ends with a line feed.
#[must_use]
pub fn render(
    record: &StudyRecord,
    judgement: &Judgement,
    format: Format,
    options: &TextOptions,
) -> String {
    match format {
        Format::Text => text::render(record, judgement, *options),
        Format::Html => printable_lines(&html::render(record, judgement)).into_owned(),
        Format::Markdown => printable_lines(&markdown::render(record, judgement)).into_owned(),
        Format::Csv => csv::render(record, judgement),
        Format::Json => printable_json(&json::render(record, judgement)).into_owned(),
    }
}
