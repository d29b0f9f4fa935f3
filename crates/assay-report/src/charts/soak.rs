//! The rates of a soak, second by second: a chart per test.

use super::file::{ChartFile, Place, stem};
use super::sheet::{SECONDS, Sheet};
use crate::view::Report;

pub(super) fn charts(report: &Report) -> Vec<ChartFile> {
    let Some(look) = &report.soak else { return Vec::new() };
    let chart = look.charts.iter().map(|it| {
        let sheet = Sheet {
            name: stem("soak", [Some(it.test.clone())]),
            title: format!("{}, a longer look", it.test),
            note: SECONDS,
            systems: &look.systems,
            charts: vec![(format!("{}, {}", it.chart.title, it.chart.caption), &it.chart)],
            place: Place::Soak,
        };
        let file = sheet.file();
        ChartFile { alt: format!("{}. {}", file.alt, it.summary), ..file }
    });
    chart.collect()
}
