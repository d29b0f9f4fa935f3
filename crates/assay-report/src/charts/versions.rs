//! Small charts of tests over a line of versions, side by side on a common scale.

use assay_model::{Estimate, Verdict};
use assay_svg::{Anchor, LARGE, MARGIN, Paper, SIZE, SMALL, fitted, width};

use super::file::{ChartFile, CurvePaths, Place, file, ratio_ground, setup_word, stem};
use crate::number::share;
use crate::ratio::short;
use crate::scale::RatioScale;
use crate::sections::study::{JudgedStudy, TestGroup};
use crate::words::{Symbol, title};

pub(crate) struct VersionLine<'a> {
    /// Earliest version first.
    pub(crate) labels: Vec<&'a str>,
    pub(crate) short: Vec<String>,
    pub(crate) sections: Vec<VersionSection<'a>>,
}

pub(crate) type VersionSection<'a> = TestGroup<VersionTest<'a>>;

pub(crate) struct VersionTest<'a> {
    pub(crate) test: &'a str,
    pub(crate) points: Vec<VersionPoint>,
}

pub(crate) struct VersionPoint {
    /// Relative to the base; 1 for the base.
    pub(crate) ratio: Option<Estimate>,
    /// The step from the previous version; `None` for the first.
    pub(crate) step: Option<StepMark>,
}

pub(crate) struct StepMark {
    pub(crate) verdict: Verdict,
    /// Size and confidence, if reports name the step.
    pub(crate) change: Option<String>,
}

impl VersionTest<'_> {
    pub(crate) fn has_intervals(&self) -> bool {
        self.points.iter().filter_map(|point| point.ratio).any(|ratio| ratio.has_interval())
    }
}

const PANEL: f64 = 290.0;

const BESIDE: usize = 3;

const BETWEEN: f64 = 18.0;

const LABELS: f64 = 34.0;

const HEIGHT: f64 = 96.0;

const CHANGES: usize = 2;

const NAMES_MAX: f64 = 80.0;

pub(super) fn charts(study: &JudgedStudy, lines: &[VersionLine]) -> Vec<ChartFile> {
    let of_line = |line: &VersionLine| {
        let first = (lines.len() > 1).then(|| line.labels[0].to_owned());
        let sections = line.sections.iter();
        sections.filter_map(|it| chart(study, line, first.clone(), it)).collect::<Vec<_>>()
    };
    lines.iter().flat_map(of_line).collect()
}

/// `first` is the first version, if the study has several lines.
fn chart(
    study: &JudgedStudy,
    line: &VersionLine,
    first: Option<String>,
    section: &VersionSection,
) -> Option<ChartFile> {
    let shown: Vec<&VersionTest> = measured(section).collect();
    let panels = VersionPanels::new(study, line, &shown)?;
    let of_setup = study.of_setup(section.setup);
    let heading = format!("From version to version, {}{of_setup}", title(section.group));
    let note = note(study, shown.iter().any(|test| test.has_intervals()));
    let beside = BESIDE as f64;
    let wide = 2.0 * MARGIN + beside * PANEL + (beside - 1.0) * BETWEEN;
    let (mut paper, mut y) = Paper::titled(wide, &heading, std::slice::from_ref(&note));
    for row in shown.chunks(BESIDE) {
        y += 8.0;
        for (number, test) in row.iter().enumerate() {
            let x = MARGIN + number as f64 * (PANEL + BETWEEN);
            panels.ground(&mut paper, (x, y + panels.top()));
            panels.draw(&mut paper, (x, y), test);
        }
        y += panels.height();
    }
    let setup = study.several_setups().then(|| setup_word(section.setup));
    let parts = [Some(section.group.word.clone()), first, setup];
    let message: Vec<String> = shown.iter().map(|test| message(line, test)).collect();
    Some(ChartFile {
        name: stem("versions", parts),
        alt: format!("{heading}: {}", line.labels.join(", ")),
        svg: file(paper, y + MARGIN, &heading, &format!("{note} {}", message.join(" "))),
        place: Place::Versions,
    })
}

