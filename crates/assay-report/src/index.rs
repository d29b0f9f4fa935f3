//! The page that lists the studies of a ledger: the first page of `assay serve`.

use std::collections::BTreeSet;

use assay_model::StudySummary;

use crate::document::{Block, Column, Document, Field, Form, Heading, Look, Row, Table};
use crate::formats::html::{policy_of, render};
use crate::number::thousands;
use crate::studies::took;
use crate::text::{Text, link};
use crate::words::began;

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
    let rows: Vec<Row> = rows.map(|study| row(study, running.contains(&study.id))).collect();
    let shown = format!("{} of {}", rows.len(), list.len());
    let columns = ["study", "name", "started (UTC)", "preset", "cells", "took", "state", "systems"];
    let look = Look { label: "Studies", ..Look::default() };
    let table = Table::new(columns.map(Column::words).to_vec(), rows).look(look);
    let find = Field {
        label: "Search studies",
        name: "q",
        value: search.to_owned(),
        is_search: true,
        ..Field::default()
    };
    let test = Field {
        label: "A test over versions and time",
        name: "test",
        placeholder: "point-query",
        ..Field::default()
    };
    let form = |action, field, button| {
        Block::Form(Form { action, fields: vec![field], button: Some(button), ..Form::default() })
    };
    let mut blocks = vec![form("./", find, "Search"), form("trend", test, "Show")];
    blocks.extend(Block::prose("", [shown]));
    blocks.push(Block::Table(table));
    let heading = Heading { before: "Studies".to_owned(), ..Heading::default() };
    let title = heading.line();
    let page = Document { title, heading, blocks, ..Document::default() };
    render(&page, &index_policy())
}

fn row(study: &StudySummary, is_running: bool) -> Row {
    let StudySummary { id, finished, .. } = study;
    let state = match (*finished, is_running) {
        (true, _) => "finished",
        (false, true) => "running",
        (false, false) => "unfinished",
    };
    Row::new([
        link(format!("study/{id}"), id).into(),
        study.name.as_deref().unwrap_or_default().into(),
        began(study.started_ms, study.is_reported).into(),
        study.preset.word().into(),
        thousands(study.cells as f64).into(),
        took(study).into(),
        state.into(),
        Text::from(study.systems.join(" vs ")),
    ])
}
