//! A small SVG writer. Marks have classes; a file includes their colours, a page defines them.

use std::fmt::{self, Write as _};

use assay_model::printable;

/// Size of text, in units of the drawing, which are pixels.
pub const SIZE: f64 = 12.0;

/// Size of text in axes and notes.
pub const SMALL: f64 = 10.0;

pub const LARGE: f64 = 15.0;

/// Around the whole drawing.
pub const MARGIN: f64 = 16.0;

#[derive(Debug, Clone, Copy)]
pub enum Length {
    Units(f64),
    /// Percent of the area that the drawing fills.
    Percent(f64),
}

impl From<f64> for Length {
    fn from(units: f64) -> Self {
        Self::Units(units)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units(units) => write!(f, "{units:.1}"),
            Self::Percent(percent) => {
                let percent = format!("{percent:.1}");
                write!(f, "{}%", percent.strip_suffix(".0").unwrap_or(&percent))
            }
        }
    }
}

/// A position: from the left, and from the top.
pub trait Position {
    fn parts(self) -> [Length; 2];
}

impl<X: Into<Length>, Y: Into<Length>> Position for (X, Y) {
    fn parts(self) -> [Length; 2] {
        [self.0.into(), self.1.into()]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug)]
pub struct Paper {
    width: f64,
    marks: String,
}

impl Paper {
    pub fn new(width: f64) -> Self {
        Self { width, marks: String::new() }
    }

    /// Starts with a title and notes; returns the position below them.
    pub fn titled(width: f64, title: &str, notes: &[String]) -> (Self, f64) {
        let mut paper = Self::new(width);
        let mut y = MARGIN + LARGE;
        let room = width - 2.0 * MARGIN;
        paper.text((MARGIN, y), Anchor::Start, "large", &fitted(title, LARGE, room));
        for line in notes.iter().flat_map(|note| wrapped(note, SMALL, room)) {
            y += SMALL + 4.0;
            paper.text((MARGIN, y), Anchor::Start, "small", &line);
        }
        (paper, y + 10.0)
    }

    pub fn width(&self) -> f64 {
        self.width
    }

    /// `at` is on the baseline.
    pub fn text(&mut self, at: impl Position, anchor: Anchor, class: &str, text: &str) {
        self.written(at.parts(), "", anchor, class, text);
    }

