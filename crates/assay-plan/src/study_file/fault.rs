//! A mistake in a study file, and how it is shown.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use assay_model::Hint;

use crate::Error;

/// Why a study file cannot be read: the message, the line of the file and a mark under the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{shown}")]
pub struct StudyFileError {
    shown: String,
    hints: Vec<String>,
}

impl Hint for StudyFileError {
    fn hints(&self) -> Vec<String> {
        self.hints.clone()
    }
}

/// A mistake and where it is.
#[derive(Debug)]
pub(super) struct Fault {
    message: String,
    /// Bytes of the file; none when something is missing as a whole.
    span: Option<Range<usize>>,
    hints: Vec<String>,
}

impl Fault {
    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), span: Some(span), hints: Vec::new() }
    }

    /// Of the file as a whole.
    pub(super) fn of_file(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, hints: Vec::new() }
    }

    /// What a part of the file means makes no sense.
    pub(super) fn from_error(span: Range<usize>, error: &Error) -> Self {
        Self { message: error.to_string(), span: Some(span), hints: error.hints() }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(super) fn shown_in(self, name: &str, text: &str) -> StudyFileError {
        let place: Element<'_> = match self.span {
            Some(span) => {
                let mark = AnnotationKind::Primary.span(within(text, span));
                Snippet::source(text).path(name).annotation(mark).into()
            }
            None => Origin::path(name).into(),
        };
        let report = [Level::ERROR.no_name().primary_title(self.message).element(place)];
        StudyFileError { shown: Renderer::plain().render(&report), hints: self.hints }
    }
}

/// The span, or the begin of the text where there is no such part of it.
fn within(text: &str, span: Range<usize>) -> Range<usize> {
    if text.get(span.clone()).is_some() { span } else { 0..0 }
}
