//! The budget of lines: `size.toml` has the most lines of Rust that each crate may ship, without tests. Crates in the
//! folder of a wing count to the wing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::shipped;

/// Keys of `size.toml` that are no crates: the sums of all shipped code and of the core.
const SUMS: [&str; 2] = ["all", "core"];

/// Crates above their budget, and those without one.
pub(super) fn offences(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let budget = budget(root)?;
    let lines = lines(root, files)?;
    let mut offences = Vec::new();
    for (name, lines) in &lines {
        match budget.get(name.as_str()) {
            None => offences.push(format!("size.toml: `{name}` has no budget; it has {lines} lines")),
            Some(most) if lines > most => offences.push(format!(
                "`{name}` has {lines} shipped lines, {} more than size.toml allows; a commit that raises the number \
                 says what users get for it",
                lines - most
            )),
            Some(_) => {}
        }
    }
    let unknown = budget.keys().filter(|name| !lines.contains_key(*name));
    offences.extend(unknown.map(|name| format!("size.toml: there is no crate `{name}`")));
    Ok(offences)
}

/// Prints the lines of each crate and their budgets.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub(super) fn print(root: &Path, files: &[PathBuf]) -> Result<()> {
    let budget = budget(root)?;
    for (name, lines) in lines(root, files)? {
        let most = budget.get(&name).map_or_else(|| "none".to_owned(), ToString::to_string);
        println!("{lines:7} of {most:>7} {name}");
    }
    Ok(())
}

/// By crate, and the sums.
fn budget(root: &Path) -> Result<BTreeMap<String, usize>> {
    let text = fs_err::read_to_string(root.join("size.toml"))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let (name, most) =
            line.split_once(" = ").context("a line of size.toml is `name = lines`")?;
        Ok((name.to_owned(), most.parse()?))
    };
    lines.map(entry).collect()
}

fn lines(root: &Path, files: &[PathBuf]) -> Result<BTreeMap<String, usize>> {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    let mut sums = [0, 0];
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(file);
        let Some((place, name)) = shipped(path) else { continue };
        let is_wing = place == "wings";
        let krate = if is_wing { format!("wings/{name}") } else { name.to_owned() };
        let count = shipped_lines(&fs_err::read_to_string(file)?).len();
        *lines.entry(krate).or_default() += count;
        sums[0] += count;
        sums[1] += if is_wing || name == "assay" { 0 } else { count };
    }
    lines.extend(SUMS.into_iter().map(str::to_owned).zip(sums));
    Ok(lines)
}

/// The lines without items for tests.
pub(super) fn shipped_lines(text: &str) -> Vec<&str> {
    let mut shipped = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            shipped.push(line);
            continue;
        }
        // The item, which may have more attributes and ends at the margin.
        let mut item = lines.by_ref().skip_while(|line| line.starts_with("#["));
        if item.next().is_some_and(|line| line.ends_with('{')) {
            let _ = item.find(|line| *line == "}");
        }
    }
    shipped
}

#[cfg(test)]
mod tests {
    #[test]
    fn tests_are_not_shipped() {
        let text = "fn a() {}\n#[cfg(test)]\nuse b;\nfn c() {\n}\n\n#[cfg(test)]\nmod tests {\n    fn d() {}\n}\n";
        assert_eq!(super::shipped_lines(text).len(), 4);
    }
}
