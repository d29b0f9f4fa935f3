//! Pages of results, and what a format does with them. Each module of a page says what stands on it; a format says how.

use crate::charts::{ChartFile, named};
use crate::document::{Document, Wish};

/// What stands on a page.
pub(crate) trait Content {
    /// Builds the document for people, and passes it on.
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>));

    /// The values for scripts; `None` if it has none.
    fn json(&self) -> Option<String>;

    /// The values for spreadsheets; `None` if it has none.
    fn csv(&self) -> Option<String> {
        None
    }

    /// The charts, in the order of the page.
    fn charts(&self) -> Vec<ChartFile> {
        Vec::new()
    }
}

/// A page of results, which any format can show.
pub struct Page<'a>(Box<dyn Content + 'a>);

impl std::fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Page")
    }
}

impl<'a> Page<'a> {
    pub(crate) fn new(content: impl Content + 'a) -> Self {
        Self(Box::new(content))
    }

    /// The page in a format. It ends with a line feed. `None` if the page has no such format.
    #[must_use]
    pub fn render(&self, format: Format, options: &TextOptions) -> Option<String> {
        (format.render)(self, options)
    }

    /// The charts of the page, in its order.
    pub(crate) fn charts(&self) -> Vec<ChartFile> {
        named(self.0.charts())
    }

    /// What a document for people becomes.
    pub(crate) fn shown(
        &self,
        wish: &Wish<'_>,
        render: impl Fn(&Document<'_>) -> String,
    ) -> String {
        let mut text = String::new();
        self.0.document(wish, &mut |document| text = render(document));
        text
    }

    pub(crate) fn csv(&self) -> Option<String> {
        self.0.csv()
    }

    pub(crate) fn json(&self) -> Option<String> {
        self.0.json()
    }
}

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
