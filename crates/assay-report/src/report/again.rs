//! Instructions for repeating a study.

use crate::document::{Block, Wish};
use crate::view::again::Again;

/// One command, or the study file if one command is not enough, and the commands that show the study.
pub(super) fn blocks<'r>(again: &Again<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    if wish.is_page() {
        return page(again);
    }
    let with_file = match wish.is_terminal() {
        true => "assay run study.toml, with this study.toml",
        false => "With this as `study.toml`, run `assay run study.toml`",
    };
    let mut blocks: Vec<Block> = match again.command {
        Some(command) => code("", command).into_iter().collect(),
        None => code(with_file, again.recipe).into_iter().collect(),
    };
    let profiles = again.profiles();
    if wish.is_terminal() {
        let shown = format!("assay report {}  (shows this report again)", again.id);
        let note = "(passwords are not stored: add them to the URLs or set `ASSAY_PASSWORD`)";
        let passwords = again.needs_password.then(|| note.to_owned());
        let profiles =
            profiles.map(|(command, shows)| format!("{command}  (writes a page with the {shows})"));
        let lines: Vec<String> = passwords.into_iter().chain([shown]).chain(profiles).collect();
        blocks.extend(code("", &lines.join("\n")));
    } else {
        let message = |before: &str, command: &str, after: &str| {
            let [before, command, after] = [before, command, after].map(str::to_owned);
            Block::Command { before, command, after }
        };
        let passwords = "Passwords are not stored: add them to the URLs or set ";
        blocks.extend(again.needs_password.then(|| message(passwords, "ASSAY_PASSWORD", ".")));
        blocks.extend(profiles.map(|(command, shows)| {
            message("", &command, &format!(" writes a page with the {shows}."))
        }));
    }
    Block::section(wish.heading("reproduce"), blocks)
}

fn page<'r>(again: &Again<'r>) -> Vec<Block<'r>> {
    let with_file = "As a study file: save it as `study.toml` and run `assay run study.toml`";
    let command = again.command.and_then(|it| code("To repeat this study on your machine", it));
    let numbers = Block::Command {
        before: "The same numbers as JSON, from the ledger: ".to_owned(),
        command: format!("assay report {} --format json", again.id),
        after: String::new(),
    };
    let file = code(with_file, again.recipe);
    let blocks = command.into_iter().chain(file).chain([numbers]).collect();
    Block::place("again", "Reproduce", "Reproduce", blocks)
}

fn code(intro: &'static str, text: &str) -> Option<Block<'static>> {
    (!text.is_empty()).then(|| Block::Code { intro, text: text.to_owned() })
}
