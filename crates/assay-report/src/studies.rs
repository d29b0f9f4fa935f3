//! The studies of a ledger in one line each: `assay studies`.

use std::collections::BTreeSet;

use assay_model::{StudySummary, TestSet, printable};
use serde::Serialize;

use crate::data::{csv, json};
use crate::format::{Format, TextOptions};
use crate::markdown::{self, Column};
use crate::number::{NONE, duration, rounded, thousands};
use crate::text::paint;
use crate::text::table::{left, plain_table, right, trimmed};
use crate::text::wrap::wrap;
use crate::words::{began, rfc3339};

/// Raised when the shape below changes incompatibly.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    studies: Vec<StudyRow<'a>>,
}

/// A study in JSON and CSV.
#[derive(Serialize)]
struct StudyRow<'a> {
    id: &'a str,
    /// Null for published results, as the time that it took.
    started: Option<String>,
    preset: &'static str,
    #[serde(serialize_with = "TestSet::serialize_name")]
    set: TestSet,
    systems: &'a [String],
    cells: u64,
    slices: u64,
    elapsed_s: Option<f64>,
    finished: bool,
    running: bool,
    name: Option<&'a str>,
}

/// The columns of CSV, in order; new ones come last.
const FIELDS: [csv::Column; 11] = [
    ("id", "/id"),
    ("started", "/started"),
    ("preset", "/preset"),
    ("set", "/set"),
    ("systems", "/systems"),
    ("cells", "/cells"),
    ("slices", "/slices"),
    ("elapsed_s", "/elapsed_s"),
    ("finished", "/finished"),
    ("running", "/running"),
    ("name", "/name"),
];

/// A study, and whether it is being measured now.
#[derive(Clone, Copy)]
struct Listed<'a> {
    study: &'a StudySummary,
    running: bool,
}

impl<'a> Listed<'a> {
    fn state(self) -> &'static str {
        match self {
            Self { running: true, .. } => "running",
            Self { study, .. } if study.finished => "finished",
            _ => "unfinished",
        }
    }

    /// Its id, and its name if it has one.
    fn shown(self) -> String {
        let id = &self.study.id;
        self.study.name.as_ref().map_or_else(|| id.clone(), |name| format!("{id} ({name})"))
    }

    fn row(self) -> StudyRow<'a> {
        let Self { study, running } = self;
        StudyRow {
            id: &study.id,
            started: rfc3339(study.started_ms).filter(|_| !study.is_reported),
            preset: study.preset.word(),
            set: study.set,
            systems: &study.systems,
            cells: study.cells,
            slices: study.slices,
            elapsed_s: (!study.is_reported).then(|| rounded(study.elapsed_s)),
            finished: study.finished,
            running,
            name: study.name.as_deref(),
        }
    }
}

/// Lists studies, the newest first. `list` has the oldest first, as the ledger does. `running` has the ids of the
/// studies that are being measured. In HTML, the list is the terminal's text.
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
        Format::Json => {
            let studies = newest_first().map(Listed::row).collect();
            json::text(&Document { schema: SCHEMA, studies })
        }
        Format::Csv => csv::table(&FIELDS, newest_first().map(Listed::row)),
        Format::Markdown => {
            let column = |(name, is_number)| {
                if is_number { Column::right(name) } else { Column::left(name) }
            };
            markdown::table(&COLUMNS.map(column), newest_first().map(row)) + "\n"
        }
        Format::Text | Format::Html => text(newest_first(), options),
    }
}

/// A finished study is not running, whatever `running` holds.
fn is_running(study: &StudySummary, running: &BTreeSet<String>) -> bool {
    !study.finished && running.contains(&study.id)
}

/// The columns for people, and whether they hold numbers. The systems come last: they may be long.
const COLUMNS: [(&str, bool); 8] = [
    ("study", false),
    ("started (UTC)", false),
    ("preset", false),
    ("cells", true),
    ("slices", true),
    ("took", true),
    ("state", false),
    ("systems", false),
];

/// The column of the systems, which have a line of their own in a terminal.
const SYSTEMS: usize = 7;

/// How long it took.
pub(crate) fn took(study: &StudySummary) -> String {
    if study.is_reported { NONE.to_owned() } else { duration(study.elapsed_s) }
}

fn row(listed: Listed) -> Vec<String> {
    let study = listed.study;
    vec![
        printable(&listed.shown()).into_owned(),
        began(study.started_ms, study.is_reported),
        study.preset.word().to_owned(),
        thousands(study.cells as f64),
        thousands(study.slices as f64),
        took(study),
        listed.state().to_owned(),
        printable(&study.systems.join(" vs ")).into_owned(),
    ]
}

fn text<'a>(list: impl Iterator<Item = Listed<'a>>, options: &TextOptions) -> String {
    let list: Vec<Listed> = list.collect();
    if list.is_empty() {
        return "no studies yet: run `assay compare BASE OTHER`\n".to_owned();
    }
    let mut table = plain_table();
    let aligned = |is_number: bool, text: String| if is_number { right(text) } else { left(text) };
    let columns = || COLUMNS.into_iter().take(SYSTEMS);
    table.set_header(columns().map(|(name, is_number)| aligned(is_number, name.to_owned())));
    let rows: Vec<Vec<String>> = list.iter().map(|listed| row(*listed)).collect();
    for row in &rows {
        let cells = columns().zip(row.clone());
        table.add_row(cells.map(|((_, is_number), text)| aligned(is_number, text)));
    }
    let mut laid = trimmed(&table).into_iter();
    let mut lines: Vec<String> = laid.by_ref().take(1).collect();
    for (line, row) in laid.zip(&rows) {
        lines.push(line);
        let systems = row.get(SYSTEMS).map(|it| format!("    {it}"));
        lines.extend(systems.iter().flat_map(|it| wrap(it, options.width)));
    }
    // A study that is being measured needs nobody to continue it.
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
