//! Marks of ratios on a scale, in cells and captions of a page, and small drawings beside them.
//!
//! Positions are percentages of the width, so that a drawing fills its place and its marks keep their shape.

use assay_model::{Estimate, Verdict};
use assay_svg::Length::{self, Percent};
use assay_svg::{Anchor, Paper};

use super::drawing::{COLUMNS, Chart, HEIGHT};
use super::file::line_class;
use crate::document::Figure;
use crate::ratio::{label, narrow};
use crate::scale::RatioScale;

impl RatioScale {
    /// An estimate with its interval, before a wider span, such as smallest and largest.
    pub(crate) fn strip(
        self,
        estimate: Option<Estimate>,
        span: Option<(f64, f64)>,
        class: &str,
    ) -> String {
        let mut paper = Paper::new(0.0);
        ground(&mut paper, self);
        let at = |ratio| (Percent(self.x(ratio)), Percent(50.0));
        if let Some((low, high)) = span {
            paper.line("s", at(low), at(high));
        }
        let Some(estimate) = estimate else { return paper.filling(&format!("strip {class}")) };
        if span.is_none() {
            let [low, high] =
                [estimate.value.min(1.0), estimate.value.max(1.0)].map(|it| self.x(it));
            paper.rect("d", (Percent(low), 3.0), (Percent(high - low), 12.0));
        }
        // A bound has one end beyond the scale.
        let (low, high) = estimate.ends().unwrap_or((estimate.value, estimate.value));
        if estimate.ends().is_some() {
            paper.line("i", at(low), at(high));
        }
        if low < self.low {
            paper.around("a", (0.0, 0.0), |paper| paper.path("", "M7 4 1 9l6 5"));
        }
        if high > self.high {
            paper.around("a", (Percent(100.0), 0.0), |paper| paper.path("", "m-7 4 6 5-6 5"));
        }
        if self.holds(estimate.value) {
            let class = if estimate.has_interval() { "" } else { "h" };
            paper.circle(class, at(estimate.value), 3.5);
        }
        paper.filling(&format!("strip {class}"))
    }

    /// Labels of the scale; `distance` is the least between them, percent of the width.
    pub(crate) fn axis(self, distance: f64) -> String {
        let mut paper = Paper::new(0.0);
        for ratio in self.labels(distance) {
            let x = Percent(self.x(ratio));
            let class = if ratio == 1.0 { "one" } else { "" };
            paper.text((x, 11.0), Anchor::Start, class, &label(ratio));
            paper.line("", (x, 14.0), (x, Percent(100.0)));
        }
        paper.filling("axis")
    }

    /// A dot per test, stacked where they are close.
    pub(crate) fn dots(self, tests: &[TestDot]) -> String {
        let mut sorted: Vec<_> = tests.iter().collect();
        sorted.sort_by(|(_, a, _), (_, b, _)| a.value.total_cmp(&b.value));
        let column = |(_, ratio, _): &&TestDot| (self.x(ratio.value) / DOT_WIDTH).round() as i64;
        let highest = sorted.chunk_by(|a, b| column(a) == column(b)).map(<[_]>::len).max();
        let step = ((DOTS_HEIGHT - 8.0) / highest.unwrap_or(1) as f64).min(8.0);
        // To a tenth of a pixel.
        let radius = (5.0 * step).clamp(22.0, 36.0).round() / 10.0;
        let mut paper = Paper::new(0.0);
        ground(&mut paper, self);
        for stack in sorted.chunk_by(|a, b| column(a) == column(b)) {
            for (level, test) in stack.iter().enumerate() {
                let x = Percent(column(test) as f64 * DOT_WIDTH);
                dot(&mut paper, test, (x, DOTS_HEIGHT - 5.0 - step * level as f64), radius);
            }
        }
        paper.filling("dots")
    }
}

/// Name, relative QPS and verdict of a test.
type TestDot<'a> = (&'a str, Estimate, Verdict);

/// Pixels.
const DOTS_HEIGHT: f64 = 72.0;

/// Width of a stack of dots, percent of the width.
const DOT_WIDTH: f64 = 1.2;

/// A bound has an arrow towards the value.
fn dot(paper: &mut Paper, test: &TestDot, at: (Length, f64), radius: f64) {
    let (test, ratio, verdict) = test;
    let class = verdict.word();
    if ratio.is_bound() {
        let to = if ratio.low.is_finite() { 8 } else { -8 };
        let arrow = format!("M0 0H{to}m0-3v6l{}-3z", to / 2);
        paper.around(&format!("a {class}"), at, |paper| paper.path("", &arrow));
    }
    let title = format!("{test} {}", narrow(*ratio));
    paper.with_title(&title, |paper| paper.circle(class, at, radius));
}

/// Background of all charts: the band of changes too small to matter and the line of no change.
fn ground(paper: &mut Paper, scale: RatioScale) {
    let left = scale.x(1.0 / (1.0 + scale.threshold));
    let width = scale.x(1.0 + scale.threshold) - left;
    let one = Percent(scale.x(1.0));
    paper.rect("b", (Percent(left), 0.0), (Percent(width), Percent(100.0)));
    paper.line("o", (one, 0.0), (one, Percent(100.0)));
}

/// `share` is relative to the longest bar.
pub(crate) fn bar(system: usize, share: f64) -> String {
    let mut paper = Paper::new(100.0);
    paper.rect(&line_class(system), (0.0, 0.0), (100.0 * share, 1.0));
    paper.stretched(1.0)
}

pub(crate) fn small(chart: &Chart) -> Figure {
    let mut paper = Paper::new(f64::from(COLUMNS));
    for line in &chart.lines {
        paper.path(&line_class(line.system), &line.path);
    }
    Figure {
        caption: format!("{}, {}", chart.title, chart.caption),
        svg: paper.stretched(HEIGHT),
        ticks: chart.ticks.clone(),
        is_caption_below: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low, high }
    }

    fn strip(scale: RatioScale, estimate: Estimate) -> String {
        scale.strip(Some(estimate), None, "same")
    }

    #[test]
    fn values_beyond_the_scale_become_arrows() {
        let scale = RatioScale::fitting(&[estimate(1.0, 0.9, 1.1)], 0.02);
        assert!(!strip(scale, estimate(1.0, 0.95, 1.05)).contains("<path"));
        let both = strip(scale, estimate(1.0, 0.1, 9.0));
        assert_eq!(both.matches("<path").count(), 2);
        let far = strip(scale, Estimate::without_interval(0.01));
        assert!(far.contains("<path") && !far.contains("<circle"), "{far}");
    }

    #[test]
    fn a_bound_is_a_line_to_the_end_of_the_scale() {
        let bound = Estimate::at_most(0.002);
        let scale = RatioScale::fitting(&[bound], 0.02);
        let drawn = strip(scale, bound);
        assert!(drawn.contains(r#"class="i" x1="3%""#), "{drawn}");
        assert!(drawn.contains("M7 4") && !drawn.contains("m-7 4"), "{drawn}");
        let dots = scale.dots(&[("x", bound, Verdict::Slower)]);
        assert!(dots.contains("x ≤1/500") && dots.contains("M0 0H-8"), "{dots}");
    }

    #[test]
    fn without_interval_the_dot_is_hollow_and_alone() {
        let scale = RatioScale::fitting(&[estimate(1.0, 0.9, 1.1)], 0.02);
        let alone = strip(scale, Estimate::without_interval(1.0));
        assert!(alone.contains(r#"<circle class="h""#) && !alone.contains(r#"class="i""#));
    }
}
