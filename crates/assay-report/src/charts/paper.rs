//! A small SVG writer. Marks have classes: a file brings their colours with it, and the page has its own.

use std::fmt::Write as _;

use assay_model::printable;

/// Size of text, in units of the drawing, which are pixels.
pub(crate) const SIZE: f64 = 12.0;

/// Size of the text of axes and notes.
pub(crate) const SMALL: f64 = 10.0;

/// Size of titles.
pub(crate) const LARGE: f64 = 15.0;

/// Room around everything.
pub(crate) const MARGIN: f64 = 16.0;

/// The colours of files, which are those of the page in daylight. Fonts with the widest letters come first, because
/// places for text are reckoned with such letters.
const STYLE: &str = "text{font:12px 'DejaVu Sans',Verdana,Arial,sans-serif;fill:#1b1d21}\
    .small{font-size:10px;fill:#5c626b}.large{font-size:15px}.soft{fill:#5c626b}\
    .paper{fill:#fff}.band{fill:#e6e2da}.one{stroke:#8d9098}.grid{stroke:#dedbd5}.frame{fill:none;stroke:#dedbd5}\
    .change{fill:currentColor;opacity:.2}.range{stroke:currentColor;stroke-width:3;stroke-linecap:round}\
    .span{stroke:currentColor}.dot{fill:currentColor;stroke:#fff}\
    .hollow{fill:#fff;stroke:currentColor;stroke-width:1.8}\
    .arrow{fill:none;stroke:currentColor;stroke-width:2}.curve{fill:none;stroke:currentColor;stroke-width:1.6}\
    .thin{fill:none;stroke:currentColor;stroke-width:.7;opacity:.8}\
    .bars{fill:none;stroke:currentColor;stroke-width:1.4}\
    .points{fill:none;stroke:currentColor;stroke-width:5.5;stroke-linecap:round}.fill{fill:currentColor;stroke:none}\
    .pale1{fill-opacity:.45;stroke:currentColor}.pale2{fill-opacity:.1;stroke:currentColor}\
    .dash1{stroke-dasharray:6 3}.dash2{stroke-dasharray:2 3}\
    .slower{color:#a84300}.faster{color:#00609c}.same{color:#5c626b}.undecided{color:#6d5a86}\
    .failed,.uneven{color:#a3195b}text.verdict{fill:currentColor}\
    .line0{color:#1f77b4}.line1{color:#d9622b}.line2{color:#2a9d5c}.line3{color:#b34fc4}.line4{color:#a58a00}\
    .line5{color:#6b7280}.cell{fill:#f7f6f3}.cell.better{fill:#bcdcf2}.cell.worse{fill:#f6dd96}.mark{fill:#1b1d21}";

/// Where a text stands relative to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing that grows mark by mark.
pub(crate) struct Paper {
    width: f64,
    marks: String,
}

impl Paper {
    /// An empty drawing of this width.
    pub(crate) fn new(width: f64) -> Self {
        Self { width, marks: String::new() }
    }

    /// A drawing that begins with a title and lines of notes; with the position below them.
    pub(crate) fn titled(width: f64, title: &str, notes: &[String]) -> (Self, f64) {
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

    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    /// A line of text whose baseline begins, has its middle or ends here.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        self.turned((x, y), 0.0, anchor, class, text);
    }

    /// A text that is turned by so many degrees, clockwise.
    pub(crate) fn turned(
        &mut self,
        (x, y): (f64, f64),
        degrees: f64,
        anchor: Anchor,
        class: &str,
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let turn = match degrees == 0.0 {
            true => String::new(),
            false => format!(r#" transform="rotate({degrees:.0} {x:.1} {y:.1})""#),
        };
        let class = attribute("class", class);
        let text = escaped(text);
        self.push(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}"{class}{anchor}{turn}>{text}</text>"#
        ));
    }

    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.push(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    pub(crate) fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.push(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        ));
    }

    pub(crate) fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        self.push(format_args!(
            r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius}"/>"#
        ));
    }

    /// A path; nothing if it is empty.
    pub(crate) fn path(&mut self, class: &str, path: &str) {
        if !path.is_empty() {
            self.push(format_args!(r#"<path class="{class}" d="{path}"/>"#));
        }
    }

    /// A path in units of its own, moved and enlarged.
    pub(crate) fn placed_path(&mut self, class: &str, (x, y): (f64, f64), scale: f64, path: &str) {
        self.push(format_args!(
            r#"<path class="{class}" transform="translate({x:.1} {y:.1}) scale({scale})" d="{path}"/>"#
        ));
    }

    /// Marks with words that a pointer brings up.
    pub(crate) fn told(&mut self, words: &str, draw: impl FnOnce(&mut Self)) {
        self.push(format_args!("<g><title>{}</title>", escaped(words)));
        draw(self);
        self.push(format_args!("</g>"));
    }

    /// Marks with a name, which other drawings of the same page may repeat.
    pub(crate) fn shared(&mut self, name: &str, draw: impl FnOnce(&mut Self)) {
        // Rules for classes hold in a repetition only within the marks, so they have the class of charts themselves.
        self.push(format_args!(r#"<g id="{name}" class="chart">"#));
        draw(self);
        self.push(format_args!("</g>"));
    }

    /// The marks of that name.
    pub(crate) fn repeat(&mut self, name: &str) {
        self.push(format_args!(r##"<use href="#{name}"/>"##));
    }

    fn push(&mut self, mark: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = self.marks.write_fmt(mark);
    }

    /// The drawing as a part of the page, which has the colours of its classes.
    pub(crate) fn inline(self, height: f64, label: &str) -> String {
        let Self { width, marks } = self;
        let label = escaped(label);
        format!(
            r#"<svg class="chart" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-label="{label}">{marks}</svg>"#
        )
    }

    /// The drawing as a file of its own, with a title and a description for those who do not see it.
    pub(crate) fn file(self, height: f64, title: &str, description: &str) -> String {
        let Self { width, marks } = self;
        let (title, description) = (escaped(title), escaped(description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-labelledby=\"title desc\">\n\
             <title id=\"title\">{title}</title>\n<desc id=\"desc\">{description}</desc>\n\
             <style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{marks}\n</svg>\n"
        )
    }
}

fn attribute(name: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(r#" {name}="{value}""#) }
}

/// Text in which nothing is markup and nothing controls a terminal.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // XML has no place for them.
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// About the width of a text in a font with wide letters, at this size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
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

/// A text, or as much of it as there is room for.
pub(crate) fn fitted(text: &str, size: f64, room: f64) -> String {
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

/// A text in lines that there is room for, broken at spaces.
pub(crate) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
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

/// The classes of a system's colour and dashes.
pub(crate) fn line_class(system: usize) -> String {
    match system / 6 {
        0 => format!("line{system}"),
        dashes => format!("line{} dash{}", system % 6, dashes.min(2)),
    }
}

/// The classes of a system's bars: those of further systems are paler, with a border.
pub(crate) fn bar_class(system: usize) -> String {
    match system / 6 {
        0 => format!("fill line{system}"),
        pale => format!("fill line{} pale{}", system % 6, pale.min(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_text() {
        let mut paper = Paper::new(100.0);
        paper.text((0.0, 10.0), Anchor::Start, "", "</text><script>&\"\u{1b}[2J\u{ffff}");
        let file = paper.file(20.0, "<x>", "a\u{0}b");
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
