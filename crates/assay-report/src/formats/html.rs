//! One HTML page: self-contained, works offline, readable without JavaScript.
//!
//! The page's policy allows exactly this style and this script, by their digests, so text from names and settings can
//! never run.

use std::fmt::Write as _;

use askama::filters::{Html, escape};
use assay_model::printable_lines;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::document::{
    Block, Cell, Column, Document, Fold, Group, Heading, Medium, Section, Table, Wish,
};
use crate::page::Format;
use crate::words::{capital, sentence};

pub(super) const FORMAT: Format = Format {
    word: "html",
    about: "One self-contained page for a browser",
    extensions: &["html", "htm"],
    render: |page, _| Some(page.shown(&Wish::of(Medium::Page, true), render)),
};

pub(crate) const STYLE: &str = include_str!("../../templates/page.css");
pub(crate) const SCRIPT: &str = include_str!("../../templates/page.js");

/// Forbids every load from outside and every script and style but the page's own.
pub(crate) fn policy() -> String {
    policy_of("form-action 'none'")
}

/// The same with a rule for forms.
pub(crate) fn policy_of(forms: &str) -> String {
    let digest = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; {forms}",
        digest(STYLE),
        digest(SCRIPT)
    )
}

/// Renders a document.
fn render(document: &Document<'_>) -> String {
    let [mut above, mut main] = [Writer::default(), Writer::default()];
    above.blocks(&document.above, 2);
    main.blocks(&document.blocks, 2);
    let script =
        if document.has_script { format!("\n<script>{SCRIPT}</script>") } else { String::new() };
    let html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"assay\">\n<title>{} · assay</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>{}\n{}\n<main>{}\n</main>{script}\n</body>\n</html>\n",
        escaped(&policy()),
        escaped(&document.title),
        above.0,
        header(document),
        main.0,
    );
    printable_lines(&html).into_owned()
}

fn header(document: &Document<'_>) -> String {
    let Heading { before, small, after } = &document.heading;
    let small = if small.is_empty() { String::new() } else { format!(" <small>{small}</small>") };
    let after = if after.is_empty() { String::new() } else { format!(" {}", escaped(after)) };
    let about = document.about.iter().map(|it| format!("<span>{}</span>", escaped(it)));
    let places = document.places.iter();
    let places = places.map(|(id, name)| format!("\n<a href=\"#{id}\">{name}</a>"));
    let (about, places): (String, String) = (about.collect(), places.collect());
    let about = match about.is_empty() {
        true => about,
        false => format!("\n<p class=\"about\">{about}</p>"),
    };
    let places = match places.is_empty() {
        true => places,
        false => format!("\n<nav aria-label=\"Sections\">{places}\n</nav>"),
    };
    format!(
        "<header>\n<p class=\"brand\">assay</p>\n<h1>{}{small}{after}</h1>{about}{places}\n</header>",
        escaped(before)
    )
}

/// Text in which nothing is markup.
fn escaped(text: &str) -> String {
    let Ok(text) = escape(text, Html);
    text.to_string()
}

/// A page that grows block by block.
#[derive(Default)]
struct Writer(String);

impl Writer {
    /// A line of markup.
    fn line(&mut self, markup: std::fmt::Arguments<'_>) {
        // Writing to memory cannot fail.
        let _ = write!(self.0, "\n{markup}");
    }

    fn paragraphs<T: AsRef<str>>(&mut self, class: &str, lines: impl IntoIterator<Item = T>) {
        for line in lines {
            self.line(format_args!("<p{class}>{}</p>", escaped(line.as_ref())));
        }
    }

