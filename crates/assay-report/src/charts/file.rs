//! Charts as files: their names and their places in a report.

use assay_model::Setup;
use assay_svg::{MARGIN, Paper};

use super::colours::file;
use crate::view::Report;

/// A chart as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartFile {
    /// Its name without the ending, such as `rqps-point`: letters, digits, `-`, `_`, `.` and `=`, unique in a study.
    pub name: String,
    /// What it shows, in a line, for those who do not see it.
    pub alt: String,
    /// The drawing, an SVG that needs nothing from outside.
    pub svg: String,
    /// The section of a report that it belongs to.
    pub(crate) place: Place,
}

/// A drawing below a title and notes, by itself. `told` says in words what it shows.
pub(crate) fn noted(
    name: String,
    heading: String,
    notes: &[String],
    (width, height): (f64, f64),
    told: &[String],
    draw: impl FnOnce(&mut Paper, (f64, f64)),
) -> ChartFile {
    let (mut paper, top) = Paper::titled(width + 2.0 * MARGIN, &heading, notes);
    draw(&mut paper, (MARGIN, top));
    let description = format!("{} {}.", notes.join(" "), told.join("; "));
    let svg = file(paper, top + height, &heading, &description);
    ChartFile { name, alt: heading, svg, place: Place::Elsewhere }
}

/// A section of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Relative QPS by group.
    Groups,
    /// The tests of a setup and group, by its word.
    Tests(Setup, String),
    /// Every test and system.
    Matrix,
    /// From version to version.
    Versions,
    /// By number of clients.
    Clients,
    /// The Insert Benchmark.
    InsertBench,
    /// A longer look at some tests.
    Soak,
    /// What is no report of one study.
    Elsewhere,
}

/// The labels of the systems that are compared with the base. The twin is none of them.
pub(crate) fn compared<'a>(report: &Report<'a>) -> Vec<&'a str> {
    let systems = report.tests.systems.iter().filter(|system| !system.is_twin);
    systems.map(|system| system.label).collect()
}

/// A setup in the name of a file: clients, tables, rows.
pub(crate) fn setup_word(Setup { clients, tables, rows }: Setup) -> String {
    format!("c{clients}-t{tables}-r{rows}")
}

/// A name for a file, of these parts.
pub(crate) fn stem(kind: &str, parts: impl IntoIterator<Item = Option<String>>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
    let plain = |part: String| -> String {
        part.chars().map(|c| if is_plain(c) { c } else { '-' }).take(60).collect()
    };
    let parts = parts.into_iter().flatten().map(plain);
    std::iter::once(kind.to_owned()).chain(parts).collect::<Vec<_>>().join("-")
}
