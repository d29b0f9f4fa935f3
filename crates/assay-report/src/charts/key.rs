//! Keys of charts, which name the system of each line or bar.

use assay_svg::{Anchor, MARGIN, Paper, SIZE, fitted, width};

use super::colours::{bar_class, line_class};

/// Returns the position below the key.
pub(super) fn key<S: AsRef<str>>(paper: &mut Paper, top: f64, systems: &[S]) -> f64 {
    key_of(paper, top, systems, |paper, system, (x, y)| {
        let class = format!("curve {}", line_class(system));
        paper.line(&class, (x, y - 4.0), (x + 20.0, y - 4.0));
    })
}

/// Returns the position below the key.
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
