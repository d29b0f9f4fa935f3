//! Colours, laid over finished text: they change no width and carry no meaning of their own.

use anstyle::{AnsiColor, Style};

const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// What is coloured wherever it stands.
const PHRASES: [(&str, Style); 7] = [
    ("▲ faster", GREEN),
    ("▼ slower", RED),
    ("✗ failed", RED),
    ("? undecided", YELLOW),
    ("= same", DIM),
    ("suspicious:", YELLOW),
    ("warning:", YELLOW),
];

/// Adds colours: the first line bold, verdicts in theirs.
pub(crate) fn paint(text: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let mut painted = rest.to_owned();
    for (phrase, style) in PHRASES {
        painted = painted.replace(phrase, &format!("{style}{phrase}{style:#}"));
    }
    format!("{BOLD}{first}{BOLD:#}\n{painted}")
}
