//! Commands of pgbench and psql, and why some are unsupported.

use std::ops::Range;

use crate::document::Fault;

const COMMANDS: &str = "pgbench's commands are `\\set`, `\\setrandom`, `\\sleep`, `\\gset`, `\\aset`, `\\if` to \
                        `\\endif`, `\\startpipeline` to `\\endpipeline`, and `\\;` between statements";

pub(super) struct Command<'t> {
    text: &'t str,
    pub(super) word: &'t str,
    /// Lower case: pgbench's commands are case-insensitive.
    pub(super) name: String,
    /// Byte range from the backslash to the last non-blank character.
    whole: Range<usize>,
}

impl<'t> Command<'t> {
    pub(super) fn at(text: &'t str, place: Range<usize>) -> Self {
        let line = text.get(place.clone()).unwrap_or_default();
        let end =
            line.char_indices().skip(1).find(|(_, c)| !c.is_ascii_alphanumeric() && *c != '_');
        // A sign may follow the backslash, as in `\;`.
        let least =
            1 + line.chars().nth(1).filter(|c| !c.is_whitespace()).map_or(0, char::len_utf8);
        let word = line.get(..end.map_or(line.len(), |(at, _)| at).max(least)).unwrap_or(line);
        let whole = place.start..place.start + line.trim_end().len().max(word.len());
        Self { text, word, name: word.to_ascii_lowercase(), whole }
    }

    pub(super) fn place(&self) -> Range<usize> {
        self.whole.start..self.whole.start + self.word.len()
    }

    pub(super) fn rest(&self) -> Range<usize> {
        let begin = self.whole.start + self.word.len();
        let rest = self.text.get(begin..self.whole.end).unwrap_or_default();
        begin + (rest.len() - rest.trim_start().len())..self.whole.end
    }

    pub(super) fn words(&self) -> Vec<(Range<usize>, &'t str)> {
        let rest = self.rest();
        let mut at = rest.start;
        let text = self.text.get(rest).unwrap_or_default();
        let parts = text.split_inclusive(char::is_whitespace).map(|part| {
            let word = part.trim_end();
            let place = at..at + word.len();
            at += part.len();
            (place, word)
        });
        parts.filter(|(_, word)| !word.is_empty()).collect()
    }

    pub(super) fn defines(&self) -> Option<&'t str> {
        let defines = self.name == "\\setshell";
        self.words().first().filter(|_| defines).map(|(_, word)| *word)
    }
}

pub(super) fn refused(command: &Command<'_>) -> Fault {
    let word = command.word;
    let fault = |message: String| Fault::at(command.place(), message);
    match command.name.as_str() {
        "\\shell" | "\\setshell" => fault(format!("`{word}`: assay runs no programs"))
            .hint("`\\set` and SQL can compute values"),
        _ => fault(format!("`{word}` is no command that assay knows")).hint(COMMANDS),
    }
}
