//! Pages of results and their formats. A page's module decides the content, a format the presentation.

use crate::charts::{ChartFile, named};
use crate::document::{Block, PageDocument, Wish};

/// The content of a page, whatever the format.
pub trait PageContent {
    /// Passes the document to `then`, because it may borrow from local values.
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>));

    /// `None` if the page does not support JSON.
    fn json(&self) -> Option<String>;

    /// Half a page with so many findings at most; `None` if the page has no such form.
    fn brief(&self, _findings: usize) -> Option<PageDocument<'static>> {
        None
    }

    fn csv(&self) -> Option<String> {
        None
    }

    fn charts(&self) -> Vec<ChartFile> {
        Vec::new()
    }
}

pub struct Page<'a>(Box<dyn PageContent + 'a>);

impl std::fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Page")
    }
}

impl<'a> Page<'a> {
    pub fn new(content: impl PageContent + 'a) -> Self {
        Self(Box::new(content))
    }

    /// Ends with a line feed. `None` if the page does not support the format.
    pub fn render(&self, format: Format, options: &TextOptions) -> Option<String> {
        (format.render)(self, options)
    }

    pub fn charts(&self) -> Vec<ChartFile> {
        named(self.0.charts())
    }

    pub(crate) fn shown(
        &self,
        wish: &Wish<'_>,
        render: impl Fn(&PageDocument<'_>) -> String,
    ) -> String {
        let mut text = String::new();
        self.0.document(wish, &mut |document| text = render(document));
        text
    }

    pub(crate) fn brief(&self, findings: usize) -> Option<PageDocument<'static>> {
        self.0.brief(findings)
    }

    pub(crate) fn csv(&self) -> Option<String> {
        self.0.csv()
    }

    pub(crate) fn json(&self) -> Option<String> {
        self.0.json()
    }
}

/// Adds pages to the blocks of another one, each as a section with a heading, and passes all to `then`.
pub fn with_pages(
    pages: &[(String, Page<'_>)],
    wish: &Wish<'_>,
    mut blocks: Vec<Block<'_>>,
    then: &mut dyn FnMut(Vec<Block<'_>>),
) {
    let Some(((heading, page), rest)) = pages.split_first() else { return then(blocks) };
    page.0.document(wish, &mut |document| {
        let mut all: Vec<Block<'_>> = std::mem::take(&mut blocks);
        all.extend(Block::section(heading.as_str(), vec![Block::Page(&document.blocks)]));
        with_pages(rest, wish, all, then);
    });
}

#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Value of `--format`.
    pub word: &'static str,
    /// Help line without a full stop.
    pub about: &'static str,
    /// File extensions; the first is the usual one.
    pub extensions: &'static [&'static str],
    /// `None` if the page does not support the format.
    pub(crate) render: fn(&Page<'_>, &TextOptions) -> Option<String>,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for Format {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// No meaning is carried by colour alone.
    pub color: bool,
    /// Whether to show all sections. The answer, the causes and the table of tests suffice for most readers.
    pub verbose: bool,
}
