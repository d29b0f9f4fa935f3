//! Checks of the code base: allowed dependencies of crates, import cycles, unused dependencies, tests that do not run,
//! file sizes, first lines, words of wings, variants of enums, names of types, READMEs, licences; links and style of
//! the documentation.

mod size;
mod type_names;
mod unused_dependencies;
mod variants;
mod wings;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
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
    ("assay-symbols", &[]),
    ("assay-callgrind", &["assay-model", "assay-symbols"]),
    ("assay-doctor", &["assay-model"]),
    ("assay-capture", &["assay-model", "assay-workloads"]),
    ("assay-claim-check", &["assay-model", "assay-plan", "assay-verdict"]),
    ("assay-import", &["assay-model", "assay-workloads"]),
    ("assay-map-data", &["assay-model"]),
    ("assay-ledger", &["assay-model", "assay-workloads"]),
    ("assay-verdict", &["assay-model"]),
    ("assay-study", &["assay-model", "assay-plan", "assay-verdict"]),
    ("assay-study-pages", &["assay-model", "assay-report", "assay-verdict"]),
    ("assay-report", &["assay-model", "assay-svg", "assay-verdict"]),
    ("assay-svg", &["assay-model"]),
    ("assay-pack", &["assay-model"]),
    ("assay-setting-files", &["assay-model", "assay-plan", "assay-terms"]),
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
            "assay-provision",
            "assay-servers",
            "assay-study",
            "assay-symbols",
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
            "assay-callgrind",
            "assay-capture",
            "assay-claim-check",
            "assay-import",
            "assay-ledger",
            "assay-map-data",
            "assay-model",
            "assay-pack",
            "assay-plan",
            "assay-provision",
            "assay-report",
            "assay-setting-files",
            "assay-study",
            "assay-study-pages",
            "assay-symbols",
            "assay-verdict",
            "assay-wire",
            "assay-workloads",
        ],
    ),
    ("xtask", &[]),
];