    fn blocks(&mut self, blocks: &[Block<'_>], level: usize) {
        for block in blocks {
            self.block(block, level);
        }
    }

    fn block(&mut self, block: &Block<'_>, level: usize) {
        match block {
            Block::Answer(lines) => self.paragraphs(" class=\"sentence\"", lines),
            Block::Lines(lines) => self.paragraphs("", lines),
            Block::Notes(lines) => {
                self.paragraphs(" class=\"basis\"", lines.iter().map(|line| sentence(line)));
            }
            Block::List(items) => {
                self.line(format_args!("<ul>"));
                for item in items {
                    self.line(format_args!("<li>{}</li>", escaped(item)));
                }
                self.line(format_args!("</ul>"));
            }
            Block::Code { intro, text } => {
                let intro = (!intro.is_empty()).then(|| format!("{intro}:"));
                self.paragraphs("", intro);
                self.line(format_args!("<pre>{}</pre>", escaped(text)));
            }
            Block::Command { before, command, after } => {
                let [before, command, after] = [before, command, after].map(|it| escaped(it));
                self.line(format_args!("<p>{before}<code>{command}</code>{after}</p>"));
            }
            Block::Table(table) if level == 2 => {
                self.line(format_args!("<section>"));
                self.table(table);
                self.line(format_args!("</section>"));
            }
            Block::Table(table) => self.table(table),
            // The page has drawings.
            Block::Images(_) | Block::Break => {}
            Block::Markup(markup) => self.0.push_str(markup),
            Block::Drawing { class, svg, note } => {
                self.line(format_args!(
                    "<figure class=\"{class}\">\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
                     aria-label=\"Chart\">{svg}</div>"
                ));
                self.line(format_args!("<figcaption>{}</figcaption>\n</figure>", escaped(note)));
            }
            Block::Section(section) => self.section(section, level),
            Block::Fitted(choices) => self.blocks(&choices(0).unwrap_or_default(), level),
        }
    }

    fn section(&mut self, section: &Section<'_>, level: usize) {
        let heading = escaped(&section.heading);
        let open = if section.fold == Fold::Open { " open" } else { "" };
        match section.fold {
            Fold::Never if level == 2 => self.line(format_args!("<section>\n<h2>{heading}</h2>")),
            Fold::Never => self.line(format_args!("<h{level}>{heading}</h{level}>")),
            Fold::Open | Fold::Closed => {
                self.line(format_args!("<details{open}>\n<summary>{heading}</summary>"));
            }
        }
        self.blocks(&section.blocks, level + 1);
        match section.fold {
            Fold::Never if level == 2 => self.line(format_args!("</section>")),
            Fold::Never => {}
            Fold::Open | Fold::Closed => self.line(format_args!("</details>")),
        }
    }

    /// A table. On a small screen, cells without a caption above them stand below each other with their headings.
    fn table(&mut self, table: &Table) {
        let title = table.caption.as_ref().map(|it| escaped(&it.title)).unwrap_or_default();
        let label = match title.as_str() {
            "" => table.columns.iter().find(|it| !it.heading.is_empty()),
            _ => None,
        };
        let label = label.map_or_else(|| title.clone(), |it| escaped(&capital(&it.heading)));
        let class = if table.caption.is_some() { "shaded" } else { "stack" };
        self.line(format_args!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n<table class=\"{class}\">"
        ));
        if let Some(caption) = &table.caption {
            let legend = caption.legend.iter();
            let legend = legend.map(|(class, meaning)| {
                format!(" <span class=\"shade\"><i class=\"{class}\"></i>{meaning}</span>")
            });
            let (legend, note) = (legend.collect::<String>(), escaped(&caption.note));
            let title = match (title.is_empty(), note.is_empty()) {
                (true, _) => String::new(),
                (false, true) => format!("<strong>{title}</strong>"),
                (false, false) => format!("<strong>{title}</strong>: "),
            };
            self.line(format_args!("<caption><span>{title}{note}{legend}</span></caption>"));
        }
        self.line(format_args!("<thead>\n<tr>"));
        for column in &table.columns {
            let class = class_of(if column.is_number { "n" } else { "" });
            self.line(format_args!("<th scope=\"col\"{class}>{}</th>", escaped(&column.heading)));
        }
        self.line(format_args!("</tr>\n</thead>"));
        for group in &table.groups {
            self.group(&table.columns, group, table.caption.is_none());
        }
        self.line(format_args!("</table>\n</div>"));
    }

    /// Rows. Those of a stack say in each cell what its heading is.
    fn group(&mut self, columns: &[Column], group: &Group, is_stack: bool) {
        self.line(format_args!("<tbody>"));
        if !group.heading.is_empty() {
            let (span, heading) = (columns.len(), escaped(&group.heading));
            self.line(format_args!(
                "<tr><th scope=\"rowgroup\" colspan=\"{span}\">{heading}</th></tr>"
            ));
        }
        // A column of marks has no heading, and says nothing of its row by itself.
        let names = columns.iter().position(|it| !it.heading.is_empty()).unwrap_or(0);
        for row in &group.rows {
            let cells = row.cells.iter().zip(columns).enumerate();
            let cells: String = cells.map(|(at, it)| cell(at == names, it, is_stack)).collect();
            self.line(format_args!("<tr>{cells}</tr>"));
        }
        self.line(format_args!("</tbody>"));
    }
}

fn cell(names_row: bool, (cell, column): (&Cell, &Column), is_stack: bool) -> String {
    let text = escaped(&cell.text);
    if names_row {
        return format!("<th scope=\"row\">{text}</th>");
    }
    let heading = escaped(&column.heading);
    let heading = match heading.is_empty() || !is_stack {
        true => String::new(),
        false => format!(" data-h=\"{heading}\""),
    };
    let number = if column.is_number { "n " } else { "" };
    format!("<td{}{heading}>{text}</td>", class_of(format!("{number}{}", cell.class).trim()))
}

fn class_of(class: &str) -> String {
    if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") }
}
