//! A page of results as a tree of prose, tables, lists and charts. It knows neither studies nor formats: pages build
//! documents, and every format renders any document.

use std::borrow::Cow;

use crate::charts::{ChartFile, Place};
use crate::text::{Text, of_class, words};
use crate::words::{capital, sentence};

#[derive(Default)]
pub struct PageDocument<'a> {
    pub title: String,
    /// Heading of a standalone page. Elsewhere, the blocks contain it.
    pub heading: Heading,
    /// Lines below the heading.
    pub about: Vec<String>,
    /// Warnings above the heading.
    pub above: Vec<Block<'a>>,
    /// Whether the script of pages handles its forms. Otherwise they are sent to the server.
    pub has_script: bool,
    /// Whether a terminal repeats the answer below a text longer than a screen.
    pub repeats_answer: bool,
    pub blocks: Vec<Block<'a>>,
}

impl<'a> PageDocument<'a> {
    /// A page whose title is its heading.
    pub fn new(heading: Heading, blocks: Vec<Block<'a>>) -> Self {
        Self { title: heading.line(), heading, blocks, ..Self::default() }
    }
}

#[derive(Default)]
pub struct Heading {
    pub before: String,
    pub small: &'static str,
    pub after: String,
}

impl Heading {
    /// A base and the systems compared with it.
    pub(crate) fn for_comparison<T: AsRef<str>>(base: &str, others: &[T]) -> Self {
        let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
        let (small, after) = match others.as_slice() {
            [] => ("against", "itself".to_owned()),
            others => ("(base) against", others.join(", ")),
        };
        Self { before: base.to_owned(), small, after }
    }

    pub fn line(&self) -> String {
        let parts = [self.before.as_str(), self.small, &self.after];
        parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Narrow, and read from top to bottom.
    Terminal,
    /// A post or a comment among others: details are folded.
    Post,
    /// A standalone page with charts.
    Page,
}

#[derive(Clone, Copy)]
pub struct Wish<'a> {
    pub(crate) medium: Medium,
    pub(crate) is_verbose: bool,
    pub(crate) images: Images<'a>,
}

impl Wish<'_> {
    pub(crate) fn without_images(medium: Medium, is_verbose: bool) -> Self {
        Self { medium, is_verbose, images: Images { charts: &[], ending: "" } }
    }

    /// Whether readers get only what most of them need.
    pub(crate) fn is_short(&self) -> bool {
        self.is_terminal() && !self.is_verbose
    }

    /// Most entries of a list: all, unless readers get only what most of them need.
    pub(crate) fn at_most(&self, most: usize) -> usize {
        if self.is_short() { most } else { usize::MAX }
    }

    /// The charts of a page that is not the report of one study.
    pub fn charts(&self) -> Block<'static> {
        Block::Images(self.images.at(&Place::Elsewhere))
    }

    pub fn is_terminal(&self) -> bool {
        self.medium == Medium::Terminal
    }

    pub(crate) fn is_post(&self) -> bool {
        self.medium == Medium::Post
    }

    pub(crate) fn is_page(&self) -> bool {
        self.medium == Medium::Page
    }

    /// Capitalizes a lower-case heading, except in terminals.
    pub fn heading(&self, words: &str) -> String {
        if self.is_terminal() { words.to_owned() } else { capital(words) }
    }

    /// Makes a lower-case line a sentence, except in terminals.
    pub(crate) fn sentence(&self, line: &str) -> String {
        if self.is_terminal() { line.to_owned() } else { sentence(line) }
    }
}

/// Charts that a document shows as files.
#[derive(Clone, Copy)]
pub(crate) struct Images<'a> {
    pub(crate) charts: &'a [ChartFile],
    pub(crate) ending: &'a str,
}

impl Images<'_> {
    pub(crate) fn at(self, place: &Place) -> Vec<Image> {
        let charts = self.charts.iter().filter(|chart| chart.place == *place);
        let image = |chart: &ChartFile| Image {
            alt: chart.alt.clone(),
            file: format!("{}.{}", chart.name, self.ending),
        };
        charts.map(image).collect()
    }
}

