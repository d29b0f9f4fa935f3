//! Checks of the code base: allowed dependencies of crates, import cycles, unused dependencies, file sizes, first
//! lines, words of wings, READMEs, licences; links and style of the documentation.

mod size;
mod unused;
mod wings;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::circles;

/// A crate, and the crates of this workspace that it may use. Everything else is an error. Stages do not use each
/// other; only `assay` knows their order.
const ARROWS: &[(&str, &[&str])] = &[
    ("assay-model", &[]),
    ("assay-terms", &["assay-model"]),
    ("assay-options", &["assay-model"]),
    ("assay-plan", &["assay-model", "assay-options", "assay-terms", "assay-workloads"]),
    ("assay-decompress", &[]),
    ("assay-provision", &["assay-decompress", "assay-model"]),
    ("assay-wire", &[]),
    ("assay-servers", &["assay-model", "assay-terms", "assay-wire"]),
    ("assay-workloads", &["assay-model", "assay-options"]),
    ("assay-lua", &["assay-model", "assay-workloads"]),
    ("assay-load", &["assay-lua", "assay-model", "assay-wire", "assay-workloads"]),
    ("assay-probe", &["assay-model"]),
    ("assay-profile", &["assay-model"]),
    ("assay-doctor", &["assay-model"]),
    ("assay-capture", &["assay-model", "assay-workloads"]),
    ("assay-import", &["assay-model", "assay-workloads"]),
    ("assay-ledger", &["assay-model", "assay-workloads"]),
    ("assay-verdict", &["assay-model"]),
    ("assay-study", &["assay-model", "assay-plan", "assay-verdict"]),
    ("assay-raster", &[]),
    ("assay-report", &["assay-model", "assay-svg", "assay-verdict"]),
    ("assay-svg", &["assay-model"]),
    ("assay-pack", &["assay-model"]),
    ("assay-repro", &["assay-model", "assay-verdict", "assay-workloads"]),
    (
        "assay-run",
        &[
            "assay-decompress",
            "assay-doctor",
            "assay-ledger",
            "assay-load",
            "assay-lua",
            "assay-model",
            "assay-options",
            "assay-plan",
            "assay-probe",
            "assay-profile",
            "assay-provision",
            "assay-servers",
            "assay-study",
            "assay-terms",
            "assay-verdict",
            "assay-wire",
            "assay-workloads",
        ],
    ),
    ("assay-sim", &["assay-model", "assay-plan", "assay-study", "assay-verdict"]),
    (
        "assay-testkit",
        &["assay-model", "assay-provision", "assay-servers", "assay-terms", "assay-wire"],
    ),
    (
        "assay-fuzz",
        &[
            "assay-capture",
            "assay-import",
            "assay-ledger",
            "assay-model",
            "assay-pack",
            "assay-plan",
            "assay-profile",
            "assay-provision",
            "assay-report",
            "assay-study",
            "assay-verdict",
            "assay-wire",
            "assay-workloads",
        ],
    ),
    ("xtask", &[]),
];

/// Pure crates only compute, and may not use anything that reads clocks, files or processes.
const PURE: &[&str] = &[
    "assay-capture",
    "assay-import",
    "assay-model",
    "assay-options",
    "assay-plan",
    "assay-terms",
    "assay-workloads",
    "assay-verdict",
    "assay-study",
    "assay-report",
    "assay-svg",
    "assay-pack",
    "assay-repro",
];

const IMPURE_WORDS: &[&str] = &[
    "std::fs",
    "fs_err",
    "std::net",
    "std::process",
    "Instant::now",
    "SystemTime::now",
    "std::env::var",
];

/// Maximum number of columns of a source line. String literals and tables of data may not exceed it either.
const COLUMNS_MAX: usize = 120;

/// Mentions of products in shipped code outside of the products' own files. Differences between products belong there:
/// this number may only shrink.
const PRODUCT_NAMES: usize = 1;

const PRODUCTS: &[&str] = &["crates/assay-model/src/products", "crates/assay-servers/src/products"];

const FOR_TESTS: &[&str] = &["assay-fuzz", "assay-sim", "assay-testkit"];

