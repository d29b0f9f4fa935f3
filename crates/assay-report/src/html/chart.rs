//! Charts of ratios as inline SVG: the marks drawn on the scale of the page.
//!
//! Positions are percentages of the width, so that a chart fills the place it is given and its marks keep their shape.
//! Nothing but numbers and names of tests is written. Names may come from anywhere, so they are escaped here.

use std::fmt;

use askama::filters::{Html, HtmlSafe, escape};
use assay_model::Estimate;

use crate::ratio::{label, narrow};
use crate::scale::Scale;
use crate::view::answer::TestRatio;
use crate::view::groups::GroupRow;
use crate::view::tests::Measured;

/// Marks on a scale.
impl Scale {
    /// The relative QPS of a system in one test; empty where that failed.
    pub(crate) fn test(&self, measured: &Measured) -> Strip {
        let estimate = measured.rqps_unless_failed().0;
        Strip { scale: *self, estimate, span: None, class: measured.verdict.word() }
    }

    /// The median of a group, before its span.
    pub(crate) fn group(&self, row: &GroupRow) -> Strip {
        let class = match row.median.0 {
            Some(median) if median.high < 1.0 => "slower",
            Some(median) if median.low > 1.0 => "faster",
            _ => "same",
        };
        Strip { scale: *self, estimate: row.median.0, span: Some(row.span), class }
    }

    /// A dot for each test.
    pub(crate) fn dots<'a>(&self, tests: &'a [TestRatio<'a>]) -> Dots<'a> {
        Dots { scale: *self, tests }
    }
}

/// The background of all charts: the band of changes too small to matter and the line of no change.
struct Ground(Scale);

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = self.0;
        let left = scale.x(1.0 / (1.0 + scale.threshold));
        let width = scale.x(1.0 + scale.threshold) - left;
        let one = scale.x(1.0);
        write!(f, r#"<rect class="b" x="{left:.1}%" width="{width:.1}%" height="100%"/>"#)?;
        write!(f, r#"<line class="o" x1="{one:.1}%" x2="{one:.1}%" y2="100%"/>"#)
    }
}

/// The labels of a scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    /// Least distance of two labels, percent of the width.
    pub(crate) distance: f64,
}

impl HtmlSafe for Axis {}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"<svg class="axis" aria-hidden="true">"#)?;
        for ratio in self.scale.labels(self.distance) {
            let x = self.scale.x(ratio);
            let class = if ratio == 1.0 { r#" class="one""# } else { "" };
            write!(f, r#"<text x="{x:.1}%" y="11"{class}>{}</text>"#, label(ratio))?;
            write!(f, r#"<line x1="{x:.1}%" x2="{x:.1}%" y1="14" y2="100%"/>"#)?;
        }
        f.write_str("</svg>")
    }
}

/// One estimate with its interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strip {
    scale: Scale,
    /// None where nothing was measured.
    estimate: Option<Estimate>,
    /// A wider span behind it, such as smallest and largest.
    span: Option<(f64, f64)>,
    /// Class of its marks.
    class: &'static str,
}

impl HtmlSafe for Strip {}

impl fmt::Display for Strip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = self.scale;
        write!(f, r#"<svg class="strip {}" aria-hidden="true">{}"#, self.class, Ground(scale))?;
        let line = |f: &mut fmt::Formatter<'_>, class, low: f64, high: f64| {
            let (x1, x2) = (scale.x(low), scale.x(high));
            write!(f, r#"<line class="{class}" x1="{x1:.1}%" x2="{x2:.1}%" y1="50%" y2="50%"/>"#)
        };
        if let Some((low, high)) = self.span {
            line(f, "s", low, high)?;
        }
        if let Some(estimate) = self.estimate {
            if self.span.is_none() {
                let (x1, x2) = (scale.x(estimate.value.min(1.0)), scale.x(estimate.value.max(1.0)));
                let width = x2 - x1;
                write!(
                    f,
                    r#"<rect class="d" x="{x1:.1}%" width="{width:.1}%" y="3" height="12"/>"#
                )?;
            }
            // A bound has one end beyond the scale.
            let (low, high) = estimate.ends().unwrap_or((estimate.value, estimate.value));
            if estimate.ends().is_some() {
                line(f, "i", low, high)?;
            }
            if low < scale.low {
                f.write_str(r#"<svg class="a"><path d="M7 4 1 9l6 5"/></svg>"#)?;
            }
            if high > scale.high {
                f.write_str(r#"<svg class="a" x="100%"><path d="m-7 4 6 5-6 5"/></svg>"#)?;
            }
            if scale.holds(estimate.value) {
                let hollow = if estimate.has_interval() { "" } else { r#" class="h""# };
                let x = scale.x(estimate.value);
                write!(f, r#"<circle{hollow} cx="{x:.1}%" cy="50%" r="3.5"/>"#)?;
            }
        }
        f.write_str("</svg>")
    }
}

/// Height of the dots chart, pixels.
const DOTS_HEIGHT: f64 = 72.0;

/// Width of a stack of dots, percent of the width.
const DOT_WIDTH: f64 = 1.2;

/// Many ratios at once: one dot each, stacked where they are close.
pub(crate) struct Dots<'a> {
    scale: Scale,
    tests: &'a [TestRatio<'a>],
}

impl HtmlSafe for Dots<'_> {}

impl fmt::Display for Dots<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<_> = self.tests.iter().collect();
        sorted.sort_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
        let columns: Vec<i64> = sorted
            .iter()
            .map(|test| (self.scale.x(test.ratio.value) / DOT_WIDTH).round() as i64)
            .collect();
        let highest = columns.chunk_by(|a, b| a == b).map(<[i64]>::len).max().unwrap_or(1);
        let step = ((DOTS_HEIGHT - 8.0) / highest as f64).min(8.0);
        let radius = (0.5 * step).clamp(2.2, 3.6);
        write!(f, r#"<svg class="dots" aria-hidden="true">{}"#, Ground(self.scale))?;
        let mut level = 0;
        for (index, TestRatio { test, ratio, verdict }) in sorted.into_iter().enumerate() {
            level = if index > 0 && columns[index] == columns[index - 1] { level + 1 } else { 0 };
            let x = columns[index] as f64 * DOT_WIDTH;
            let y = DOTS_HEIGHT - 5.0 - step * f64::from(level);
            let class = verdict.word();
            if ratio.is_bound() {
                // Its arrow points to where the value is.
                let to = if ratio.low.is_finite() { 8 } else { -8 };
                write!(f, r#"<svg class="a {class}" x="{x:.1}%" y="{y:.0}">"#)?;
                write!(f, r#"<path d="M0 0H{to}m0-3v6l{}-3z"/></svg>"#, to / 2)?;
            }
            write!(f, r#"<circle class="{class}" cx="{x:.1}%" cy="{y:.0}" r="{radius:.1}">"#)?;
            let Ok(test) = escape(test, Html);
            write!(f, "<title>{test} {}</title></circle>", narrow(*ratio))?;
        }
        f.write_str("</svg>")
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
        Strip { scale, estimate: Some(estimate), span: None, class: "same" }.to_string()
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
        let dots = scale.dots(&tests).to_string();
        assert!(dots.contains("x ≤1/500") && dots.contains("M0 0H-8"), "{dots}");
    }

    #[test]
    fn without_interval_the_dot_is_hollow_and_alone() {
        let scale = Scale::fitting(&[estimate(1.0, 0.9, 1.1)], 0.02);
        let alone = strip(scale, Estimate::without_interval(1.0));
        assert!(alone.contains(r#"<circle class="h""#) && !alone.contains(r#"class="i""#));
    }
}
