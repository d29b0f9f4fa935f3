//! A mistake in a study file, shown where it is.

use std::ops::Range;

use assay_model::Hint;
use unicode_width::UnicodeWidthStr;

/// What is wrong with a study file. Its text is the whole diagnostic: message, place, line, caret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}\n{shown}")]
pub struct StudyFileError {
    /// What is wrong.
    pub message: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, in characters from 1.
    pub column: usize,
    shown: String,
    hint: Option<String>,
}

impl Hint for StudyFileError {
    fn hints(&self) -> Vec<String> {
        self.hint.iter().cloned().collect()
    }
}

/// A study file, for its mistakes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    /// Name of the file.
    pub(crate) name: &'a str,
    /// Its content.
    pub(crate) text: &'a str,
}

/// What a tab is shown as: carets must stand below what they mean.
const TAB: &str = "    ";

impl Source<'_> {
    /// A mistake at some bytes of the file.
    pub(crate) fn error(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) -> StudyFileError {
        let start = self.boundary(span.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let end = self.boundary(span.end).clamp(start, line_end);
        let (before, marked) = (&self.text[line_start..start], &self.text[start..end]);
        let (line, column) =
            (self.text[..start].matches('\n').count() + 1, before.chars().count() + 1);
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let content = self.text[line_start..line_end].trim_end().replace('\t', TAB);
        let indent = " ".repeat(before.replace('\t', TAB).width());
        let carets = "^".repeat(marked.replace('\t', TAB).width().max(1));
        let shown = format!(
            "{margin}--> {}:{line}:{column}\n{margin} |\n{number} | {content}\n{margin} | {indent}{carets}",
            self.name
        );
        StudyFileError { message: message.into(), line, column, shown, hint }
    }

    /// The nearest place at or before `at` where a character begins.
    fn boundary(&self, at: usize) -> usize {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// `did you mean` the one of `words` that is nearest to `typed`, if any is near.
pub(crate) fn nearest<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// Similarity below which a suggestion would only confuse.
    const NEAR: f64 = 0.5;
    let alike = strsim::normalized_damerau_levenshtein;
    let scored = words.into_iter().map(|word| (alike(word, typed), word));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score >= NEAR);
    best.map(|(_, word)| format!("did you mean `{word}`"))
}

/// `did you mean` the nearest, or else all there are.
pub(crate) fn nearest_or_all(typed: &str, words: &[&str]) -> Option<String> {
    nearest(typed, words.iter().copied()).or_else(|| Some(format!("one of {}", quoted(words))))
}

/// `` `a`, `b` ``.
pub(crate) fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: Range<usize>) -> String {
        Source { name: "study.toml", text }.error(span, "wrong", None).to_string()
    }

    #[test]
    fn carets_stand_below_what_they_mean() {
        let text = "a = 1\n\tb = \"é\" # x\nc = 2";
        let at = text.find("\"é\"").unwrap();
        assert_eq!(
            shown(text, at..at + "\"é\"".len()),
            "wrong\n --> study.toml:2:6\n  |\n2 |     b = \"é\" # x\n  |         ^^^"
        );
        assert!(shown(text, 0..0).ends_with("1 | a = 1\n  | ^"));
    }

    #[test]
    fn any_span_is_shown_somewhere() {
        for text in ["", "é", "a\r\nb", "\n\n"] {
            for start in 0..6 {
                for end in 0..6 {
                    assert!(shown(text, start..end).contains("-->"));
                }
            }
        }
    }
}
