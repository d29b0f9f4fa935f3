//! Changes between the versions of a watched product: `assay watch`.

mod rows;
mod watched;
mod words;

use assay_svg::Paper;
use assay_verdict::TrendLine;

use crate::bisect::{ratio_heading, ratio_of};
use crate::charts::{ChartFile, noted, stem, trend as chart};
use crate::data::json;
use crate::document::{Block, Column, Document, Heading, Row, Table, Wish};
use crate::number::confidence;
use crate::page::{Content, Page};
use crate::ratio::Quotient;

pub use watched::{Watched, WatchedChange, WatchedLine, WatchedSuspicion, WatchedValue};

#[must_use]
pub fn watched<'a>(watch: &'a Watched<'a>) -> Page<'a> {
    Page::new(watch)
}

impl Content for &Watched<'_> {
    fn document(&self, _: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        let mut blocks = vec![Block::Answer(vec![words::answer(self)])];
        blocks.extend(Block::notes(self.suspected().map(|it| words::suspicion(self, it))));
        blocks.extend(Block::notes(self.notes.clone()));
        blocks.extend(changes(self));
        blocks.push(newest(self));
        blocks.extend(self.lines.iter().flat_map(|line| curve(self, line)));
        then(&Document {
            title: format!("{}: what changed", self.range),
            heading: Heading {
                before: self.range.clone(),
                small: "what changed",
                ..Heading::default()
            },
            blocks,
            ..Document::default()
        });
    }

    fn json(&self) -> Option<String> {
        Some(json::text(&rows::document(self)))
    }

    fn charts(&self) -> Vec<ChartFile> {
        let files = self.lines.iter().map(|line| {
            let trend = trend(self, line);
            let message = trend
                .points
                .iter()
                .map(|it| format!("{}: {}", it.version, Quotient(Some(it.rqps))));
            let message: Vec<String> = message.collect();
            let name = [line.test.clone(), line.measure.word().to_owned()].map(Some);
            let size = (chart::WIDTH, chart::TALL);
            let heading = words::title(line);
            let file = noted(
                stem("watch", name),
                heading,
                &[note(line)],
                size,
                &message,
                |paper, corner| {
                    chart::draw(paper, corner, &trend, |number| is_change(line, number));
                },
            );
            chart::is_drawn(&trend).then_some(file)
        });
        files.flatten().collect()
    }
}

fn changes(watch: &Watched<'_>) -> Vec<Block<'static>> {
    let all = watch.changes();
    if all.is_empty() {
        return Vec::new();
    }
    let rows = all.iter().map(|(line, change)| {
        let title = watch.versions.get(change.at).and_then(|it| it.title.clone());
        Row::new([
            if change.is_new { "new".to_owned() } else { String::new() },
            watch.name(change.at).to_owned(),
            line.test.clone(),
            words::measured(line.measure).to_owned(),
            words::change(change.step.ratio),
            watch.name(change.after).to_owned(),
            confidence(change.step.probability),
            title.unwrap_or_default(),
        ])
    });
    let columns = vec![
        Column::words(""),
        Column::words(if watch.is_of_commits { "commit" } else { "version" }),
        Column::words("test"),
        Column::words("measure"),
        Column::numbers("change"),
        Column::words("relative to"),
        Column::numbers("probability"),
        Column::words(""),
    ];
    let mut blocks = vec![Block::Table(Table::new(columns, rows).flush())];
    blocks.extend(all.first().map(|(_, change)| Block::Command {
        before: "how the newest one was found: ".to_owned(),
        command: format!("assay resume {}", change.search),
        after: String::new(),
    }));
    Block::section("changes that were found", blocks)
}

fn newest(watch: &Watched<'_>) -> Block<'static> {
    let rows = watch.lines.iter().filter_map(|line| {
        let last = line.values.last()?;
        let before = line.values.iter().rev().nth(1).filter(|it| it.version > 0);
        let quotient = before.map(|before| words::quotient(last.ratio, before.ratio));
        Some(Row::new([
            line.test.clone(),
            line.setup.to_string(),
            words::measured(line.measure).to_owned(),
            watch.name(last.version).to_owned(),
            ratio_of(line.measure, Some(last.ratio)),
            before.map(|it| watch.name(it.version).to_owned()).unwrap_or_default(),
            ratio_of(line.measure, quotient),
        ]))
    });
    let baseline = watch.name(0);
    let columns = vec![
        Column::words("test"),
        Column::words("clients × tables × rows"),
        Column::words("measure"),
        Column::words("newest"),
        Column::numbers(format!("relative to {baseline}")),
        Column::words("before"),
        Column::numbers("relative to that"),
    ];
    Block::Table(Table::new(columns, rows).flush())
}

fn curve(watch: &Watched<'_>, line: &WatchedLine) -> Vec<Block<'static>> {
    let trend = trend(watch, line);
    if !chart::is_drawn(&trend) {
        return Vec::new();
    }
    let mut paper = Paper::new(chart::WIDTH);
    chart::draw(&mut paper, (0.0, 0.0), &trend, |number| is_change(line, number));
    let note = note(line);
    let svg = paper.inline(chart::TALL, &note);
    Block::section(words::title(line), vec![Block::Drawing { class: "trend", svg, note }])
}

fn note(line: &WatchedLine) -> String {
    let what = crate::words::capital(ratio_heading(line.measure));
    format!(
        "{what} of the versions that were measured, in their order; the axis does not start at 0. Bars are 95% \
         intervals. A diamond marks the first measured version after a change."
    )
}

fn is_change(line: &WatchedLine, number: usize) -> bool {
    let at = |number: usize| line.values.get(number).map(|it| it.version);
    let Some(version) = at(number) else { return false };
    let before = number.checked_sub(1).and_then(at).unwrap_or(0);
    line.changes.iter().any(|it| before < it.at && it.at <= version)
}

fn trend(watch: &Watched<'_>, line: &WatchedLine) -> TrendLine {
    let values = line.values.iter().map(|it| (watch.name(it.version), it.ratio));
    chart::of_versions(line.setup, values)
}

#[cfg(test)]
mod tests;
