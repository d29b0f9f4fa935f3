//! The page that lists the studies of a ledger: the first page of `assay serve`.

use std::collections::BTreeSet;

use assay_model::StudySummary;

use crate::document::{Block, Document, Field, Form, Heading};
use crate::formats::html::{policy_of, render};
use crate::studies::linked;

/// Content security policy of [`index`]: inline style, and forms sent to its server.
#[must_use]
pub fn index_policy() -> String {
    policy_of("form-action 'self'")
}

/// Lists studies with `search` in their id, name or systems, newest first. `list` is oldest first; `running` has the
/// ids of studies in progress. Links lead to `study/ID` and `trend?test=NAME`.
#[must_use]
pub fn index(list: &[StudySummary], running: &BTreeSet<String>, search: &str) -> String {
    let wanted = search.trim().to_lowercase();
    let has = |study: &&StudySummary| {
        let mut texts = study.systems.iter().chain(&study.name).chain(std::iter::once(&study.id));
        texts.any(|text| text.to_lowercase().contains(&wanted))
    };
    let table = linked(list.iter().rev().filter(has), running);
    let shown = format!("{} of {}", table.rows().count(), list.len());
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
