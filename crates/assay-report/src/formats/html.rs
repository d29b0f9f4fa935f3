//! One HTML page: self-contained, works offline, readable without JavaScript.
//!
//! The page's policy allows exactly its style and its scripts, by their digests, so text from names and settings can
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
use crate::folder::{FOLDER_PAGE_BYTES, FolderLink, PageFrame};
use crate::page::{Format, Page};
use crate::text::Text;
use crate::words::{capital, sentence, shortened};

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
/// For pages of a folder.
const FOLDER_SCRIPT: &str = include_str!("../../assets/folder.js");

/// Forbids every load from outside and every script and style but the page's own.
fn policy(scripts: &[&str]) -> String {
    let digest = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    let scripts: String =
        scripts.iter().map(|script| format!(" 'sha256-{}'", digest(script))).collect();
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src{scripts}; base-uri 'none'; \
         form-action 'none'",
        digest(STYLE),
    )
}

/// Renders a document.
fn render(document: &PageDocument<'_>) -> String {
    let mut main = Markup::default();
    blocks(&mut main, &document.blocks, 2);
    whole(document, &header(document, None, &[]), &main.to_string(), None)
}

impl Page<'_> {
    /// HTML of a page of a folder.
    pub fn in_folder(&self, frame: &PageFrame) -> String {
        let wish = Wish::without_images(Medium::Page, true);
        self.shown(&wish, |document| document.in_folder(frame))
    }
}

impl PageDocument<'_> {
    /// HTML of a page of a folder. It has at most [`FOLDER_PAGE_BYTES`], unless its head alone is larger: it leaves out
    /// the largest sections, the answer last.
    pub fn in_folder(&self, frame: &PageFrame) -> String {
        let part = |shown: &Block<'_>| {
            let mut part = Markup::default();
            block(&mut part, shown, 2);
            part.to_string()
        };
        let parts: Vec<String> = self.blocks.iter().map(part).collect();
        let mut rest: Vec<usize> = (0..parts.len()).filter(|at| !parts[*at].is_empty()).collect();
        rest.sort_by_key(|at| (!is_answer(&self.blocks[*at]), parts[*at].len()));
        let mut left_out: Vec<usize> = Vec::new();
        loop {
            let page = in_frame(self, frame, &parts, &left_out);
            let mut excess = page.len().saturating_sub(FOLDER_PAGE_BYTES);
            if excess == 0 || rest.is_empty() {
                return page;
            }
            // All that is too much at once: a page may have thousands of sections.
            while excess > 0 {
                let Some(largest) = rest.pop() else { break };
                excess = excess.saturating_sub(parts[largest].len());
                left_out.push(largest);
            }
        }
    }
}

fn is_answer(block: &Block<'_>) -> bool {
    match block {
        Block::Answer(_) => true,
        Block::Section(Section { id, .. }) => id == "answer",
        _ => false,
    }
}

fn in_frame(
    document: &PageDocument<'_>,
    frame: &PageFrame,
    parts: &[String],
    left_out: &[usize],
) -> String {
    let mut main = Markup::default();
    let name = |at: &usize| match &document.blocks[*at] {
        Block::Section(Section { place, .. }) if !place.is_empty() => place.to_string(),
        Block::Section(Section { heading, .. }) if !heading.is_empty() => heading.plain(),
        _ => "a table".to_owned(),
    };
    let names: Vec<String> = left_out.iter().map(name).collect();
    if !names.is_empty() {
        let kilobytes = FOLDER_PAGE_BYTES / 1000;
        let what = format!("left out, because the page would have more than {kilobytes} kB");
        let line = format!("{what}: {}; {}", shortened(&names, 8), frame.whole);
        block(&mut main, &Block::Notes(vec![line]), 2);
    }
    if let Some(pages) = &frame.search {
        search(&mut main, pages);
    }
    let shown = parts.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
    let shown: String = shown.map(|(_, part)| part.as_str()).collect();
    let header = header(document, Some(frame), left_out);
    whole(document, &header, &format!("{main}{shown}"), Some(FOLDER_SCRIPT))
}

/// The search is hidden without the script. The list of pages is no script: a browser does not run this type.
fn search(to: &mut Markup, pages: &str) {
    let q = FormField {
        label: "Search",
        name: "q",
        placeholder: "test, release, post, study",
        ..FormField::default()
    };
    form(to, &PageForm { id: "find", fields: vec![q], button: None, output: "found" });
    // A `<` could end the element.
    let pages = pages.replace('<', " ");
    to.line(format_args!("<ul id=\"hits\"></ul>"));
    to.line(format_args!("<script type=\"text/plain\" id=\"pages\">\n{pages}</script>"));
}

