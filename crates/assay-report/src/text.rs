//! Text of documents: words with marks. Every format shows the words, and some show the marks.

#[derive(Clone, Default)]
pub struct Text(Vec<Span>);

#[derive(Clone)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) mark: Mark,
}

#[derive(Clone)]
pub(crate) enum Mark {
    /// Words; text between backticks is code.
    Words,
    Code,
    Bold,
    Small(&'static str),
    Class(String),
    Within(&'static str, Text),
    /// Lines that open below these words.
    Folded(String),
    /// A symbol explained by the words next to it.
    Symbol,
    /// For screen readers, instead of the symbol or drawing next to it.
    Hidden,
    Time,
    Badge,
    /// Leads to a place on the page, or to a page of its folder.
    Link(String),
    Drawing,
    Break,
}

fn span(text: impl Into<String>, mark: Mark) -> Span {
    Span { text: text.into(), mark }
}

pub(crate) fn words(text: impl Into<String>) -> Span {
    span(text, Mark::Words)
}

pub(crate) fn code(text: impl Into<String>) -> Span {
    span(text, Mark::Code)
}

pub(crate) fn bold(text: impl Into<String>) -> Span {
    span(text, Mark::Bold)
}

pub(crate) fn small(text: impl Into<String>) -> Span {
    span(text, Mark::Small(""))
}

pub(crate) fn setup(text: impl Into<String>) -> Span {
    span(text, Mark::Small("setup"))
}

pub(crate) fn of_class(class: impl Into<String>, text: impl Into<String>) -> Span {
    span(text, Mark::Class(class.into()))
}

pub(crate) fn within(class: &'static str, text: impl Into<Text>) -> Span {
    span("", Mark::Within(class, text.into()))
}

pub(crate) fn folded(words: impl Into<String>, text: impl Into<String>) -> Span {
    span(text, Mark::Folded(words.into()))
}

pub(crate) fn badge(text: impl Into<String>) -> Span {
    span(text, Mark::Badge)
}

pub(crate) fn time(text: impl Into<String>) -> Span {
    span(text, Mark::Time)
}

pub(crate) fn interval(text: Option<impl Into<String>>) -> impl Iterator<Item = Span> {
    text.into_iter().flat_map(|text| [words(" "), of_class("ci", text)])
}

pub(crate) fn symbol(text: impl Into<String>) -> Span {
    span(text, Mark::Symbol)
}

pub(crate) fn hidden(text: impl Into<String>) -> Span {
    span(text, Mark::Hidden)
}

pub(crate) fn link(to: impl Into<String>, text: impl Into<String>) -> Span {
    span(text, Mark::Link(to.into()))
}

/// Words that lead to another page.
pub fn linked(to: impl Into<String>, text: impl Into<String>) -> Text {
    link(to, text).into()
}

pub(crate) fn drawing(svg: impl Into<String>) -> Span {
    span(svg, Mark::Drawing)
}

pub(crate) fn line_end() -> Span {
    span("", Mark::Break)
}

impl Text {
    pub(crate) fn spans(&self) -> &[Span] {
        &self.0
    }

    pub(crate) fn plain(&self) -> String {
        let shown = |span: &Span| match &span.mark {
            Mark::Drawing => String::new(),
            Mark::Within(_, text) => text.plain(),
            _ => span.text.clone(),
        };
        self.0.iter().map(shown).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|span| span.text.is_empty())
    }

    /// Appends the setup if there is one.
    pub(crate) fn with_setup(self, setup_words: Option<String>) -> Self {
        self.and(setup_words.into_iter().flat_map(|it| [words(" "), setup(it)]))
    }

    pub(crate) fn and(mut self, spans: impl IntoIterator<Item = Span>) -> Self {
        self.0.extend(spans);
        self
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self(vec![words(text)])
    }
}

impl From<Span> for Text {
    fn from(span: Span) -> Self {
        Self(vec![span])
    }
}

impl FromIterator<Span> for Text {
    fn from_iter<T: IntoIterator<Item = Span>>(spans: T) -> Self {
        Self(spans.into_iter().collect())
    }
}

/// Splits at backticks: parts with odd indices are code. An unpaired backtick is a letter.
pub(crate) fn parts(words: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = words.split('`').collect();
    if parts.len().is_multiple_of(2) {
        let last = parts.pop().unwrap_or_default().len();
        let before = parts.pop().unwrap_or_default().len();
        parts.push(&words[words.len() - before - last - 1..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_between_backticks_are_code() {
        assert_eq!(parts("no code"), ["no code"]);
        assert_eq!(parts("`a` and `b`"), ["", "a", " and ", "b", ""]);
        assert_eq!(parts("`a` and `b"), ["", "a", " and `b"]);
        assert_eq!(parts("`"), ["`"]);
    }
}