const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "0BSD",
    "BSL-1.0",
    "MPL-2.0",
    "CDDL-1.0",
    "LLVM-exception",
    "MIT-0",
    "CDLA-Permissive-2.0",
];

pub fn check() -> Result<()> {
    let root = root()?;
    let metadata = metadata(&root)?;
    let mut offences = arrows(&metadata)?;
    offences.extend(licences(&metadata)?);
    let files = source_files(&root)?;
    for file in &files {
        offences.extend(source(&root, file)?);
    }
    offences.extend(products(&root, &files)?);
    offences.extend(circles(&root, &files)?);
    offences.extend(unused::offences(&root, &metadata, &files)?);
    offences.extend(size::offences(&root, &files)?);
    offences.extend(wings::offences(&root, &files)?);
    offences.extend(readmes(&root)?);
    offences.extend(crate::docs::offences(&root)?);
    if offences.is_empty() {
        return Ok(());
    }
    bail!("{} offence(s):\n{}", offences.len(), offences.join("\n"))
}

/// Prints the lines of each crate and their budgets.
pub fn sizes() -> Result<()> {
    let root = root()?;
    size::print(&root, &source_files(&root)?)
}

/// The folders of all crates that are for users.
fn crates(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for place in ["crates", "wings"] {
        for entry in fs_err::read_dir(root.join(place))? {
            folders.push(entry?.path());
        }
    }
    Ok(folders)
}

fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("xtask has no parent folder")?.to_owned())
}

