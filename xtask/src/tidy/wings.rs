//! Words of wings: the rest of the code may name them in a few files only.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::FOR_TESTS;

/// A folder, its words, and the most files outside of it whose code may have one of them. For work after a study these
/// are its field of the request and its line of the list.
const WINGS: &[(&str, &[&str], usize)] =
    &[("wings/soak", &["soak", "soaks", "soaked", "soaking"], 2)];

pub(super) fn offences(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    for (folder, names, most) in WINGS {
        let mut found = Vec::new();
        for file in files {
            let path = file.strip_prefix(root).unwrap_or(file);
            if path.starts_with(folder) || !is_shipped(path) {
                continue;
            }
            let content = fs_err::read_to_string(file)?;
            let code = content.split("#[cfg(test)]").next().unwrap_or_default();
            if words(code).any(|word| names.contains(&word.as_str())) {
                found.push(path.display().to_string());
            }
        }
        if found.len() > *most {
            offences.push(format!("{folder}: {} name it, at most {most} may", found.join(", ")));
        }
    }
    Ok(offences)
}

fn is_shipped(path: &Path) -> bool {
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    let (place, package, source) = (parts.next(), parts.next(), parts.next());
    place.is_some_and(|it| it == "crates" || it == "wings")
        && package.is_some_and(|it| !FOR_TESTS.contains(&it.as_ref()))
        && source.is_some_and(|it| it == "src")
        && !path.to_string_lossy().ends_with("tests.rs")
}

/// The words of a text in lower case, also those within names: `soak_s` and `SoakTurn` have `soak`.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_ascii_alphabetic()).flat_map(parts)
}

/// Splits a name where a capital letter follows a small one.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut follows_small = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && follows_small {
            parts.push(String::new());
        }
        follows_small = letter.is_ascii_lowercase();
        parts.last_mut().into_iter().for_each(|part| part.push(letter.to_ascii_lowercase()));
    }
    parts
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_split_into_words() {
        let found: Vec<String> = super::words("soak_s: Option<SoakTurn>, SOAK, a soak")
            .filter(|it| *it == "soak")
            .collect();
        assert_eq!(found.len(), 4);
        assert!(super::words("soaked assaySoaks").all(|word| word != "soak"));
    }
}