/// Pure code only computes, and may not use anything that reads clocks, files or processes.
const PURE: &[&str] = &[
    "crates/assay-model/src",
    "crates/assay-options/src",
    "crates/assay-plan/src",
    "crates/assay-terms/src",
    "crates/assay-workloads/src",
    "crates/assay-verdict/src",
    "crates/assay-study/src",
    "crates/assay-report/src",
    "crates/assay-svg/src",
    "crates/assay-pack/src",
    "wings/import/readers/src",
    "wings/repro/files/src",
    "wings/upgrade/capture/src",
    "wings/upgrade/src/statistics_page.rs",
    "wings/audit/readers/src",
    "wings/audit/src/page.rs",
    "wings/bisect/src/decisions",
    "wings/bisect/src/known_step.rs",
    "wings/bisect/src/page.rs",
    "wings/watch/src/decisions.rs",
    "wings/watch/src/page.rs",
    "wings/claims/check/src",
    "wings/claims/src/page.rs",
    "wings/doctor/src/page.rs",
    "wings/map/data/src",
    "wings/map/src/page.rs",
    "wings/posts/src/beside.rs",
    "wings/posts/src/differences.rs",
    "wings/posts/src/list.rs",
    "wings/posts/src/page.rs",
    "wings/posts/src/printed.rs",
    "wings/review/src/comparisons.rs",
    "wings/review/src/contents.rs",
    "wings/review/src/gaps.rs",
    "wings/review/src/page.rs",
    "wings/review/src/runs.rs",
    "wings/review/src/statistics.rs",
    "wings/review/src/study.rs",
    "wings/review/src/systems.rs",
    "wings/review/src/unequal.rs",
    "wings/studies/pages/src",
    "wings/tests/src/page.rs",
    "wings/trend/src/line.rs",
    "wings/trend/src/page.rs",
    "wings/trend/src/shifts.rs",
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
    let mut offences = arrows(&root, &metadata)?;
    offences.extend(licences(&metadata)?);
    let files = source_files(&root)?;
    for file in &files {
        offences.extend(source(&root, file)?);
    }
    offences.extend(products(&root, &files)?);
    offences.extend(circles(&root, &files)?);
    offences.extend(unused_dependencies::offences(&root, &metadata, &files)?);
    offences.extend(unit_tests(&metadata, &files)?);
    offences.extend(test_files(&root, &files)?);
    offences.extend(size::offences(&root, &files)?);
    offences.extend(wings::offences(&root, &files)?);
    offences.extend(variants::offences(&root, &files)?);
    offences.extend(type_names::offences(&root, &files)?);
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

/// The folders of all crates that are for users, also of those in the folder of a wing.
fn crates(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    let mut places = vec![root.join("crates"), root.join("wings")];
    while let Some(place) = places.pop() {
        for entry in fs_err::read_dir(place)? {
            let folder = entry?.path();
            if folder.join("Cargo.toml").exists() {
                places.push(folder.clone());
                folders.push(folder);
            }
        }
    }
    Ok(folders)
}

/// Splits the path of a shipped file into the place and the name of its crate. Crates in the folder of a wing belong to
/// the wing. `None` for tests and all other files.
fn shipped(path: &Path) -> Option<(&str, &str)> {
    let parts: Vec<&str> = path.iter().map(|part| part.to_str()).collect::<Option<_>>()?;
    let (place, name) = match parts.as_slice() {
        ["crates", name, "src", ..] => ("crates", *name),
        ["wings", name, "src", ..] | ["wings", name, _, "src", ..] => ("wings", *name),
        _ => return None,
    };
    let is_test = FOR_TESTS.contains(&name) || parts.last()?.ends_with("tests.rs");
    (!is_test).then_some((place, name))
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

fn arrows(root: &Path, metadata: &Value) -> Result<Vec<String>> {
    let members: BTreeSet<&str> =
        list(metadata, "workspace_members")?.iter().filter_map(Value::as_str).collect();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut offences = Vec::new();
    let packages = list(metadata, "packages")?;
    let ours = packages.iter().filter(|package| members.contains(text(package, "id")));
    for package in ours {
        let name = text(package, "name");
        if name == "assay" {
            continue;
        }
        let dependencies = list(package, "dependencies")?;
        let wing = wing_of(root, text(package, "manifest_path"));
        let Some(may_use) = allowed.get(name) else {
            if wing.is_some() || name == "assay-command" {
                offences.extend(other_wings(root, name, wing, dependencies));
            } else {
                offences.push(format!("{name}: not in the table of arrows (xtask/src/tidy.rs)"));
            }
            continue;
        };
        for dependency in dependencies {
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

/// Wings that use another one: a watch searches, an import compares with packs, a post has claims, a review reads what
/// imports and audits read, and a site has the map, the posts and the trends.
const BETWEEN_WINGS: &[(&str, &str)] = &[
    ("assay-watch", "assay-bisect"),
    ("assay-importer", "assay-evidence"),
    ("assay-posts", "assay-claims"),
    ("assay-posts", "assay-claim-check"),
    ("assay-review", "assay-import"),
    ("assay-review", "assay-setting-files"),
    ("assay-site", "assay-map"),
    ("assay-site", "assay-map-data"),
    ("assay-site", "assay-posts"),
    ("assay-site", "assay-trend"),
];

/// The wing to which a path belongs: `upgrade` for `wings/upgrade/capture`.
fn wing_of<'a>(root: &Path, path: &'a str) -> Option<&'a OsStr> {
    Path::new(path).strip_prefix(root.join("wings")).ok()?.iter().next()
}

/// Dependencies on wings other than its own.
fn other_wings(
    root: &Path,
    name: &str,
    own: Option<&OsStr>,
    dependencies: &[Value],
) -> Vec<String> {
    let is_other = |it: &&Value| wing_of(root, text(it, "path")).is_some_and(|it| Some(it) != own);
    let used = dependencies.iter().filter(is_other).map(|it| text(it, "name"));
    let used = used.filter(|used| !BETWEEN_WINGS.contains(&(name, used)));
    used.map(|used| format!("{name}: may not use {used} of another wing")).collect()
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

/// Unit tests of libraries for which cargo builds no test program.
fn unit_tests(metadata: &Value, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    for package in list(metadata, "packages")? {
        let is_left_out = |it: &&Value| it["kind"][0] == "lib" && it["test"] == false;
        for library in list(package, "targets")?.iter().filter(is_left_out) {
            let source = Path::new(text(library, "src_path")).parent();
            let source = source.context("a library without a folder")?;
            for file in files.iter().filter(|it| it.starts_with(source)) {
                if fs_err::read_to_string(file)?.contains("#[cfg(test)]") {
                    let name = text(package, "name");
                    offences.push(format!("{name}: its unit tests do not run: `test = false`"));
                }
            }
        }
    }
    Ok(offences)
}

/// Test files of a suite that are not among its modules.
fn test_files(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut offences = Vec::new();
    for file in files {
        let (Some(folder), Some(name)) = (file.parent(), file.file_stem()) else { continue };
        if !folder.ends_with("tests/suite") || name == "main" {
            continue;
        }
        let modules = fs_err::read_to_string(folder.join("main.rs"))?;
        let module = format!("mod {};", name.to_string_lossy());
        if !modules.lines().any(|line| line == module) {
            let shown = file.strip_prefix(root).unwrap_or(file).display();
            offences.push(format!("{shown}: its tests do not run: `main.rs` lacks `{module}`"));
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
        let is_documentation = ["///", "//!"].iter().any(|it| line.trim_start().starts_with(it));
        if is_documentation && line.contains("```") {
            offences
                .push(format!("{shown}:{}: examples do not run: `doctest = false`", number + 1));
        }
    }
    if PURE.iter().any(|place| path.starts_with(root.join(place))) {
        // Tests at the end of a file may read anything.
        let code = content.split("#[cfg(test)]").next().unwrap_or_default();
        for word in IMPURE_WORDS.iter().filter(|word| code.contains(**word)) {
            offences.push(format!("{shown}: `{word}` in pure code"));
        }
    }
    Ok(offences)
}

fn products(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(file);
        if shipped(path).is_none() || PRODUCTS.iter().any(|it| path.starts_with(it)) {
            continue;
        }
        let content = fs_err::read_to_string(file)?;
        let code = content.split("#[cfg(test)]").next().unwrap_or_default();
        let named = code.lines().zip(1..).filter(|(line, _)| variants::names("Product", line));
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
        if !folder.join("README.md").exists() {
            offences.push(format!("{}: no README.md", folder.display()));
        }
    }
    Ok(offences)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn crates_in_the_folder_of_a_wing_belong_to_it() {
        let shipped = |path: &'static str| super::shipped(Path::new(path));
        assert_eq!(shipped("crates/assay-run/src/study/mod.rs"), Some(("crates", "assay-run")));
        for path in ["wings/upgrade/src/lib.rs", "wings/upgrade/capture/src/sql/mod.rs"] {
            assert_eq!(shipped(path), Some(("wings", "upgrade")), "{path}");
        }
        for path in [
            "wings/upgrade/capture/tests/suite/logs.rs",
            "crates/assay-sim/src/lib.rs",
            "xtask/src/lib.rs",
        ] {
            assert_eq!(shipped(path), None, "{path}");
        }
    }

    #[test]
    fn the_rules_hold() {
        if let Err(offences) = super::check() {
            panic!("{offences}");
        }
    }
}