    pub fn turned(
        &mut self,
        (x, y): (f64, f64),
        degrees: f64,
        anchor: Anchor,
        class: &str,
        text: &str,
    ) {
        let turn = format!(r#" transform="rotate({degrees:.0} {x:.1} {y:.1})""#);
        self.written((x, y).parts(), &turn, anchor, class, text);
    }

    fn written(
        &mut self,
        [x, y]: [Length; 2],
        turn: &str,
        anchor: Anchor,
        class: &str,
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let (class, text) = (attribute("class", class), escaped(text));
        self.push(format_args!(r#"<text x="{x}" y="{y}"{class}{anchor}{turn}>{text}</text>"#));
    }

    pub fn line(&mut self, class: &str, from: impl Position, to: impl Position) {
        let ([x1, y1], [x2, y2]) = (from.parts(), to.parts());
        let class = attribute("class", class);
        self.push(format_args!(r#"<line{class} x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    /// `corner` is the upper left one.
    pub fn rect(&mut self, class: &str, corner: impl Position, size: impl Position) {
        let ([x, y], [width, height]) = (corner.parts(), size.parts());
        let class = attribute("class", class);
        self.push(format_args!(
            r#"<rect{class} x="{x}" y="{y}" width="{width}" height="{height}"/>"#
        ));
    }

    pub fn circle(&mut self, class: &str, centre: impl Position, radius: f64) {
        let [x, y] = centre.parts();
        let class = attribute("class", class);
        self.push(format_args!(r#"<circle{class} cx="{x}" cy="{y}" r="{radius}"/>"#));
    }

    /// Draws nothing if `path` is empty.
    pub fn path(&mut self, class: &str, path: &str) {
        if !path.is_empty() {
            let class = attribute("class", class);
            self.push(format_args!(r#"<path{class} d="{path}"/>"#));
        }
    }

    /// A path in local units, moved and scaled.
    pub fn placed_path(&mut self, class: &str, (x, y): (f64, f64), scale: f64, path: &str) {
        self.push(format_args!(
            r#"<path class="{class}" transform="translate({x:.1} {y:.1}) scale({scale})" d="{path}"/>"#
        ));
    }

    /// Marks relative to a place.
    pub fn around(&mut self, class: &str, place: impl Position, draw: impl FnOnce(&mut Self)) {
        let [x, y] = place.parts();
        let class = attribute("class", class);
        self.push(format_args!(r#"<svg{class} x="{x}" y="{y}">"#));
        draw(self);
        self.push(format_args!("</svg>"));
    }

    /// Marks with a tooltip.
    pub fn with_title(&mut self, words: &str, draw: impl FnOnce(&mut Self)) {
        self.push(format_args!("<g><title>{}</title>", escaped(words)));
        draw(self);
        self.push(format_args!("</g>"));
    }

    /// Marks that lead to another page. A link beside the drawing must lead there too: the keyboard skips this one.
    pub fn link(&mut self, to: &str, draw: impl FnOnce(&mut Self)) {
        self.push(format_args!(r#"<a href="{}" tabindex="-1">"#, escaped(to)));
        draw(self);
        self.push(format_args!("</a>"));
    }

    /// Named marks, which other drawings of the page can repeat.
    pub fn shared(&mut self, name: &str, draw: impl FnOnce(&mut Self)) {
        // In a repetition, rules for classes apply only inside the marks, so the marks need the class `chart`
        // themselves.
        self.push(format_args!(r#"<g id="{name}" class="chart">"#));
        draw(self);
        self.push(format_args!("</g>"));
    }

    /// Repeats the marks of [`Self::shared`].
    pub fn repeat(&mut self, name: &str) {
        self.push(format_args!(r##"<use href="#{name}"/>"##));
    }

    fn push(&mut self, mark: std::fmt::Arguments) {
        let _ = self.marks.write_fmt(mark);
    }

    /// Part of a page that has the colours of the classes.
    pub fn inline(self, height: f64, label: &str) -> String {
        self.in_page("", height, label)
    }

    /// The same with its own size, for a page that does not fit it to its place.
    pub fn unscaled(self, height: f64, label: &str) -> String {
        let size = format!(r#" width="{:.0}" height="{height:.0}""#, self.width);
        self.in_page(&size, height, label)
    }

    fn in_page(self, size: &str, height: f64, label: &str) -> String {
        let Self { width, marks } = self;
        let (label, view) = (escaped(label), format!("0 0 {width:.0} {height:.0}"));
        format!(
            r#"<svg class="chart"{size} viewBox="{view}" role="img" aria-label="{label}">{marks}</svg>"#
        )
    }

    /// Part of a page; fills its place. The text next to it must say what it shows.
    pub fn filling(self, class: &str) -> String {
        let (class, marks) = (attribute("class", class), self.marks);
        format!(r#"<svg{class} aria-hidden="true">{marks}</svg>"#)
    }

    /// The same, stretched in both directions.
    pub fn stretched(self, height: f64) -> String {
        let Self { width, marks } = self;
        format!(
            r#"<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" aria-hidden="true">{marks}</svg>"#
        )
    }

    /// A standalone file with its style; title and description are for those who cannot see it.
    pub fn file(self, height: f64, style: &str, title: &str, description: &str) -> String {
        let Self { width, marks } = self;
        let (title, description) = (escaped(title), escaped(description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-labelledby=\"title desc\">\n\
             <title id=\"title\">{title}</title>\n<desc id=\"desc\">{description}</desc>\n\
             <style>{style}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{marks}\n</svg>\n"
        )
    }
}

/// Distance of round labels: the smallest of 1, 2 and 5 times a power of ten that is not below `least`.
pub fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|times| times * power)
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(least)
}

fn attribute(name: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(r#" {name}="{value}""#) }
}

/// Escapes markup and characters that control a terminal.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // Not allowed in XML.
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Approximate width in a font with wide letters.
pub fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '\'' | '.' | ',' | ':' | ';' | '|' | ' ' | '!' | 'f' | 't'
        | '(' | ')' | '[' | ']' | '/' | '-' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 1.0,
        c if c.is_ascii_uppercase() => 0.76,
        c if c.is_ascii() => 0.64,
        c if (c as u32) < 0x1100 => 0.84,
        _ => 1.0,
    };
    size * printable(text).chars().map(em).sum::<f64>()
}

/// Cuts a text to the room.
pub fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept, size) + size > room {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

/// Breaks a text at spaces into lines that fit.
pub fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + size <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fitted(word, size, room)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_text() {
        let mut paper = Paper::new(100.0);
        paper.text((0.0, 10.0), Anchor::Start, "", "</text><script>&\"\u{1b}[2J\u{ffff}");
        let file = paper.file(20.0, "", "<x>", "a\u{0}b");
        assert!(roxmltree::Document::parse(&file).is_ok(), "{file}");
        assert!(!file.contains("<script") && !file.contains('\u{1b}'), "{file}");
    }

    #[test]
    fn long_text_is_cut_and_broken() {
        assert_eq!(fitted("short", 10.0, 100.0), "short");
        let cut = fitted(&"wide ".repeat(40), 10.0, 100.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 100.0, "{cut}");
        let lines = wrapped(&"some words ".repeat(10), 10.0, 100.0);
        assert!(
            lines.len() > 3 && lines.iter().all(|line| width(line, 10.0) <= 100.0),
            "{lines:?}"
        );
    }
}
