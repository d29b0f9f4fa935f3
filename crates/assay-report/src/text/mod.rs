//! The report in a terminal: the answer in words, the causes, groups, tests, conditions, how to do it again.

pub(crate) mod conditions;
mod groups;
pub(crate) mod paint;
pub(crate) mod table;

use assay_model::{StudyRecord, Verdict, printable};
use assay_verdict::Judgement;

use crate::words::{causes, symbol};
use crate::{TextOptions, doubt, headline};

/// A report with more lines than this says its answer once more at the end: there the prompt stands.
const SCREEN: usize = 40;

/// Lines that stand together, with a blank line before and after them.
enum Section {
    /// Words: broken at spaces where the terminal ends.
    Prose(Vec<String>),
    /// Tables, commands and files: as they are.
    Laid(Vec<String>),
}

impl Section {
    fn lines(self, width: usize) -> Vec<String> {
        match self {
            Self::Prose(lines) => lines.iter().flat_map(|line| wrap(line, width)).collect(),
            Self::Laid(lines) => lines,
        }
    }
}

/// Renders the report.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement, options: TextOptions) -> String {
    let width = options.width;
    let tests = table::tests(record, judgement, width);
    let (why, more) = reasons(record, judgement);
    let sections = [
        Section::Prose(headline::lines(record, judgement)),
        Section::Prose(why),
        Section::Prose(doubts(record, judgement)),
        Section::Laid(groups::render(record, judgement, width)),
        Section::Laid(tests.lines),
        Section::Prose(tests.legend),
        Section::Prose(more),
        Section::Prose(conditions::render(record, judgement)),
        Section::Laid(conditions::again(record)),
    ];
    let mut lines: Vec<String> = Vec::new();
    for section in sections {
        push_section(&mut lines, section.lines(width));
    }
    if lines.len() > SCREEN {
        let mut answer = vec!["answer".to_owned()];
        answer.extend(headline::answers(record, judgement).iter().map(|line| format!("  {line}")));
        push_section(&mut lines, Section::Prose(answer).lines(width));
    }
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

fn push_section(lines: &mut Vec<String>, section: Vec<String>) {
    if !lines.is_empty() && !section.is_empty() {
        lines.push(String::new());
    }
    // Names and messages come from elsewhere: none of them is to command the terminal.
    lines.extend(section.into_iter().map(|line| printable(&line).into_owned()));
}

/// Sentences on causes that stand above the tables; the rest below them.
const REASONS: usize = 8;

/// The sentences on the causes, where there are any: the largest changes, and the rest.
fn reasons(record: &StudyRecord, judgement: &Judgement) -> (Vec<String>, Vec<String>) {
    let mut lines: Vec<String> = causes(record, judgement)
        .into_iter()
        .map(|(judged, name, why)| format!("  {} {name}: {why}", symbol(judged.verdict)))
        .collect();
    let mut more = lines.split_off(lines.len().min(REASONS));
    for (lines, title) in
        [(&mut lines, "why, the largest changes first"), (&mut more, "why, the smaller changes")]
    {
        if !lines.is_empty() {
            lines.insert(0, title.to_owned());
        }
    }
    (lines, more)
}

/// Why tests are undecided and what would help, where there are such.
fn doubts(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let mark = symbol(Verdict::Undecided);
    let mut lines: Vec<String> =
        doubt::lines(record, judgement).iter().map(|line| format!("  {mark} {line}")).collect();
    if !lines.is_empty() {
        lines.insert(0, "undecided, and what would help".into());
    }
    lines
}

/// Breaks a line of words at spaces, continued under its indentation.
fn wrap(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.trim_end().to_owned()];
    }
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let mut lines = Vec::new();
    let mut current = " ".repeat(indent);
    let mut length = indent;
    for word in words(line) {
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

/// What stands between spaces; a percent sign stays with its number.
fn words(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let mut end = rest.find(' ').unwrap_or(rest.len());
        if rest[end..].starts_with(" %") {
            end = rest[end + 1..].find(' ').map_or(rest.len(), |next| end + 1 + next);
        }
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_keep_percent_signs() {
        assert_eq!(wrap("  a bb cc 12 %, dd", 10), ["  a bb cc", "    12 %,", "    dd"]);
        assert_eq!(wrap("short", 10), ["short"]);
        assert_eq!(wrap("longer_than_all_of_it", 10), ["longer_than_all_of_it"]);
        assert_eq!(words(" a  5 % %"), ["a", "5 %", "%"]);
    }
}
