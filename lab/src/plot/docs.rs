//! Tables in documentation: text between two markers, replaced in place.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;

#[derive(Debug)]
pub(super) struct Table {
    /// Name in the markers: `<!-- calibrate:NAME -->` before it and `<!-- end -->` after it.
    pub(super) name: &'static str,
    /// Markdown; empty if nothing was measured.
    pub(super) text: String,
}

const END: &str = "<!-- end -->";

/// Replaces the tables for which a page has markers. Tables without data stay unchanged.
pub(super) fn replace(page: &Path, tables: &[Table]) -> Result<()> {
    let before = fs::read_to_string(page)?;
    let after = replaced(&before, tables).with_context(|| page.display().to_string())?;
    if after != before {
        fs::write(page, after)?;
    }
    Ok(())
}

fn replaced(page: &str, tables: &[Table]) -> Result<String> {
    const BEGIN: &str = "<!-- calibrate:";
    let (mut done, mut rest) = (String::new(), page);
    while let Some((before, marked)) = rest.split_once(BEGIN) {
        let (name, marked) = marked.split_once(" -->").context("a marker does not close")?;
        let (old, after) = marked
            .split_once(END)
            .with_context(|| format!("`{BEGIN}{name} -->` has no `{END}`"))?;
        ensure!(!old.contains(BEGIN), "`{BEGIN}{name} -->` has no `{END}`");
        let table = tables.iter().find(|table| table.name == name);
        let table = table.with_context(|| format!("no table is called `{name}`"))?;
        let new = if table.text.is_empty() { old.trim() } else { table.text.trim() };
        done += &format!("{before}{BEGIN}{name} -->\n\n{new}\n\n{END}");
        rest = after;
    }
    Ok(done + rest)
}

/// Empty without rows. Columns after the first are aligned to the right.
pub(super) fn markdown(head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(|it| (*it).to_owned()).collect();
    let rule: Vec<String> =
        (0..head.len()).map(|it| if it == 0 { "---" } else { "---:" }.to_owned()).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    line(&head) + &line(&rule) + &body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_replaced_where_there_is_data() {
        let table = |name, text: &str| Table { name, text: text.to_owned() };
        let page = "a\n<!-- calibrate:one -->\nold\n<!-- end -->\nb <!-- calibrate:two -->kept\n<!-- end --> c";
        let tables = [table("one", "new\n"), table("two", "")];
        let once = replaced(page, &tables).unwrap();
        assert_eq!(
            once,
            "a\n<!-- calibrate:one -->\n\nnew\n\n<!-- end -->\nb <!-- calibrate:two -->\n\nkept\n\n<!-- end --> c"
        );
        assert_eq!(replaced(&once, &tables).unwrap(), once);
    }

    #[test]
    fn markers_without_a_table_or_an_end_are_errors() {
        let tables = [Table { name: "one", text: "x".to_owned() }];
        for page in [
            "<!-- calibrate:else --><!-- end -->",
            "<!-- calibrate:one -->",
            "<!-- calibrate:one --><!-- calibrate:one --><!-- end -->",
        ] {
            assert!(replaced(page, &tables).is_err(), "{page}");
        }
    }

    #[test]
    fn a_table_has_a_head_and_a_rule() {
        let rows = [vec!["a".to_owned(), "1".to_owned()]];
        assert_eq!(markdown(&["x", "y"], &rows), "| x | y |\n| --- | ---: |\n| a | 1 |\n");
        assert_eq!(markdown(&["x"], &[]), "");
    }
}