fn metadata(root: &Path) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline"])
        // Only dependencies of this target have been fetched.
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root)
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value[key].as_array().with_context(|| format!("cargo metadata has no `{key}`"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn arrows(metadata: &Value) -> Result<Vec<String>> {
    let members: BTreeSet<&str> =
        list(metadata, "workspace_members")?.iter().filter_map(Value::as_str).collect();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut offences = Vec::new();
    let packages = list(metadata, "packages")?;
    let ours = packages.iter().filter(|package| members.contains(text(package, "id")));
    for package in ours {
        let name = text(package, "name");
        if name == "assay" || name == "assay-command" {
            continue;
        }
        if is_wing(package) {
            offences.extend(other_wings(name, list(package, "dependencies")?));
            continue;
        }
        let Some(may_use) = allowed.get(name) else {
            offences.push(format!("{name}: not in the table of arrows (xtask/src/tidy.rs)"));
            continue;
        };
        for dependency in list(package, "dependencies")? {
            let used = text(dependency, "name");
            let is_ours = used.starts_with("assay");
            let for_tests_only = text(dependency, "kind") == "dev";
            if is_ours && !for_tests_only && !may_use.contains(&used) {
                offences.push(format!("{name}: may not use {used}"));
            }
            if used == "assay-testkit" && !for_tests_only {
                offences.push(format!("{name}: assay-testkit is for tests only"));
            }
        }
    }
    Ok(offences)
}

/// Wings that use another one: a watch searches, and an import compares with packs.
const BETWEEN_WINGS: &[(&str, &str)] =
    &[("assay-watch", "assay-bisect"), ("assay-importer", "assay-evidence")];

fn is_wing(package: &Value) -> bool {
    let folder = Path::new(text(package, "manifest_path")).parent().and_then(Path::parent);
    folder.is_some_and(|it| it.ends_with("wings"))
}

fn other_wings(name: &str, dependencies: &[Value]) -> Vec<String> {
    let is_other = |it: &&Value| {
        Path::new(text(it, "path")).parent().is_some_and(|folder| folder.ends_with("wings"))
    };
    let used = dependencies.iter().filter(is_other).map(|it| text(it, "name"));
    let used = used.filter(|used| !BETWEEN_WINGS.contains(&(name, used)));
    used.map(|used| format!("{name}: a wing may not use {used}")).collect()
}

fn licences(metadata: &Value) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    for package in list(metadata, "packages")? {
        let licence = text(package, "license");
        let permitted = licence.split(" OR ").any(|choice| {
            choice
                .split([' ', '/', '(', ')'])
                .filter(|word| {
                    !word.is_empty() && *word != "AND" && *word != "WITH" && *word != "OR"
                })
                .all(|word| LICENCES.contains(&word))
        });
        if !permitted {
            offences
                .push(format!("{}: licence `{licence}` is not in the list", text(package, "name")));
        }
    }
    Ok(offences)
}

fn source_files(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"])
        .current_dir(root)
        .output()
        .context("cannot start git")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let listed = String::from_utf8(output.stdout)?;
    Ok(listed.lines().map(|line| root.join(line)).filter(|path| path.exists()).collect())
}

fn source(root: &Path, path: &Path) -> Result<Vec<String>> {
    let content = fs_err::read_to_string(path)?;
    let shown = path.strip_prefix(root).unwrap_or(path).display();
    let mut offences = Vec::new();
    if !content.starts_with("//!") && !content.starts_with("#!") {
        offences.push(format!("{shown}: the first line does not say what the file is for (`//!`)"));
    }
    for (number, line) in content.lines().enumerate() {
        if line.chars().count() > COLUMNS_MAX {
            offences.push(format!("{shown}:{}: longer than {COLUMNS_MAX} columns", number + 1));
        }
    }
    let is_pure =
        PURE.iter().any(|name| path.starts_with(root.join("crates").join(name).join("src")));
    if is_pure {
        // Tests at the end of a file may read anything.
        let code = content.split("#[cfg(test)]").next().unwrap_or_default();
        for word in IMPURE_WORDS.iter().filter(|word| code.contains(**word)) {
            offences.push(format!("{shown}: `{word}` in a pure crate"));
        }
    }
    Ok(offences)
}

fn products(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let is_shipped = |path: &Path| {
        let is_test = path.to_string_lossy().ends_with("tests.rs");
        let is_for_tests = FOR_TESTS.iter().any(|name| path.starts_with(format!("crates/{name}")));
        let is_source = (path.starts_with("crates") || path.starts_with("wings"))
            && path.iter().nth(2).is_some_and(|it| it == "src");
        is_source && !is_test && !is_for_tests && !PRODUCTS.iter().any(|it| path.starts_with(it))
    };
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(file);
        if !is_shipped(path) {
            continue;
        }
        let content = fs_err::read_to_string(file)?;
        let code = content.split("#[cfg(test)]").next().unwrap_or_default();
        let named = code.lines().zip(1..).filter(|(line, _)| names_product(line));
        found.extend(named.map(|(_, number)| format!("{}:{number}", path.display())));
    }
    let count = found.len();
    Ok(match count.cmp(&PRODUCT_NAMES) {
        Ordering::Equal => Vec::new(),
        Ordering::Less => vec![format!("PRODUCT_NAMES of xtask/src/tidy.rs can be {count}")],
        Ordering::Greater => {
            let places = found.join(", ");
            vec![format!(
                "{count} lines name a product outside of {}, at most {PRODUCT_NAMES} may: {places}",
                PRODUCTS.join(" and ")
            )]
        }
    })
}

/// Returns whether a line names a product, as in `Product::MySql`; `Product::ALL` and functions do not count.
fn names_product(line: &str) -> bool {
    let is_variant = |rest: &str| {
        let mut letters = rest.chars();
        letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_some_and(char::is_lowercase)
    };
    line.split("Product::").skip(1).any(is_variant)
}

fn circles(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    for krate in crates(root)? {
        let files: Vec<&PathBuf> = files.iter().filter(|file| file.starts_with(&krate)).collect();
        offences.extend(circles::check(&krate, &files)?);
    }
    Ok(offences)
}

fn readmes(root: &Path) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    for folder in crates(root)? {
        if folder.is_dir() && !folder.join("README.md").exists() {
            offences.push(format!("{}: no README.md", folder.display()));
        }
    }
    Ok(offences)
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_products_are_found() {
        assert!(super::names_product("if product == Product::Postgres {"));
        assert!(!super::names_product("Product::ALL.into_iter().find_map(Product::named)"));
    }

    #[test]
    fn the_rules_hold() {
        if let Err(offences) = super::check() {
            panic!("{offences}");
        }
    }
}
