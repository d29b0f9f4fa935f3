//! One test over versions and time: `assay trend`.

mod page;
mod rows;
mod words;

pub use words::Trend;

use assay_model::printable;

use crate::data::json;
use crate::format::{Format, TextOptions};
use crate::text::paint;
use crate::text::table::{left, plain_table, right, trimmed};
use crate::text::wrap::wrap;
use words::{APART, COLUMNS, LEGEND, answer, changes, is_shift, row, terms};

/// Shows the lines of a test. CSV and Markdown are no formats of it; they show its text.
#[must_use]
pub fn trend(trend: &Trend<'_>, format: Format, options: &TextOptions) -> String {
    match format {
        Format::Json => json::text(&rows::document(trend)),
        Format::Html => page::render(trend),
        Format::Text | Format::Csv | Format::Markdown => text(trend, options),
    }
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
        table
            .set_header(["", COLUMNS[0], COLUMNS[1], COLUMNS[2], COLUMNS[3], COLUMNS[4]].map(left));
        for (number, point) in line.points.iter().enumerate() {
            let mark = if is_shift(line, number) { "◆" } else { " " };
            let [version, when, rqps, qps, study] =
                row(point).map(|it| printable(&it).into_owned());
            table.add_row([
                left(mark),
                left(version),
                left(when),
                right(rqps),
                right(qps),
                left(study),
            ]);
        }
        lines.extend(trimmed(&table));
        lines.extend(changes(line).into_iter().flat_map(|it| wrapped(format!("  {it}"))));
    }
    if trend.lines.iter().any(|line| line.shifts.as_ref().is_some_and(|it| !it.is_empty())) {
        lines.push(String::new());
        lines.extend(wrapped(format!("  ◆ {LEGEND}")));
    }
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}
