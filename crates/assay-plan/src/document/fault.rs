//! Mistakes in files, and their display.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use assay_model::{Hint, counted, masked, shortened, without_secrets};

use crate::error::PlanError;
use crate::nearest::nearest;

/// Why a file cannot be read: a message, the line of the file and a mark under the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown}")]
pub struct FileError {
    shown: String,
    hints: Vec<String>,
}

impl FileError {
    /// An error of a document that is no text with lines.
    pub(crate) fn without_place(name: &str, error: &dyn Display) -> Self {
        let error = error.to_string();
        Self { shown: format!("{name} cannot be read: {}", shortened(&error)), hints: Vec::new() }
    }

    /// Those of several files as one.
    pub(crate) fn of_all(errors: impl IntoIterator<Item = Self>) -> Self {
        let (mut shown, mut hints) = (String::new(), Vec::<String>::new());
        for error in errors {
            if !shown.is_empty() {
                hints.drain(..).for_each(|hint| shown += &format!("\nhint: {hint}"));
                shown += "\n\nerror: ";
            }
            shown += &error.shown;
            hints = error.hints;
        }
        Self { shown, hints }
    }
}

impl Hint for FileError {
    fn hints(&self) -> Vec<String> {
        self.hints.clone()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct FileFault {
    message: String,
    /// Byte range in the file; empty if something is missing as a whole.
    span: Option<Range<usize>>,
    hints: Vec<String>,
    others: Vec<FileFault>,
}

pub type FileResult<T> = Result<T, FileFault>;

const SHOWN_MAX: usize = 20;

impl FileFault {
    pub fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), span: Some(span), hints: Vec::new(), others: Vec::new() }
    }

    pub fn of_file(message: impl Into<String>) -> Self {
        Self { span: None, ..Self::at(0..0, message) }
    }

    pub(crate) fn from_error(span: Range<usize>, error: &PlanError) -> Self {
        Self { hints: error.hints(), ..Self::at(span, error.to_string()) }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Names the candidate that `word` is most similar to; otherwise, gives the other hint.
    pub fn hint_nearest<T: AsRef<str>>(
        self,
        word: &str,
        candidates: impl IntoIterator<Item = T>,
        otherwise: impl Into<String>,
    ) -> Self {
        match nearest(word, candidates) {
            Some(meant) => self.hint(format!("did you mean `{}`", meant.as_ref())),
            None => self.hint(otherwise),
        }
    }

    pub(crate) fn of_all(faults: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut faults = faults.into_iter();
        let mut first = faults.next()?;
        first.others.extend(faults);
        Some(first)
    }

    /// All mistakes in file order, each alone.
    fn all(mut self) -> Vec<Self> {
        let others = std::mem::take(&mut self.others);
        let mut all = vec![self];
        all.extend(others.into_iter().flat_map(Self::all));
        all.sort_by_key(|fault| fault.span.as_ref().map_or(usize::MAX, |span| span.start));
        all
    }

    /// Shows neither passwords nor tokens, in the line of the file and in the message. Each mistake has its hints below
    /// it, unless given before.
    pub fn shown_in(self, name: &str, text: &str) -> FileError {
        let mut faults = self.all();
        let more = faults.len().saturating_sub(SHOWN_MAX);
        faults.truncate(SHOWN_MAX);
        let mut given = BTreeSet::new();
        let mut error = FileError::of_all(faults.into_iter().map(|fault| {
            let hints = fault.hints.iter().map(|hint| without_secrets(hint));
            let hints = hints.filter(|hint| given.insert(hint.clone())).collect();
            FileError { shown: fault.rendered(name, text), hints }
        }));
        if more > 0 {
            error.hints.push(format!("{} more are not shown", counted(more as u64, "mistake")));
        }
        error
    }

    fn rendered(&self, name: &str, text: &str) -> String {
        let part = self.span.clone().map(|span| Excerpt::around(text, within(text, span)));
        let place: Element<'_> = match &part {
            Some(Excerpt { line, text, span }) => {
                let mark = AnnotationKind::Primary.span(span.clone());
                let snippet = Snippet::source(text.as_str()).line_start(*line);
                snippet.path(name).annotation(mark).into()
            }
            None => Origin::path(name).into(),
        };
        let message = without_secrets(&self.message);
        let report = [Level::ERROR.no_name().primary_title(message).element(place)];
        Renderer::plain().render(&report)
    }
}

pub(crate) fn all<T>(results: impl IntoIterator<Item = FileResult<T>>) -> FileResult<Vec<T>> {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => found.push(value),
            Err(fault) => faults.push(fault),
        }
    }
    FileFault::of_all(faults).map_or(Ok(found), Err)
}

impl serde::de::Error for FileFault {
    fn custom<T: Display>(message: T) -> Self {
        Self::of_file(message.to_string())
    }
}

/// The displayed part of a file: rendering a long text is slow.
struct Excerpt {
    /// Number of its first line, from 1.
    line: usize,
    /// Without secrets.
    text: String,
    span: Range<usize>,
}

/// Bytes shown before and after a mistake in a long line, and of the mistake itself.
const BESIDE_MAX: usize = 400;
const MARKED_MAX: usize = 2000;

/// Bytes around the shown part in which a secret may begin or end. Searching a large file is slow.
const CONTEXT: usize = 8 << 10;

impl Excerpt {
    fn around(text: &str, span: Range<usize>) -> Self {
        let (before, from) = text.split_at_checked(span.start).unwrap_or((text, ""));
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let start = line_start.max(boundary(text, span.start.saturating_sub(BESIDE_MAX)));
        let marked_end = boundary(text, span.end.min(span.start + MARKED_MAX));
        let after = text.get(marked_end..).unwrap_or_default();
        let end = after.find('\n').map_or(text.len(), |at| marked_end + at + 1);
        let end = end.min(boundary(text, marked_end + BESIDE_MAX));
        let span = if from.is_empty() { span } else { span.start..marked_end };
        let first = boundary(text, start.saturating_sub(CONTEXT));
        let context = masked(text.get(first..boundary(text, end + CONTEXT)).unwrap_or_default());
        Self {
            line: 1 + before.matches('\n').count(),
            text: context.get(start - first..end - first).unwrap_or_default().to_owned(),
            span: span.start - start..span.end - start,
        }
    }
}

/// The last character boundary up to this byte.
fn boundary(text: &str, byte: usize) -> usize {
    let byte = byte.min(text.len());
    (0..=byte).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn within(text: &str, span: Range<usize>) -> Range<usize> {
    if text.get(span.clone()).is_some() { span } else { 0..0 }
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

    use crate::read_study;

    #[test]
    fn a_line_is_shown_without_its_secrets() {
        for line in [
            r#"compare = ["mysql://root:secret@127.0.0.1:1/db", 3]"#,
            r#"compare = ["mysql@git:https://u:secret@h/x.git", "x"]"#,
            r#"compare = ["mysql@8.0+x_pwd=secret", 3]"#,
            r#"compare = ["mysql@8.0+x_pwd=a+secret", "mysql@8.0"]"#,
            "compare = [\"mysql@8.0\", \"mysql@9.7\"]\ntests = [\"https://u:secret@h\"]",
            "budget = \"https://u:secret@h\"",
            "password = secret",
            "[system.x]\nis = \"mysql@8.0\"\noptions = { x-api-key = \"/secret\" }",
            "[system.x]\nis = \"mysql@8.0\"\noptions = { x_pwd = \"secret\", \"--y\" = 1 }",
        ] {
            let error = read_study("study.toml", line).unwrap_err();
            let text = format!("{error} {error:?} {:?}", error.hints());
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
