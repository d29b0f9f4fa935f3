//! The studies of a ledger in one line each: `assay studies`.

use std::collections::BTreeSet;

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
    running: bool,
}

/// A study, and whether it is being measured at this moment.
#[derive(Clone, Copy)]
struct Listed<'a> {
    study: &'a StudySummary,
    running: bool,
}

impl Listed<'_> {
    fn state(self) -> &'static str {
        match self {
            Self { running: true, .. } => "running",
            Self { study, .. } if study.finished => "finished",
            _ => "unfinished",
        }
    }
}

/// Lists studies, the newest first; `list` has the oldest first, as the ledger, and `running` the ids of those that
/// are being measured. HTML has no list of its own: it is that of a terminal, as text.
#[must_use]
pub fn studies(
    list: &[StudySummary],
    running: &BTreeSet<String>,
    format: Format,
    options: &TextOptions,
) -> String {
    let listed = |study| Listed { study, running: is_running(study, running) };
    let newest_first = || list.iter().rev().map(listed);
    match format {
        Format::Json => printable_json(&json(newest_first())).into_owned(),
        Format::Csv => fields(newest_first()).map(|line| csv::joined(&line)).collect(),
        Format::Markdown => {
            let column = |(name, is_number)| {
                if is_number { Column::right(name) } else { Column::left(name) }
            };
            markdown::table(&COLUMNS.map(column), newest_first().map(row)) + "\n"
        }
        Format::Text | Format::Html => text(newest_first(), options),
    }
}

/// One that has ended is not running, whoever says so.
fn is_running(study: &StudySummary, running: &BTreeSet<String>) -> bool {
    !study.finished && running.contains(&study.id)
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

fn row(listed: Listed) -> Vec<String> {
    let study = listed.study;
    vec![
        printable(&study.id).into_owned(),
        minute(study.started_ms).unwrap_or_default(),
        study.preset.word().to_owned(),
        thousands(study.cells as f64),
        thousands(study.slices as f64),
        duration(study.elapsed_s),
        listed.state().to_owned(),
        printable(&study.systems.join(" vs ")).into_owned(),
    ]
}

/// A header and a line for each study, with the names and figures of JSON.
fn fields<'a>(list: impl Iterator<Item = Listed<'a>>) -> impl Iterator<Item = Vec<String>> {
    let header = [
        "id",
        "started",
        "preset",
        "set",
        "systems",
        "cells",
        "slices",
        "elapsed_s",
        "finished",
        "running",
    ];
    let lines = list.map(|Listed { study, running }| {
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
            running.to_string(),
        ]
    });
    std::iter::once(header.map(str::to_owned).to_vec()).chain(lines)
}

fn text<'a>(list: impl Iterator<Item = Listed<'a>>, options: &TextOptions) -> String {
    let list: Vec<Listed> = list.collect();
    if list.is_empty() {
        return "no study yet: `assay compare BASE OTHER` makes one\n".to_owned();
    }
    let mut table = plain_table();
    let aligned = |is_number: bool, text: String| if is_number { right(text) } else { left(text) };
    table.set_header(COLUMNS.map(|(name, is_number)| aligned(is_number, name.to_owned())));
    for listed in &list {
        let cells = COLUMNS.into_iter().zip(row(*listed));
        table.add_row(cells.map(|((_, is_number), text)| aligned(is_number, text)));
    }
    let mut lines = trimmed(&table);
    // What is being measured goes on by itself.
    if let Some(listed) = list.iter().find(|it| !it.study.finished && !it.running) {
        let id = printable(&listed.study.id);
        lines.push(String::new());
        lines.push(format!("to continue the latest unfinished study: assay resume {id}"));
    }
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

fn json<'a>(list: impl Iterator<Item = Listed<'a>>) -> String {
    let studies = list
        .map(|Listed { study, running }| StudyPart {
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
            running,
        })
        .collect();
    // Only maps with keys that are not strings and failing writers can fail; there are neither.
    serde_json::to_string_pretty(&Document { schema: SCHEMA, studies }).unwrap_or_default() + "\n"
}