/// The last entry of a shortened list.
pub(crate) fn and_more(more: usize) -> Option<String> {
    (more > 0).then(|| format!("and {more} more"))
}

pub struct Image {
    pub(crate) alt: String,
    pub(crate) file: String,
}

pub enum Block<'a> {
    Answer(Vec<String>),
    Lines(Vec<String>),
    /// Explanations in lower case, without full stops.
    Notes(Vec<String>),
    List(ItemList),
    /// Class and paragraphs.
    Prose(&'static str, Vec<Text>),
    /// A heading without a section: levels below the surrounding headings.
    Heading(usize, Text),
    Facts(Vec<(String, Text)>),
    /// Preformatted text with a description.
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
    /// An inline drawing with a description.
    Drawing {
        class: &'static str,
        svg: String,
        note: String,
    },
    Figures(&'static str, Vec<Figure>),
    Form(PageForm),
    Section(Section<'a>),
    Part(FramedBlocks<'a>),
    /// The blocks of another page.
    Page(&'a [Self]),
    Break,
    /// Alternatives by number, widest first: the first that fits is shown, else the last.
    Fitted(Box<dyn Fn(usize) -> Option<Vec<Block<'static>>> + 'a>),
}

#[derive(Default)]
pub struct Section<'a> {
    pub(crate) heading: Text,
    pub(crate) fold: Fold,
    pub(crate) blocks: Vec<Block<'a>>,
    /// Anchor on the page; empty without links to it.
    pub(crate) id: String,
    pub(crate) class: &'static str,
    /// Name in the navigation above a long page; empty if not listed there.
    pub(crate) place: Cow<'static, str>,
}

/// Blocks in a frame.
pub struct FramedBlocks<'a> {
    pub(crate) frame: Frame,
    pub(crate) class: String,
    pub(crate) blocks: Vec<Block<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame {
    Plain,
    Whole,
    Warning,
}

pub struct ItemList {
    pub(crate) class: &'static str,
    /// Whether the order has a meaning.
    pub(crate) is_ordered: bool,
    pub(crate) items: Vec<TableCell>,
}

#[derive(Default)]
pub struct Figure {
    pub(crate) caption: String,
    pub(crate) svg: String,
    pub(crate) ticks: Vec<String>,
    pub(crate) is_caption_below: bool,
}

/// Fields that a reader fills in.
pub struct PageForm {
    /// Its name for the script of the page.
    pub(crate) id: &'static str,
    pub(crate) fields: Vec<FormField>,
    pub(crate) button: Option<&'static str>,
    /// Name of the element for the script's results.
    pub(crate) output: &'static str,
}

#[derive(Default)]
pub(crate) struct FormField {
    pub(crate) label: &'static str,
    pub(crate) name: &'static str,
    pub(crate) placeholder: &'static str,
    pub(crate) words: Option<Vec<String>>,
    pub(crate) all: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Fold {
    #[default]
    Never,
    Open,
    Closed,
}

/// The first column has the names of the rows.
#[derive(Default)]
pub struct Table {
    pub(crate) caption: Option<Caption>,
    pub(crate) columns: Vec<Column>,
    pub(crate) groups: Vec<RowGroup>,
    pub(crate) indent: Indent,
    pub(crate) look: Look,
}

#[derive(Clone, Default)]
pub(crate) struct Look {
    /// Classes; empty for those of its caption.
    pub(crate) class: String,
    /// Classes of the scrolling element around it.
    pub(crate) scroll: &'static str,
    /// Accessible name; empty for that of its caption or first column.
    pub(crate) label: &'static str,
    /// Name for the script that sorts it; empty if not sortable.
    pub(crate) sorted: &'static str,
    /// Whether it is too small to need a scrolling element.
    pub(crate) is_small: bool,
}

#[derive(Default)]
pub(crate) struct Caption {
    pub(crate) title: String,
    /// In lower case, without a full stop; may be empty.
    pub(crate) note: String,
    /// Classes of its cells with their meanings.
    pub(crate) legend: Vec<(String, &'static str)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Indent {
    /// Its rows, not its headings.
    #[default]
    Rows,
    /// Its rows; the headings of groups are close above them.
    Close,
    Whole,
    Little,
    None,
}

#[derive(Clone, Default)]
pub struct Column {
    pub(crate) heading: String,
    pub(crate) is_number: bool,
    /// Only for pages: classes, an explanation, and the scale of the drawings in it.
    pub(crate) class: &'static str,
    pub(crate) title: String,
    pub(crate) scale: String,
    /// Heading shared with neighbours, and its class.
    pub(crate) above: Option<(String, &'static str)>,
}

impl Column {
    pub fn words(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), ..Self::default() }
    }

    pub fn numbers(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), is_number: true, ..Self::default() }
    }

    pub(crate) fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    pub(crate) fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    pub(crate) fn above(self, heading: impl Into<String>, class: &'static str) -> Self {
        Self { above: Some((heading.into(), class)), ..self }
    }
}

#[derive(Default)]
pub(crate) struct RowGroup {
    pub(crate) heading: Text,
    pub(crate) images: Vec<Image>,
    pub(crate) rows: Vec<Row>,
    pub(crate) class: &'static str,
}

#[derive(Default)]
pub struct Row {
    pub(crate) cells: Vec<TableCell>,
    /// A line that a terminal shows below it.
    pub(crate) below: Option<String>,
    /// Anchor on the page; empty without links to it.
    pub(crate) id: String,
    pub(crate) class: &'static str,
    /// Data attributes for the script.
    pub(crate) data: Vec<(&'static str, String)>,
    /// Details that open below it.
    pub(crate) more: Vec<Block<'static>>,
}

#[derive(Clone, Default)]
pub struct TableCell {
    pub(crate) text: Text,
    /// Word of its colour; may be empty.
    pub(crate) class: String,
    pub(crate) title: String,
    /// Value for the script.
    pub(crate) key: Option<String>,
}

impl<T: Into<Text>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl TableCell {
    pub(crate) fn class(self, class: impl Into<String>) -> Self {
        Self { class: class.into(), ..self }
    }

    pub(crate) fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    pub(crate) fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }
}

impl Row {
    pub fn new<T: Into<TableCell>>(cells: impl IntoIterator<Item = T>) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// With a line that a terminal shows below it.
    pub fn below(self, line: Option<String>) -> Self {
        Self { below: line, ..self }
    }
}

impl Section<'_> {
    pub(crate) fn new(heading: impl Into<Text>, fold: Fold) -> Self {
        Self { heading: heading.into(), fold, ..Self::default() }
    }
}

impl Table {
    pub fn new(columns: Vec<Column>, rows: impl IntoIterator<Item = Row>) -> Self {
        let group = RowGroup { rows: rows.into_iter().collect(), ..RowGroup::default() };
        Self { columns, groups: vec![group], ..Self::default() }
    }

    pub fn flush(self) -> Self {
        Self { indent: Indent::None, ..self }
    }

    pub fn indented(self, indent: Indent) -> Self {
        Self { indent, ..self }
    }

    /// Removes the title if it is elsewhere.
    pub(crate) fn untitled(mut self) -> Self {
        self.caption.iter_mut().for_each(|caption| caption.title.clear());
        self
    }

    pub(crate) fn without_headings(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.heading.clear());
        self
    }

    pub(crate) fn look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    pub(crate) fn small(self, class: &str, caption: impl Into<String>) -> Self {
        let look = Look { class: class.to_owned(), is_small: true, ..Look::default() };
        let note = caption.into();
        let caption = (!note.is_empty()).then(|| Caption { note, ..Caption::default() });
        Self { look, caption, ..self }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }
}

