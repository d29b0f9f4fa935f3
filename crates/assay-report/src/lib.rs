//! Terminal table, HTML page, Markdown, CSV and JSON from a study and its judgement. Pure: data in, text out.
//!
//! `view` is what a report says; `text`, `markdown` and `html` lay it out. `data` is the same for scripts.

mod audit;
mod beside;
mod charts;
mod claims;
mod data;
mod doctor;
mod feeds;
mod format;
mod html;
mod index;
mod junit;
mod label;
mod lines;
mod markdown;
mod number;
mod ratio;
mod scale;
mod stacks;
mod studies;
mod study;
mod tests_list;
mod text;
mod trend;
mod view;
mod words;

pub use audit::{Compared, audit_json, audit_text};
pub use beside::{Other, beside_charts, render_beside};
pub use charts::ChartFile;
pub use claims::{CheckedClaim, CheckedPart, claims};
pub use data::fields::json_fields;
pub use doctor::{Diagnosis, Needed, Prospect, doctor_json, doctor_text};
pub use feeds::{FEEDS, Fed, Feed, Judged, Made, feed_of_file, feed_table};
pub use format::{Format, TextOptions};
pub use index::{index, index_policy};
pub use junit::junit;
pub use stacks::{StackFile, stacks};
pub use studies::studies;
pub use study::{ShownStudy, study_json, study_text};
pub use tests_list::{ListedFrom, ListedTest, tests_json, tests_text};
pub use trend::{Trend, trend, trend_charts};

use assay_model::{StudyRecord, printable_lines};
use assay_verdict::Judgement;

use view::with_report;

/// Renders a study. Ends with a line feed.
#[must_use]
pub fn render(
    record: &StudyRecord,
    judgement: &Judgement,
    format: Format,
    options: &TextOptions,
) -> String {
    match format {
        Format::Text => with_report(record, judgement, |report| text::render(report, *options)),
        Format::Html => printable_lines(&with_report(record, judgement, html::render)).into_owned(),
        Format::Markdown => printable_lines(&with_report(record, judgement, |it| {
            markdown::render(it, markdown::Images::none())
        }))
        .into_owned(),
        Format::Csv => data::csv::render(record, judgement),
        Format::Json => data::json::render(record, judgement),
    }
}

/// The content security policy of the pages of [`render`] and [`trend`](fn@trend).
#[must_use]
pub fn page_policy() -> String {
    html::policy()
}

/// Renders relative QPS as in published posts, in text, HTML or Markdown; `None` in other formats.
#[must_use]
pub fn render_published(
    record: &StudyRecord,
    judgement: &Judgement,
    format: Format,
    options: &TextOptions,
) -> Option<String> {
    let none = markdown::Images::none();
    with_report(record, judgement, |report| {
        let text = match format {
            Format::Text => return Some(text::render_published(report, *options)),
            Format::Html => html::render_published(report),
            Format::Markdown => markdown::render_published(report, none),
            Format::Csv | Format::Json => return None,
        };
        Some(printable_lines(&text).into_owned())
    })
}

/// The charts of published posts, and the Markdown that shows them as files with this ending.
#[must_use]
pub fn published_charts(
    record: &StudyRecord,
    judgement: &Judgement,
    ending: &str,
) -> (Vec<ChartFile>, String) {
    with_report(record, judgement, |report| {
        let charts = charts::named(charts::published::charts(report));
        let images = markdown::Images { charts: &charts, ending };
        let text = markdown::render_published(report, images);
        let text = printable_lines(&text).into_owned();
        (charts, text)
    })
}

/// The charts of a study as files, in the order of its report.
#[must_use]
pub fn charts(record: &StudyRecord, judgement: &Judgement) -> Vec<ChartFile> {
    with_report(record, judgement, charts::charts)
}

/// Renders a study as Markdown that shows its charts: files of their names with this ending, such as `svg`.
#[must_use]
pub fn render_with_charts(
    record: &StudyRecord,
    judgement: &Judgement,
    charts: &[ChartFile],
    ending: &str,
) -> String {
    let images = markdown::Images { charts, ending };
    let text = with_report(record, judgement, |report| markdown::render(report, images));
    printable_lines(&text).into_owned()
}

/// The answer of a study in words, a line for each system, as [`render`] begins with it in text.
#[must_use]
pub fn answer(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    with_report(record, judgement, |report| match &report.gate {
        Some(gate) => vec![gate.headline.clone()],
        None => report.answer_lines(),
    })
}

/// Renders what a gate says: in text and Markdown a summary, in the other formats the whole study. A study that is no
/// gate is rendered by [`render`].
#[must_use]
pub fn render_gate(
    record: &StudyRecord,
    judgement: &Judgement,
    format: Format,
    options: &TextOptions,
) -> String {
    let summary = with_report(record, judgement, |report| {
        let gate = report.gate.as_ref()?;
        match format {
            Format::Text => Some(text::render_gate(report, gate, *options)),
            Format::Markdown => {
                Some(printable_lines(&markdown::render_gate(report, gate)).into_owned())
            }
            Format::Html | Format::Csv | Format::Json => None,
        }
    });
    summary.unwrap_or_else(|| render(record, judgement, format, options))
}
