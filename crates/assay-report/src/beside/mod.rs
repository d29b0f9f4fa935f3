//! `assay report --beside`: a study beside another one, in every format.

mod page;
mod rows;
mod words;

use assay_model::{PublishedGroup, StudyRecord, printable, printable_lines};
use assay_verdict::{Judged, Judgement};

use crate::charts::{ChartFile, Place, named};
use crate::data::json;
use crate::format::{Format, TextOptions};
use crate::markdown::{self, Images};
use crate::text::table::{left, plain_table, right, trimmed};
use crate::text::{paint, wrap::wrap};
use crate::view::beside::{Beside, Pair};
use words::{GROUP_HEADINGS, HEADINGS, cells, group_cells, has_several, heading, prose};

/// What stands beside a study: another one, or a published table.
#[derive(Debug, Clone, Copy)]
pub struct Other<'a> {
    /// The other study. That of a table may have systems alone.
    pub record: &'a StudyRecord,
    /// Its judgement.
    pub judgement: &'a Judgement,
    /// Statistics of groups, as far as they were published.
    pub groups: &'a [PublishedGroup],
    /// Where it was published, and what is known of its conditions.
    pub note: Option<&'a str>,
}

/// Renders a study beside another one. Ends with a line feed.
#[must_use]
pub fn render_beside(
    ours: (&StudyRecord, &Judgement),
    theirs: &Other,
    format: Format,
    options: &TextOptions,
) -> String {
    let beside = compared(ours, theirs);
    match format {
        Format::Text => text(&beside, *options),
        Format::Markdown => printable_lines(&in_markdown(&beside, Images::none())).into_owned(),
        Format::Html => printable_lines(&page::render(&beside)).into_owned(),
        Format::Json => json::text(&rows::document(&beside)),
        Format::Csv => rows::table(&beside),
    }
}

/// The scatter plots of a study beside another one, and the Markdown that shows them as files with this ending.
#[must_use]
pub fn beside_charts(
    ours: (&StudyRecord, &Judgement),
    theirs: &Other,
    ending: &str,
) -> (Vec<ChartFile>, String) {
    let beside = compared(ours, theirs);
    let charts = named(page::charts(&beside));
    let text = in_markdown(&beside, Images { charts: &charts, ending });
    let text = printable_lines(&text).into_owned();
    (charts, text)
}

fn compared<'a>(
    (record, judgement): (&'a StudyRecord, &'a Judgement),
    theirs: &Other<'a>,
) -> Beside<'a> {
    let there = Judged { record: theirs.record, judgement: theirs.judgement };
    Beside::new(Judged { record, judgement }, there, theirs.groups, theirs.note)
}

fn text(beside: &Beside, options: TextOptions) -> String {
    let mut lines: Vec<String> =
        prose(beside).iter().flat_map(|line| wrap(line, options.width)).collect();
    for pair in &beside.pairs {
        lines.push(String::new());
        lines.extend(wrap(&heading(pair), options.width));
        lines.extend(groups(pair, has_several(beside)));
        if !pair.found.tests.is_empty() {
            lines.push(String::new());
            lines.extend(table(pair, has_several(beside)));
        }
        if !pair.disagreements.is_empty() {
            lines.push(String::new());
            lines.push("where they differ, the largest differences first".to_owned());
            let named = pair.disagreements.iter().map(|line| format!("  {line}"));
            lines.extend(named.flat_map(|line| wrap(&line, options.width)));
        }
    }
    lines.push(String::new());
    lines.push(format!(
        "here: study {}; there: study {}",
        beside.ours.study.id, beside.theirs.study.id
    ));
    let mut lines: Vec<String> = lines.iter().map(|line| printable(line).into_owned()).collect();
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

fn groups(pair: &Pair, several: bool) -> Vec<String> {
    let mut table = plain_table();
    table.set_header(std::iter::once(left("group")).chain(GROUP_HEADINGS.map(left)));
    for group in &pair.found.groups {
        let [name, n, rest @ ..] = group_cells(group, several);
        let first = [left(format!("  {name}")), right(n)];
        table.add_row(first.into_iter().chain(rest.map(left)));
    }
    if pair.found.groups.is_empty() { Vec::new() } else { trimmed(&table) }
}

fn table(pair: &Pair, several: bool) -> Vec<String> {
    let mut table = plain_table();
    let headings = HEADINGS.map(left);
    table.set_header(std::iter::once(left("test")).chain(headings));
    for test in &pair.found.tests {
        let [name, rest @ ..] = cells(test, several);
        table.add_row(std::iter::once(left(format!("  {name}"))).chain(rest.map(left)));
    }
    trimmed(&table)
}

fn in_markdown(beside: &Beside, images: Images) -> String {
    let escaped = markdown::escaped;
    let mut sections: Vec<String> = prose(beside).iter().map(|line| escaped(line)).collect();
    sections.extend(images.at(&Place::Elsewhere));
    for pair in &beside.pairs {
        let several = has_several(beside);
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
            format!("| {} |", cells.join(" | "))
        };
        sections.push(format!("### {}", escaped(&heading(pair))));
        let mut rows = vec![
            format!("| group | {} |", GROUP_HEADINGS.join(" | ")),
            "|---|---|---|---|---|---|---|".to_owned(),
        ];
        rows.extend(pair.found.groups.iter().map(|it| row(&group_cells(it, several))));
        sections.push(rows.join("\n"));
        let mut rows = vec![
            "| test | here | there | here / there | |".to_owned(),
            "|---|---|---|---|---|".to_owned(),
        ];
        rows.extend(pair.found.tests.iter().map(|test| row(&cells(test, several))));
        if !pair.found.tests.is_empty() {
            sections.push(rows.join("\n"));
        }
        if !pair.disagreements.is_empty() {
            let lines = pair.disagreements.iter().map(|line| format!("- {}", escaped(line)));
            let lines: Vec<String> = lines.collect();
            let title = "Where they differ, the largest differences first:";
            sections.push(format!("{title}\n\n{}", lines.join("\n")));
        }
    }
    let (here, there) = (&beside.ours.study.id, &beside.theirs.study.id);
    sections.push(format!("Here: study {}. There: study {}.", escaped(here), escaped(there)));
    sections.join("\n\n") + "\n"
}
