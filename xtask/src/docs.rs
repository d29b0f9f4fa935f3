//! The documentation: generated parts, links, and the book.

mod links;
mod parts;
mod rules;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use fs_err as fs;

use crate::command::{self, build_assay, cargo, root};

/// The version of mdbook that is known to work.
const MDBOOK: &str = "0.5.4";

/// The users' book, and those of the lab and of the project. They are built below it, so links between them hold.
const BOOKS: [&str; 3] = ["docs", "docs/lab", "docs/project"];

/// Writes the generated parts of all pages, or with `--check` compares them; checks the pages; builds the books
/// in `target/book`.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run(words: &[String]) -> Result<()> {
    let is_check = match words {
        [] => false,
        [word] if word == "--check" => true,
        _ => bail!("usage: cargo xtask docs [--check]"),
    };
    let root = root();
    let program = build_assay()?;
    let figures = parts::figures(&root)?;
    let mut stale = Vec::new();
    for page in pages(&root)? {
        let before = fs::read_to_string(&page)?;
        let after = parts::filled(&before, &figures, &mut |name| part(&program, name))
            .with_context(|| page.display().to_string())?;
        if after == before {
            continue;
        }
        stale.push(page.display().to_string());
        if !is_check {
            fs::write(&page, after)?;
            println!("wrote {}", page.display());
        }
    }
    ensure!(!is_check || stale.is_empty(), "out of date, run `cargo xtask docs`: {stale:?}");
    let offences = offences(&root)?;
    ensure!(offences.is_empty(), "{} offence(s):\n{}", offences.len(), offences.join("\n"));
    let builder = mdbook(&root)?;
    for book in BOOKS {
        command::run(Command::new(&builder).args(["build", book]).current_dir(&root))?;
    }
    println!("the book is target/book/index.html");
    Ok(())
}

pub fn offences(root: &Path) -> Result<Vec<String>> {
    let pages = pages(root)?;
    let mut offences = links::offences(root, &pages)?;
    offences.extend(rules::offences(root, &pages)?);
    offences.extend(parts::offences(root, &pages)?);
    Ok(offences)
}

/// Every Markdown page that git tracks or would add.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"])
        .current_dir(root)
        .output()
        .context("cannot start git")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout)?;
    Ok(listed.lines().map(|line| root.join(line)).filter(|path| path.exists()).collect())
}

/// One generated part. A developer's environment must not affect it.
fn part(program: &Path, name: &str) -> Result<String> {
    let output = Command::new(program)
        .env_clear()
        .args(["reference", name])
        .output()
        .with_context(|| format!("cannot start `{}`", program.display()))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn mdbook(root: &Path) -> Result<PathBuf> {
    let installed = Command::new("mdbook").arg("--version").output();
    if installed.is_ok_and(|output| output.status.success()) {
        return Ok(PathBuf::from("mdbook"));
    }
    let tools = root.join("target/tools");
    let program = tools.join("bin/mdbook");
    if !program.exists() {
        let features = ["--no-default-features", "--features", "search"];
        let mut install = cargo();
        install.args(["install", "mdbook", "--locked", "--version", MDBOOK, "--root"]);
        install.arg(&tools).args(features).env("CARGO_TARGET_DIR", tools.join("target"));
        command::run(&mut install)?;
    }
    Ok(program)
}
