//! Forest plots: a row for each test or group and system, with its interval on a common scale.

use assay_model::Estimate;
use assay_svg::{Anchor, MARGIN, Paper, SIZE, fitted, width};

use super::file::{ChartFile, Place, file, setup_word, stem};
use crate::number::share;
use crate::ratio::label;
use crate::scale::RatioScale;
use crate::sections::groups::{self, GroupRow};
use crate::sections::study::{JudgedStudy, TestGroup, TestRow};
use crate::words::title;

const ROW: f64 = 17.0;

const GAP: f64 = 5.0;

const SCALE: f64 = 380.0;

const AXIS: f64 = 20.0;

const NAME_MAX: f64 = 260.0;

const BETWEEN: f64 = 12.0;

struct StripRow {
    /// Test or group. Rows with the same name are adjacent, and the first one shows it.
    name: String,
    system: String,
    estimate: Option<Estimate>,
    /// A wider span behind the interval, such as smallest and largest.
    span: Option<(f64, f64)>,
    class: &'static str,
    text: String,
}

pub(super) fn tests(study: &JudgedStudy) -> Vec<ChartFile> {
    study.tests().iter().filter_map(|section| of_section(study, section)).collect()
}

fn of_section(study: &JudgedStudy, section: &TestGroup<TestRow>) -> Option<ChartFile> {
    let rows = section.rows.iter().flat_map(|test| {
        study.without_twin(test).map(|cell| {
            let ratio = study.ratio_unless_failed(cell);
            let symbol = study.symbol(cell.verdict);
            StripRow {
                name: cell.cell.test.name().to_owned(),
                system: study.label(cell.system).to_owned(),
                estimate: ratio.0,
                span: None,
                class: cell.verdict.word(),
                text: match ratio.0.is_some_and(Estimate::is_bound) {
                    true => format!("{symbol} {ratio}").trim().to_owned(),
                    false => {
                        let word = study.word(cell.verdict);
                        format!("{symbol} {word} {ratio}").trim().to_owned()
                    }
                },
            }
        })
    });
    let of_setup = study.of_setup(section.setup);
    let heading = format!("Relative QPS, {}{of_setup}", title(section.group));
    let setup = study.several_setups().then(|| setup_word(section.setup));
    let name = stem("rqps", [Some(section.group.word.clone()), setup]);
    let place = Place::Tests(section.setup, section.group.word.clone());
    chart(study, name, place, &heading, rows.collect())
}

pub(super) fn groups(study: &JudgedStudy) -> Option<ChartFile> {
    let row = |row: &GroupRow| {
        let class = match row.median.0 {
            Some(median) if median.has_interval() && median.high < 1.0 => "slower",
            Some(median) if median.has_interval() && median.low > 1.0 => "faster",
            _ => "same",
        };
        let setup = study.setup_if_several(row.setup);
        let setup = setup.map_or_else(String::new, |setup| format!(" {setup}"));
        StripRow {
            name: format!("{}{setup}", row.group.word),
            system: row.system.to_owned(),
            estimate: row.median.0,
            span: Some(row.span),
            class,
            text: format!("median of {}: {}", row.n, row.median),
        }
    };
    let rows = groups::rows(study);
    let rows = rows.iter().filter(|it| !it.is_twin).map(row).collect();
    let heading = "Relative QPS by group: median, thin line from smallest to largest";
    chart(study, "groups".to_owned(), Place::Groups, heading, rows)
}

struct StripColumns {
    system: f64,
    scale: f64,
    text: f64,
    end: f64,
}

impl StripColumns {
    fn new(rows: &[StripRow], several_systems: bool) -> Self {
        let widest = |text: &dyn Fn(&StripRow) -> String, most: f64| {
            rows.iter().map(|row| width(&text(row), SIZE)).fold(0.0, f64::max).min(most)
        };
        let system = MARGIN + widest(&|row| row.name.clone(), NAME_MAX) + BETWEEN;
        let names = widest(&|row| row.system.clone(), NAME_MAX) + BETWEEN;
        let scale = if several_systems { system + names } else { system };
        let text = scale + SCALE + BETWEEN;
        let end = text + widest(&|row| row.text.clone(), 2.0 * NAME_MAX) + MARGIN;
        Self { system, scale, text, end }
    }

    fn x(&self, scale: RatioScale, ratio: f64) -> f64 {
        self.scale + SCALE * scale.x(ratio) / 100.0
    }
}

