//! One test over versions and time: `assay trend`.

mod page;
mod rows;
mod words;

pub use words::Trend;

use assay_model::{printable, printable_lines};

use crate::charts::{ChartFile, Place, named};
use crate::data::json;
use crate::format::{Format, TextOptions};
use crate::markdown::{Column, Images, escaped, table};
use crate::text::paint;
use crate::text::table::{left, plain_table, right, trimmed};
use crate::text::wrap::wrap;
use crate::words::sentence;
use words::{APART, COLUMNS, LEGEND, all, answer, bounds, changes, doubt, row, terms};

/// Shows the lines of a test. Ends with a line feed.
#[must_use]
pub fn trend(trend: &Trend<'_>, format: Format, options: &TextOptions) -> String {
    match format {
        Format::Json => json::text(&rows::document(trend)),
        Format::Csv => rows::table(trend),
        Format::Html => page::render(trend),
        Format::Markdown => printable_lines(&in_markdown(trend, Images::none())).into_owned(),
        Format::Text => text(trend, options),
    }
}

/// The charts of the lines of a test, and the Markdown that shows them as files with this ending.
#[must_use]
pub fn trend_charts(trend: &Trend<'_>, ending: &str) -> (Vec<ChartFile>, String) {
    let charts = named(page::charts(trend));
    let text = in_markdown(trend, Images { charts: &charts, ending });
    let text = printable_lines(&text).into_owned();
    (charts, text)
}

fn in_markdown(trend: &Trend<'_>, images: Images) -> String {
    let mut sections = vec![escaped(&answer(trend))];
    if trend.lines.len() > 1 {
        sections.push(escaped(&sentence(APART)));
    }
    sections.extend(images.at(&Place::Elsewhere));
    for line in trend.lines {
        let [title, rest @ ..] = terms(line);
        sections.push(format!("### {}", escaped(&title)));
        let facts = rest.into_iter().chain(changes(line));
        let facts = facts.map(|it| format!("- {}", escaped(&it)));
        sections.push(facts.collect::<Vec<_>>().join("\n"));
        let columns = COLUMNS.iter().copied().chain(["change"]).map(Column::left);
        let columns: Vec<Column> = columns.collect();
        let rows = all(line).map(|(point, is_change)| {
            let mark = if is_change { "◆" } else { "" };
            row(point).into_iter().chain([mark.to_owned()]).collect()
        });
        sections.push(table(&columns, rows));
    }
    sections.extend(has_changes(trend).then(|| escaped(&sentence(LEGEND))));
    sections.extend(bounds(trend).map(|it| escaped(&sentence(&it))));
    sections.extend(doubt(trend).map(|it| escaped(&sentence(&it))));
    sections.join("\n\n") + "\n"
}

fn text(trend: &Trend<'_>, options: &TextOptions) -> String {
    let wrapped = |line: String| wrap(&printable(&line), options.width);
    let mut lines = wrapped(answer(trend));
    if trend.lines.len() > 1 {
        lines.extend(wrapped(format!("  {APART}")));
    }
    for line in trend.lines {
        lines.push(String::new());
        let [title, rest @ ..] = terms(line);
        lines.extend(wrapped(title));
        lines.extend(rest.into_iter().flat_map(|it| wrapped(format!("  {it}"))));
        let mut table = plain_table();
        table.set_header(std::iter::once("").chain(COLUMNS).map(left));
        for (point, is_change) in all(line) {
            let mark = if is_change { "◆" } else { " " };
            let [version, when, rqps, verdict, qps, study] =
                row(point).map(|it| printable(&it).into_owned());
            table.add_row([
                left(mark),
                left(version),
                left(when),
                right(rqps),
                left(verdict),
                right(qps),
                left(study),
            ]);
        }
        lines.extend(trimmed(&table));
        lines.extend(changes(line).into_iter().flat_map(|it| wrapped(format!("  {it}"))));
    }
    if has_changes(trend) {
        lines.push(String::new());
        lines.extend(wrapped(format!("  ◆ {LEGEND}")));
    }
    lines.extend(bounds(trend).into_iter().flat_map(|it| wrapped(format!("  {it}"))));
    lines.extend(doubt(trend).into_iter().flat_map(|it| wrapped(format!("  {it}"))));
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

/// Whether any line has a change.
fn has_changes(trend: &Trend<'_>) -> bool {
    trend.lines.iter().any(|line| line.shifts.as_ref().is_some_and(|it| !it.is_empty()))
}
