//! Markdown for GitHub: details are folded, and of a text, only its code is markup.

use assay_model::printable_lines;

use crate::charts::ChartFile;
use crate::document::{
    Block, Column, Fold, Image, Images, ItemList, Medium, PageDocument, RowGroup, Section, Table,
    Wish,
};
use crate::page::{Format, Page};
use crate::words::sentence;

pub(super) const FORMAT: Format = Format {
    word: "markdown",
    about: "Tables for an issue, a pull request or a post",
    extensions: &["md", "markdown"],
    render: |page, _| Some(with_images(page, Images { charts: &[], ending: "" })),
};

impl Page<'_> {
    /// Charts of the page, and Markdown that shows them as files with this extension, such as `svg`.
    pub fn with_charts(&self, ending: &str) -> (Vec<ChartFile>, String) {
        let charts = self.charts();
        let text = with_images(self, Images { charts: &charts, ending });
        (charts, text)
    }
}

fn with_images(page: &Page<'_>, images: Images<'_>) -> String {
    let wish = Wish { medium: Medium::Post, is_verbose: true, images };
    page.shown(&wish, |document| printable_lines(&render(document)).into_owned())
}

fn render(document: &PageDocument<'_>) -> String {
    blocks(&document.blocks, 3).join("\n\n") + "\n"
}

fn blocks(all: &[Block<'_>], level: usize) -> Vec<String> {
    let parts = all.iter().flat_map(|block| parts(block, level));
    parts.filter(|part| !part.is_empty()).collect()
}

/// `level` is that of headings.
fn parts(block: &Block<'_>, level: usize) -> Vec<String> {
    match block {
        Block::Answer(lines) => {
            lines.iter().map(|line| format!("**{}**", words(line.trim()))).collect()
        }
        Block::Lines(lines) => lines.iter().map(|line| at_start(line.trim())).collect(),
        Block::Notes(lines) => lines.iter().map(|line| words(&sentence(line))).collect(),
        Block::Prose(_, lines) => lines.iter().map(|line| at_start(line.plain().trim())).collect(),
        Block::Heading(_, text) => vec![format!("**{}**", escaped(&text.plain()))],
        Block::List(ItemList { items, .. }) => list(items.iter().map(|item| item.text.plain())),
        Block::Facts(facts) => {
            list(facts.iter().map(|(name, value)| format!("{name}: {}", value.plain())))
        }
        Block::Code { intro, text } => {
            let intro = (!intro.is_empty()).then(|| format!("{intro}:"));
            intro.into_iter().chain([fenced(text)]).collect()
        }
        Block::Command { before, command, after } => {
            vec![format!("{}{}{}", escaped(before), code(command), escaped(after))]
        }
        Block::Table(shown) => table(shown, level),
        Block::Images(images) => images.iter().map(image).collect(),
        // Their files are images.
        Block::Drawing { .. } | Block::Figures(..) => Vec::new(),
        Block::Form(_) | Block::Break => Vec::new(),
        Block::Part(part) => blocks(&part.blocks, level),
        Block::Page(shown) => blocks(shown, level),
        Block::Section(section) => self::section(section, level),
        Block::Fitted(choices) => blocks(&choices(0).unwrap_or_default(), level),
    }
}

fn list(items: impl Iterator<Item = String>) -> Vec<String> {
    let items = items.map(|item| format!("- {}", at_start(item.trim())));
    vec![items.collect::<Vec<_>>().join("\n")]
}

fn section(section: &Section<'_>, level: usize) -> Vec<String> {
    let heading = escaped(&section.heading.plain());
    let open = match section.fold {
        Fold::Never => {
            let inner = blocks(&section.blocks, level + 1);
            if inner.is_empty() && !section.blocks.is_empty() {
                return Vec::new();
            }
            return [vec![format!("{} {heading}", "#".repeat(level))], inner].concat();
        }
        Fold::Open => " open",
        Fold::Closed => "",
    };
    let inner = blocks(&section.blocks, level + 1).join("\n\n");
    vec![format!("<details{open}><summary>{heading}</summary>\n\n{inner}\n\n</details>")]
}

/// A table per group of rows, with the title above and the note below.
fn table(table: &Table, level: usize) -> Vec<String> {
    let heading = |text: &str| format!("{} {}", "#".repeat(level), escaped(text));
    let captions = || table.caption.iter();
    let mut parts: Vec<String> =
        captions().filter(|it| !it.title.is_empty()).map(|it| heading(&it.title)).collect();
    for group in &table.groups {
        parts.extend((!group.heading.is_empty()).then(|| heading(&group.heading.plain())));
        parts.extend(group.images.iter().map(image));
        parts.push(grid(&table.columns, group));
    }
    parts.extend(
        captions()
            .filter(|it| !it.note.is_empty())
            .map(|caption| escaped(&sentence(&caption.note))),
    );
    parts
}

fn grid(columns: &[Column], group: &RowGroup) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let header = line(columns.iter().map(|column| escaped(&column.heading)).collect());
    let rule = columns.iter().map(|column| if column.is_number { "---:" } else { "---" });
    let rule = line(rule.map(str::to_owned).collect());
    let rows = group.rows.iter();
    let rows =
        rows.map(|row| line(row.cells.iter().map(|cell| escaped(&cell.text.plain())).collect()));
    [header, rule].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn image(image: &Image) -> String {
    format!("![{}]({})", escaped(&image.alt), image.file)
}

/// Inline code that nothing can end early.
fn code(text: &str) -> String {
    format!("`{}`", text.replace(|c: char| c == '`' || c.is_control(), " "))
}

/// A code block whose fence is longer than any in the text.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{text}\n{fence}")
}

/// Escapes text at the start of a line or item, where `-`, `+`, `=` and numbers with a point would make lists and
/// headings.
fn at_start(text: &str) -> String {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let is_mark =
        if digits > 0 { rest.starts_with(['.', ')']) } else { rest.starts_with(['-', '+', '=']) };
    format!("{number}{}{}", if is_mark { "\\" } else { "" }, words(rest))
}

/// Text between backticks is code. Without letters, it would be no code in Markdown.
fn words(text: &str) -> String {
    let part = |(number, part): (usize, &str)| match number % 2 {
        1 if !part.is_empty() => code(part),
        1 => "\\`\\`".to_owned(),
        _ => escaped(part),
    };
    crate::text::parts(text).into_iter().enumerate().map(part).collect()
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            c if c.is_control() => safe.push(' '),
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // An `@` would mention a user, except within a word, as in names of systems.
            '@' if !before.is_alphanumeric() => safe.push_str("@\u{200b}"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => {
                safe.push('\\');
                safe.push(c);
            }
            _ => safe.push(c),
        }
        before = c;
    }
    safe
}