impl<'a> Block<'a> {
    pub fn section(heading: impl Into<Text>, blocks: Vec<Block<'a>>) -> Vec<Self> {
        Self::folded(heading, Fold::Never, blocks)
    }

    /// A section of a long page with an entry above the page; empty without blocks.
    pub(crate) fn place(
        id: &'static str,
        place: impl Into<Cow<'static, str>>,
        heading: impl Into<Text>,
        blocks: Vec<Block<'a>>,
    ) -> Vec<Self> {
        if blocks.is_empty() {
            return Vec::new();
        }
        let (id, place) = (id.to_owned(), place.into());
        vec![Self::Section(Section { id, place, blocks, ..Section::new(heading, Fold::Never) })]
    }

    pub(crate) fn folded(
        heading: impl Into<Text>,
        fold: Fold,
        blocks: Vec<Block<'a>>,
    ) -> Vec<Self> {
        if blocks.is_empty() {
            return Vec::new();
        }
        vec![Self::Section(Section { blocks, ..Section::new(heading, fold) })]
    }

    pub fn list<T: Into<TableCell>>(items: impl IntoIterator<Item = T>) -> Vec<Self> {
        Self::list_of("", items)
    }

    /// A list with its legend; empty without items.
    pub(crate) fn explained(lines: Vec<String>, legend: &str) -> Vec<Self> {
        let legend = (!lines.is_empty()).then(|| legend.to_owned());
        let mut blocks = Self::list(lines);
        blocks.extend(Self::notes(legend));
        blocks
    }

