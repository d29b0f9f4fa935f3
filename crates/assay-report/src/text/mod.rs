//! The report in a terminal: the answer in words, then tests, groups, conditions, and how to do it again.

pub(crate) mod conditions;
mod paint;
mod table;

use assay_model::StudyRecord;
use assay_verdict::Judgement;

use crate::{TextOptions, headline};

/// Renders the report.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement, options: TextOptions) -> String {
    let sections = [
        headline::lines(record, judgement),
        table::tests(record, judgement, options.width),
        table::reasons(record, judgement),
        table::groups(record, judgement),
        conditions::render(record, judgement),
    ];
    let filled: Vec<String> = sections
        .into_iter()
        .filter(|lines| !lines.is_empty())
        .map(|lines| lines.iter().flat_map(|line| wrap(line, options.width)).collect::<Vec<_>>())
        .map(|lines| lines.join("\n"))
        .collect();
    // Names and messages come from elsewhere: none of them is to command the terminal.
    let plain = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    let text: String = (filled.join("\n\n") + "\n").chars().map(plain).collect();
    if options.color { paint::paint(&text) } else { text }
}

/// Breaks a line of words at spaces, continued under its indentation. Table rows are laid out to fit.
fn wrap(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.trim_end().to_owned()];
    }
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let mut lines = Vec::new();
    let mut current = " ".repeat(indent);
    let mut length = indent;
    for word in line.split_whitespace() {
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
