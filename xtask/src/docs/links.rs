//! Links between pages: each leads to a file, and to a heading if it names one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

use super::BOOKS;
use super::rules::without_code;

/// Pages that must link to each page of the users' book, apart from the list of its pages.
const LINKS_TO_A_PAGE: usize = 2;

pub(super) fn offences(root: &Path, pages: &[PathBuf]) -> Result<Vec<String>> {
    let mut headings = BTreeMap::new();
    for page in pages {
        headings.insert(page.clone(), anchors(&fs::read_to_string(page)?));
    }
    let mut listed: Vec<PathBuf> = Vec::new();
    for book in BOOKS {
        let folder = root.join(book);
        let summary = fs::read_to_string(folder.join("SUMMARY.md"))?;
        listed.extend(links(&summary).iter().map(|link| plain(&folder.join(link))));
    }
    let mut offences = Vec::new();
    let mut sources: BTreeMap<PathBuf, BTreeSet<&Path>> = BTreeMap::new();
    for page in pages {
        let shown = page.strip_prefix(root).unwrap_or(page).display();
        for link in links(&without_code(&fs::read_to_string(page)?)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = page.parent().unwrap_or(root);
            let target = if path.is_empty() { page.clone() } else { plain(&folder.join(path)) };
            if target != *page && !page.ends_with("SUMMARY.md") {
                sources.entry(target.clone()).or_default().insert(page);
            }
            if !target.exists() {
                offences.push(format!("{shown}: `{link}` leads to no file"));
                continue;
            }
            let book = root.join("docs");
            let is_page = target.extension().is_some_and(|ending| ending == "md");
            if page.starts_with(&book) && !target.starts_with(&book) {
                offences.push(format!("{shown}: `{link}` leads out of the book"));
            } else if page.starts_with(&book) && is_page && !listed.contains(&target) {
                offences
                    .push(format!("{shown}: `{link}` leads to a page that no SUMMARY.md lists"));
            }
            let has_anchor = |known: &Vec<String>| known.iter().any(|it| it == anchor);
            if !anchor.is_empty() && !headings.get(&target).is_some_and(has_anchor) {
                offences.push(format!("{shown}: `{link}` leads to no heading"));
            }
        }
    }
    let book = root.join("docs");
    for link in links(&fs::read_to_string(book.join("SUMMARY.md"))?) {
        let count = sources.get(&plain(&book.join(&link))).map_or(0, BTreeSet::len);
        if count < LINKS_TO_A_PAGE {
            offences.push(format!("docs/{link}: pages that link to it: {count}"));
        }
    }
    Ok(offences)
}

fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// The targets of links and pictures, including those of HTML.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for rest in text.split("](").skip(1) {
        links.extend(rest.split_once(')').map(|(link, _)| link.to_owned()));
    }
    for attribute in ["src=\"", "srcset=\"", "href=\""] {
        for rest in text.split(attribute).skip(1) {
            links.extend(rest.split_once('"').map(|(link, _)| link.to_owned()));
        }
    }
    links
}

/// The anchors of a page's headings, as code hosts and the book generate them.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let title = line.trim_start_matches('#');
        if is_code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let name = slug(title.trim());
        let again = anchors.iter().filter(|it| **it == name).count();
        anchors.push(if again == 0 { name } else { format!("{name}-{again}") });
    }
    anchors
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_pictures_are_found() {
        let text = "a [b](c.md#d) ![e](f.svg) <img src=\"g.png\"> <source srcset=\"h.png\">";
        assert_eq!(links(text), ["c.md#d", "f.svg", "g.png", "h.png"]);
    }

    #[test]
    fn headings_have_the_names_that_code_hosts_give_them() {
        let page = "# `assay gate`, in CI?\n```sh\n# no heading\n```\n## A b\n## A b\n#tag";
        assert_eq!(anchors(page), ["assay-gate-in-ci", "a-b", "a-b-1"]);
    }

    #[test]
    fn paths_are_plain() {
        assert_eq!(plain(Path::new("/a/b/../c/./d")), Path::new("/a/c/d"));
    }
}
