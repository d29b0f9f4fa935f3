//! Terminal table and JSON from a study and its judgement. Pure: data in, text out.
//!
//! One module per format; what formats share is in `number` and `words`.

mod json;
mod number;
mod text;
mod words;

use assay_model::StudyRecord;
use assay_verdict::Judgement;

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Tables for a terminal.
    Text,
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
        Format::Json => json::render(record, judgement),
    }
}
