//! The output formats, and the layout of text.

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Tables for a terminal.
    Text,
    /// One self-contained page for a browser.
    Html,
    /// Tables for an issue, a pull request or a post.
    Markdown,
    /// One line per cell and system.
    Csv,
    /// Schema 1, for scripts.
    Json,
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
