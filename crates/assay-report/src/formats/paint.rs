//! Colours for finished lines: they change no width and carry no meaning alone.

use anstyle::{AnsiColor, Style};

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

/// The first sentence and headings become bold, verdicts get their colours.
pub(crate) fn paint(lines: &mut [String]) {
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
