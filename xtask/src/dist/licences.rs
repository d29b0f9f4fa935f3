//! Licences of everything that the program contains.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;
use serde_json::Value;

use super::{Arch, DistFile, output};
use crate::command::cargo;

/// The version of assay, and the texts of the licences of its dependencies on an architecture, each text once.
pub(super) fn collect(root: &Path, arch: Arch) -> Result<(String, DistFile)> {
    let mut command = cargo();
    command.current_dir(root).args(["metadata", "--format-version=1", "--locked"]);
    command.args(["--filter-platform", &arch.target()]);
    let metadata: Value = serde_json::from_str(&output(&mut command)?)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let by_id = |value: &Value| -> BTreeMap<String, Value> {
        let named = list(value).into_iter();
        named.map(|it| (it["id"].as_str().unwrap_or_default().to_owned(), it)).collect()
    };
    let packages = by_id(&metadata["packages"]);
    let nodes = by_id(&metadata["resolve"]["nodes"]);
    let assay = packages.values().find(|it| it["name"] == "assay").context("no package `assay`")?;
    let version = assay["version"].as_str().context("no version")?.to_owned();
    let mut open = vec![assay["id"].as_str().unwrap_or_default().to_owned()];
    let mut found: BTreeSet<String> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !found.insert(id.clone()) {
            continue;
        }
        for dependency in nodes.get(&id).map(|it| list(&it["deps"])).unwrap_or_default() {
            let is_linked = list(&dependency["dep_kinds"]).iter().any(|it| it["kind"].is_null());
            if is_linked {
                open.push(dependency["pkg"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    let foreign =
        found.iter().filter_map(|id| packages.get(id)).filter(|it| !it["source"].is_null());
    let text = written(foreign)?;
    let path = "share/doc/assay/THIRD-PARTY-LICENSES.txt".to_owned();
    Ok((version, DistFile { path, mode: 0o644, bytes: text.into_bytes() }))
}

fn written<'a>(packages: impl Iterator<Item = &'a Value>) -> Result<String> {
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut list = String::new();
    for package in packages {
        let word = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let name = format!("{} {}", word("name"), word("version"));
        list += &format!("{name}: {} {}\n", word("license"), word("repository"));
        let manifest = word("manifest_path");
        let folder = Path::new(&manifest).parent().context("a manifest without folder")?;
        for file in fs::read_dir(folder)? {
            let file = file?.path();
            let upper = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
                .iter()
                .any(|begin| upper.starts_with(begin));
            if is_licence && file.is_file() {
                let text = String::from_utf8_lossy(&fs::read(&file)?).trim().to_owned();
                texts.entry(text).or_default().insert(name.clone());
            }
        }
    }
    let mut to = format!("assay contains these libraries:\n\n{list}");
    for (text, names) in texts {
        let names: Vec<_> = names.into_iter().collect();
        to += &format!("\n{}\n{}\n\n{text}\n", "=".repeat(72), names.join(", "));
    }
    Ok(to)
}
