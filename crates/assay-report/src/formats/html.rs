//! One HTML page: self-contained, works offline, readable without JavaScript.
//!
//! The page's policy allows exactly this style and this script, by their digests, so text from names and settings can
//! never run.

use assay_model::printable_lines;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use super::grid;
use super::markup::{Markup, attribute, escaped, inline};
use crate::document::{
    Block, Figure, Fold, FormField, Frame, FramedBlocks, Heading, ItemList, Medium, PageDocument,
    PageForm, Section, Wish,
};
use crate::page::Format;
use crate::text::Text;
use crate::words::{capital, sentence};

pub(super) const FORMAT: Format = Format {
    word: "html",
    about: "One self-contained page for a browser",
    extensions: &["html", "htm"],
    render: |page, _| {
        let wish = Wish::without_images(Medium::Page, true);
        Some(page.shown(&wish, render))
    },
};

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");

/// Forbids every load from outside and every script and style but the page's own.
fn policy() -> String {
    let digest = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}

/// Renders a document.
fn render(document: &PageDocument<'_>) -> String {
    let [mut above, mut main] = [Markup::default(), Markup::default()];
    blocks(&mut above, &document.above, 2);
    blocks(&mut main, &document.blocks, 2);
    let script =
        if document.has_script { format!("\n<script>{SCRIPT}</script>") } else { String::new() };
    let html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"assay\">\n<title>{} · assay</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>{above}\n{}\n<main>{main}\n</main>{script}\n</body>\n</html>\n",
        escaped(&policy()),
        escaped(&document.title),
        header(document),
    );
    printable_lines(&html).into_owned()
}

fn header(document: &PageDocument<'_>) -> String {
    let Heading { before, small, after } = &document.heading;
    let small = if small.is_empty() { String::new() } else { format!(" <small>{small}</small>") };
    let after = if after.is_empty() { String::new() } else { format!(" {}", escaped(after)) };
    let about = document.about.iter().map(|it| format!("<span>{}</span>", escaped(it)));
    let places = document.blocks.iter().filter_map(|block| match block {
        Block::Section(Section { id, place, .. }) if !place.is_empty() => {
            Some(format!("\n<a href=\"#{id}\">{place}</a>"))
        }
        _ => None,
    });
    let (about, places): (String, String) = (about.collect(), places.collect());
    let about = if about.is_empty() { about } else { format!("\n<p class=\"about\">{about}</p>") };
    let places = match places.is_empty() {
        true => places,
        false => format!("\n<nav aria-label=\"Sections\">{places}\n</nav>"),
    };
    format!(
        "<header>\n<p class=\"brand\">assay</p>\n<h1>{}{small}{after}</h1>{about}{places}\n</header>",
        escaped(before)
    )
}

