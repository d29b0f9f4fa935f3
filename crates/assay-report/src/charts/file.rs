//! Charts as files: their names and their places in a report, and the parts that they share: colours, keys, and panels
//! of ratios.

use assay_model::{Estimate, Setup};
use assay_svg::{Anchor, MARGIN, Paper, SIZE, fitted, width};

use crate::ratio::label;
use crate::scale::RatioScale;

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
    /// Of the work after a study, by key.
    Section(&'static str),
    /// Not in the report of one study.
    Elsewhere,
}

pub(crate) fn setup_word(Setup { clients, tables, rows }: Setup) -> String {
    format!("c{clients}-t{tables}-r{rows}")
}

/// The name of a chart from its kind and the names of what it shows, such as a test.
pub fn stem(kind: &str, parts: impl IntoIterator<Item = Option<String>>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
    let plain = |part: String| -> String {
        part.chars().map(|c| if is_plain(c) { c } else { '-' }).take(60).collect()
    };
    let parts = parts.into_iter().flatten().map(plain);
    std::iter::once(kind.to_owned()).chain(parts).collect::<Vec<_>>().join("-")
}

/// The colours of files are those of the page in light mode. The fonts with the widest letters come first, because room
/// for text is calculated with such letters.
const STYLE: &str = "text{font:12px 'DejaVu Sans',Verdana,Arial,sans-serif;fill:#1b1d21}\
    .small{font-size:10px;fill:#5c626b}.large{font-size:15px}.soft{fill:#5c626b}\
    .paper{fill:#fff}.band{fill:#e6e2da}.one{stroke:#8d9098}.grid{stroke:#dedbd5}.frame{fill:none;stroke:#dedbd5}\
    .change{fill:currentColor;opacity:.2}.range{stroke:currentColor;stroke-width:3;stroke-linecap:round}\
    .span{stroke:currentColor}.dot{fill:currentColor;stroke:#fff}\
    .hollow{fill:#fff;stroke:currentColor;stroke-width:1.8}\
    .arrow{fill:none;stroke:currentColor;stroke-width:2}.curve{fill:none;stroke:currentColor;stroke-width:1.6}\
    .thin{fill:none;stroke:currentColor;stroke-width:.7;opacity:.8}\
    .bars{fill:none;stroke:currentColor;stroke-width:1.4}\
    .points{fill:none;stroke:currentColor;stroke-width:5.5;stroke-linecap:round}.fill{fill:currentColor;stroke:none}\
    .pale1{fill-opacity:.45;stroke:currentColor}.pale2{fill-opacity:.1;stroke:currentColor}\
    .dash1{stroke-dasharray:6 3}.dash2{stroke-dasharray:2 3}\
    .slower{color:#a84300}.faster{color:#00609c}.same{color:#5c626b}.undecided{color:#6d5a86}\
    .failed,.uneven{color:#a3195b}text.verdict{fill:currentColor}\
    .line0{color:#1f77b4}.line1{color:#d9622b}.line2{color:#2a9d5c}.line3{color:#b34fc4}.line4{color:#a58a00}\
    .line5{color:#6b7280}.cell{fill:#f7f6f3}.cell.better{fill:#bcdcf2}.cell.worse{fill:#f3cfb4}.mark{fill:#1b1d21}";

/// A standalone file; title and description are for those who cannot see it.
pub(crate) fn file(paper: Paper, height: f64, title: &str, description: &str) -> String {
    paper.file(height, STYLE, title, description)
}

pub(crate) fn line_class(system: usize) -> String {
    match system / 6 {
        0 => format!("line{system}"),
        dashes => format!("line{} dash{}", system % 6, dashes.min(2)),
    }
}

/// Classes of a system's bars: those of further systems are paler, with a border.
pub(crate) fn bar_class(system: usize) -> String {
    match system / 6 {
        0 => format!("fill line{system}"),
        pale => format!("fill line{} pale{}", system % 6, pale.min(2)),
    }
}

/// Names the system of each line. Returns the position below.
pub(super) fn key<S: AsRef<str>>(paper: &mut Paper, top: f64, systems: &[S]) -> f64 {
    key_of(paper, top, systems, |paper, system, (x, y)| {
        let class = format!("curve {}", line_class(system));
        paper.line(&class, (x, y - 4.0), (x + 20.0, y - 4.0));
    })
}

/// Names the system of each bar. Returns the position below.
pub(super) fn bar_key<S: AsRef<str>>(paper: &mut Paper, top: f64, systems: &[S]) -> f64 {
    key_of(paper, top, systems, |paper, system, (x, y)| {
        paper.rect(&bar_class(system), (x + 4.0, y - 10.0), (12.0, 11.0));
    })
}

fn key_of<S: AsRef<str>>(
    paper: &mut Paper,
    top: f64,
    systems: &[S],
    mark: impl Fn(&mut Paper, usize, (f64, f64)),
) -> f64 {
    let (mut x, mut y) = (MARGIN, top + SIZE);
    for (system, name) in systems.iter().enumerate() {
        let name = fitted(name.as_ref(), SIZE, paper.width() - 2.0 * MARGIN - 30.0);
        let needed = 26.0 + width(&name, SIZE) + 18.0;
        if x > MARGIN && x + needed > paper.width() - MARGIN + 18.0 {
            (x, y) = (MARGIN, y + 18.0);
        }
        mark(paper, system, (x, y));
        paper.text((x + 26.0, y), Anchor::Start, "", &name);
        x += needed;
    }
    y + 4.0
}

/// The band of changes too small to matter, the line of no change, and the labels of the scale, whose least distance is
/// a percentage of its height.
pub(super) fn ratio_ground(
    paper: &mut Paper,
    scale: RatioScale,
    (begin, end): (f64, f64),
    distance: f64,
    y: impl Fn(f64) -> f64,
) {
    let [above, below] = [1.0 + scale.threshold, 1.0 / (1.0 + scale.threshold)].map(&y);
    paper.rect("band", (begin, above), (end - begin, below - above));
    for ratio in scale.labels(distance) {
        let class = if ratio == 1.0 { "one" } else { "grid" };
        paper.line(class, (begin, y(ratio)), (end, y(ratio)));
        paper.text((begin - 5.0, y(ratio) + 3.5), Anchor::End, "small", &label(ratio));
    }
}

#[derive(Default)]
pub(super) struct CurvePaths {
    pub(super) curve: String,
    pub(super) bars: String,
    pub(super) points: String,
}

impl CurvePaths {
    /// Missing values leave a gap in the curve.
    pub(super) fn new(
        values: impl Iterator<Item = (f64, Option<Estimate>)>,
        y: &dyn Fn(f64) -> f64,
    ) -> Self {
        let mut paths = Self::default();
        let mut goes_on = false;
        for (x, value) in values {
            let Some(value) = value else {
                goes_on = false;
                continue;
            };
            let at = y(value.value);
            paths.curve += &format!("{}{x:.1} {at:.1}", if goes_on { 'L' } else { 'M' });
            goes_on = true;
            paths.points += &format!("M{x:.1} {at:.1}h0");
            if value.has_interval() {
                paths.bars += &format!("M{x:.1} {:.1}V{:.1}", y(value.low), y(value.high));
            }
        }
        paths
    }
}
