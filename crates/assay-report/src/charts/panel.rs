//! Common parts of panels of ratios: the ground, and curves of estimates.

use assay_model::Estimate;
use assay_svg::{Anchor, Paper};

use crate::ratio::label;
use crate::scale::Scale;

/// The band of changes too small to matter, the line of no change, and the labels of the scale, whose least distance is
/// a percentage of its height.
pub(super) fn ground(
    paper: &mut Paper,
    scale: Scale,
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
pub(super) struct Curve {
    pub(super) curve: String,
    pub(super) bars: String,
    pub(super) points: String,
}

impl Curve {
    /// Missing values leave a gap in the curve.
    pub(super) fn of(
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