fn blocks(to: &mut Markup, blocks: &[Block<'_>], level: usize) {
    for shown in blocks {
        block(to, shown, level);
    }
}

fn block(to: &mut Markup, block: &Block<'_>, level: usize) {
    match block {
        Block::Answer(lines) => paragraphs(to, "sentence", lines.iter().map(Text::from)),
        Block::Lines(lines) => paragraphs(to, "", lines.iter().map(Text::from)),
        Block::Notes(lines) => {
            paragraphs(to, "basis", lines.iter().map(|line| sentence(line).into()));
        }
        Block::Prose(class, lines) => paragraphs(to, class, lines.iter().cloned()),
        Block::Heading(depth, text) => {
            let (level, text) = (level + depth, inline(text));
            to.line(format_args!("<h{level}>{text}</h{level}>"));
        }
        Block::List(shown) => list(to, shown),
        Block::Facts(facts) => {
            to.line(format_args!("<dl class=\"facts\">"));
            for (name, value) in facts {
                let (name, value) = (escaped(name), inline(value));
                to.line(format_args!("<div><dt>{name}</dt><dd>{value}</dd></div>"));
            }
            to.line(format_args!("</dl>"));
        }
        Block::Code { intro, text } => {
            let intro = (!intro.is_empty()).then(|| format!("{intro}:").into());
            paragraphs(to, "", intro);
            to.line(format_args!("<pre>{}</pre>", escaped(text)));
        }
        Block::Command { before, command, after } => {
            let [before, command, after] = [before, command, after].map(|it| escaped(it));
            to.line(format_args!("<p>{before}<code>{command}</code>{after}</p>"));
        }
        Block::Table(table) if level == 2 => {
            to.line(format_args!("<section>"));
            grid::table(to, table, blocks);
            to.line(format_args!("</section>"));
        }
        Block::Table(table) => grid::table(to, table, blocks),
        Block::Images(_) | Block::Break => {}
        Block::Drawing { class, svg, note } => {
            to.line(format_args!(
                "<figure class=\"{class}\">\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
                 aria-label=\"Chart\">{svg}</div>"
            ));
            to.line(format_args!("<figcaption>{}</figcaption>\n</figure>", escaped(note)));
        }
        Block::Figures(class, shown) => figures(to, class, shown),
        Block::Form(shown) => form(to, shown),
        Block::Section(shown) => section(to, shown, level),
        Block::Part(shown) => part(to, shown, level),
        Block::Page(shown) => blocks(to, shown, level),
        Block::Fitted(choices) => blocks(to, &choices(0).unwrap_or_default(), level),
    }
}

fn paragraphs(to: &mut Markup, class: &str, lines: impl IntoIterator<Item = Text>) {
    for line in lines {
        to.line(format_args!("<p{}>{}</p>", attribute("class", class), inline(&line)));
    }
}

fn list(to: &mut Markup, ItemList { class, is_ordered, items }: &ItemList) {
    let tag = if *is_ordered { "ol" } else { "ul" };
    to.line(format_args!("<{tag}{}>", attribute("class", class)));
    for item in items {
        let class = attribute("class", &item.class);
        to.line(format_args!("<li{class}>{}</li>", inline(&item.text)));
    }
    to.line(format_args!("</{tag}>"));
}

fn figures(to: &mut Markup, class: &str, figures: &[Figure]) {
    if !class.is_empty() {
        to.line(format_args!("<div class=\"{class}\">"));
    }
    for Figure { caption, svg, ticks, is_caption_below } in figures {
        if caption.is_empty() {
            to.line(format_args!("{svg}"));
            continue;
        }
        let caption = format!("<figcaption>{}</figcaption>", escaped(caption));
        let [above, below] =
            if *is_caption_below { ["", &caption] } else { [caption.as_str(), ""] };
        let ticks = ticks.iter().map(|tick| format!("<span>{}</span>", escaped(tick)));
        let ticks = ticks.collect::<String>();
        let ticks = match ticks.is_empty() {
            true => ticks,
            false => format!("\n<div class=\"ticks\">{ticks}</div>"),
        };
        to.line(format_args!("<figure>{above}\n{svg}{ticks}{below}</figure>"));
    }
    if !class.is_empty() {
        to.line(format_args!("</div>"));
    }
}

/// A form, which is hidden without the script of the page.
fn form(to: &mut Markup, form: &PageForm) {
    to.line(format_args!("<form id=\"{}\" hidden>", form.id));
    form.fields.iter().for_each(|it| field(to, it));
    if let Some(button) = form.button {
        to.line(format_args!("<button type=\"reset\">{button}</button>"));
    }
    to.line(format_args!("<output id=\"{}\" aria-live=\"polite\"></output>", form.output));
    to.line(format_args!("</form>"));
}

fn field(to: &mut Markup, field: &FormField) {
    let FormField { label, name, placeholder, words, all } = field;
    let Some(words) = words else {
        let hint = attribute("placeholder", placeholder);
        to.line(format_args!(
            "<label>{label} <input type=\"search\" name=\"{name}\"{hint} autocomplete=\"off\"></label>"
        ));
        return;
    };
    let all = all.map(|all| format!("<option value=\"\">{all}</option>")).unwrap_or_default();
    let words = words.iter().map(|word| format!("<option>{}</option>", escaped(word)));
    let words = words.collect::<String>();
    to.line(format_args!("<label>{label} <select name=\"{name}\">{all}{words}</select></label>"));
}

fn section(to: &mut Markup, section: &Section<'_>, level: usize) {
    let heading = inline(&section.heading);
    let is_closed = section.fold != Fold::Never;
    let tag = if is_closed { "details" } else { "section" };
    let open = if section.fold == Fold::Open { " open" } else { "" };
    let label = if heading.is_empty() { capital(&section.id) } else { String::new() };
    let (id, class) = (attribute("id", &section.id), attribute("class", section.class));
    let label = attribute("aria-label", &label);
    if is_closed || level == 2 {
        to.line(format_args!("<{tag}{id}{class}{label}{open}>"));
    }
    match heading.as_str() {
        "" => {}
        heading if is_closed => to.line(format_args!("<summary>{heading}</summary>")),
        heading => to.line(format_args!("<h{level}>{heading}</h{level}>")),
    }
    let below = if heading.is_empty() { level } else { level + 1 };
    blocks(to, &section.blocks, below);
    if is_closed || level == 2 {
        to.line(format_args!("</{tag}>"));
    }
}

fn part(to: &mut Markup, part: &FramedBlocks<'_>, level: usize) {
    let class = attribute("class", &part.class);
    let (tag, label) = match part.frame {
        Frame::Plain => ("div", ""),
        Frame::Whole => ("article", ""),
        Frame::Warning => ("aside", " aria-label=\"Warnings\""),
    };
    to.line(format_args!("<{tag}{class}{label}>"));
    blocks(to, &part.blocks, level);
    to.line(format_args!("</{tag}>"));
}