    pub(crate) fn list_of<T: Into<TableCell>>(
        class: &'static str,
        items: impl IntoIterator<Item = T>,
    ) -> Vec<Self> {
        let items: Vec<TableCell> = items.into_iter().map(Into::into).collect();
        let list = ItemList { class, is_ordered: false, items };
        if list.items.is_empty() { Vec::new() } else { vec![Self::List(list)] }
    }

    /// A list whose order has a meaning; empty without items.
    pub(crate) fn ordered_list<T: Into<TableCell>>(
        class: &'static str,
        items: impl IntoIterator<Item = T>,
    ) -> Vec<Self> {
        let items: Vec<TableCell> = items.into_iter().map(Into::into).collect();
        let list = ItemList { class, is_ordered: true, items };
        if list.items.is_empty() { Vec::new() } else { vec![Self::List(list)] }
    }

    pub(crate) fn prose<T: Into<Text>>(
        class: &'static str,
        lines: impl IntoIterator<Item = T>,
    ) -> Vec<Self> {
        let lines: Vec<Text> = lines.into_iter().map(Into::into).collect();
        if lines.is_empty() { Vec::new() } else { vec![Self::Prose(class, lines)] }
    }

    pub(crate) fn part(
        frame: Frame,
        class: impl Into<String>,
        blocks: Vec<Block<'a>>,
    ) -> Vec<Self> {
        if blocks.is_empty() {
            return Vec::new();
        }
        vec![Self::Part(FramedBlocks { frame, class: class.into(), blocks })]
    }

    /// Names the system of each line of a chart.
    pub(crate) fn key(systems: &[String]) -> Self {
        let name = |(number, system): (usize, &String)| {
            [of_class(format!("line{}", number % 6), system), words(" ")]
        };
        Self::Prose("key", vec![systems.iter().enumerate().flat_map(name).collect()])
    }

    pub fn command(
        before: impl Into<String>,
        command: impl Into<String>,
        after: impl Into<String>,
    ) -> Self {
        Self::Command { before: before.into(), command: command.into(), after: after.into() }
    }

    pub(crate) fn facts<T: Into<Text>>(facts: impl IntoIterator<Item = (String, T)>) -> Self {
        Self::Facts(facts.into_iter().map(|(name, value)| (name, value.into())).collect())
    }

    pub fn notes(notes: impl IntoIterator<Item = String>) -> Vec<Self> {
        let notes: Vec<String> = notes.into_iter().collect();
        if notes.is_empty() { Vec::new() } else { vec![Self::Notes(notes)] }
    }
}
