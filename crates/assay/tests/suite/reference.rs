//! Checks the generated parts of the documentation, which `cargo xtask docs` writes.

use std::path::{Path, PathBuf};
use std::process::Command;

const BEGIN: &str = "<!-- generated:";
const END: &str = "<!-- end -->";

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => pages(&path, found),
            false if path.extension().is_some_and(|ending| ending == "md") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn the_generated_parts_of_the_pages_are_what_the_program_says() {
    let mut found = Vec::new();
    pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"), &mut found);
    let mut names = Vec::new();
    for page in found {
        let text = fs_err::read_to_string(&page).unwrap();
        for part in text.split(BEGIN).skip(1) {
            let (name, rest) = part.split_once(" -->").unwrap();
            let (committed, _) = rest.split_once(END).unwrap();
            // A developer's environment is no part of the help.
            let mut assay = Command::new(env!("CARGO_BIN_EXE_assay"));
            let output = assay.env_clear().args(["reference", name]).output().unwrap();
            assert!(output.status.success(), "{}: {output:?}", page.display());
            let said = String::from_utf8(output.stdout).unwrap();
            let is_same = committed.trim() == said.trim();
            assert!(is_same, "{}: `{name}` is out of date; run `cargo xtask docs`", page.display());
            names.push(name.to_owned());
        }
    }
    for name in ["command-line", "exit-codes", "audit-rules", "audit-ignored", "json"] {
        assert!(names.iter().any(|it| it == name), "no page has `{name}`");
    }
}
