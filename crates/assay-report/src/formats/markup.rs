//! HTML in which no text is markup.

use std::fmt::{self, Write as _};

use crate::text::{Mark, Span, Text, parts};

#[derive(Default)]
pub(super) struct Markup(String);

impl Markup {
    pub(super) fn line(&mut self, markup: fmt::Arguments<'_>) {
        let _ = write!(self.0, "\n{markup}");
    }
}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '<' | '>' | '"' | '\'' => {
                let _ = write!(safe, "&#{};", u32::from(letter));
            }
            letter => safe.push(letter),
        }
    }
    safe
}

/// Empty without a value.
pub(super) fn attribute(name: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {name}=\"{}\"", escaped(value)) }
}

pub(super) fn inline(text: &Text) -> String {
    text.spans().iter().map(marked).collect()
}

fn marked(Span { text, mark }: &Span) -> String {
    let tagged = |tag: &str, class: &str, text: String| {
        format!("<{tag}{}>{text}</{tag}>", attribute("class", class))
    };
    match mark {
        Mark::Words => words(text),
        Mark::Code => tagged("code", "", escaped(text)),
        Mark::Bold => tagged("b", "", words(text)),
        Mark::Small(class) => tagged("small", class, words(text)),
        Mark::Class(class) => tagged("span", class, words(text)),
        Mark::Within(class, text) => tagged("span", class, inline(text)),
        Mark::Folded(summary) => {
            let (summary, text) = (escaped(summary), escaped(text));
            format!("<details><summary>{summary}</summary><pre>{text}</pre></details>")
        }
        Mark::Hidden => tagged("span", "hidden", escaped(text)),
        Mark::Badge => tagged("span", "badge", escaped(text)),
        Mark::Time => tagged("time", "", escaped(text)),
        Mark::Symbol => format!("<span aria-hidden=\"true\">{}</span>", escaped(text)),
        Mark::Link(to) => format!("<a{}>{}</a>", attribute("href", to), escaped(text)),
        Mark::Drawing => text.clone(),
        Mark::Break => "<br>".to_owned(),
    }
}

/// Text between backticks is code.
fn words(text: &str) -> String {
    let part = |(number, part): (usize, &str)| match number % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", escaped(part)),
    };
    parts(text).into_iter().enumerate().map(part).collect()
}
