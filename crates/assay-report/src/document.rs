//! A page of results as a tree: prose, tables, lists, charts, and sections of these. It knows nothing of studies, and
//! nothing of formats: the modules of pages build documents, and each format renders any of them.

use crate::charts::{ChartFile, Place};
use crate::words::{capital, sentence};

/// A page of results.
#[derive(Default)]
pub(crate) struct Document<'a> {
    /// The name of the page.
    pub(crate) title: String,
    /// The heading of a page that stands alone. Elsewhere, the blocks say it.
    pub(crate) heading: Heading,
    /// What the page is about, below the heading.
    pub(crate) about: Vec<String>,
    /// Warnings that stand even above the heading.
    pub(crate) above: Vec<Block<'a>>,
    /// The sections of a long page, by id.
    pub(crate) places: Vec<(&'static str, &'static str)>,
    /// Whether tables of a page are sorted and filtered by its script.
    pub(crate) has_script: bool,
    /// Whether a terminal repeats the answer below a text that is longer than a screen.
    pub(crate) repeats_answer: bool,
    pub(crate) blocks: Vec<Block<'a>>,
}

/// The heading of a page: words between others are smaller.
#[derive(Default)]
pub(crate) struct Heading {
    pub(crate) before: String,
    pub(crate) small: &'static str,
    pub(crate) after: String,
}

impl Heading {
    /// A base and what is compared with it.
    pub(crate) fn of<T: AsRef<str>>(base: &str, others: &[T]) -> Self {
        let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
        let (small, after) = match others.as_slice() {
            [] => ("against", "itself".to_owned()),
            others => ("(base) against", others.join(", ")),
        };
        Self { before: base.to_owned(), small, after }
    }

    /// The heading in one line.
    pub(crate) fn line(&self) -> String {
        let parts = [self.before.as_str(), self.small, &self.after];
        parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Where a document will be read. A format is made for one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A terminal: narrow, and read from top to bottom.
    Terminal,
    /// A post or a comment among others: details are folded.
    Post,
    /// A page of its own, with charts.
    Page,
}

/// What a document is made for.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) medium: Medium,
    /// Whether a terminal shows all sections.
    pub(crate) is_verbose: bool,
    pub(crate) images: Images<'a>,
}

impl Wish<'_> {
    /// A document without images.
    pub(crate) fn of(medium: Medium, is_verbose: bool) -> Self {
        Self { medium, is_verbose, images: Images { charts: &[], ending: "" } }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.medium == Medium::Terminal
    }

    pub(crate) fn is_post(&self) -> bool {
        self.medium == Medium::Post
    }

    pub(crate) fn is_page(&self) -> bool {
        self.medium == Medium::Page
    }

    /// A heading in lower case, which has a capital letter outside of terminals.
    pub(crate) fn heading(&self, words: &str) -> String {
        if self.is_terminal() { words.to_owned() } else { capital(words) }
    }

    /// A line in lower case, which is a sentence outside of terminals.
    pub(crate) fn told(&self, line: &str) -> String {
        if self.is_terminal() { line.to_owned() } else { sentence(line) }
    }
}

/// The charts that a document shows as files.
#[derive(Clone, Copy)]
pub(crate) struct Images<'a> {
    pub(crate) charts: &'a [ChartFile],
    /// The ending of their files.
    pub(crate) ending: &'a str,
}

impl Images<'_> {
    /// The images of a section.
    pub(crate) fn at(self, place: &Place) -> Vec<Image> {
        let charts = self.charts.iter().filter(|chart| chart.place == *place);
        let image = |chart: &ChartFile| Image {
            alt: chart.alt.clone(),
            file: format!("{}.{}", chart.name, self.ending),
        };
        charts.map(image).collect()
    }
}

/// A chart in a file of its own.
pub(crate) struct Image {
    pub(crate) alt: String,
    pub(crate) file: String,
}

/// A part of a document.
pub(crate) enum Block<'a> {
    /// The answer, which stands out.
    Answer(Vec<String>),
    /// Sentences.
    Lines(Vec<String>),
    /// Explanations in lower case, without full stops.
    Notes(Vec<String>),
    /// Items.
    List(Vec<String>),
    /// A text that is shown letter by letter, and what it is.
    Code {
        intro: &'static str,
        text: String,
    },
    /// A command or another name of a program, between words.
    Command {
        before: String,
        command: String,
        after: String,
    },
    Table(Table),
    Images(Vec<Image>),
    /// A drawing as a part of the page, and what it shows.
    Drawing {
        class: &'static str,
        svg: String,
        note: String,
    },
    Section(Section<'a>),
    /// Parts of a page that no other format has. The text in it is escaped.
    Markup(String),
    /// The end of a paragraph.
    Break,
    /// Blocks by number, from the ones that need most room on: a narrow place shows the first that fit, else the last.
    Fitted(Box<dyn Fn(usize) -> Option<Vec<Block<'static>>> + 'a>),
}

