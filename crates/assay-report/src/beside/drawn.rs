//! The scatter plots of a study beside another one.

use assay_svg::Paper;
use assay_verdict::TestBeside;

use super::words::{cells, heading};
use crate::charts::{ChartFile, noted, scatter, stem};
use crate::view::beside::{Beside, Pair};

fn title(test: &TestBeside) -> String {
    let [name, here, there, ..] = cells(test, false);
    format!("{name}: {here} here, {there} there")
}

pub(super) fn inline(pair: &Pair) -> String {
    let (width, height) = scatter::PLOT;
    let mut paper = Paper::new(width);
    scatter::draw(&mut paper, (0.0, 0.0), &pair.found.tests, title);
    let label = "Relative QPS of every test, here over there; the table below has the numbers";
    paper.inline(height, label)
}

pub(super) fn charts(beside: &Beside) -> Vec<ChartFile> {
    let pairs = beside.pairs.iter().filter(|pair| !pair.found.tests.is_empty());
    pairs.map(chart).collect()
}

fn chart(pair: &Pair) -> ChartFile {
    let [_, other] = &pair.names;
    let headline = format!("{other}: relative QPS here and there");
    let notes =
        [format!("{}.", heading(pair)), pair.answer.clone(), scatter::note(&pair.found.tests)];
    let message: Vec<String> = pair.found.tests.iter().map(title).collect();
    let name = stem("beside", [Some(other.clone())]);
    noted(name, headline, &notes, scatter::PLOT, &message, |paper, corner| {
        scatter::draw(paper, corner, &pair.found.tests, title);
    })
}
