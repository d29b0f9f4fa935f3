//! Instructions for repeating a study.

use std::collections::BTreeSet;

use assay_model::{Origin, StudyRecord, counted};

use super::study::JudgedStudy;
use crate::document::{Block, Wish};

/// One command, or the study file if one command is not enough, and the commands that show the study.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let record = study.record;
    if wish.is_page() {
        return page(record);
    }
    let with_file = if wish.is_terminal() {
        "assay run study.toml, with this study.toml"
    } else {
        "With this as `study.toml`, run `assay run study.toml`"
    };
    let mut blocks: Vec<Block> = match command(record) {
        Some(command) => code("", command).into_iter().collect(),
        None => code(with_file, recipe(record)).into_iter().collect(),
    };
    let id = &record.study.id;
    // Only pages and files of stacks show profiles.
    let profiled = record.profiles.iter().map(|it| it.cell).collect::<BTreeSet<_>>().len();
    let shows =
        format!("functions, waits and flame graphs of {}", counted(profiled as u64, "test"));
    let profiles = (profiled > 0).then(|| format!("assay report {id} -o profiles.html"));
    // The ledger keeps no passwords.
    let is_url = |origin: &Origin| matches!(origin, Origin::Url(_));
    let needs_password = record.systems.iter().any(|system| is_url(&system.spec.origin));
    if wish.is_terminal() {
        let mut lines = Vec::new();
        if needs_password {
            lines.push(
                "(passwords are not stored: add them to the URLs or set `ASSAY_PASSWORD`)"
                    .to_owned(),
            );
        }
        lines.push(format!("assay report {id}  (shows this report again)"));
        lines
            .extend(profiles.map(|command| format!("{command}  (writes a page with the {shows})")));
        blocks.extend(code("", &lines.join("\n")));
    } else {
        if needs_password {
            let passwords = "Passwords are not stored: add them to the URLs or set ";
            blocks.push(Block::command(passwords, "ASSAY_PASSWORD", "."));
        }
        let after = format!(" writes a page with the {shows}.");
        blocks.extend(profiles.map(|command| Block::command("", command, after)));
    }
    Block::section(wish.heading("reproduce"), blocks)
}

fn page(record: &StudyRecord) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    let repeat = "To repeat this study on your machine";
    blocks.extend(command(record).and_then(|command| code(repeat, command)));
    let with_file = "As a study file: save it as `study.toml` and run `assay run study.toml`";
    blocks.extend(code(with_file, recipe(record)));
    let json = format!("assay report {} --format json", record.study.id);
    blocks.push(Block::command("The same numbers as JSON, from the ledger: ", json, ""));
    Block::place("again", "Reproduce", "Reproduce", blocks)
}

fn code(intro: &'static str, text: &str) -> Option<Block<'static>> {
    (!text.is_empty()).then(|| Block::Code { intro, text: text.to_owned() })
}

/// The study file; empty if none was kept.
fn recipe(record: &StudyRecord) -> &str {
    record.study.recipe.trim_end()
}

/// The command that repeats the study, if one is enough: a comment in the first line of the study file.
fn command(record: &StudyRecord) -> Option<&str> {
    let first = record.study.recipe.lines().next()?;
    first.strip_prefix("# ").filter(|line| line.starts_with("assay "))
}
