//! Charts as files: their names and their places in a report.

use assay_model::Setup;
use assay_svg::{MARGIN, Paper};

use super::colours::file;
use crate::view::Report;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartFile {
    /// Without extension, such as `rqps-point`: letters, digits, `-`, `_`, `.` and `=`, unique in a study.
    pub name: String,
    /// Description in a line, for those who cannot see it.
    pub alt: String,
    /// An SVG without external parts.
    pub svg: String,
    pub(crate) place: Place,
}

/// A standalone drawing below a title and notes. `told` describes it.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Groups,
    Tests(Setup, String),
    Matrix,
    Versions,
    Clients,
    InsertBench,
    Soak,
    /// Not in the report of one study.
    Elsewhere,
}

/// Labels of the systems compared with the base, without the twin.
pub(crate) fn compared<'a>(report: &Report<'a>) -> Vec<&'a str> {
    let systems = report.tests.systems.iter().filter(|system| !system.is_twin);
    systems.map(|system| system.label).collect()
}

pub(crate) fn setup_word(Setup { clients, tables, rows }: Setup) -> String {
    format!("c{clients}-t{tables}-r{rows}")
}

pub(crate) fn stem(kind: &str, parts: impl IntoIterator<Item = Option<String>>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
    let plain = |part: String| -> String {
        part.chars().map(|c| if is_plain(c) { c } else { '-' }).take(60).collect()
    };
    let parts = parts.into_iter().flatten().map(plain);
    std::iter::once(kind.to_owned()).chain(parts).collect::<Vec<_>>().join("-")
}
