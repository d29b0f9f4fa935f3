//! The charts of the Insert Benchmark: the rates of its steps as bars, and each step second by second.

use assay_svg::{Anchor, MARGIN, Paper, SIZE, fitted, width};

use super::drawing::Chart;
use super::file::{ChartFile, Place, bar_class, file, stem};
use super::sheet::{SECONDS, Sheet};
use crate::sections::insert_bench::{InsertBenchTables, StepBars, StepCharts};
use crate::sections::study::JudgedStudy;

const BAR: f64 = 17.0;

const LONGEST: f64 = 360.0;

pub(super) fn charts(study: &JudgedStudy) -> Vec<ChartFile> {
    let Some(bench) = InsertBenchTables::new(study) else { return Vec::new() };
    let mut charts: Vec<ChartFile> = bars(&bench).into_iter().collect();
    charts.extend(bench.charts.iter().map(|step| by_second(&bench, step)));
    charts
}

fn bars(bench: &InsertBenchTables) -> Option<ChartFile> {
    let all = || bench.bars.iter().flat_map(|step| &step.bars);
    let names = all().map(|bar| width(&bar.name, SIZE)).fold(0.0, f64::max).min(320.0);
    let numbers = all().map(|bar| width(&bar.text, SIZE)).reduce(f64::max)?;
    let left = MARGIN + names + 12.0;
    let title = "Insert Benchmark: average rates of every step";
    let note = "Each step has a scale of its own, from 0. Intervals, where they are known, are in the table of rates.";
    let wide = left + LONGEST + 8.0 + numbers + MARGIN;
    let (mut paper, mut y) = Paper::titled(wide.max(560.0), title, &[note.to_owned()]);
    let mut message = Vec::new();
    for StepBars { title, bars } in &bench.bars {
        y += 24.0;
        paper.text((MARGIN, y), Anchor::Start, "", title);
        y += 6.0;
        for bar in bars {
            let length = LONGEST * bar.share;
            let baseline = y + 0.5 * BAR + 4.0;
            let name = fitted(&bar.name, SIZE, names + 1.0);
            paper.text((MARGIN, baseline), Anchor::Start, "soft", &name);
            let class = bar_class(bar.system);
            paper.rect(&class, (left, y + 2.0), (length, BAR - 4.0));
            let end = (left + length + 8.0, baseline);
            paper.text(end, Anchor::Start, "", &bar.text);
            message.push(format!("{title}, {}: {}", bar.name, bar.text));
            y += BAR;
        }
    }
    Some(ChartFile {
        name: "insert-bench-rates".to_owned(),
        alt: format!("{title}: {}", bench.systems.join(", ")),
        svg: file(paper, y + MARGIN, title, &format!("{note} {}.", message.join("; "))),
        place: Place::InsertBench,
    })
}

fn by_second(bench: &InsertBenchTables, step: &StepCharts) -> ChartFile {
    let heading = |chart: &Chart| format!("{}, {}", chart.title, chart.caption);
    Sheet {
        name: stem("insert-bench", [Some(step.step.to_owned())]),
        title: format!("Insert Benchmark, {}, second by second", step.step),
        note: SECONDS,
        systems: &bench.systems,
        charts: step.charts.iter().map(|chart| (heading(chart), chart)).collect(),
        place: Place::InsertBench,
    }
    .file()
}
