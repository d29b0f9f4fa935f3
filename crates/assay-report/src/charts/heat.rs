//! Tests over releases as strips of colours.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_svg::{Anchor, Length, Paper};

use crate::document::{Block, Caption, Column, Look, Row, Table, TableCell};
use crate::text::{Text, drawing, link};

/// A row for each test, with a strip and further columns.
pub struct HeatMap {
    /// How many releases a strip has.
    pub releases: usize,
    /// Releases, from 0, whose names are above the strips.
    pub labels: Vec<(usize, String)>,
    /// Columns behind the strip.
    pub columns: Vec<Column>,
    pub rows: Vec<HeatRow>,
}

pub struct HeatRow {
    pub test: String,
    /// Address of the page of the test.
    pub to: String,
    pub runs: Vec<HeatRun>,
    /// Cells of the further columns.
    pub cells: Vec<String>,
}

/// Releases with one colour.
pub struct HeatRun {
    pub releases: Range<usize>,
    /// Relative to the first release of the test.
    pub ratio: f64,
    pub title: String,
}

/// Changes from which a colour is darker: increases, and decreases by the same factor.
const LEVELS: [f64; 6] = [0.005, 0.02, 0.05, 0.1, 0.2, 0.5];

const LEGEND: [(&str, &str); 5] = [
    ("h better h6", "at least 33% fewer"),
    ("h better h3", "5% to 9% fewer"),
    ("h h0", "within 0.5%"),
    ("h worse h3", "5% to 10% more"),
    ("h worse h6", "at least 50% more"),
];

const NOTE: &str =
    "instructions per operation over releases, relative to the first release of each test";

/// Most runs with tooltips. More would exceed the size of a page.
const TOOLTIPS: usize = 800;

/// Least distance of labels, percent of the width.
const APART: f64 = 7.0;

fn class(ratio: f64) -> String {
    let size = ratio.ln().abs();
    let level = LEVELS.iter().filter(|least| size >= least.ln_1p()).count();
    match level {
        0 => "h h0".to_owned(),
        level => format!("h {} h{level}", if ratio > 1.0 { "worse" } else { "better" }),
    }
}

impl HeatMap {
    pub fn block(&self) -> Block<'static> {
        let runs: usize = self.rows.iter().map(|row| row.runs.len()).sum();
        let strip = Column { scale: self.axis(), ..Column::words("releases").class("scale heat") };
        let mut columns = vec![Column::words("test"), strip];
        columns.extend(self.columns.iter().cloned());
        let rows = self.rows.iter().map(|row| {
            let name = Text::from(link(row.to.as_str(), row.test.as_str()));
            let strip = Text::from(drawing(self.strip(row, runs <= TOOLTIPS)));
            let mut cells = vec![TableCell::from(name), TableCell::from(strip)];
            cells.extend(row.cells.iter().map(|text| TableCell::from(text.as_str())));
            Row::new(cells)
        });
        let legend = LEGEND.map(|(class, meaning)| (class.to_owned(), meaning)).to_vec();
        let caption = Some(Caption { note: NOTE.to_owned(), legend, ..Caption::default() });
        let look = Look { class: "stack".to_owned(), label: "Heat map", ..Look::default() };
        Block::Table(Table { caption, look, ..Table::new(columns, rows) })
    }

    fn axis(&self) -> String {
        let mut paper = Paper::new(0.0);
        let mut last = f64::NEG_INFINITY;
        for (release, label) in &self.labels {
            let x = 100.0 * *release as f64 / self.releases as f64;
            if x - last >= APART {
                paper.text((Length::Percent(x), 13.0), Anchor::Start, "", label);
                last = x;
            }
        }
        paper.filling("axis")
    }

    fn strip(&self, row: &HeatRow, has_tooltips: bool) -> String {
        let mut paper = Paper::new(self.releases as f64);
        paper.link(&row.to, |paper| {
            let mut paths: BTreeMap<String, String> = BTreeMap::new();
            for HeatRun { releases, ratio, title } in &row.runs {
                let (from, wide, class) = (releases.start, releases.len(), class(*ratio));
                let path = format!("M{from} 0h{wide}v1h-{wide}z");
                match has_tooltips {
                    true => paper.with_title(title, |paper| paper.path(&class, &path)),
                    false => *paths.entry(class).or_default() += &path,
                }
            }
            paths.iter().for_each(|(class, path)| paper.path(class, path));
        });
        paper.stretched(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn colours_are_darker_for_larger_changes_in_both_directions() {
        let classes = [1.0, 1.004, 1.006, 0.97, 1.06, 0.5].map(class);
        assert_eq!(
            classes,
            ["h h0", "h h0", "h worse h1", "h better h2", "h worse h3", "h better h6"]
        );
    }
}
