//! A mistake in a file, and how it is shown.

use std::fmt::Display;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use assay_model::{Hint, masked};

use crate::error::Error;

/// The reason why a file cannot be read: a message, the line of the file and a mark under the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown}")]
pub struct FileError {
    shown: String,
    hints: Vec<String>,
}

impl Hint for FileError {
    fn hints(&self) -> Vec<String> {
        self.hints.clone()
    }
}

/// A mistake and where it is.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Fault {
    message: String,
    /// Bytes of the file; none when something is missing as a whole.
    span: Option<Range<usize>>,
    hints: Vec<String>,
}

impl Fault {
    pub(crate) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), span: Some(span), hints: Vec::new() }
    }

    /// In the file as a whole.
    pub(crate) fn of_file(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, hints: Vec::new() }
    }

    /// From an error, at the part of the file that it concerns.
    pub(crate) fn from_error(span: Range<usize>, error: &Error) -> Self {
        Self { message: error.to_string(), span: Some(span), hints: error.hints() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Shows neither passwords nor tokens, in the line of the file and in the message.
    pub(crate) fn shown_in(self, name: &str, text: &str) -> FileError {
        let text = &masked(text);
        let place: Element<'_> = match self.span {
            Some(span) => {
                let mark = AnnotationKind::Primary.span(within(text, span));
                Snippet::source(text).path(name).annotation(mark).into()
            }
            None => Origin::path(name).into(),
        };
        let report = [Level::ERROR.no_name().primary_title(masked(&self.message)).element(place)];
        FileError {
            shown: Renderer::plain().render(&report),
            hints: self.hints.iter().map(|hint| masked(hint)).collect(),
        }
    }
}

impl serde::de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Self::of_file(message.to_string())
    }
}

/// The span, or the begin of the text where there is no such part of it.
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
            r#"compare = ["mysql://root:secret?x@127.0.0.1:1/db", 3]"#,
            r#"compare = ["mysql//root:secret@h/db", "mariadb@11.8"]"#,
            r#"compare = ["mysql@git:https://u:a'secret@h/x.git", "x"]"#,
            r#"compare = ["mysql@8.0+x_pwd=secret", 3]"#,
            r#"compare = ["mysql@8.0+x_pwd=a+secret", "mysql@8.0"]"#,
            "source = \"https://u:a secret@h\"",
            "tests = [\"https://u:secret@h\"]",
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
