//! The studies of a ledger in one line each: `assay studies`.

use assay_model::{StudySummary, printable, printable_json};
use serde::Serialize;

use crate::markdown::Column;
use crate::number::{Digits, duration, thousands};
use crate::text::paint;
use crate::text::table::{left, plain_table, right, trimmed};
use crate::words::{minute, rfc3339};
use crate::{Format, TextOptions, csv, markdown};

/// Raised when the shape below breaks.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    studies: Vec<StudyPart<'a>>,
}

#[derive(Serialize)]
struct StudyPart<'a> {
    id: &'a str,
    started: Option<String>,
    preset: &'static str,
    set: usize,
    systems: &'a [String],
    cells: u64,
    slices: u64,
    elapsed_s: f64,
    finished: bool,
}

/// Lists studies, the newest first; `list` has the oldest first, as the ledger. HTML has no list of its own: it is that
/// of a terminal, as text.
#[must_use]
pub fn studies(list: &[StudySummary], format: Format, options: &TextOptions) -> String {
    let newest_first = || list.iter().rev();
    match format {
        Format::Json => printable_json(&json(newest_first())).into_owned(),
        Format::Csv => fields(newest_first()).map(|line| csv::joined(&line)).collect(),
        Format::Markdown => {
            let column = |(name, is_number)| {
                if is_number { Column::right(name) } else { Column::left(name) }
            };
            markdown::table(&COLUMNS.map(column), newest_first().map(row)) + "\n"
        }
        Format::Text | Format::Html => text(list, options),
    }
}

/// What people are told of a study, and whether it is a number. The systems come last: they may be long.
const COLUMNS: [(&str, bool); 8] = [
    ("study", false),
    ("began (UTC)", false),
    ("preset", false),
    ("cells", true),
    ("slices", true),
    ("took", true),
    ("state", false),
    ("systems", false),
];

fn row(study: &StudySummary) -> Vec<String> {
    let state = if study.finished { "finished" } else { "unfinished" };
    vec![
        printable(&study.id).into_owned(),
        minute(study.started_ms).unwrap_or_default(),
        study.preset.word().to_owned(),
        thousands(study.cells as f64),
        thousands(study.slices as f64),
        duration(study.elapsed_s),
        state.to_owned(),
        printable(&study.systems.join(" vs ")).into_owned(),
    ]
}

/// A header and a line for each study, with the names and figures of JSON.
fn fields<'a>(list: impl Iterator<Item = &'a StudySummary>) -> impl Iterator<Item = Vec<String>> {
    let header =
        ["id", "started", "preset", "set", "systems", "cells", "slices", "elapsed_s", "finished"];
    let lines = list.map(|study| {
        vec![
            study.id.clone(),
            rfc3339(study.started_ms).unwrap_or_default(),
            study.preset.word().to_owned(),
            study.set.len().to_string(),
            study.systems.join(" vs "),
            study.cells.to_string(),
            study.slices.to_string(),
            Digits::of(study.elapsed_s).map_or_else(String::new, |digits| digits.to_string()),
            study.finished.to_string(),
        ]
    });
    std::iter::once(header.map(str::to_owned).to_vec()).chain(lines)
}

fn text(list: &[StudySummary], options: &TextOptions) -> String {
    if list.is_empty() {
        return "no study yet: `assay compare BASE OTHER` makes one\n".to_owned();
    }
    let mut table = plain_table();
    let aligned = |is_number: bool, text: String| if is_number { right(text) } else { left(text) };
    table.set_header(COLUMNS.map(|(name, is_number)| aligned(is_number, name.to_owned())));
    for study in list.iter().rev() {
        let cells = COLUMNS.into_iter().zip(row(study));
        table.add_row(cells.map(|((_, is_number), text)| aligned(is_number, text)));
    }
    let mut lines = trimmed(&table);
    if let Some(study) = list.iter().rev().find(|study| !study.finished) {
        lines.push(String::new());
        lines.push(format!(
            "to continue the latest unfinished study: assay resume {}",
            printable(&study.id)
        ));
    }
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

fn json<'a>(list: impl Iterator<Item = &'a StudySummary>) -> String {
    let studies = list
        .map(|study| StudyPart {
            id: &study.id,
            started: rfc3339(study.started_ms),
            preset: study.preset.word(),
            set: study.set.len(),
            systems: &study.systems,
            cells: study.cells,
            slices: study.slices,
            elapsed_s: match Digits::of(study.elapsed_s) {
                Some(Digits::Fraction(seconds)) => seconds,
                Some(Digits::Whole(seconds)) => seconds as f64,
                None => 0.0,
            },
            finished: study.finished,
        })
        .collect();
    // Only maps with keys that are not strings and failing writers can fail; there are neither.
    serde_json::to_string_pretty(&Document { schema: SCHEMA, studies }).unwrap_or_default() + "\n"
}