fn chart(
    study: &JudgedStudy,
    name: String,
    place: Place,
    heading: &str,
    rows: Vec<StripRow>,
) -> Option<ChartFile> {
    if rows.iter().all(|row| row.estimate.is_none()) {
        return None;
    }
    let estimates: Vec<Estimate> = rows.iter().filter_map(|row| row.estimate).collect();
    let ends = rows.iter().filter_map(|row| row.span).flat_map(|(low, high)| [low, high]);
    let ends = ends.map(Estimate::without_interval);
    let scaled: Vec<Estimate> = estimates.iter().copied().chain(ends).collect();
    let scale = RatioScale::fitting(&scaled, study.threshold());
    let systems: Vec<&str> = study.others().map(|system| study.label(system)).collect();
    let columns = StripColumns::new(&rows, systems.len() > 1);
    let note = note(study, &systems, estimates.iter().any(|it| it.has_interval()));
    let (mut paper, top) =
        Paper::titled(columns.end.max(560.0), heading, std::slice::from_ref(&note));
    let top = top + AXIS;
    let gaps = rows.chunk_by(|one, next| one.name == next.name).count() - 1;
    let height = ROW * rows.len() as f64 + GAP * gaps as f64;
    ground(&mut paper, &columns, scale, (top, top + height));
    let mut y = top;
    for block in rows.chunk_by(|one, next| one.name == next.name) {
        for (number, row) in block.iter().enumerate() {
            let base = (MARGIN, y + 0.5 * ROW + 4.0);
            if number == 0 {
                let room = columns.system - MARGIN - BETWEEN;
                paper.text(base, Anchor::Start, "", &fitted(&row.name, SIZE, room + 1.0));
            }
            if systems.len() > 1 {
                let room = columns.scale - columns.system - BETWEEN;
                let name = fitted(&row.system, SIZE, room + 1.0);
                paper.text((columns.system, base.1), Anchor::Start, "soft", &name);
            }
            strip(&mut paper, &columns, scale, y + 0.5 * ROW, row);
            let text = fitted(&row.text, SIZE, 2.0 * NAME_MAX);
            let class = format!("verdict {}", row.class);
            paper.text((columns.text, base.1), Anchor::Start, &class, &text);
            y += ROW;
        }
        y += GAP;
    }
    let message: Vec<String> =
        rows.iter().map(|row| format!("{} {}: {}", row.name, row.system, row.text)).collect();
    let description = format!("{note} {}.", message.join("; "));
    Some(ChartFile {
        name,
        alt: format!("{heading}: {} against {}", systems.join(", "), study.base_label()),
        svg: file(paper, top + height + MARGIN, heading, &description),
        place,
    })
}

fn note(study: &JudgedStudy, systems: &[&str], has_intervals: bool) -> String {
    let intervals = if has_intervals { "with 95% interval" } else { "no interval is known" };
    let whose = match systems {
        [only] => format!("of {only} "),
        _ => String::new(),
    };
    format!(
        "QPS {whose}divided by that of {}, {intervals}. The band marks changes below {}; an arrow marks a value \
         beyond the scale.",
        study.base_label(),
        share(study.threshold())
    )
}

/// The band of changes too small to matter, the line of no change, and the labels of the scale.
fn ground(paper: &mut Paper, columns: &StripColumns, scale: RatioScale, (top, bottom): (f64, f64)) {
    let left = columns.x(scale, 1.0 / (1.0 + scale.threshold));
    let right = columns.x(scale, 1.0 + scale.threshold);
    paper.rect("band", (left, top), (right - left, bottom - top));
    for ratio in scale.labels(11.0) {
        let x = columns.x(scale, ratio);
        let class = if ratio == 1.0 { "one" } else { "grid" };
        paper.line(class, (x, top - 4.0), (x, bottom));
        paper.text((x, top - 7.0), Anchor::Middle, "small", &label(ratio));
    }
}

fn strip(paper: &mut Paper, columns: &StripColumns, scale: RatioScale, y: f64, row: &StripRow) {
    let x = |ratio: f64| columns.x(scale, ratio);
    let class = |word: &str| format!("{word} {}", row.class);
    // A line without length is not drawn.
    if let Some((low, high)) = row.span.filter(|(low, high)| low < high) {
        paper.line(&class("span"), (x(low), y), (x(high), y));
    }
    let Some(estimate) = row.estimate else { return };
    // A bound has one end beyond the scale.
    let (low, high) = estimate.ends().unwrap_or((estimate.value, estimate.value));
    if estimate.ends().is_some() {
        paper.line(&class("range"), (x(low), y), (x(high), y));
    }
    let (left, right) = (columns.scale, columns.scale + SCALE);
    if low < scale.low {
        let path = format!("M{:.1} {:.1}l-6 5 6 5", left + 7.0, y - 5.0);
        paper.path(&class("arrow"), &path);
    }
    if high > scale.high {
        let path = format!("M{:.1} {:.1}l6 5-6 5", right - 7.0, y - 5.0);
        paper.path(&class("arrow"), &path);
    }
    if scale.holds(estimate.value) {
        let mark = if estimate.has_interval() { "dot" } else { "hollow" };
        paper.circle(&class(mark), (x(estimate.value), y), 3.5);
    }
}