pub(crate) fn note(study: &JudgedStudy, has_intervals: bool) -> String {
    let (base, threshold) = (study.base_label(), share(study.threshold()));
    if !has_intervals {
        return format!(
            "QPS divided by that of {base}. No interval is known. The band marks changes below {threshold}."
        );
    }
    format!(
        "QPS divided by that of {base}, with 95% intervals. The band marks changes below {threshold}. Below each \
         chart, every version is compared with the one before it: ▲ faster, ▼ slower, = same, ? undecided. A shaded \
         step is where a test changed, with its size [95% interval] and the confidence that it exceeds {threshold}."
    )
}

/// Tests with at least two measured versions.
pub(crate) fn measured<'s, 'a>(
    section: &'s VersionSection<'a>,
) -> impl Iterator<Item = &'s VersionTest<'a>> {
    let is_measured =
        |test: &&VersionTest| test.points.iter().filter(|point| point.ratio.is_some()).count() > 1;
    section.rows.iter().filter(is_measured)
}

pub(crate) fn told_changes(line: &VersionLine, test: &VersionTest) -> String {
    let changes: Vec<String> = changes(line, test).into_iter().map(|(_, change)| change).collect();
    match changes.is_empty() {
        true => format!("{}: no step is certain", test.test),
        false => format!("{}: {}", test.test, changes.join(", ")),
    }
}

fn message(line: &VersionLine, test: &VersionTest) -> String {
    let describe = |(point, label): (&VersionPoint, &&str)| {
        let ratio = point.ratio?;
        let change = point.step.as_ref().and_then(|step| step.change.as_ref());
        let change = change.map_or_else(String::new, |change| format!(" ({change})"));
        Some(format!("{label} {}{change}", short(ratio.value)))
    };
    let points: Vec<String> = test.points.iter().zip(&line.labels).filter_map(describe).collect();
    format!("{}: {}.", test.test, points.join(", "))
}

pub(crate) struct VersionPanels<'a> {
    line: &'a VersionLine<'a>,
    scale: RatioScale,
    names: f64,
    changes: usize,
}

impl<'a> VersionPanels<'a> {
    /// `None` without tests.
    pub(crate) fn new(
        study: &JudgedStudy,
        line: &'a VersionLine<'a>,
        tests: &[&VersionTest],
    ) -> Option<Self> {
        let points = || tests.iter().flat_map(|test| &test.points);
        let ratios: Vec<Estimate> = points().filter_map(|point| point.ratio).collect();
        let names = line.short.iter().map(|name| width(name, SMALL)).fold(0.0, f64::max);
        let changes = tests.iter().map(|test| changes(line, test).len()).max()?;
        Some(Self {
            line,
            scale: RatioScale::fitting(&ratios, study.threshold()),
            names: names.min(NAMES_MAX),
            changes: changes.min(CHANGES),
        })
    }

    pub(crate) fn height(&self) -> f64 {
        self.top() + HEIGHT + 14.0 + 0.71 * self.names + 22.0
    }

    fn top(&self) -> f64 {
        LARGE + (SMALL + 3.0) * self.changes as f64 + 6.0
    }

    /// A panel as a separate drawing, with its height. `ground` is the name of the common parts: the first panel
    /// contains them, the others refer to it.
    pub(crate) fn alone(&self, test: &VersionTest, ground: &str, is_first: bool) -> (Paper, f64) {
        let mut paper = Paper::new(PANEL);
        match is_first {
            true => paper.shared(ground, |paper| self.ground(paper, (0.0, self.top()))),
            false => paper.repeat(ground),
        }
        self.draw(&mut paper, (0.0, 0.0), test);
        (paper, self.height())
    }

