//! The charts of the work after a study, second by second: one for each test.

use super::file::{ChartFile, Place, stem};
use super::sheet::{SECONDS, Sheet};
use crate::section::{ShownSection, sections};
use crate::sections::study::JudgedStudy;

pub(super) fn charts(study: &JudgedStudy) -> Vec<ChartFile> {
    sections(study).iter().flat_map(of_section).collect()
}

fn of_section(shown: &ShownSection) -> impl Iterator<Item = ChartFile> {
    let ShownSection { section, content, systems } = shown;
    content.charts.iter().map(move |it| {
        let sheet = Sheet {
            name: stem(section.key(), [Some(it.test.clone())]),
            title: format!("{}, {}", it.test, section.title()),
            note: SECONDS,
            systems,
            charts: vec![(format!("{}, {}", it.chart.title, it.chart.caption), &it.chart)],
            place: Place::Section(section.key()),
        };
        let file = sheet.file();
        ChartFile { alt: format!("{}. {}", file.alt, it.summary), ..file }
    })
}
