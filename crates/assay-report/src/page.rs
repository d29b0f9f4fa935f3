//! Pages of results. Each module of a page says what stands on it; the formats say how.

use crate::charts::{ChartFile, named};
use crate::document::{Document, Images, Wish};
use crate::formats::{Format, TextOptions, markdown};

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

    /// The charts of the page, and its Markdown, which shows them as files with this ending, such as `svg`.
    #[must_use]
    pub fn with_charts(&self, ending: &str) -> (Vec<ChartFile>, String) {
        let charts = named(self.0.charts());
        let text = markdown::with_images(self, Images { charts: &charts, ending });
        (charts, text)
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
