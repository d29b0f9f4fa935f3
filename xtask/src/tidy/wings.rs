//! Words of wings: the rest of the code may name them in a few files only.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::shipped;

/// A folder, its words, and the most files outside of it whose code may have one of them. For work after a study these
/// are its field of the request and its line of the list.
const WINGS: &[(&str, &[&str], usize)] = &[
    ("wings/bisect", &["bisect", "bisects", "bisected", "bisecting", "bisection", "bisections"], 6),
    ("wings/claims", &["claim", "claims", "claimed"], 6),
    ("wings/evidence", &["evidence"], 2),
    ("wings/farm", &["farm", "farms"], 2),
    ("wings/gate", &["gate", "gates"], 5),
    ("wings/import", &["import", "imports", "imported"], 7),
    ("wings/posts", &["post", "posts"], 2),
    ("wings/repro", &["repro"], 1),
    ("wings/review", &["review", "reviews", "reviewed"], 2),
    ("wings/site", &["site", "sites"], 1),
    ("wings/soak", &["soak", "soaks", "soaked", "soaking"], 2),
    ("wings/trend", &["trend", "trends"], 3),
    ("wings/upgrade", &["upgrade", "upgrades", "upgraded"], 3),
    ("wings/watch", &["watch", "watches", "watched", "watching"], 3),
];

/// Parts of paths of files in which the words of a wing mean something else.
const OTHER_MEANINGS: &[(&str, &[&str])] = &[
    // Claims to tables, studies and directories.
    ("wings/claims", &["assay-load/", "assay-run/", "assay-servers/", "wings/farm/"]),
    // Measurements that suffice for a verdict or a cause.
    ("wings/evidence", &["assay-verdict/"]),
    // A statement of SQL; and the parsers of its crate, which reviews share.
    ("wings/import", &["/sql/", "wings/review/"]),
    // A medium: a report within a post. And the posts of a site.
    ("wings/posts", &["assay-report/", "wings/site/"]),
    // Where on this machine a server lives.
    (
        "wings/site",
        &[
            "assay-command/",
            "assay-run/",
            "assay-servers/",
            "wings/audit/",
            "wings/cache/",
            "wings/count/",
            "wings/sandbox/",
            "wings/tests/",
            "wings/upgrade/",
        ],
    ),
    // Repeats of a run that get faster or slower. And the trends of a site.
    ("wings/trend", &["/reservations.rs", "wings/site/"]),
    // Scripts, sockets, processes and CPUs that are watched, and other programs.
    (
        "wings/watch",
        &["/realtime.rs", "assay-lua/", "assay-servers/", "assay-wire/", "/capture/src/formats/"],
    ),
    // A newer assay, and weak references.
    ("wings/upgrade", &["assay-ledger/src/error.rs", "assay-pack/src/error.rs", "assay-wire/"]),
];

pub(super) fn offences(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let (shipped, mut offences) = (shipped_code(root, files)?, Vec::new());
    for (folder, names, most) in WINGS {
        let others = OTHER_MEANINGS.iter().filter(|(wing, _)| wing == folder);
        let others: Vec<&str> = others.flat_map(|(_, parts)| *parts).copied().collect();
        let mut found = Vec::new();
        for (path, code) in &shipped {
            let is_other = others.iter().any(|part| path.to_string_lossy().contains(part));
            let is_outside = !path.starts_with(folder) && !is_other;
            if is_outside && words(code).any(|word| names.contains(&word.as_str())) {
                found.push(path.display().to_string());
            }
        }
        if found.len() > *most {
            offences.push(format!("{folder}: {} name it, at most {most} may", found.join(", ")));
        }
    }
    Ok(offences)
}

/// The code of shipped files, without comments and the tests at its end.
pub(super) fn shipped_code<'f>(
    root: &Path,
    files: &'f [PathBuf],
) -> Result<Vec<(&'f Path, String)>> {
    let mut codes = Vec::new();
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(file);
        if shipped(path).is_none() {
            continue;
        }
        let content = fs_err::read_to_string(file)?;
        let code = content.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        codes.push((path, lines.collect::<Vec<_>>().join("\n")));
    }
    Ok(codes)
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
