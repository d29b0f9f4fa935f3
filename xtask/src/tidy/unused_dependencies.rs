//! Unused dependencies. `cargo machete` does the same, but building it in CI takes longer than all other rules
//! together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{list, text};

/// Dependencies of our packages that their code does not name or that are listed twice, and those of the workspace that
/// no package uses.
pub(super) fn offences(root: &Path, metadata: &Value, sources: &[PathBuf]) -> Result<Vec<String>> {
    let members = list(metadata, "workspace_members")?;
    let mut offences = Vec::new();
    let mut taken = BTreeSet::new();
    for package in list(metadata, "packages")?.iter().filter(|it| members.contains(&it["id"])) {
        let manifest = Path::new(text(package, "manifest_path"));
        let folder = manifest.parent().context("a manifest without a folder")?;
        let source = folder.join("src");
        let shipped = code(sources.iter().filter(|path| path.starts_with(&source)))?;
        // Other crates may be in its folder.
        let is_own = |path: &&PathBuf| {
            let mut folders = path.ancestors();
            path.starts_with(folder)
                && folders.find(|it| it.join("Cargo.toml").exists()) == Some(folder)
        };
        let all = code(sources.iter().filter(is_own))?;
        let dependencies = list(package, "dependencies")?;
        for dependency in dependencies {
            // Code names a renamed package by its new name.
            let name = dependency["rename"].as_str().unwrap_or(text(dependency, "name"));
            let of_tests = text(dependency, "kind") == "dev";
            taken.insert(name);
            let package = text(package, "name");
            if !is_named(name, if of_tests { &all } else { &shipped }) {
                offences.push(format!("{package}: nothing uses `{name}`"));
            }
            let is_it = |it: &&Value| it["name"] == dependency["name"];
            if of_tests && dependencies.iter().filter(is_it).count() > 1 {
                offences.push(format!("{package}: tests have `{name}` without naming it again"));
            }
        }
    }
    let manifest = fs_err::read_to_string(root.join("Cargo.toml"))?;
    let lines = manifest.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
    let names =
        lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once(" = "));
    let untaken = names.map(|(name, _)| name).filter(|name| !taken.contains(name));
    offences.extend(untaken.map(|name| format!("Cargo.toml: no package takes `{name}`")));
    Ok(offences)
}

/// The lines of files, and of the files of other packages that they include, without comments.
fn code<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for file in files {
        let own = fs_err::read_to_string(file)?;
        let folder = file.parent().context("a file without a folder")?;
        let paths =
            own.lines().filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
        for path in paths {
            lines.extend(fs_err::read_to_string(folder.join(path))?.lines().map(str::to_owned));
        }
        lines.extend(own.lines().map(str::to_owned));
    }
    lines.retain(|line| !line.trim_start().starts_with("//"));
    Ok(lines)
}

/// Returns whether code has a path that begins with the package, or imports the package itself.
fn is_named(package: &str, code: &[String]) -> bool {
    let name = package.replace('-', "_");
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.iter().any(|line| {
        line.match_indices(&name).any(|(at, _)| {
            let (before, after) = (line.get(..at), line.get(at + name.len()..));
            let is_whole = before.is_some_and(|it| !it.ends_with(is_part));
            let begins = |end| after.is_some_and(|it| it.starts_with(end));
            is_whole
                && (begins("::") || (before == Some("use ") && (begins(";") || begins(" as "))))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_by_a_path_or_an_import() {
        let is_named = |line: &str| is_named("fs-err", &[line.to_owned()]);
        for line in ["use fs_err as fs;", "use fs_err;", "    fs_err::read(x)?;", "(fs_err::File)"]
        {
            assert!(is_named(line), "{line}");
        }
        for line in ["let fs_err = 1;", "my_fs_err::read()", "fs_errors::x", "err::read()"] {
            assert!(!is_named(line), "{line}");
        }
    }
}
