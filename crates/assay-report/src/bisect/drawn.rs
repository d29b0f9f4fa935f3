//! The curve of versions: the chart of a trend, with the versions of a range.

use assay_svg::Paper;
use assay_verdict::TrendLine;

use super::found::{Bisection, SearchedRange};
use super::words;
use crate::charts::{ChartFile, noted, stem, trend as chart};
use crate::document::Block;
use crate::ratio::Quotient;

pub(super) fn inline(search: &Bisection<'_>, range: &SearchedRange) -> Option<Block<'static>> {
    let (line, places) = line(search, range);
    let mut paper = Paper::new(chart::WIDTH);
    chart::draw(&mut paper, (0.0, 0.0), &line, |number| is_step(range, &places, number));
    let note = note(search);
    let svg = chart::is_drawn(&line).then(|| paper.inline(chart::TALL, &note))?;
    Some(Block::Drawing { class: "trend", svg, note })
}

pub(super) fn charts(search: &Bisection<'_>) -> Vec<ChartFile> {
    let files = search.ranges.iter().zip(1..).map(|(range, number)| {
        let (line, places) = line(search, range);
        let heading = words::answer(search);
        let message: Vec<String> = line
            .points
            .iter()
            .map(|it| format!("{}: {}", it.version, Quotient(Some(it.rqps))))
            .collect();
        let name = stem("bisect", [Some(search.test.to_owned()), Some(number.to_string())]);
        let size = (chart::WIDTH, chart::TALL);
        let file = noted(name, heading, &[note(search)], size, &message, |paper, corner| {
            chart::draw(paper, corner, &line, |number| is_step(range, &places, number));
        });
        chart::is_drawn(&line).then_some(file)
    });
    files.flatten().collect()
}

fn note(search: &Bisection<'_>) -> String {
    let ratio = words::ratio_heading(search.measure);
    let ratio = crate::words::capital(ratio);
    format!(
        "{ratio} of the versions that were compared, in their order; the axis does not start at 0. Bars are 95% \
         intervals. A diamond marks the first version after a change."
    )
}

fn line(search: &Bisection<'_>, range: &SearchedRange) -> (TrendLine, Vec<usize>) {
    let compared = range.versions.iter().enumerate();
    let compared: Vec<_> = compared.filter_map(|(at, it)| Some((at, it, it.ratio?))).collect();
    let values = compared.iter().map(|(_, it, ratio)| (it.version.name.as_str(), *ratio));
    let line = chart::of_versions(search.setup, values);
    (line, compared.into_iter().map(|(at, _, _)| at).collect())
}

fn is_step(range: &SearchedRange, places: &[usize], number: usize) -> bool {
    places.get(number).is_some_and(|at| range.steps.iter().any(|step| step.at == *at))
}
