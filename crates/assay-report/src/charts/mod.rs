//! The charts of a report as standalone SVG, for posts.

pub(crate) mod curves;
mod file;
pub(crate) mod flame;
mod ibench;
pub(crate) mod marks;
mod matrix;
pub(crate) mod published;
pub(crate) mod scatter;
mod sections;
mod sheet;
mod strips;
pub(crate) mod trend;
pub(crate) mod versions;

use crate::view::Report;

pub use file::ChartFile;
pub(crate) use file::{Place, noted, setup_word, stem};

/// In the order of a report.
pub(crate) fn charts(report: &Report) -> Vec<ChartFile> {
    let mut charts: Vec<ChartFile> = ibench::charts(report);
    charts.extend(strips::groups(report));
    charts.extend(curves::charts(report));
    charts.extend(matrix::charts(report));
    charts.extend(strips::tests(report));
    charts.extend(versions::charts(report));
    charts.extend(sections::charts(report));
    named(charts)
}

pub(crate) fn named(mut charts: Vec<ChartFile>) -> Vec<ChartFile> {
    let mut taken: Vec<String> = Vec::new();
    for chart in &mut charts {
        make_unique(&mut chart.name, &taken);
        taken.push(chart.name.clone());
    }
    charts
}

/// Appends a number to a name that is taken.
pub(crate) fn make_unique(name: &mut String, taken: &[String]) {
    let first = name.clone();
    let mut number = 2;
    while taken.contains(name) {
        *name = format!("{first}-{number}");
        number += 1;
    }
}
