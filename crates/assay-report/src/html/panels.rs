//! The small charts of tests over versions, as parts of the page.

use std::fmt;

use askama::filters::HtmlSafe;

use crate::charts::versions::{Panels, measured, told_changes};
use crate::view::Report;
use crate::view::versions::{VersionLine, VersionSection, VersionTest};

/// A drawing whose text is escaped.
pub(crate) struct Drawing(String);

impl HtmlSafe for Drawing {}

impl fmt::Display for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A chart for each test of a group. `ground` is the name of the part that they share.
pub(crate) fn panels(
    report: &Report,
    line: &VersionLine,
    section: &VersionSection,
    ground: &str,
) -> Vec<Drawing> {
    let tests: Vec<&VersionTest> = measured(section).collect();
    let Some(panels) = Panels::new(report, line, &tests) else { return Vec::new() };
    let drawing = |(number, test): (usize, &VersionTest)| {
        let (paper, height) = panels.alone(test, ground, number == 0);
        Drawing(paper.inline(height, &told_changes(line, test)))
    };
    tests.into_iter().enumerate().map(drawing).collect()
}
