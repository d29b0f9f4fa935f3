//! Commands of pgbench and of psql, and why some of them cannot be used.

use std::ops::Range;

use crate::document::Fault;

/// What can be used.
const COMMANDS: &str = "pgbench's commands are `\\set`, `\\setrandom`, `\\sleep`, `\\gset`, `\\aset`, `\\if` to \
                        `\\endif`, `\\startpipeline` to `\\endpipeline`, and `\\;` between statements";

/// A command: the line or lines from its backslash on.
pub(super) struct Command<'t> {
    text: &'t str,
    /// The first word as it is written, with the backslash.
    pub(super) word: &'t str,
    /// The same in lower case: pgbench's commands have no case.
    pub(super) name: String,
    /// Bytes of the text from the backslash to the last character that is not blank.
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

    /// The place of its word.
    pub(super) fn place(&self) -> Range<usize> {
        self.whole.start..self.whole.start + self.word.len()
    }

    /// The place of what follows its word, without blanks around it.
    pub(super) fn rest(&self) -> Range<usize> {
        let begin = self.whole.start + self.word.len();
        let rest = self.text.get(begin..self.whole.end).unwrap_or_default();
        begin + (rest.len() - rest.trim_start().len())..self.whole.end
    }

    /// The words after its own, with their places.
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

    /// The variable that a command defines although assay does not provide it.
    pub(super) fn defines(&self) -> Option<&'t str> {
        let defines = self.name == "\\setshell";
        self.words().first().filter(|_| defines).map(|(_, word)| *word)
    }
}

/// The mistake to use a command that assay does not provide.
pub(super) fn refused(command: &Command<'_>) -> Fault {
    let word = command.word;
    let fault = |message: String| Fault::at(command.place(), message);
    match command.name.as_str() {
        "\\shell" | "\\setshell" => fault(format!("`{word}`: assay runs no programs"))
            .hint("`\\set` and SQL can compute values"),
        _ => fault(format!("`{word}` is no command that assay knows")).hint(COMMANDS),
    }
}
