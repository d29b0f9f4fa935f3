//! Drawings of quantities over time or client counts, beside and below each other in one file.

use assay_svg::{Anchor, MARGIN, Paper, SMALL, fitted, width};

use super::drawing::{COLUMNS, Chart, HEIGHT};
use super::file::{ChartFile, Place, file, key};

const SCALE: f64 = 2.0;

const BESIDE: usize = 2;

const BETWEEN: f64 = 24.0;

pub(super) const SECONDS: &str = "Where there are more seconds than columns, a stroke goes from the least to the \
    most of a column.";

pub(super) struct Sheet<'a> {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) note: &'a str,
    pub(super) systems: &'a [String],
    pub(super) charts: Vec<(String, &'a Chart)>,
    pub(super) place: Place,
}

impl Sheet<'_> {
    pub(super) fn file(self) -> ChartFile {
        let (wide, high) = (SCALE * f64::from(COLUMNS), SCALE * HEIGHT);
        let beside = BESIDE.min(self.charts.len()) as f64;
        let width = 2.0 * MARGIN + beside * wide + (beside - 1.0) * BETWEEN;
        let (mut paper, mut y) = Paper::titled(width, &self.title, &[self.note.to_owned()]);
        y = key(&mut paper, y, self.systems);
        for row in self.charts.chunks(BESIDE) {
            y += 22.0;
            let has_ticks = row.iter().any(|(_, chart)| !chart.ticks.is_empty());
            for (number, (heading, chart)) in row.iter().enumerate() {
                let left = MARGIN + number as f64 * (wide + BETWEEN);
                let heading = fitted(heading, SMALL, wide);
                paper.text((left, y), Anchor::Start, "small", &heading);
                paper.rect("frame", (left, y + 6.0), (wide, high));
                for line in &chart.lines {
                    let class = format!("thin line{}", line.system % 6);
                    paper.placed_path(&class, (left, y + 6.0), SCALE, &line.path);
                }
                ticks(&mut paper, chart, (left, y + 6.0 + high));
            }
            y += 6.0 + high + if has_ticks { 16.0 } else { 0.0 };
        }
        let shown: Vec<&str> = self.charts.iter().map(|(heading, _)| heading.as_str()).collect();
        let alt = format!("{}: {} of {}", self.title, shown.join("; "), self.systems.join(", "));
        ChartFile {
            name: self.name,
            svg: file(paper, y + MARGIN, &self.title, &alt),
            alt,
            place: self.place,
        }
    }
}

/// As many labels below the drawing as fit.
fn ticks(paper: &mut Paper, chart: &Chart, (left, bottom): (f64, f64)) {
    let step = SCALE * f64::from(COLUMNS) / chart.ticks.len().max(1) as f64;
    let mut end = f64::NEG_INFINITY;
    for (number, tick) in chart.ticks.iter().enumerate() {
        let (x, half) = (left + (number as f64 + 0.5) * step, 0.5 * width(tick, SMALL));
        if x - half > end + 4.0 {
            paper.text((x, bottom + 13.0), Anchor::Middle, "small", tick);
            end = x + half;
        }
    }
}
