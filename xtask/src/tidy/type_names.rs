//! Names of types: each is defined once in the workspace, so that a search for it finds one definition and its uses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{shipped, size};

/// Names that several crates define: `Result` has the error of its crate.
const SHARED: &[&str] = &["Result"];

pub(super) fn offences(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(file);
        if shipped(path).is_none() {
            continue;
        }
        let content = fs_err::read_to_string(file)?;
        for name in size::shipped_lines(&content).into_iter().filter_map(defined) {
            places.entry(name.to_owned()).or_default().push(path.display().to_string());
        }
    }
    places.retain(|name, files| files.len() > 1 && !SHARED.contains(&name.as_str()));
    let offence = |(name, files): (String, Vec<String>)| {
        format!("{}: define a type `{name}` each; names of types are unique", files.join(", "))
    };
    Ok(places.into_iter().map(offence).collect())
}

/// The name of the type that a line defines. Associated types, which are indented, do not count: their trait tells them
/// apart.
fn defined(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let item = match item.strip_prefix("pub(") {
        Some(scope) => scope.split_once(") ")?.1,
        None => item.strip_prefix("pub ").unwrap_or(item),
    };
    let (kind, rest) = item.strip_prefix("unsafe ").unwrap_or(item).split_once(' ')?;
    let is_type = match kind {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (is_type && rest.starts_with(char::is_uppercase)).then_some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::defined;

    #[test]
    fn definitions_are_found() {
        for line in [
            "struct Name;",
            "pub struct Name<'a> {",
            "    pub(super) enum Name {",
            "pub(in crate::a) union Name {",
            "pub unsafe trait Name: Send {",
            "pub type Name<T> = Vec<T>;",
        ] {
            assert_eq!(defined(line), Some("Name"), "{line}");
        }
        for line in
            ["    type Name = u8;", "// struct Name", "    /// An enum Name", "pub use a::Name;"]
        {
            assert_eq!(defined(line), None, "{line}");
        }
    }
}
