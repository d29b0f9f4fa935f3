//! A page of results as a tree: prose, tables, lists, charts, and sections of these. It knows nothing of studies, and
//! nothing of formats: the modules of pages build documents, and each format renders any of them.

use crate::charts::{ChartFile, Place};
use crate::text::Text;
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
    /// Whether the script of pages acts on its forms. Otherwise they are sent to the server of the page.
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
    List(List),
    /// Paragraphs of a class.
    Prose(&'static str, Vec<Text>),
    /// A heading that no section has: so many levels below the headings of its place.
    Heading(usize, Text),
    /// Names and values.
    Facts(Vec<(String, Text)>),
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
    /// Small drawings beside each other.
    Figures(&'static str, Vec<Figure>),
    /// What a reader may choose on a page.
    Form(Form),
    Section(Section<'a>),
    /// Blocks in a frame.
    Part(Part<'a>),
    /// The end of a paragraph.
    Break,
    /// Blocks by number, from the ones that need most room on: a narrow place shows the first that fit, else the last.
    Fitted(Box<dyn Fn(usize) -> Option<Vec<Block<'static>>> + 'a>),
}

/// Blocks under a heading.
#[derive(Default)]
pub(crate) struct Section<'a> {
    pub(crate) heading: Text,
    pub(crate) fold: Fold,
    pub(crate) blocks: Vec<Block<'a>>,
    /// Its place on the page; empty if nothing leads there.
    pub(crate) id: String,
    pub(crate) class: &'static str,
    /// Its name above a long page, from where it is reached; empty if it is not.
    pub(crate) place: &'static str,
}

/// Blocks in a frame.
pub(crate) struct Part<'a> {
    pub(crate) frame: Frame,
    pub(crate) class: String,
    pub(crate) blocks: Vec<Block<'a>>,
}

/// What a frame means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame {
    Plain,
    /// It can be read without what is around it.
    Whole,
    Warning,
}

/// Items, and their class.
pub(crate) struct List {
    pub(crate) class: &'static str,
    /// Whether their order says something.
    pub(crate) is_ordered: bool,
    pub(crate) items: Vec<Cell>,
}

/// A small drawing.
#[derive(Default)]
pub(crate) struct Figure {
    pub(crate) caption: String,
    pub(crate) svg: String,
    /// Labels below it, at equal distances.
    pub(crate) ticks: Vec<String>,
    pub(crate) is_caption_below: bool,
}

/// Fields that a reader fills in.
#[derive(Default)]
pub(crate) struct Form {
    /// Its name for the script of the page; empty if the form is sent to a server.
    pub(crate) id: &'static str,
    /// Where it is sent.
    pub(crate) action: &'static str,
    pub(crate) fields: Vec<Field>,
    pub(crate) button: Option<&'static str>,
    /// The name of the place where the script says what it found.
    pub(crate) output: &'static str,
}

/// A field of a form: one of some words, or any text.
#[derive(Default)]
pub(crate) struct Field {
    pub(crate) label: &'static str,
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) placeholder: &'static str,
    pub(crate) words: Option<Vec<String>>,
    /// The choice of no word.
    pub(crate) all: Option<&'static str>,
    pub(crate) is_search: bool,
}

/// Whether a reader may fold a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Fold {
    #[default]
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
    pub(crate) look: Look,
}

/// How a page shows a table.
#[derive(Clone, Default)]
pub(crate) struct Look {
    /// Its classes; empty for those that its caption asks for.
    pub(crate) class: String,
    /// The classes of the place in which it is scrolled.
    pub(crate) scroll: &'static str,
    /// Its name for those who do not see it; empty for that of its caption or first column.
    pub(crate) label: &'static str,
    /// Its name for the script, which sorts it; empty if nothing does.
    pub(crate) sorted: &'static str,
    /// Whether it is so small that it needs no place to be scrolled in.
    pub(crate) is_small: bool,
}

/// What a table shows.
#[derive(Default)]
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
    Whole,
    /// By a single space.
    Little,
    None,
}

/// A column of a table.
#[derive(Clone, Default)]
pub(crate) struct Column {
    pub(crate) heading: String,
    pub(crate) is_number: bool,
    /// What a page adds: classes, an explanation, and the scale of the drawings in it.
    pub(crate) class: &'static str,
    pub(crate) title: String,
    pub(crate) scale: String,
    /// The heading that neighbours share, and its class.
    pub(crate) above: Option<(String, &'static str)>,
}

impl Column {
    /// A column of words.
    pub(crate) fn words(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), ..Self::default() }
    }

    /// A column of numbers.
    pub(crate) fn numbers(heading: impl Into<String>) -> Self {
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

/// Rows under a heading, which may be empty.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) heading: Text,
    pub(crate) images: Vec<Image>,
    pub(crate) rows: Vec<Row>,
    pub(crate) class: &'static str,
}

