//! Text for a terminal: wrapped lines, columns without lines between them, and colours.

use anstyle::{AnsiColor, Style};
use assay_model::printable;
use unicode_width::UnicodeWidthStr as _;

use crate::document::{
    Block, Column, Indent, ItemList, Medium, PageDocument, Section, Table, Wish,
};
use crate::page::{Format, Page, TextOptions};
use crate::text::Text;

pub(super) const FORMAT: Format = Format {
    word: "text",
    about: "A table for the terminal",
    extensions: &["txt", "text", "log"],
    render: |page, options| {
        let wish = Wish::without_images(Medium::Terminal, options.verbose);
        Some(page.shown(&wish, |document| render(document, *options)))
    },
};

pub(super) const BRIEF: Format = Format {
    word: "brief",
    about: "Half a page: the answer, three findings, what is open, and where the numbers are",
    extensions: &[],
    render: |page, _| brief(page),
};

/// Findings of half a page, its lines, and its columns, whatever the terminal.
const FINDINGS: usize = 3;
const LINES: usize = 25;
const COLUMNS: usize = 80;

/// With as many findings as fit.
fn brief(page: &Page<'_>) -> Option<String> {
    let options = TextOptions { width: COLUMNS, color: false, verbose: false };
    let shown = |findings| Some(render(&page.brief(findings)?, options));
    let fits = |text: &String| text.lines().count() <= LINES;
    let fitting = (2..=FINDINGS).rev().filter_map(shown).find(fits);
    fitting.or_else(|| shown(1))
}

/// A text with more lines than this repeats its answer at the end, next to the prompt.
const SCREEN: usize = 40;

