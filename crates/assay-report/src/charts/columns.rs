//! Columns of relative QPS, as in published posts. The scale need not start at 0; a second, truncated chart is added
//! where one test dwarfs the others.

use assay_svg::{Anchor, MARGIN, Paper, SMALL, fitted, width};

use super::file::{ChartFile, Place, bar_class, bar_key, file, setup_word, stem};
use crate::document::Block;
use crate::ratio::{is_fraction, short};
use crate::sections::matrix::{Matrix, MatrixRow, MatrixSection, heading};
use crate::sections::study::JudgedStudy;

const HEIGHT: f64 = 220.0;

const LABELS: f64 = 44.0;

const COLUMN: f64 = 11.0;

const BETWEEN: f64 = 16.0;

const NAMES_MAX: f64 = 190.0;

/// Charts start at 0 if a ratio is below this.
const FLOOR: f64 = 0.4;

/// A test that exceeds the others by this factor dwarfs them.
const DWARFS: f64 = 1.5;

pub(crate) fn charts(study: &JudgedStudy) -> Vec<ChartFile> {
    let matrix = Matrix::new(study);
    let sections = matrix.sections.iter();
    let columns = sections.flat_map(|section| of_section(study, &matrix, section));
    columns.map(|columns| columns.file()).collect()
}

/// The charts of a group on a page.
pub(crate) fn drawings(
    study: &JudgedStudy,
    matrix: &Matrix,
    section: &MatrixSection,
) -> Vec<Block<'static>> {
    of_section(study, matrix, section).iter().map(PublishedColumns::drawing).collect()
}

/// The chart of a group, and a truncated twin if needed.
fn of_section<'a>(
    study: &'a JudgedStudy<'a>,
    matrix: &'a Matrix<'a>,
    section: &'a MatrixSection<'a>,
) -> Vec<PublishedColumns<'a>> {
    let mut highest: Vec<f64> = section.rows.iter().filter_map(most).collect();
    let Some(top) = highest.iter().copied().reduce(f64::max) else { return Vec::new() };
    highest.sort_by(f64::total_cmp);
    let next = highest.iter().rev().nth(1).copied();
    let cut = next.filter(|next| top > DWARFS * next);
    let columns = |top, cut| PublishedColumns { study, matrix, section, top, cut };
    std::iter::once(columns(top, None)).chain(cut.map(|cut| columns(cut, Some(cut)))).collect()
}

/// Without the base.
fn ratios<'r>(row: &'r MatrixRow) -> impl Iterator<Item = Option<f64>> + 'r {
    row.cells.iter().skip(1).map(|cell| cell.ratio.map(|ratio| ratio.value))
}

fn most(row: &MatrixRow) -> Option<f64> {
    ratios(row).flatten().reduce(f64::max)
}

struct PublishedColumns<'a> {
    study: &'a JudgedStudy<'a>,
    matrix: &'a Matrix<'a>,
    section: &'a MatrixSection<'a>,
    top: f64,
    cut: Option<f64>,
}

