//! The charts of a report as standalone SVG, for posts.

pub(crate) mod columns;
pub(crate) mod curves;
pub(crate) mod drawing;
mod file;
pub(crate) mod flame;
pub(crate) mod heat;
mod ibench;
pub(crate) mod marks;
mod matrix;
pub(crate) mod scatter;
mod sections;
pub(crate) mod sequence;
mod sheet;
mod strips;
pub(crate) mod versions;

use crate::sections::study::JudgedStudy;
use crate::sections::{sweep::sweep, versions::lines};

pub use file::{ChartFile, stem};
pub(crate) use file::{Place, noted, setup_word};

/// In the order of a report.
pub(crate) fn charts(study: &JudgedStudy) -> Vec<ChartFile> {
    let mut charts: Vec<ChartFile> = ibench::charts(study);
    charts.extend(strips::groups(study));
    charts.extend(sweep(study).iter().flat_map(|sweep| curves::charts(study, sweep)));
    charts.extend(matrix::charts(study));
    charts.extend(strips::tests(study));
    charts.extend(versions::charts(study, &lines(study)));
    charts.extend(sections::charts(study));
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
