//! The site for publication: the pages of `assay site`, with the book.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use crate::command::{self, build_assay, root};
use crate::docs;

/// Builds the book, and the site of the map and the posts in `target/site`, with the book below it.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run() -> Result<()> {
    docs::run(&["--check".to_owned()])?;
    let root = root();
    let program = build_assay()?;
    let site = root.join("target/site");
    // `assay site` replaces no folder with a book in it.
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    let mut assay = Command::new(program);
    assay.args(["site", "--book", "book/index.html", "--map"]).arg(root.join("map")).arg(&site);
    // A developer's ledger must not get into it.
    assay.env_clear().env("XDG_DATA_HOME", root.join("target/no-ledger"));
    command::run(&mut assay)?;
    copy(&root.join("target/book"), &site.join("book"))?;
    println!("the site is target/site/index.html");
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
