//! The page of a trend: a chart and a table for each line.

use askama::Template;
use assay_model::printable_lines;
use assay_verdict::TrendLine;

use super::words::{
    APART, COLUMNS, LEGEND, Trend, WIDTH, all, answer, bounds, changes, doubt, is_shift, row, terms,
};
use crate::charts::paper::{MARGIN, Paper};
use crate::charts::{ChartFile, Place, stem, trend as chart};
use crate::html::{STYLE, policy};
use crate::words::sentence;

#[derive(Template)]
#[template(path = "trend.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    test: &'a str,
    answer: String,
    apart: Option<String>,
    legend: String,
    bounds: Option<String>,
    doubt: Option<String>,
    columns: [&'static str; WIDTH],
    lines: Vec<Line>,
}

struct Line {
    title: String,
    terms: Vec<String>,
    /// The chart as markup, and what it shows.
    chart: Option<(String, String)>,
    rows: Vec<Row>,
    changes: Vec<String>,
}

struct Row {
    cells: [String; WIDTH],
    is_change: bool,
}

/// Renders the page.
pub(super) fn render(trend: &Trend<'_>) -> String {
    let page = Page {
        policy: policy(),
        style: STYLE,
        test: trend.test,
        answer: answer(trend),
        apart: (trend.lines.len() > 1).then(|| sentence(APART)),
        legend: sentence(LEGEND),
        bounds: bounds(trend).map(|it| sentence(&it)),
        doubt: doubt(trend).map(|it| sentence(&it)),
        columns: COLUMNS,
        lines: trend.lines.iter().map(line).collect(),
    };
    let mut html = page.to_string();
    html.push('\n');
    printable_lines(&html).into_owned()
}

fn line(line: &TrendLine) -> Line {
    let [title, rest @ ..] = terms(line);
    let rows = all(line).map(|(it, is_change)| Row { cells: row(it), is_change });
    Line {
        title,
        terms: rest.to_vec(),
        chart: inline(line).map(|chart| (chart, chart::note(line))),
        rows: rows.collect(),
        changes: changes(line),
    }
}

/// The chart of a line, as a part of the page; `None` if there is nothing to draw.
fn inline(line: &TrendLine) -> Option<String> {
    let mut paper = Paper::new(chart::WIDTH);
    chart::draw(&mut paper, (0.0, 0.0), line, |number| is_shift(line, number));
    chart::is_drawn(line).then(|| paper.inline(chart::TALL, &chart::note(line)))
}

/// The charts of all lines, as files.
pub(super) fn charts(trend: &Trend<'_>) -> Vec<ChartFile> {
    let lines = trend.lines.iter().zip(1..).filter(|(line, _)| chart::is_drawn(line));
    lines.map(|(line, number)| file(trend, line, number)).collect()
}

fn file(trend: &Trend<'_>, line: &TrendLine, number: u32) -> ChartFile {
    let [title, rest @ ..] = terms(line);
    let heading = format!("{}: {title}", trend.test);
    let notes = [rest.join("; "), changes(line).join("; "), chart::note(line)];
    let notes: Vec<String> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    let (mut paper, top) = Paper::titled(chart::WIDTH + 2.0 * MARGIN, &heading, &notes);
    chart::draw(&mut paper, (MARGIN, top), line, |number| is_shift(line, number));
    let told = line.points.iter().map(|point| {
        let [version, when, rqps, verdict, ..] = row(point);
        format!("{version}, {when}: {rqps} {verdict}")
    });
    let told: Vec<String> = told.collect();
    ChartFile {
        name: stem("trend", [Some(trend.test.to_owned()), Some(number.to_string())]),
        alt: heading.clone(),
        svg: paper.file(
            top + chart::TALL,
            &heading,
            &format!("{} {}.", notes.join(" "), told.join("; ")),
        ),
        place: Place::Elsewhere,
    }
}