impl PublishedColumns<'_> {
    /// Lower end of the scale, a tenth.
    fn floor(&self) -> f64 {
        let all = self.section.rows.iter().flat_map(ratios).flatten();
        let least = all.fold(1.0, f64::min);
        if least < FLOOR { 0.0 } else { (10.0 * (least - 0.05)).floor() / 10.0 }
    }

    fn notes(&self, floor: f64) -> Vec<String> {
        let base = self.study.base_label();
        let mut notes = vec![format!("QPS divided by that of {base}, without intervals.")];
        if floor > 0.0 {
            notes.push(format!("The y axis starts at {floor:.1}, not at 0."));
        }
        let vanishing = self.section.rows.iter().filter_map(|row| {
            let least = ratios(row).flatten().filter(|it| is_fraction(*it)).reduce(f64::min)?;
            Some(format!("{} falls to {}", row.test, short(least)))
        });
        let vanishing: Vec<String> = vanishing.collect();
        if !vanishing.is_empty() {
            notes.push(format!("Columns too low to see: {}.", vanishing.join(", ")));
        }
        if let Some(cut) = self.cut {
            let beyond = self.section.rows.iter().filter_map(|row| Some((row.test, most(row)?)));
            let beyond: Vec<String> = beyond
                .filter(|(_, most)| *most > cut)
                .map(|(test, most)| format!("{test} reaches {}", short(most)))
                .collect();
            notes.push(format!("The y axis is cut off at {}: {}.", short(cut), beyond.join(", ")));
        }
        notes
    }

    fn others(&self) -> &[&str] {
        &self.matrix.labels[1..]
    }

    fn title(&self) -> String {
        format!("Relative QPS, {}", heading(self.study, self.section))
    }

    fn alt(&self) -> String {
        let (others, base) = (self.others().join(", "), self.study.base_label());
        format!("{}: {others} against {base}", self.title())
    }

    fn file(&self) -> ChartFile {
        let section = self.section;
        let setup = self.study.several_setups().then(|| setup_word(section.setup));
        let name = stem("published", [Some(section.group.word.clone()), setup]);
        let cut = if self.cut.is_some() { "-cut" } else { "" };
        let (title, notes) = (self.title(), self.notes(self.floor()));
        let (mut paper, y) = Paper::titled(self.width(), &title, &notes);
        let height = self.draw(&mut paper, y);
        let message = section.rows.iter().map(|row| {
            let cells: Vec<String> = row.cells.iter().map(|cell| cell.text()).collect();
            format!("{}: {}", row.test, cells.join(", "))
        });
        let message: Vec<String> = message.collect();
        let description = format!("{} {}.", notes.join(" "), message.join("; "));
        ChartFile {
            name: format!("{name}{cut}"),
            alt: self.alt(),
            svg: file(paper, height, &title, &description),
            place: Place::Tests(section.setup, section.group.word.clone()),
        }
    }

    fn drawing(&self) -> Block<'static> {
        let mut paper = Paper::new(self.width());
        let height = self.draw(&mut paper, 0.0);
        let note = self.notes(self.floor()).join(" ");
        Block::Drawing { class: "columns", svg: paper.unscaled(height, &self.alt()), note }
    }

    /// Width of the columns of a test.
    fn of_test(&self) -> f64 {
        (COLUMN * self.others().len() as f64 + BETWEEN).max(26.0)
    }

    /// Width of the longest name of a test.
    fn names(&self) -> f64 {
        let names = self.section.rows.iter().map(|row| width(row.test, SMALL));
        names.fold(0.0, f64::max).min(NAMES_MAX)
    }

    fn left(&self) -> f64 {
        (MARGIN + LABELS).max(MARGIN + 0.71 * self.names() - 0.5 * self.of_test())
    }

    fn width(&self) -> f64 {
        (self.left() + self.of_test() * self.section.rows.len() as f64 + MARGIN).max(560.0)
    }

    /// Returns the position below.
    fn draw(&self, paper: &mut Paper, top: f64) -> f64 {
        let (section, others, floor) = (self.section, self.others(), self.floor());
        let (left, of_test, names) = (self.left(), self.of_test(), self.names());
        let top = bar_key(paper, top, others) + 12.0;
        let y = |ratio: f64| {
            let share = (ratio.min(self.top) - floor) / (self.top - floor).max(0.05);
            top + HEIGHT * (1.0 - share)
        };
        self.scale(paper, (left, self.width() - MARGIN), floor, &y);
        for (number, row) in section.rows.iter().enumerate() {
            let x = left + of_test * number as f64 + 0.5 * BETWEEN;
            for (system, ratio) in ratios(row).enumerate() {
                let Some(ratio) = ratio else { continue };
                let x = x + COLUMN * system as f64;
                paper.rect(&bar_class(system), (x, y(ratio)), (COLUMN - 1.5, y(floor) - y(ratio)));
                if ratio > self.top {
                    let path = format!("M{x:.1} {:.1}l3-5 3 5 3-5", top + 4.0);
                    paper.path("arrow", &path);
                }
            }
            let middle = x + 0.5 * COLUMN * others.len() as f64;
            let test = fitted(row.test, SMALL, names + 1.0);
            let at = (middle + 3.0, top + HEIGHT + 14.0);
            paper.turned(at, -45.0, Anchor::End, "small", &test);
        }
        top + HEIGHT + 14.0 + 0.71 * names + MARGIN
    }

    /// Lines at tenths, or at larger steps where there are many of them.
    fn scale(
        &self,
        paper: &mut Paper,
        (left, right): (f64, f64),
        floor: f64,
        y: &dyn Fn(f64) -> f64,
    ) {
        let steps = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0];
        let room = self.top - floor;
        let step = steps.into_iter().find(|step| room / step <= 8.0).unwrap_or(room / 4.0);
        // 1 is always among them.
        let step = step.max(0.01);
        let mut ratio = 1.0 - step * ((1.0 - floor) / step + 1e-9).floor();
        while ratio <= self.top + 1e-9 {
            let class = if (ratio - 1.0).abs() < 1e-6 { "one" } else { "grid" };
            paper.line(class, (left, y(ratio)), (right, y(ratio)));
            let at = (left - 5.0, y(ratio) + 3.5);
            paper.text(at, Anchor::End, "small", &format!("{ratio:.1}"));
            ratio += step;
        }
    }
}