/// A row of a table.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    /// A line that a terminal shows below it.
    pub(crate) below: Option<String>,
    /// Its place on the page; empty if nothing leads there.
    pub(crate) id: String,
    pub(crate) class: &'static str,
    /// Words by which the script finds it.
    pub(crate) data: Vec<(&'static str, String)>,
    /// What opens below it.
    pub(crate) more: Vec<Block<'static>>,
}

/// A cell of a table, or an item of a list.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    pub(crate) text: Text,
    /// The word of its colour; empty without.
    pub(crate) class: String,
    /// What a pointer brings up.
    pub(crate) title: String,
    /// Its value for the script.
    pub(crate) key: Option<String>,
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Cell {
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
    pub(crate) fn new<T: Into<Cell>>(cells: impl IntoIterator<Item = T>) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

impl Section<'_> {
    pub(crate) fn new(heading: impl Into<Text>, fold: Fold) -> Self {
        Self { heading: heading.into(), fold, ..Self::default() }
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

    /// The same as a page shows it.
    pub(crate) fn look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// A small table of a class, with a caption of plain words.
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
    /// A section; nothing without blocks.
    pub(crate) fn section(heading: impl Into<Text>, blocks: Vec<Block<'a>>) -> Vec<Self> {
        Self::folded(heading, Fold::Never, blocks)
    }

    /// A section of a long page: its id, its name above the page, and its heading; nothing without blocks.
    pub(crate) fn place(
        id: &'static str,
        place: &'static str,
        heading: impl Into<Text>,
        blocks: Vec<Block<'a>>,
    ) -> Vec<Self> {
        if blocks.is_empty() {
            return Vec::new();
        }
        let section =
            Section { id: id.to_owned(), place, blocks, ..Section::new(heading, Fold::Never) };
        vec![Self::Section(section)]
    }

    /// A section that may be folded; nothing without blocks.
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

    /// A list; nothing without items.
    pub(crate) fn list<T: Into<Cell>>(items: impl IntoIterator<Item = T>) -> Vec<Self> {
        Self::list_of("", items)
    }

    /// A list of a class; nothing without items.
    pub(crate) fn list_of<T: Into<Cell>>(
        class: &'static str,
        items: impl IntoIterator<Item = T>,
    ) -> Vec<Self> {
        let items: Vec<Cell> = items.into_iter().map(Into::into).collect();
        let list = List { class, is_ordered: false, items };
        if list.items.is_empty() { Vec::new() } else { vec![Self::List(list)] }
    }

    /// A list of a class whose order says something; nothing without items.
    pub(crate) fn ordered_list<T: Into<Cell>>(
        class: &'static str,
        items: impl IntoIterator<Item = T>,
    ) -> Vec<Self> {
        let items: Vec<Cell> = items.into_iter().map(Into::into).collect();
        let list = List { class, is_ordered: true, items };
        if list.items.is_empty() { Vec::new() } else { vec![Self::List(list)] }
    }

    /// Paragraphs of a class; nothing without lines.
    pub(crate) fn prose<T: Into<Text>>(
        class: &'static str,
        lines: impl IntoIterator<Item = T>,
    ) -> Vec<Self> {
        let lines: Vec<Text> = lines.into_iter().map(Into::into).collect();
        if lines.is_empty() { Vec::new() } else { vec![Self::Prose(class, lines)] }
    }

    /// Blocks in a frame of a class; nothing without blocks.
    pub(crate) fn part(
        frame: Frame,
        class: impl Into<String>,
        blocks: Vec<Block<'a>>,
    ) -> Vec<Self> {
        if blocks.is_empty() {
            return Vec::new();
        }
        vec![Self::Part(Part { frame, class: class.into(), blocks })]
    }

    /// Explanations; nothing without any.
    pub(crate) fn notes(notes: impl IntoIterator<Item = String>) -> Vec<Self> {
        let notes: Vec<String> = notes.into_iter().collect();
        if notes.is_empty() { Vec::new() } else { vec![Self::Notes(notes)] }
    }
}
