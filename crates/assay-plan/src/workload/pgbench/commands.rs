//! Commands of pgbench and of psql, and why some of them cannot be used.

use std::ops::Range;

use crate::document::Fault;

/// What can be used.
const COMMANDS: &str =
    "of pgbench's commands, `\\set`, `\\sleep`, `\\gset` and `\\if` to `\\endif` can be used";

/// A command: the line or lines from its backslash on.
pub(super) struct Command<'t> {
    text: &'t str,
    /// The first word, with the backslash.
    pub(super) word: &'t str,
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
        Self { text, word, whole: place.start..place.start + line.trim_end().len().max(word.len()) }
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

    fn words(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        self.text.get(self.rest()).unwrap_or_default().split_whitespace()
    }

    /// The variable that a command defines although assay does not provide it.
    pub(super) fn defines(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        let defines = matches!(self.word, "\\setrandom" | "\\setshell");
        self.words().take(usize::from(defines))
    }
}

/// The mistake to use a command that assay does not provide.
pub(super) fn refused(command: &Command<'_>) -> Fault {
    let word = command.word;
    let fault = |message: String| Fault::at(command.place(), message);
    match word {
        "\\setrandom" => {
            let words: Vec<&str> = command.words().collect();
            let instead = match words.as_slice() {
                [name, low, high] => format!("write `\\set {name} random({low}, {high})`"),
                [name, low, high, kind @ ("gaussian" | "exponential"), parameter] => {
                    format!("write `\\set {name} random_{kind}({low}, {high}, {parameter})`")
                }
                _ => "write `\\set NAME random(LOW, HIGH)`".to_owned(),
            };
            fault("`\\setrandom` is the syntax of pgbench up to 9.5".to_owned()).hint(instead)
        }
        "\\startpipeline" | "\\endpipeline" | "\\syncpipeline" => {
            fault(format!("`{word}`: assay sends a statement after the reply to the one before"))
                .hint("leave the line out to measure the statements one by one")
        }
        "\\aset" => fault("`\\aset` cannot be used".to_owned())
            .hint("write `\\gset` after each query, without `\\;` between them"),
        "\\;" => fault("`\\;` sends several statements in one message".to_owned())
            .hint("write `;` to measure the statements one by one"),
        "\\shell" | "\\setshell" => fault(format!("`{word}`: assay runs no programs"))
            .hint("`\\set` and SQL can compute values"),
        _ => fault(format!("`{word}` is no command that assay knows")).hint(COMMANDS),
    }
}
