//! The page that lists the studies of a ledger: the first page of `assay serve`.

use std::collections::BTreeSet;

use askama::Template;
use assay_model::{StudySummary, printable_lines};

use crate::formats::html::{STYLE, policy_of};
use crate::number::thousands;
use crate::studies::took;
use crate::words::began;

#[derive(Template)]
#[template(path = "index.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    search: &'a str,
    rows: Vec<Row<'a>>,
    of: usize,
}

struct Row<'a> {
    id: &'a str,
    name: &'a str,
    started: String,
    preset: &'static str,
    cells: String,
    took: String,
    state: &'static str,
    systems: String,
}

/// The content security policy of [`index`]: its own style, and forms that are sent to its server.
#[must_use]
pub fn index_policy() -> String {
    policy_of("form-action 'self'")
}

/// Lists the studies that have a text in their id, name or systems, the newest first. `list` has the oldest first, and
/// `running` the ids of those that are being measured. Links lead to `study/ID` and `trend?test=NAME`.
#[must_use]
pub fn index(list: &[StudySummary], running: &BTreeSet<String>, search: &str) -> String {
    let wanted = search.trim().to_lowercase();
    let has = |study: &&StudySummary| {
        let mut texts = study.systems.iter().chain(&study.name).chain(std::iter::once(&study.id));
        texts.any(|text| text.to_lowercase().contains(&wanted))
    };
    let rows = list.iter().rev().filter(has);
    let rows = rows.map(|study| {
        let StudySummary { id, finished, .. } = study;
        let state = match (*finished, running.contains(id)) {
            (true, _) => "finished",
            (false, true) => "running",
            (false, false) => "unfinished",
        };
        Row {
            id,
            name: study.name.as_deref().unwrap_or(""),
            started: began(study.started_ms, study.is_reported),
            preset: study.preset.word(),
            cells: thousands(study.cells as f64),
            took: took(study),
            state,
            systems: study.systems.join(" vs "),
        }
    });
    let rows = rows.collect();
    let page = Page { policy: index_policy(), style: STYLE, search, rows, of: list.len() };
    printable_lines(&format!("{page}\n")).into_owned()
}