/// Blocks under a heading.
pub(crate) struct Section<'a> {
    pub(crate) heading: String,
    pub(crate) fold: Fold,
    pub(crate) blocks: Vec<Block<'a>>,
}

/// Whether a reader may fold a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Never,
    Open,
    Closed,
}

/// A table. Its first column has the names of the rows.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) caption: Option<Caption>,
    pub(crate) columns: Vec<Column>,
    pub(crate) groups: Vec<Group>,
    pub(crate) indent: Indent,
}

/// What a table shows.
pub(crate) struct Caption {
    pub(crate) title: String,
    /// In lower case, without a full stop; may be empty.
    pub(crate) note: String,
    /// The classes of its cells, and what they mean.
    pub(crate) legend: Vec<(String, &'static str)>,
}

/// How far a terminal indents a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Indent {
    /// Its rows, not its headings.
    #[default]
    Rows,
    /// Its rows; the headings of groups stand close above them.
    Close,
    /// All of it.
    Whole,
    /// By a single space.
    Little,
    None,
}

/// A column of a table.
#[derive(Clone)]
pub(crate) struct Column {
    pub(crate) heading: String,
    pub(crate) is_number: bool,
}

impl Column {
    /// A column of words.
    pub(crate) fn words(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), is_number: false }
    }

    /// A column of numbers.
    pub(crate) fn numbers(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), is_number: true }
    }
}

/// Rows under a heading, which may be empty.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) heading: String,
    pub(crate) images: Vec<Image>,
    pub(crate) rows: Vec<Row>,
}

/// A row of a table.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// A line that a terminal shows below it.
    pub(crate) below: Option<String>,
}

/// A cell of a table.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// The word of its colour; empty without.
    pub(crate) class: String,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), class: String::new() }
    }
}

impl Row {
    pub(crate) fn new<T: Into<Cell>>(cells: impl IntoIterator<Item = T>) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), below: None }
    }
}

impl Table {
    /// A table with a single group of rows.
    pub(crate) fn new(columns: Vec<Column>, rows: impl IntoIterator<Item = Row>) -> Self {
        let group = Group { rows: rows.into_iter().collect(), ..Group::default() };
        Self { columns, groups: vec![group], ..Self::default() }
    }

    pub(crate) fn flush(self) -> Self {
        Self { indent: Indent::None, ..self }
    }

    pub(crate) fn indented(self, indent: Indent) -> Self {
        Self { indent, ..self }
    }

    /// The same without its title, which stands elsewhere.
    pub(crate) fn untitled(mut self) -> Self {
        self.caption.iter_mut().for_each(|caption| caption.title.clear());
        self
    }

    pub(crate) fn without_headings(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.heading.clear());
        self
    }

    /// All rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }
}

impl<'a> Block<'a> {
    /// A section; nothing without blocks.
    pub(crate) fn section(heading: impl Into<String>, blocks: Vec<Block<'a>>) -> Vec<Self> {
        Self::folded(heading, Fold::Never, blocks)
    }

    /// A section that may be folded; nothing without blocks.
    pub(crate) fn folded(
        heading: impl Into<String>,
        fold: Fold,
        blocks: Vec<Block<'a>>,
    ) -> Vec<Self> {
        if blocks.is_empty() {
            return Vec::new();
        }
        vec![Self::Section(Section { heading: heading.into(), fold, blocks })]
    }

    /// A list; nothing without items.
    pub(crate) fn list(items: impl IntoIterator<Item = String>) -> Vec<Self> {
        let items: Vec<String> = items.into_iter().collect();
        if items.is_empty() { Vec::new() } else { vec![Self::List(items)] }
    }

    /// Explanations; nothing without any.
    pub(crate) fn notes(notes: impl IntoIterator<Item = String>) -> Vec<Self> {
        let notes: Vec<String> = notes.into_iter().collect();
        if notes.is_empty() { Vec::new() } else { vec![Self::Notes(notes)] }
    }
}
