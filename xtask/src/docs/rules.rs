//! Words forbidden in tutorials, how-tos and explanations, which describe the present, not history. Dates, hours,
//! earlier states, commits and names of constants belong to the notebooks of the lab. Outputs are of quiet machines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

const FOLDERS: [&str; 3] = ["docs/tutorial", "docs/how-to", "docs/explanation"];

/// Crates whose constants the notebooks name.
const CRATES: [&str; 6] =
    ["assay-verdict", "assay-study", "assay-plan", "assay-doctor", "assay-sim", "assay-model"];

/// Part of a warning in outputs of busy machines, and the pages about such machines.
const BUSY: &str = "other processes used the cpu";
const ABOUT_BUSY: [&str; 2] = ["docs/how-to/busy-machine.md", "docs/reference/messages.md"];

const PHRASES: [&str; 5] = ["before", "since then", "formerly", "in an earlier", "hour later"];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

pub(super) fn offences(root: &Path, pages: &[PathBuf]) -> Result<Vec<String>> {
    let constants = constants(root)?;
    let mut offences = Vec::new();
    for page in pages {
        let shown = page.strip_prefix(root).unwrap_or(page);
        let text = fs::read_to_string(page)?;
        offences.extend(busy_outputs(shown, &text));
        if !FOLDERS.iter().any(|folder| shown.starts_with(folder)) {
            continue;
        }
        let shown = shown.display();
        for (number, line) in without_code(&text).lines().enumerate() {
            let found = history(line).into_iter();
            let found = found.map(|what| format!("{shown}:{}: {what}", number + 1));
            offences.extend(found);
        }
        let named = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let named: BTreeSet<&str> = named.filter(|word| constants.contains(*word)).collect();
        offences.extend(named.iter().map(|word| format!("{shown}: names the constant `{word}`")));
    }
    Ok(offences)
}

/// Lines of a page of the users' book that show a busy machine, unless this is its subject.
fn busy_outputs(page: &Path, text: &str) -> Vec<String> {
    let is_of_users =
        page == Path::new("README.md") || page.starts_with("docs") && !page.starts_with("docs/lab");
    if !is_of_users || ABOUT_BUSY.iter().any(|about| page == Path::new(about)) {
        return Vec::new();
    }
    let lines = text.lines().zip(1..).filter(|(line, _)| line.to_lowercase().contains(BUSY));
    let page = page.display();
    lines.map(|(_, number)| format!("{page}:{number}: an output of a busy machine")).collect()
}

/// Names of constants with an underscore: others are words of SQL as well.
fn constants(root: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for name in CRATES {
        let mut folders = vec![root.join("crates").join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    names.extend(declared(&fs::read_to_string(&path)?));
                }
            }
        }
    }
    Ok(names)
}

fn declared(code: &str) -> Vec<String> {
    let name = |rest: &str| {
        let name: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let is_constant = name.contains('_') && !name.contains(|c: char| c.is_ascii_lowercase());
        is_constant.then_some(name)
    };
    code.split("const ").skip(1).filter_map(name).collect()
}

fn history(line: &str) -> Vec<String> {
    let lower = line.to_lowercase();
    let mut found: Vec<String> = PHRASES
        .iter()
        .filter(|phrase| {
            lower.match_indices(**phrase).any(|(at, _)| is_word(&lower, at, phrase.len()))
        })
        .map(|phrase| format!("\"{phrase}\""))
        .collect();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && !"-:".contains(c)).collect();
    for (at, word) in words.iter().enumerate() {
        let word = word.trim_matches(['-', ':']);
        if is_date(word) || is_hour(word) || is_commit(word) {
            found.push(format!("`{word}`"));
        }
        let is_year = |next: &&str| next.len() == 4 && next.starts_with("20");
        if MONTHS.contains(&word) && words.get(at + 1).is_some_and(is_year) {
            found.push(format!("\"{word}\" of a year"));
        }
    }
    found
}

fn is_word(text: &str, at: usize, length: usize) -> bool {
    let is_letter = |c: char| c.is_alphanumeric();
    let begins = !text.get(..at).unwrap_or_default().ends_with(is_letter);
    begins && !text.get(at + length..).unwrap_or_default().starts_with(is_letter)
}

/// `2026-11` or `2026-11-25`.
fn is_date(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    let is_first = parts.first().is_some_and(|year| year.len() == 4 && year.starts_with("20"));
    is_first && matches!(parts.len(), 2 | 3) && parts.iter().all(is_number)
}

/// `14:30`.
fn is_hour(word: &str) -> bool {
    let Some((hours, minutes)) = word.split_once(':') else { return false };
    let is_number = |part: &str| part.len() <= 2 && part.bytes().all(|it| it.is_ascii_digit());
    minutes.len() == 2 && !hours.is_empty() && is_number(hours) && is_number(minutes)
}

/// Seven or more hexadecimal digits, including a letter.
fn is_commit(word: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (7..=40).contains(&word.len())
        && word.bytes().all(is_hex)
        && word.bytes().any(|it| it.is_ascii_digit())
        && word.bytes().any(|it| it.is_ascii_alphabetic())
}

/// A page without its code blocks and code spans; line numbers stay the same.
pub(super) fn without_code(text: &str) -> String {
    let (mut is_fenced, mut kept) = (false, String::new());
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence {
            is_fenced = !is_fenced;
        }
        if !is_fenced && !is_fence && !line.starts_with("    ") {
            let parts: Vec<&str> = line.split('`').step_by(2).collect();
            kept += &parts.join(" ");
        }
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_found() {
        for line in [
            "Measured on 2026-11-25.",
            "In April 2026 it was slower.",
            "At 14:30 the machine was busy.",
            "It was slower Before.",
            "Since then, it is not.",
            "Built from 9ea481e.",
        ] {
            assert!(!history(line).is_empty(), "{line}");
        }
        for line in
            ["Wait five minutes, then 1 of 20.", "It may take 1:2.", "beforehand", "facade 1234567"]
        {
            assert!(history(line).is_empty(), "{line}: {:?}", history(line));
        }
    }

    #[test]
    fn only_pages_about_busy_machines_show_one() {
        let text = "```text\nwarning: other processes used the CPU in 100% of the slices\n```";
        let found = |page: &str| busy_outputs(Path::new(page), text);
        let expected = "docs/tutorial/a.md:2: an output of a busy machine";
        assert_eq!(found("docs/tutorial/a.md"), [expected]);
        for page in ["docs/how-to/busy-machine.md", "docs/lab/turns.md", "posts/a/README.md"] {
            assert!(found(page).is_empty(), "{page}");
        }
    }

    #[test]
    fn code_is_no_prose() {
        let text = "a `2026-11-25` b\n```\nbefore\n```\n    before\nc";
        assert_eq!(without_code(text), "a   b\n\n\n\n\nc\n");
    }

    #[test]
    fn constants_are_found_by_their_declaration() {
        assert_eq!(
            declared("pub const QUIET_SHARE: f64 = 0.25; const N: u8 = 1; const fn a_b() {}"),
            ["QUIET_SHARE"]
        );
    }
}
