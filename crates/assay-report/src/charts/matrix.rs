//! The matrix of tests and systems, in the colours of the published tables.

use assay_svg::{Anchor, MARGIN, Paper, SIZE, SMALL, fitted, width};

use super::file::{ChartFile, Place, file, setup_word, stem};
use crate::sections::matrix::{Matrix, MatrixSection};
use crate::sections::study::JudgedStudy;
use crate::words::title;

const ROW: f64 = 19.0;

const CELL: f64 = 44.0;

const NAME_MAX: f64 = 260.0;

const TURNED_MAX: f64 = 170.0;

/// One per setup of a study of at least three systems.
pub(super) fn charts(study: &JudgedStudy) -> Vec<ChartFile> {
    let matrix = Matrix::new(study);
    if matrix.labels.len() < 3 {
        return Vec::new();
    }
    let sections = matrix.sections.chunk_by(|one, next| one.setup == next.setup);
    sections.map(|sections| chart(study, &matrix, sections)).collect()
}

fn chart(study: &JudgedStudy, matrix: &Matrix, sections: &[MatrixSection]) -> ChartFile {
    let setup = sections[0].setup;
    let of_setup = study.of_setup(setup);
    let heading = format!("Relative QPS{of_setup}");
    let note = format!(
        "QPS divided by that of {}. Blue: above 1.05, orange: below 0.95, the limits of published tables. A bar at \
         the left of a cell: the test changed at this version, against the one before it. Intervals are in the other \
         charts.",
        study.base_label()
    );
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let names = rows().map(|row| width(row.test, SIZE)).fold(0.0, f64::max).min(NAME_MAX);
    let left = MARGIN + names + 12.0;
    let longest = matrix.short.iter().map(|name| width(name, SMALL)).fold(0.0, f64::max);
    let wide = left + CELL * matrix.labels.len() as f64 + MARGIN + 0.71 * longest.min(TURNED_MAX);
    let (mut paper, top) = Paper::titled(wide.max(560.0), &heading, std::slice::from_ref(&note));
    let mut y = top + headings(&mut paper, (left, top), matrix, longest);
    for section in sections {
        y += ROW;
        let name = fitted(&title(section.group), SIZE, wide - 2.0 * MARGIN);
        paper.text((MARGIN, y), Anchor::Start, "soft", &name);
        y += 5.0;
        for row in &section.rows {
            let name = fitted(row.test, SIZE, names + 1.0);
            paper.text((MARGIN, y + 13.5), Anchor::Start, "", &name);
            for (number, cell) in row.cells.iter().enumerate() {
                let x = left + CELL * number as f64;
                let class = format!("cell {}", cell.shade().class());
                paper.rect(class.trim_end(), (x + 0.5, y), (CELL - 1.0, ROW - 1.0));
                if cell.step.is_some() {
                    paper.rect("mark", (x - 1.5, y), (3.0, ROW - 1.0));
                }
                let at = (x + 0.5 * CELL, y + 13.5);
                let text = cell.text();
                match width(&text, SIZE) < CELL {
                    true => paper.text(at, Anchor::Middle, "", &text),
                    false => paper.text(at, Anchor::Middle, "small", &fitted(&text, SMALL, CELL)),
                }
            }
            y += ROW;
        }
    }
    let message: Vec<String> = rows()
        .map(|row| {
            let cells: Vec<String> = row.cells.iter().map(|cell| cell.text()).collect();
            format!("{}: {}", row.test, cells.join(", "))
        })
        .collect();
    let description = format!("{note} {}. {}.", matrix.labels.join(", "), message.join("; "));
    let setup = study.several_setups().then(|| setup_word(setup));
    ChartFile {
        name: stem("matrix", [setup]),
        alt: format!("{heading} of {}, by test", matrix.labels.join(", ")),
        svg: file(paper, y + MARGIN, &heading, &description),
        place: Place::Matrix,
    }
}

/// Draws the names of the systems; returns their height.
fn headings(paper: &mut Paper, (left, top): (f64, f64), matrix: &Matrix, longest: f64) -> f64 {
    let is_narrow = longest <= CELL - 4.0;
    let height = if is_narrow { SMALL + 6.0 } else { 0.71 * longest.min(TURNED_MAX) + SMALL + 6.0 };
    for (number, name) in matrix.short.iter().enumerate() {
        let x = left + CELL * (number as f64 + 0.5);
        match is_narrow {
            true => paper.text((x, top + SMALL), Anchor::Middle, "small", name),
            false => {
                let name = fitted(name, SMALL, TURNED_MAX);
                paper.turned((x, top + height - 6.0), -45.0, Anchor::Start, "small", &name);
            }
        }
    }
    height
}
