//! A scatter plot of two studies: relative QPS there along x, here along y, on one logarithmic scale.

use assay_svg::{Anchor, Paper, SMALL, width};
use assay_verdict::{StudyAgreement, TestBeside};

use crate::ratio::label;

const SIDE: f64 = 320.0;

const LABELS: f64 = 52.0;

const EDGE: f64 = 16.0;

pub(crate) const PLOT: (f64, f64) = (LABELS + SIDE + EDGE, EDGE + SIDE + LABELS);

pub(crate) fn note(tests: &[TestBeside]) -> String {
    let interval = match tests.iter().any(|test| test.ours.has_interval()) {
        true => ", with the 95% interval of the study here",
        false => "",
    };
    format!(
        "One point for each test{interval}. On the line, both studies find the same; a filled point is a test in which \
         they differ. Points have names where there is room; all of them are in the table."
    )
}

type PointName<'a> = (&'a TestBeside, (f64, f64), Anchor);

/// Names of the points with room beside them, those in which the studies differ first.
fn names<'a>(
    tests: &'a [TestBeside],
    place: impl Fn(&TestBeside) -> (f64, f64),
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
) -> Vec<PointName<'a>> {
    const DOT: f64 = 5.0;
    let mut taken: Vec<[f64; 4]> =
        tests.iter().map(&place).map(|(x, y)| [x - DOT, y - DOT, x + DOT, y + DOT]).collect();
    let mut ordered: Vec<&TestBeside> = tests.iter().collect();
    let distance = |test: &TestBeside| test.quotient.value.ln().abs();
    ordered.sort_by(|one, other| {
        let differs = |it: &TestBeside| it.agreement != StudyAgreement::Differs;
        differs(one).cmp(&differs(other)).then(distance(other).total_cmp(&distance(one)))
    });
    let mut named = Vec::new();
    for test in ordered {
        let ((x, y), wide) = (place(test), width(test.cell.test.name(), SMALL));
        let sides = [
            (x + DOT + 2.0, y + 3.5, Anchor::Start),
            (x - DOT - 2.0, y + 3.5, Anchor::End),
            (x, y - DOT - 3.0, Anchor::Middle),
            (x, y + DOT + SMALL, Anchor::Middle),
        ];
        let free = sides.into_iter().find_map(|(x, y, anchor)| {
            let begin = match anchor {
                Anchor::Start => x,
                Anchor::Middle => x - 0.5 * wide,
                Anchor::End => x - wide,
            };
            let spot = [begin, y - 0.8 * SMALL, begin + wide, y + 0.2 * SMALL];
            let [x1, y1, x2, y2] = spot;
            let is_inside = x1 >= left && x2 <= right && y1 >= top && y2 <= bottom;
            let overlaps =
                |[a1, b1, a2, b2]: &[f64; 4]| x1 < *a2 && *a1 < x2 && y1 < *b2 && *b1 < y2;
            (is_inside && !taken.iter().any(overlaps)).then_some(((x, y), anchor, spot))
        });
        if let Some((at, anchor, spot)) = free {
            taken.push(spot);
            named.push((test, at, anchor));
        }
    }
    named
}

const MARKS: [f64; 31] = [
    1e-5, 1e-4, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1,
    1.2, 1.4, 1.6, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e4, 1e5,
];

const APART: f64 = 30.0;

/// `left`, `top` is the corner of the plot; `title` describes a test.
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
            let label = if ratio < 0.1 { label(ratio) } else { format!("{ratio}") };
            paper.text((x, bottom + 15.0), Anchor::Middle, "small", &label);
            paper.text((left - 6.0, y + 3.5), Anchor::End, "small", &label);
        }
    }
    paper.line("one dash1", (left, bottom), (left + SIDE, top));
    let middle = 0.5 * SIDE;
    paper.text((left + middle, bottom + 34.0), Anchor::Middle, "soft", "there");
    paper.turned((left - 38.0, top + middle), -90.0, Anchor::Middle, "soft", "here");
    let place = |test: &TestBeside| (left + at(test.theirs.value), bottom - at(test.ours.value));
    for (test, at, anchor) in names(tests, place, (left, left + SIDE), (top, bottom)) {
        paper.text(at, anchor, "small", test.cell.test.name());
    }
    for test in tests {
        let [mark, color] = match test.agreement {
            StudyAgreement::Agrees => ["hollow", "faster"],
            StudyAgreement::Differs => ["dot", "slower"],
            StudyAgreement::TooWide | StudyAgreement::Unknown => ["hollow", "same"],
        };
        let (x, y) = place(test);
        paper.with_title(&title(test), |paper| {
            if test.ours.has_interval() && test.ours.low > 0.0 {
                let [low, high] = [test.ours.low, test.ours.high].map(|end| bottom - at(end));
                paper.line(&format!("span {color}"), (x, low), (x, high));
            }
            paper.circle(&format!("{mark} {color}"), (x, y), 4.0);
        });
    }
}