    fn draw(&self, paper: &mut Paper, (left, top): (f64, f64), test: &VersionTest) {
        let name = fitted(test.test, SIZE, PANEL);
        paper.text((left, top + SIZE), Anchor::Start, "", &name);
        let changes = changes(self.line, test);
        for (number, (verdict, text)) in changes.iter().take(CHANGES).enumerate() {
            let more = changes.len().saturating_sub(CHANGES);
            let more = match number + 1 == CHANGES && more > 0 {
                true => format!("; {more} more"),
                false => String::new(),
            };
            let y = top + SIZE + (SMALL + 3.0) * (number as f64 + 1.0);
            let text = fitted(text, SMALL, PANEL - width(&more, SMALL)) + &more;
            let class = format!("small verdict {}", verdict.word());
            paper.text((left, y), Anchor::Start, &class, &text);
        }
        let top = top + self.top();
        self.steps(paper, (left, top), test);
        self.marks(paper, (left, top), test);
    }

    fn x(&self, left: f64, version: f64) -> f64 {
        let step = (PANEL - LABELS) / self.line.labels.len() as f64;
        left + LABELS + (version + 0.5) * step
    }

    fn y(&self, top: f64, ratio: f64) -> f64 {
        top + HEIGHT * (1.0 - self.scale.x(ratio) / 100.0)
    }

    /// Common to all panels: the band of small changes, the scale, and the names of the versions.
    fn ground(&self, paper: &mut Paper, (left, top): (f64, f64)) {
        let y = |ratio| self.y(top, ratio);
        ratio_ground(paper, self.scale, (left + LABELS, left + PANEL), 20.0, y);
        for (version, name) in self.line.short.iter().enumerate() {
            let at = (self.x(left, version as f64) + 4.0, top + HEIGHT + 24.0);
            let name = fitted(name, SMALL, self.names + 1.0);
            paper.turned(at, -45.0, Anchor::End, "small", &name);
        }
    }

    fn steps(&self, paper: &mut Paper, (left, top): (f64, f64), test: &VersionTest) {
        for (version, point) in test.points.iter().enumerate().filter(|_| test.has_intervals()) {
            let Some(step) = &point.step else { continue };
            let word = step.verdict.word();
            let x = |version: f64| self.x(left, version);
            if step.change.is_some() {
                let from = x(version as f64 - 1.0);
                let size = (x(version as f64) - from, HEIGHT);
                paper.rect(&format!("change {word}"), (from, top), size);
            }
            let at = (x(version as f64 - 0.5), top + HEIGHT + 11.0);
            let class = format!("small verdict {word}");
            paper.text(at, Anchor::Middle, &class, step.verdict.symbol());
        }
    }

    fn marks(&self, paper: &mut Paper, (left, top): (f64, f64), test: &VersionTest) {
        let places = test.points.iter().enumerate();
        let places = places.map(|(version, point)| (self.x(left, version as f64), point.ratio));
        let far = |ratio: &Estimate| !self.scale.holds(ratio.value);
        let arrow = |(x, ratio): (f64, Option<Estimate>)| {
            let ratio = ratio.filter(far)?;
            let (y, to) = (self.y(top, ratio.value), if ratio.value > 1.0 { 5.0 } else { -5.0 });
            Some(format!("M{:.1} {:.1}l4 {:.0} 4 {to:.0}", x - 4.0, y + to, -to))
        };
        let arrows: String = places.clone().filter_map(arrow).collect();
        let CurvePaths { curve, bars, .. } =
            CurvePaths::new(places.clone(), &|ratio| self.y(top, ratio));
        let near = places.map(|(x, ratio)| (x, ratio.filter(|ratio| !far(ratio))));
        let CurvePaths { points, .. } = CurvePaths::new(near, &|ratio| self.y(top, ratio));
        paper.path("curve same", &curve);
        paper.path("bars", &bars);
        paper.path("points", &points);
        paper.path("arrow", &arrows);
    }
}

fn changes(line: &VersionLine, test: &VersionTest) -> Vec<(Verdict, String)> {
    let change = |(point, name): (&VersionPoint, &String)| {
        let step = point.step.as_ref()?;
        Some((step.verdict, format!("{name} {}", step.change.as_ref()?)))
    };
    test.points.iter().zip(&line.short).filter_map(change).collect()
}
