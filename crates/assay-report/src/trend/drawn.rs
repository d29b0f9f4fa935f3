//! The charts of a trend.

use assay_svg::Paper;
use assay_verdict::TrendLine;

use super::words::{Trend, changes, is_shift, row, terms};
use crate::charts::{ChartFile, noted, stem, trend as chart};

pub(super) fn inline(line: &TrendLine) -> Option<String> {
    let mut paper = Paper::new(chart::WIDTH);
    chart::draw(&mut paper, (0.0, 0.0), line, |number| is_shift(line, number));
    chart::is_drawn(line).then(|| paper.inline(chart::TALL, &chart::note(line)))
}

pub(super) fn charts(trend: &Trend<'_>) -> Vec<ChartFile> {
    let lines = trend.lines.iter().zip(1..).filter(|(line, _)| chart::is_drawn(line));
    lines.map(|(line, number)| file(trend, line, number)).collect()
}

fn file(trend: &Trend<'_>, line: &TrendLine, number: u32) -> ChartFile {
    let [title, rest @ ..] = terms(line);
    let heading = format!("{}: {title}", trend.test);
    let notes = [rest.join("; "), changes(line).join("; "), chart::note(line)];
    let notes: Vec<String> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    let message = line.points.iter().map(|point| {
        let [version, when, rqps, verdict, ..] = row(point);
        format!("{version}, {when}: {rqps} {verdict}")
    });
    let message: Vec<String> = message.collect();
    let name = stem("trend", [Some(trend.test.to_owned()), Some(number.to_string())]);
    noted(name, heading, &notes, (chart::WIDTH, chart::TALL), &message, |paper, corner| {
        chart::draw(paper, corner, line, |number| is_shift(line, number));
    })
}
