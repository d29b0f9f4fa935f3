//! The list of studies of a ledger, one line each.

use std::collections::BTreeSet;

use assay_model::{StudySummary, TestSet};
use assay_report::Page;
use assay_report::blocks::{
    Block, Column, Heading, NONE, PageContent, PageDocument, Row, Table, Wish, began, duration,
    fields_csv, rfc3339, rounded, thousands, versioned,
};
use serde::Serialize;

#[derive(Serialize)]
struct StudiesDocument<'a> {
    studies: Vec<ListedStudyRow<'a>>,
}

#[derive(Serialize)]
struct ListedStudyRow<'a> {
    id: &'a str,
    /// Null for published results, like the duration.
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
    /// Imported, according to the ledger.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    foreign: bool,
}

/// Columns of the CSV, in order; new ones come last.
const FIELDS: &str = "id started preset set systems cells slices elapsed_s finished running name";

#[derive(Clone, Copy)]
struct ListedStudy<'a> {
    study: &'a StudySummary,
    running: bool,
}

impl<'a> ListedStudy<'a> {
    fn state(self) -> &'static str {
        match self {
            Self { running: true, .. } => "running",
            Self { study, .. } if study.finished => "finished",
            _ => "unfinished",
        }
    }

    fn shown(self) -> String {
        let id = &self.study.id;
        self.study.name.as_ref().map_or_else(|| id.clone(), |name| format!("{id} ({name})"))
    }

    fn row(self) -> ListedStudyRow<'a> {
        let Self { study, running } = self;
        ListedStudyRow {
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
            foreign: study.foreign,
        }
    }
}

/// Newest first. `list` is oldest first, like the ledger; `running` has the ids of studies in progress.
pub fn studies<'a>(list: &'a [StudySummary], running: &BTreeSet<String>) -> Page<'a> {
    let listed =
        |study: &'a StudySummary| ListedStudy { study, running: is_running(study, running) };
    Page::new(StudiesPage(list.iter().rev().map(listed).collect()))
}

fn columns() -> Vec<Column> {
    COLUMNS
        .map(|(heading, is_number)| match is_number {
            true => Column::numbers(heading),
            false => Column::words(heading),
        })
        .to_vec()
}

struct StudiesPage<'a>(Vec<ListedStudy<'a>>);

impl PageContent for StudiesPage<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let heading = Heading { before: "Studies".to_owned(), ..Heading::default() };
        let blocks = self.blocks(wish);
        then(&PageDocument { title: heading.line(), heading, blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        let studies = self.0.iter().map(|listed| listed.row()).collect();
        Some(versioned(StudiesDocument { studies }))
    }

    fn csv(&self) -> Option<String> {
        Some(fields_csv(FIELDS, self.0.iter().map(|listed| listed.row())))
    }
}

impl StudiesPage<'_> {
    /// In a terminal, the systems have separate lines.
    fn blocks(&self, wish: &Wish<'_>) -> Vec<Block<'static>> {
        if wish.is_terminal() && self.0.is_empty() {
            return vec![Block::Lines(vec![
                "no studies yet: run `assay compare BASE OTHER`".to_owned(),
            ])];
        }
        let mut columns = columns();
        let rows = self.0.iter().map(|listed| {
            let mut cells = row(*listed);
            let below = wish.is_terminal().then(|| cells.pop()).flatten();
            Row::new(cells).below(below.map(|systems| format!("    {systems}")))
        });
        let rows: Vec<Row> = rows.collect();
        columns.truncate(if wish.is_terminal() { SYSTEMS } else { COLUMNS.len() });
        let table = Table::new(columns, rows).flush();
        let open = self.0.iter().find(|it| !it.study.finished && !it.running && !it.study.foreign);
        let open = open.filter(|_| wish.is_terminal()).map(|listed| {
            let id = &listed.study.id;
            Block::Lines(vec![format!(
                "to continue the latest unfinished study: assay resume {id}"
            )])
        });
        std::iter::once(Block::Table(table)).chain(open).collect()
    }
}

/// A finished study is not running, even if `running` contains it.
fn is_running(study: &StudySummary, running: &BTreeSet<String>) -> bool {
    !study.finished && running.contains(&study.id)
}

/// Columns for people, and whether they are numeric. The systems come last: they may be long.
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

const SYSTEMS: usize = 7;

fn took(study: &StudySummary) -> String {
    if study.is_reported { NONE.to_owned() } else { duration(study.elapsed_s) }
}

fn row(listed: ListedStudy) -> Vec<String> {
    let study = listed.study;
    vec![
        listed.shown(),
        began(study.started_ms, study.is_reported),
        study.preset.word().to_owned(),
        thousands(study.cells as f64),
        thousands(study.slices as f64),
        took(study),
        match study.foreign && !study.is_reported {
            true => format!("{}, foreign", listed.state()),
            false => listed.state().to_owned(),
        },
        study.systems.join(" vs "),
    ]
}

#[cfg(test)]
mod tests;
