//! The studies of a ledger in one line each: `assay studies`.

use assay_model::StudySummary;
use comfy_table::{Cell, CellAlignment, Table, presets};
use serde::Serialize;

use crate::number::{Digits, duration};
use crate::words::rfc3339;
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

/// Lists studies, the newest first. HTML has no list of its own: it is that of a terminal, as text.
#[must_use]
pub fn studies(list: &[StudySummary], format: Format, options: &TextOptions) -> String {
    let newest_first = || list.iter().rev();
    match format {
        Format::Json => json(newest_first()),
        Format::Csv => rows(newest_first()).map(|row| csv::joined(&row)).collect(),
        Format::Markdown => {
            let header = COLUMNS.map(str::to_owned);
            markdown::table(&header, newest_first().map(row)) + "\n"
        }
        Format::Text | Format::Html => text(list, options),
    }
}

/// What is told of a study.
const COLUMNS: [&str; 8] =
    ["study", "began", "systems", "preset", "cells", "slices", "took", "state"];

/// The header and a row for each study.
fn rows<'a>(list: impl Iterator<Item = &'a StudySummary>) -> impl Iterator<Item = Vec<String>> {
    std::iter::once(COLUMNS.map(str::to_owned).to_vec()).chain(list.map(row))
}

fn row(study: &StudySummary) -> Vec<String> {
    let began = rfc3339(study.started_ms).unwrap_or_default();
    let minute: String = began.chars().take(16).collect();
    let state = if study.finished { "finished" } else { "unfinished" };
    vec![
        study.id.clone(),
        minute.replace('T', " "),
        study.systems.join(", "),
        study.preset.word().to_owned(),
        study.cells.to_string(),
        study.slices.to_string(),
        duration(study.elapsed_s),
        state.to_owned(),
    ]
}

fn text(list: &[StudySummary], options: &TextOptions) -> String {
    if list.is_empty() {
        return "no study yet: `assay compare BASE OTHER` makes one\n".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_width(u16::try_from(options.width).unwrap_or(u16::MAX));
    let mut all = rows(list.iter().rev());
    table.set_header(all.next().unwrap_or_default());
    for row in all {
        let cells = row.into_iter().zip(COLUMNS).map(|(text, column)| {
            let alignment = match column {
                "cells" | "slices" | "took" => CellAlignment::Right,
                _ => CellAlignment::Left,
            };
            Cell::new(text).set_alignment(alignment)
        });
        table.add_row(cells);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let unfinished = list.iter().rev().find(|study| !study.finished);
    let hint = unfinished
        .map(|study| format!("\n\n`assay resume {}` goes on with an unfinished study", study.id));
    lines.join("\n") + &hint.unwrap_or_default() + "\n"
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
