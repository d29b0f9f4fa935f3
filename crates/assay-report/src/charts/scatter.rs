//! A scatter plot of two studies: relative QPS there along x, here along y, on one logarithmic scale.

use assay_verdict::{Agreement, TestBeside};

use super::paper::{Anchor, Paper};

/// Side of the square.
const SIDE: f64 = 320.0;

/// Room for the labels on the left, and for those below.
const LABELS: f64 = 52.0;

/// Room above and on the right, for labels at the ends.
const EDGE: f64 = 16.0;

/// Width and height of a plot.
pub(crate) const PLOT: (f64, f64) = (LABELS + SIDE + EDGE, EDGE + SIDE + LABELS);

/// Explains the marks.
pub(crate) fn note(tests: &[TestBeside]) -> String {
    let interval = match tests.iter().any(|test| test.ours.has_interval()) {
        true => ", with the 95 % interval of the study here",
        false => "",
    };
    format!(
        "One point for each test{interval}. On the line, both studies find the same; a filled point is a test in which \
         they differ."
    )
}

/// Ratios with a label.
const MARKS: [f64; 19] = [
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 2.0, 3.0, 4.0, 6.0, 10.0,
];

/// The least distance of two labels.
const APART: f64 = 30.0;

/// Draws the tests with this corner on the left and above. `title` says in words what a test has.
pub(crate) fn draw(
    paper: &mut Paper,
    (left, top): (f64, f64),
    tests: &[TestBeside],
    title: impl Fn(&TestBeside) -> String,
) {
    let (left, top) = (left + LABELS, top + EDGE);
    let bottom = top + SIDE;
    let values = tests.iter().flat_map(|test| [test.ours.value, test.theirs.value]);
    let (low, high) =
        values.fold((0.9_f64, 1.1_f64), |(low, high), it| (low.min(it), high.max(it)));
    let (low, high) = (low / 1.03, high * 1.03);
    let at = |ratio: f64| SIDE * ((ratio / low).ln() / (high / low).ln()).clamp(0.0, 1.0);
    let mut last = f64::NEG_INFINITY;
    for ratio in MARKS.into_iter().filter(|it| (low..=high).contains(it)) {
        let (x, y) = (left + at(ratio), bottom - at(ratio));
        paper.line("grid", (x, top), (x, bottom));
        paper.line("grid", (left, y), (left + SIDE, y));
        if at(ratio) - last > APART {
            last = at(ratio);
            let label = format!("{ratio}");
            paper.text((x, bottom + 15.0), Anchor::Middle, "small", &label);
            paper.text((left - 6.0, y + 3.5), Anchor::End, "small", &label);
        }
    }
    paper.line("one dash1", (left, bottom), (left + SIDE, top));
    let middle = 0.5 * SIDE;
    paper.text((left + middle, bottom + 34.0), Anchor::Middle, "soft", "there");
    paper.turned((left - 38.0, top + middle), -90.0, Anchor::Middle, "soft", "here");
    for test in tests {
        let [mark, color] = match test.agreement {
            Agreement::Agrees => ["hollow", "faster"],
            Agreement::Differs => ["dot", "slower"],
            Agreement::Unknown => ["hollow", "same"],
        };
        let (x, y) = (left + at(test.theirs.value), bottom - at(test.ours.value));
        paper.told(&title(test), |paper| {
            if test.ours.has_interval() && test.ours.low > 0.0 {
                let [low, high] = [test.ours.low, test.ours.high].map(|end| bottom - at(end));
                paper.line(&format!("span {color}"), (x, low), (x, high));
            }
            paper.circle(&format!("{mark} {color}"), (x, y), 4.0);
        });
    }
}
