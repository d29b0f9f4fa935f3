//! Parts of pages that `cargo xtask docs` writes: `<!-- generated:NAME -->` from the program's output, and `<!--
//! figure:NAME -->` from the data file of figures. Both end with `<!-- end -->`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fs_err as fs;

/// Every figure of validation on the pages, from the root of the repository.
const FIGURES: &str = "docs/figures.json";

const GENERATED: &str = "<!-- generated:";
const FIGURE: &str = "<!-- figure:";
const END: &str = "<!-- end -->";

pub(super) fn figures(root: &Path) -> Result<BTreeMap<String, String>> {
    let text = fs::read_to_string(root.join(FIGURES))?;
    serde_json::from_str(&text).with_context(|| FIGURES.to_owned())
}

/// Returns a page with its parts up to date. `generate` returns the part of a name.
pub(super) fn filled(
    page: &str,
    figures: &BTreeMap<String, String>,
    generate: &mut impl FnMut(&str) -> Result<String>,
) -> Result<String> {
    let with_figures = replaced(page, FIGURE, &mut |name| {
        let figure = figures.get(name).with_context(|| format!("{FIGURES} has no `{name}`"))?;
        Ok(figure.clone())
    })?;
    replaced(&with_figures, GENERATED, &mut |name| {
        Ok(format!("\n\n{}\n\n", generate(name)?.trim()))
    })
}

fn replaced(
    page: &str,
    begin: &str,
    make: &mut impl FnMut(&str) -> Result<String>,
) -> Result<String> {
    let (mut done, mut rest) = (String::new(), page);
    while let Some((before, marked)) = rest.split_once(begin) {
        let (name, marked) = marked.split_once(" -->").context("a marker does not close")?;
        let (_, after) = marked
            .split_once(END)
            .with_context(|| format!("`{begin}{name} -->` has no `{END}`"))?;
        done += &format!("{before}{begin}{name} -->{}{END}", make(name)?);
        rest = after;
    }
    Ok(done + rest)
}

/// Figures that differ from the data file, and those that no page has.
pub(super) fn offences(root: &Path, pages: &[PathBuf]) -> Result<Vec<String>> {
    let figures = figures(root)?;
    let mut offences = Vec::new();
    let mut used = BTreeSet::new();
    for page in pages {
        let text = fs::read_to_string(page)?;
        let shown = page.strip_prefix(root).unwrap_or(page).display().to_string();
        let mut keep = |name: &str| {
            used.insert(name.to_owned());
            let figure = figures.get(name).with_context(|| format!("{FIGURES} has no `{name}`"))?;
            Ok(figure.clone())
        };
        match replaced(&text, FIGURE, &mut keep) {
            Ok(filled) if filled == text => {}
            Ok(_) => offences.push(format!(
                "{shown}: a figure is not that of {FIGURES}; run `cargo xtask docs`"
            )),
            Err(error) => offences.push(format!("{shown}: {error:#}")),
        }
    }
    let unused = figures.keys().filter(|name| !used.contains(*name));
    offences.extend(unused.map(|name| format!("{FIGURES}: no page has `{name}`")));
    Ok(offences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_generated_parts_are_filled_in() {
        let figures = BTreeMap::from([("width".to_owned(), "1%".to_owned())]);
        let page = "a <!-- figure:width -->2%<!-- end --> b\n<!-- generated:x -->old<!-- end -->\n";
        let mut generate = |name: &str| Ok(format!("| {name} |\n"));
        let once = filled(page, &figures, &mut generate).unwrap();
        assert_eq!(
            once,
            "a <!-- figure:width -->1%<!-- end --> b\n<!-- generated:x -->\n\n| x |\n\n<!-- end -->\n"
        );
        assert_eq!(filled(&once, &figures, &mut generate).unwrap(), once);
    }

    #[test]
    fn a_marker_without_a_figure_or_an_end_is_an_error() {
        let mut generate = |_: &str| Ok(String::new());
        for page in ["<!-- figure:none -->x<!-- end -->", "<!-- generated:x -->", "<!-- figure:x"] {
            assert!(filled(page, &BTreeMap::new(), &mut generate).is_err(), "{page}");
        }
    }
}
