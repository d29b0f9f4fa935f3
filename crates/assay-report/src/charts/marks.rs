//! Marks of ratios on a scale, in cells and captions of a page, and small drawings beside them.
//!
//! Positions are percentages of the width, so that a drawing fills the place it is given and its marks keep their
//! shape.

use std::fmt::Write as _;

use assay_model::Estimate;

use super::paper::escaped;
use crate::document::Figure;
use crate::ratio::{label, narrow};
use crate::scale::Scale;
use crate::view::answer::TestRatio;
use crate::view::drawing::Chart;
use crate::view::groups::GroupRow;
use crate::view::tests::Measured;

/// Marks on a scale.
impl Scale {
    /// The relative QPS of a system in one test; empty where that failed.
    pub(crate) fn test(self, measured: &Measured) -> String {
        strip(self, measured.rqps_unless_failed().0, None, measured.verdict.word())
    }

    /// The median of a group, before its span.
    pub(crate) fn group(self, row: &GroupRow) -> String {
        let class = match row.median.0 {
            Some(median) if median.high < 1.0 => "slower",
            Some(median) if median.low > 1.0 => "faster",
            _ => "same",
        };
        strip(self, row.median.0, Some(row.span), class)
    }

    /// The labels of the scale, whose least distance is a percentage of its width.
    pub(crate) fn axis(self, distance: f64) -> String {
        let labels = self.labels(distance).into_iter().map(|ratio| {
            let (x, label) = (self.x(ratio), label(ratio));
            let class = if ratio == 1.0 { r#" class="one""# } else { "" };
            format!(
                r#"<text x="{x:.1}%" y="11"{class}>{label}</text><line x1="{x:.1}%" x2="{x:.1}%" y1="14" y2="100%"/>"#
            )
        });
        format!(r#"<svg class="axis" aria-hidden="true">{}</svg>"#, labels.collect::<String>())
    }

    /// Many ratios at once: a dot for each test, stacked where they are close.
    pub(crate) fn dots(self, tests: &[TestRatio]) -> String {
        let mut sorted: Vec<_> = tests.iter().collect();
        sorted.sort_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
        let column = |test: &&TestRatio| (self.x(test.ratio.value) / DOT_WIDTH).round() as i64;
        let highest = sorted.chunk_by(|a, b| column(a) == column(b)).map(<[_]>::len).max();
        let step = ((DOTS_HEIGHT - 8.0) / highest.unwrap_or(1) as f64).min(8.0);
        let radius = (0.5 * step).clamp(2.2, 3.6);
        let mut svg = format!(r#"<svg class="dots" aria-hidden="true">{}"#, ground(self));
        for stack in sorted.chunk_by(|a, b| column(a) == column(b)) {
            for (level, test) in stack.iter().enumerate() {
                let x = column(test) as f64 * DOT_WIDTH;
                svg += &dot(test, (x, DOTS_HEIGHT - 5.0 - step * level as f64), radius);
            }
        }
        svg + "</svg>"
    }
}

/// Height of a drawing of dots, pixels.
const DOTS_HEIGHT: f64 = 72.0;

/// Width of a stack of dots, percent of the width.
const DOT_WIDTH: f64 = 1.2;

/// The dot of a test. That of a bound has an arrow that points to where the value is.
fn dot(TestRatio { test, ratio, verdict }: &TestRatio, (x, y): (f64, f64), radius: f64) -> String {
    let class = verdict.word();
    let arrow = ratio.is_bound().then(|| {
        let to = if ratio.low.is_finite() { 8 } else { -8 };
        format!(
            r#"<svg class="a {class}" x="{x:.1}%" y="{y:.0}"><path d="M0 0H{to}m0-3v6l{}-3z"/></svg>"#,
            to / 2
        )
    });
    let (arrow, test, ratio) = (arrow.unwrap_or_default(), escaped(test), narrow(*ratio));
    let place = format!(r#"cx="{x:.1}%" cy="{y:.0}" r="{radius:.1}""#);
    format!(r#"{arrow}<circle class="{class}" {place}><title>{test} {ratio}</title></circle>"#)
}

/// The background of all charts: the band of changes too small to matter and the line of no change.
fn ground(scale: Scale) -> String {
    let left = scale.x(1.0 / (1.0 + scale.threshold));
    let width = scale.x(1.0 + scale.threshold) - left;
    let one = scale.x(1.0);
    let band = format!(r#"<rect class="b" x="{left:.1}%" width="{width:.1}%" height="100%"/>"#);
    band + &format!(r#"<line class="o" x1="{one:.1}%" x2="{one:.1}%" y2="100%"/>"#)
}

/// One estimate with its interval, before a wider span, such as smallest and largest.
fn strip(
    scale: Scale,
    estimate: Option<Estimate>,
    span: Option<(f64, f64)>,
    class: &str,
) -> String {
    let line = |class: &str, (low, high): (f64, f64)| {
        let (x1, x2) = (scale.x(low), scale.x(high));
        format!(r#"<line class="{class}" x1="{x1:.1}%" x2="{x2:.1}%" y1="50%" y2="50%"/>"#)
    };
    let mut marks = span.map(|span| line("s", span)).unwrap_or_default();
    if let Some(estimate) = estimate {
        if span.is_none() {
            let (x1, x2) = (scale.x(estimate.value.min(1.0)), scale.x(estimate.value.max(1.0)));
            let width = x2 - x1;
            // Writing to memory cannot fail.
            let _ = write!(
                marks,
                r#"<rect class="d" x="{x1:.1}%" width="{width:.1}%" y="3" height="12"/>"#
            );
        }
        // A bound has one end beyond the scale.
        let (low, high) = estimate.ends().unwrap_or((estimate.value, estimate.value));
        marks += &estimate.ends().map(|ends| line("i", ends)).unwrap_or_default();
        if low < scale.low {
            marks += r#"<svg class="a"><path d="M7 4 1 9l6 5"/></svg>"#;
        }
        if high > scale.high {
            marks += r#"<svg class="a" x="100%"><path d="m-7 4 6 5-6 5"/></svg>"#;
        }
        if scale.holds(estimate.value) {
            let hollow = if estimate.has_interval() { "" } else { r#" class="h""# };
            let x = scale.x(estimate.value);
            let _ = write!(marks, r#"<circle{hollow} cx="{x:.1}%" cy="50%" r="3.5"/>"#);
        }
    }
    format!(r#"<svg class="strip {class}" aria-hidden="true">{}{marks}</svg>"#, ground(scale))
}

/// A bar, whose length is a part of the longest.
pub(crate) fn bar(system: usize, share: f64) -> String {
    let (system, width) = (system % 6, 100.0 * share);
    stretched(
        "0 0 100 1",
        &format!(r#"<rect class="line{system}" width="{width:.1}" height="1"/>"#),
    )
}

/// Marks that fill the place they are given.
fn stretched(area: &str, marks: &str) -> String {
    let fill = r#"preserveAspectRatio="none" aria-hidden="true""#;
    format!(r#"<svg viewBox="{area}" {fill}>{marks}</svg>"#)
}

/// A quantity over time or client counts as a small drawing.
pub(crate) fn small(chart: &Chart) -> Figure {
    let lines = chart.lines.iter();
    let lines = lines.map(|it| format!(r#"<path class="line{}" d="{}"/>"#, it.system % 6, it.path));
    Figure {
        caption: format!("{}, {}", chart.title, chart.caption),
        svg: stretched("0 0 240 60", &lines.collect::<String>()),
        ticks: chart.ticks.clone(),
        is_caption_below: false,
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Verdict;

    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low, high }
    }

    fn strip(scale: Scale, estimate: Estimate) -> String {
        super::strip(scale, Some(estimate), None, "same")
    }

    #[test]
    fn values_beyond_the_scale_become_arrows() {
        let scale = Scale::fitting(&[estimate(1.0, 0.9, 1.1)], 0.02);
        assert!(!strip(scale, estimate(1.0, 0.95, 1.05)).contains("<path"));
        let both = strip(scale, estimate(1.0, 0.1, 9.0));
        assert_eq!(both.matches("<path").count(), 2);
        let far = strip(scale, Estimate::without_interval(0.01));
        assert!(far.contains("<path") && !far.contains("<circle"), "{far}");
    }

    #[test]
    fn a_bound_is_a_line_to_the_end_of_the_scale() {
        let bound = Estimate::at_most(0.002);
        let scale = Scale::fitting(&[bound], 0.02);
        let drawn = strip(scale, bound);
        assert!(drawn.contains(r#"class="i" x1="3.0%""#), "{drawn}");
        assert!(drawn.contains("M7 4") && !drawn.contains("m-7 4"), "{drawn}");
        let tests = [TestRatio { test: "x", ratio: bound, verdict: Verdict::Slower }];
        let dots = scale.dots(&tests);
        assert!(dots.contains("x ≤1/500") && dots.contains("M0 0H-8"), "{dots}");
    }

    #[test]
    fn without_interval_the_dot_is_hollow_and_alone() {
        let scale = Scale::fitting(&[estimate(1.0, 0.9, 1.1)], 0.02);
        let alone = strip(scale, Estimate::without_interval(1.0));
        assert!(alone.contains(r#"<circle class="h""#) && !alone.contains(r#"class="i""#));
    }
}