fn render(document: &PageDocument<'_>, options: TextOptions) -> String {
    let mut lines = blocks(&document.blocks, options.width, 0);
    if document.repeats_answer && lines.len() > SCREEN {
        let answer = document.blocks.iter().filter_map(|block| match block {
            Block::Answer(lines) => Some(lines.iter().cloned()),
            _ => None,
        });
        let answer = Block::section("answer", Block::list(answer.flatten()));
        lines.push(String::new());
        lines.extend(blocks(&answer, options.width, 0));
    }
    lines.iter_mut().for_each(|line| *line = printable(line).into_owned());
    if options.color {
        paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

/// The space between two blocks depends on both kinds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Words,
    Table,
    Section,
}

fn kind(block: &Block<'_>) -> Option<BlockKind> {
    match block {
        Block::Answer(_) | Block::Lines(_) | Block::Notes(_) | Block::List(_) => {
            Some(BlockKind::Words)
        }
        Block::Prose(..) | Block::Heading(..) | Block::Facts(_) => Some(BlockKind::Words),
        Block::Code { .. } | Block::Command { .. } | Block::Page(_) => Some(BlockKind::Words),
        Block::Table(table) if table.indent == Indent::Whole => Some(BlockKind::Words),
        Block::Table(_) | Block::Fitted(_) => Some(BlockKind::Table),
        Block::Section(_) | Block::Part(_) => Some(BlockKind::Section),
        // A terminal has no pictures and no fields.
        Block::Images(_) | Block::Drawing { .. } | Block::Figures(..) => None,
        Block::Form(_) | Block::Break => None,
    }
}

fn blocks(all: &[Block<'_>], width: usize, depth: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut above = None;
    for block in all {
        if matches!(block, Block::Break) {
            above = above.map(|_| BlockKind::Section);
        }
        let shown = block_lines(block, width, depth);
        let Some(kind) = kind(block).filter(|_| !shown.is_empty()) else { continue };
        let is_apart = match (above, kind) {
            (None, _) => depth > 0 && kind == BlockKind::Section,
            (Some(BlockKind::Section), _) | (_, BlockKind::Section) => true,
            (Some(BlockKind::Table), BlockKind::Table) => true,
            (Some(BlockKind::Words), BlockKind::Words) => false,
            _ => depth == 0,
        };
        lines.extend(is_apart.then(String::new));
        lines.extend(shown);
        above = Some(kind);
    }
    lines
}

fn block_lines(block: &Block<'_>, width: usize, depth: usize) -> Vec<String> {
    let wrapped = |lines: &[String], indent: &str| -> Vec<String> {
        lines.iter().flat_map(|line| words(&format!("{indent}{line}"), width)).collect()
    };
    let inner = "  ".repeat(depth);
    match block {
        Block::Answer(lines) | Block::Lines(lines) => wrapped(lines, &inner),
        Block::Notes(lines) => wrapped(lines, "  "),
        Block::List(ItemList { items, .. }) => {
            let items: Vec<String> = items.iter().map(|item| item.text.plain()).collect();
            wrapped(&items, "  ")
        }
        Block::Prose(_, lines) => {
            let lines: Vec<String> = lines.iter().map(Text::plain).collect();
            wrapped(&lines, &inner)
        }
        Block::Heading(_, text) => wrapped(&[text.plain()], &inner),
        Block::Facts(facts) => {
            let fact = |(name, value): &(String, Text)| format!("{name}: {}", value.plain());
            wrapped(&facts.iter().map(fact).collect::<Vec<_>>(), "  ")
        }
        Block::Code { intro, text } => {
            let indent = if intro.is_empty() { "  " } else { "    " };
            let intro = (!intro.is_empty()).then(|| format!("  {intro}:"));
            let text = text.lines().map(|line| format!("{indent}{line}").trim_end().to_owned());
            intro.into_iter().chain(text).collect()
        }
        Block::Command { before, command, after } => {
            wrapped(&[format!("{before}`{command}`{after}")], &inner)
        }
        Block::Table(shown) => table(shown, width),
        Block::Section(section) => self::section(section, width, depth),
        Block::Fitted(choices) => fitted(choices.as_ref(), width, depth),
        Block::Part(part) => blocks(&part.blocks, width, depth),
        Block::Page(shown) => blocks(shown, width, depth),
        Block::Images(_) | Block::Drawing { .. } | Block::Figures(..) => Vec::new(),
        Block::Form(_) | Block::Break => Vec::new(),
    }
}

/// Names and messages are foreign text: none may control the terminal.
fn words(line: &str, width: usize) -> Vec<String> {
    wrap(&printable(line), width)
}

fn section(section: &Section<'_>, width: usize, depth: usize) -> Vec<String> {
    let inner = blocks(&section.blocks, width, depth + 1);
    if inner.is_empty() && !section.blocks.is_empty() {
        return Vec::new();
    }
    let mut lines = words(&section.heading.plain(), width);
    lines.extend(inner);
    lines
}

/// The first choice whose tables fit, else the last one.
fn fitted(
    choices: &dyn Fn(usize) -> Option<Vec<Block<'static>>>,
    width: usize,
    depth: usize,
) -> Vec<String> {
    let mut last = Vec::new();
    for choice in (0..).map_while(choices) {
        let fits = |block: &Block<'_>| match block {
            Block::Table(shown) => {
                table(shown, width).iter().all(|line| line.chars().count() <= width)
            }
            _ => true,
        };
        let does_fit = choice.iter().all(fits);
        last = choice;
        if does_fit {
            break;
        }
    }
    blocks(&last, width, depth)
}

fn table(table: &Table, width: usize) -> Vec<String> {
    let caption = table.caption.iter().flat_map(|caption| {
        let colon = if caption.note.is_empty() { "" } else { ": " };
        words(&format!("{}{colon}{}", caption.title, caption.note), width)
    });
    let mut lines: Vec<String> = caption.collect();
    let mut laid = grid_lines(table).into_iter();
    lines.extend(has_headings(table).then(|| laid.next()).flatten());
    let mut above = String::new();
    for group in table.groups.iter().filter(|group| !group.rows.is_empty()) {
        let heading = group.heading.plain();
        if heading != above {
            lines.extend(group_heading(table, &heading));
            above = heading;
        }
        for row in &group.rows {
            lines.extend(laid.next());
            lines.extend(row.below.iter().flat_map(|below| words(below, width)));
        }
    }
    lines
}

fn group_heading(table: &Table, heading: &str) -> Vec<String> {
    match table.indent {
        Indent::Close => vec![format!(" {heading}")],
        _ => vec![String::new(), heading.to_owned()],
    }
}

fn has_headings(table: &Table) -> bool {
    table.columns.iter().any(|column| !column.heading.is_empty())
}

/// Columns are padded up to this width, and a longer text moves what follows it: otherwise a few long texts would
/// lengthen every line of a long report.
const PADDED: usize = 200;

fn grid_lines(table: &Table) -> Vec<String> {
    let (of_headings, of_rows) = match table.indent {
        Indent::Rows | Indent::Close => ("", "  "),
        Indent::None | Indent::Whole | Indent::Little => ("", ""),
    };
    let before = match table.indent {
        Indent::Whole => "  ",
        Indent::Little => " ",
        _ => "",
    };
    let indented = |number: usize, indent: &str, text: &str| match number {
        0 => format!("{indent}{}", printable(text)),
        _ => printable(text).into_owned(),
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    if has_headings(table) {
        // The caption describes the rows.
        let shown = |number| number > 0 || table.caption.is_none();
        let heading = |(number, column): (usize, &Column)| {
            let heading = if shown(number) { column.heading.as_str() } else { "" };
            indented(number, of_headings, heading)
        };
        rows.push(table.columns.iter().enumerate().map(heading).collect());
    }
    rows.extend(table.rows().map(|row| {
        let cells = row.cells.iter().enumerate();
        cells.map(|(number, cell)| indented(number, of_rows, &cell.text.plain())).collect()
    }));
    let mut widths = vec![0; rows.iter().map(Vec::len).max().unwrap_or(0)];
    for (number, text) in rows.iter().flat_map(|row| row.iter().enumerate()) {
        if let Some(width) = widths.get_mut(number) {
            *width = text.width().min(PADDED).max(*width);
        }
    }
    let is_number =
        |number: usize| table.columns.get(number).is_some_and(|column| column.is_number);
    let line = |row: Vec<String>| {
        let mut line = before.to_owned();
        for (number, (text, width)) in row.iter().zip(&widths).enumerate() {
            let padding = width.saturating_sub(text.width());
            let (left, right) = if is_number(number) { (padding, 0) } else { (0, padding) };
            line += &format!(" {:left$}{text}{:right$} ", "", "");
        }
        line.truncate(line.trim_end().len());
        line
    };
    rows.into_iter().map(line).collect()
}

const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

const PHRASES: [(&str, Style); 12] = [
    ("▲ faster", GREEN),
    ("▼ slower", RED),
    ("▼ exceeded", RED),
    ("✗ failed", RED),
    ("≠ uneven", YELLOW),
    ("? undecided", YELLOW),
    ("✓ holds", GREEN),
    ("✗ does not hold", RED),
    ("? cannot say", YELLOW),
    ("= same", DIM),
    ("suspicious:", YELLOW),
    ("warning:", YELLOW),
];

/// Symbols coloured at the start of a line, in the list of causes.
const STARTS: [(&str, Style); 3] = [("▲", GREEN), ("▼", RED), ("✗", RED)];

/// Colours change no width and carry no meaning alone. The first sentence and headings become bold, verdicts get their
/// colours.
fn paint(lines: &mut [String]) {
    let mut after_blank = true;
    let mut is_first = true;
    for line in lines {
        let is_indented = line.starts_with(' ');
        // The first sentence continues in the lines indented below it.
        is_first &= after_blank || is_indented;
        let is_heading = after_blank && !is_indented;
        after_blank = line.is_empty();
        if !after_blank {
            *line = if is_first || is_heading { painted(line, BOLD) } else { colored(line) };
        }
    }
}

fn painted(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

fn colored(line: &str) -> String {
    let text = line.trim_start();
    if let Some((start, style)) = STARTS.into_iter().find(|(start, _)| text.starts_with(start)) {
        let (indent, rest) = (&line[..line.len() - text.len()], &text[start.len()..]);
        return format!("{indent}{}{rest}", painted(start, style));
    }
    PHRASES.into_iter().fold(line.to_owned(), |line, (phrase, style)| {
        line.replace(phrase, &painted(phrase, style))
    })
}

/// Wraps a line at spaces. Continuation lines are indented further.
fn wrap(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.trim_end().to_owned()];
    }
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let mut lines = Vec::new();
    let mut current = " ".repeat(indent);
    let mut length = indent;
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let word_length = word.chars().count();
        if length > indent && length + 1 + word_length > width {
            lines.push(std::mem::replace(&mut current, " ".repeat(indent + 2)));
            length = indent + 2;
        } else if length > indent {
            current.push(' ');
            length += 1;
        }
        current.push_str(word);
        length += word_length;
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Row;

    #[test]
    fn columns_are_as_wide_as_their_longest_text() {
        let columns = vec![Column::words("test"), Column::numbers("QPS"), Column::words("why")];
        let rows = [Row::new(["scan", "1,000", "größer 数 x"]), Row::new(["a", "9", ""])];
        let lines = grid_lines(&Table::new(columns, rows).flush());
        assert_eq!(lines, [" test    QPS  why", " scan  1,000  größer 数 x", " a         9"]);
        assert_eq!(grid_lines(&Table::default()), Vec::<String>::new());
    }

    /// One of a thousand rows has a long text. Padding every row to its width would make the text a thousand times as
    /// long.
    #[test]
    fn a_long_text_makes_no_other_row_longer() {
        const LONG: usize = 100_000;
        let row = |at: usize| {
            let text = "x".repeat(if at == 500 { LONG } else { 1 });
            Row::new([text, "1".to_owned(), "y".to_owned()])
        };
        let columns = || vec![Column::words("test"), Column::numbers("QPS"), Column::words("z")];
        let lines = grid_lines(&Table::new(columns(), (0..1000).map(row)));
        let bytes: usize = lines.iter().map(String::len).sum();
        assert!(bytes < LONG + lines.len() * (PADDED + 20), "{bytes}");
        let wide = vec![Column::words("z".repeat(LONG)); 50];
        let rows = (0..1000).map(|_| Row::new(vec!["1"; 50]));
        let lines = grid_lines(&Table::new(wide, rows));
        let bytes: usize = lines.iter().map(String::len).sum();
        assert!(bytes < 50 * LONG + lines.len() * 50 * (PADDED + 2) + 1000, "{bytes}");
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("  a bb cc 12%, dd", 10), ["  a bb cc", "    12%,", "    dd"]);
        assert_eq!(wrap("short", 10), ["short"]);
        assert_eq!(wrap("longer_than_all_of_it", 10), ["longer_than_all_of_it"]);
    }
}
