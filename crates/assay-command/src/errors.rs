//! Prints errors with causes and hints.

use anstyle::AnsiColor;
use assay_model::without_secrets;
use assay_run::errors::{HintsOf, hints_of};
use assay_run::progress::{print, print_marked};
use assay_run::study;

const MORE: [HintsOf; 7] = [
    hints_of::<assay_pack::PackError>,
    hints_of::<study::NoResume>,
    hints_of::<study::OtherSystem>,
    hints_of::<study::ForeignStudy>,
    hints_of::<study::NoRoom>,
    hints_of::<study::OtherMachine>,
    hints_of::<study::StudyBusy>,
];

pub fn hints(error: &anyhow::Error) -> Vec<String> {
    assay_run::errors::hints(error, &MORE)
}

pub fn print_error(error: &anyhow::Error) {
    // Mistyped words and messages of programs may contain a password.
    let mut shown = without_secrets(&error.to_string());
    print_marked("error", AnsiColor::Red, &shown);
    for cause in error.chain().skip(1) {
        let text = without_secrets(&cause.to_string());
        // Some errors include their source in their own text.
        if !shown.contains(&text) {
            print(&format!("  caused by: {text}"));
        }
        shown = text;
    }
    let hints = hints(error);
    if !hints.is_empty() {
        print("");
    }
    for hint in hints {
        print_marked("hint", AnsiColor::Cyan, &without_secrets(&hint));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Crate and type of every `impl Hint for TYPE` below `folder`.
    fn implemented(folder: &Path, of_crate: &str, found: &mut BTreeSet<String>) {
        for entry in fs_err::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                implemented(&path, of_crate, found);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = fs_err::read_to_string(&path).unwrap();
                let types = text.lines().filter_map(|line| line.strip_prefix("impl Hint for "));
                found.extend(types.map(|it| format!("{of_crate} {}", it.trim_end_matches(" {"))));
            }
        }
    }

    #[test]
    fn no_error_with_hints_is_forgotten() {
        let mut found = BTreeSet::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        // No list can have an error of a wing, which returns `HintedError` instead.
        implemented(&root.join("wings"), "wings", &mut found);
        for entry in fs_err::read_dir(root.join("crates")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().replace('-', "_");
            if path.join("src").is_dir() {
                implemented(&path.join("src"), &name, &mut found);
            }
        }
        let lists = [include_str!("../../assay-run/src/errors.rs"), include_str!("errors.rs")];
        let lines = lists.into_iter().flat_map(str::lines);
        let listed = lines.filter_map(|line| {
            let (module, name) =
                line.strip_prefix("    hints_of::<")?.strip_suffix(">,")?.split_once("::")?;
            let of_crate = if module.starts_with("assay_") { module } else { "assay_run" };
            Some(format!("{of_crate} {name}"))
        });
        assert_eq!(listed.collect::<BTreeSet<_>>(), found);
        assert_eq!(super::hints(&assay_pack::PackError::Cut.into()).len(), 1);
    }
}