/// A page with its head. `script` is added to that of the document.
fn whole(document: &PageDocument<'_>, header: &str, main: &str, script: Option<&str>) -> String {
    let mut above = Markup::default();
    blocks(&mut above, &document.above, 2);
    let own = Some(SCRIPT).filter(|_| document.has_script);
    let allowed: Vec<&str> = std::iter::once(SCRIPT).chain(script).collect();
    let scripts = own.into_iter().chain(script);
    let script: String = scripts.map(|script| format!("\n<script>{script}</script>")).collect();
    let html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"assay\">\n<title>{} · assay</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>{above}\n{}\n<main>{main}\n</main>{script}\n</body>\n</html>\n",
        escaped(&policy(&allowed)),
        escaped(&document.title),
        header,
    );
    printable_lines(&html).into_owned()
}

/// Without links to the blocks that are left out.
fn header(document: &PageDocument<'_>, frame: Option<&PageFrame>, left_out: &[usize]) -> String {
    let Heading { before, small, after } = &document.heading;
    let small = if small.is_empty() { String::new() } else { format!(" <small>{small}</small>") };
    let after = if after.is_empty() { String::new() } else { format!(" {}", escaped(after)) };
    let about = document.about.iter().map(|it| format!("<span>{}</span>", escaped(it)));
    let shown = document.blocks.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
    let places = shown.filter_map(|(_, block)| match block {
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
    let (brand, beside) = match frame {
        None => ("<p class=\"brand\">assay</p>".to_owned(), String::new()),
        Some(PageFrame { home, parts, neighbours, .. }) => {
            let home = attribute("href", home);
            let brand = format!("<p class=\"brand\"><a{home}>assay</a></p>");
            (brand + &links("Parts", parts), links("Neighbouring pages", neighbours))
        }
    };
    format!(
        "<header>\n{brand}\n<h1>{}{small}{after}</h1>{about}{beside}{places}\n</header>",
        escaped(before)
    )
}

fn links(label: &str, links: &[FolderLink]) -> String {
    if links.is_empty() {
        return String::new();
    }
    let link = |FolderLink { text, to, rel, is_here }: &FolderLink| {
        let here = attribute("aria-current", if *is_here { "true" } else { "" });
        let (to, rel) = (attribute("href", to), attribute("rel", rel));
        format!("\n<a{to}{rel}{here}>{}</a>", escaped(text))
    };
    let links: String = links.iter().map(link).collect();
    format!("\n<nav aria-label=\"{label}\">{links}\n</nav>")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of a folder with an answer and sections of so many bytes.
    fn page(sizes: &[usize]) -> String {
        let section = |(number, size): (usize, &usize)| {
            let text = "x".repeat(*size);
            Block::section(format!("Part <{number}>"), vec![Block::Lines(vec![text])])
        };
        let mut blocks = vec![Block::Answer(vec!["The answer".to_owned()])];
        blocks.extend(sizes.iter().enumerate().flat_map(section));
        let link = FolderLink {
            text: "<b>".to_owned(),
            to: "../a&b.html".to_owned(),
            rel: "next",
            is_here: true,
        };
        let frame = PageFrame {
            home: "index.html".to_owned(),
            neighbours: vec![link],
            search: Some("a\tb </script><script>\n".to_owned()),
            whole: "`assay x` has all of it".to_owned(),
            ..PageFrame::default()
        };
        PageDocument::new(Heading::default(), blocks).in_folder(&frame)
    }

    #[test]
    fn a_page_of_a_folder_leaves_out_its_largest_sections() {
        let small = page(&[10, 20]);
        assert!(!small.contains("left out") && !small.contains("Left out"), "{small}");
        let large = page(&[50_000, 100_000, 60_000]);
        assert!(large.len() <= FOLDER_PAGE_BYTES, "{}", large.len());
        let note = "150 kB: Part &#60;1&#62;; <code>assay x</code> has all of it.";
        for part in ["The answer", "<h2>Part &#60;0&#62;</h2>", "<h2>Part &#60;2&#62;</h2>", note] {
            assert!(large.contains(part), "{part}");
        }
        assert!(!large.contains("<h2>Part &#60;1&#62;</h2>"));
    }

    #[test]
    fn links_and_the_search_are_escaped_and_both_scripts_are_allowed() {
        let page = page(&[]);
        let link = "<a href=\"../a&#38;b.html\" rel=\"next\" aria-current=\"true\">&#60;b&#62;</a>";
        assert!(page.contains(link), "{page}");
        assert!(page.contains("\na\tb  /script> script>\n</script>"), "{page}");
        assert_eq!(page.matches("<script").count(), 2, "the search and the script of folders");
        let policy = page.split_once("script-src").unwrap().1.split_once("base-uri").unwrap().0;
        assert_eq!(policy.matches("sha256-").count(), 2, "{policy}");
    }
}
