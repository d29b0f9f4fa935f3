//! Charts over client counts: QPS and relative QPS of every system, with the crossovers; response times; and each test
//! second by second.

use assay_model::{Estimate, Group};
use assay_svg::{Anchor, MARGIN, Paper, SIZE, SMALL, fitted, round_step};

use super::drawing::Chart;
use super::file::{ChartFile, CurvePaths, Place, file, key, line_class, ratio_ground, stem};
use super::sheet::{SECONDS, Sheet};
use crate::number::{figure, share};
use crate::scale::RatioScale;
use crate::sections::study::JudgedStudy;
use crate::words::title;

const PANEL: f64 = 340.0;

const BETWEEN: f64 = 30.0;

const LABELS: f64 = 58.0;

const HEIGHT: f64 = 140.0;

const CROSSINGS: usize = 3;

/// Tests over several client counts.
pub(crate) struct Sweep<'a> {
    pub(crate) systems: Vec<String>,
    pub(crate) tests: Vec<TestCurves<'a>>,
}

pub(crate) struct TestCurves<'a> {
    pub(crate) test: &'a str,
    pub(crate) group: &'static Group,
    /// Ascending.
    pub(crate) clients: Vec<u32>,
    /// All systems but the twin.
    pub(crate) systems: Vec<SweptSystem>,
    /// Points where systems are as fast as the base.
    pub(crate) crossings: Vec<CurveCrossing>,
    pub(crate) data: Option<String>,
    pub(crate) response_times: Option<Chart>,
    /// Quantities second by second, for each client count. None in a large study.
    pub(crate) seconds: Vec<Chart>,
}

pub(crate) struct SweptSystem {
    pub(crate) system: usize,
    /// Operations per second, for each client count.
    pub(crate) qps: Vec<Option<Estimate>>,
    /// Relative to the base; empty for the base.
    pub(crate) rqps: Vec<Option<Estimate>>,
    /// 95th percentiles of the response time, ms.
    pub(crate) p95: Vec<Option<Estimate>>,
}

pub(crate) struct CurveCrossing {
    pub(crate) system: usize,
    pub(crate) clients: Estimate,
}

pub(super) fn charts(study: &JudgedStudy, sweep: &Sweep) -> Vec<ChartFile> {
    let mut tests: Vec<&TestCurves> = sweep.tests.iter().collect();
    // A stable sort keeps the tests of a group in the order in which they run.
    tests.sort_by(|one, next| (one.group, &one.data).cmp(&(next.group, &next.data)));
    let groups = || tests.chunk_by(|one, next| (one.group, &one.data) == (next.group, &next.data));
    let curves = groups().filter_map(|tests| chart(study, sweep, tests));
    let response_times = groups().filter_map(|tests| response_times(sweep, tests));
    let seconds = sweep.tests.iter().filter_map(|test| seconds(sweep, test));
    curves.chain(response_times).chain(seconds).collect()
}

fn chart(study: &JudgedStudy, sweep: &Sweep, tests: &[&TestCurves]) -> Option<ChartFile> {
    let first = tests.first()?;
    let of_data = first.data.as_ref().map_or_else(String::new, |data| format!(" on {data}"));
    let heading = format!("By number of clients, {}{of_data}", title(first.group));
    let ratios: Vec<Estimate> = tests
        .iter()
        .flat_map(|test| &test.systems)
        .flat_map(|system| system.rqps.iter().copied().flatten())
        .collect();
    let scale = RatioScale::fitting(&ratios, study.threshold());
    let note = format!(
        "On the left QPS from 0, on the right QPS divided by that of {}, with 95% intervals where they are known. The \
         band marks changes below {}. A diamond is a crossover, where a system is as fast as the base.",
        study.base_label(),
        share(study.threshold())
    );
    let wide = 2.0 * (MARGIN + PANEL) + BETWEEN;
    let (mut paper, y) = Paper::titled(wide, &heading, std::slice::from_ref(&note));
    let mut y = key(&mut paper, y, &sweep.systems) + 8.0;
    for &test in tests {
        let panels = CurvePanels { test, scale };
        y += SIZE + 8.0;
        paper.text((MARGIN, y), Anchor::Start, "", &fitted(test.test, SIZE, wide - 2.0 * MARGIN));
        panels.rates(&mut paper, (MARGIN, y + 8.0));
        panels.ratios(&mut paper, (MARGIN + PANEL + BETWEEN, y + 8.0));
        y += 8.0 + HEIGHT + 20.0;
        y += crossings(&mut paper, y, sweep, test);
    }
    let names: Vec<&str> = tests.iter().map(|test| test.test).collect();
    let data = first.data.clone();
    Some(ChartFile {
        name: stem("clients", [Some(first.group.word.clone()), data]),
        alt: format!("{heading}: {} of {}", names.join(", "), sweep.systems.join(", ")),
        svg: file(paper, y + MARGIN, &heading, &format!("{note} {}", message(sweep, tests))),
        place: Place::Clients,
    })
}

pub(crate) fn inline(study: &JudgedStudy, test: &TestCurves) -> Vec<(String, String)> {
    let ratios = test.systems.iter().flat_map(|system| system.rqps.iter().copied().flatten());
    let ratios: Vec<Estimate> = ratios.collect();
    let panels = CurvePanels { test, scale: RatioScale::fitting(&ratios, study.threshold()) };
    let drawn = |draw: &dyn Fn(&mut Paper), label: String| {
        let mut paper = Paper::new(PANEL);
        draw(&mut paper);
        let drawing = paper.inline(EDGE + HEIGHT + 20.0, &label);
        (label, drawing)
    };
    let corner = (0.0, EDGE);
    let intervals = |values: fn(&SweptSystem) -> &[Option<Estimate>]| {
        let mut all = test.systems.iter().flat_map(|it| values(it).iter().flatten());
        if all.any(|it| it.has_interval()) { ", with 95% intervals" } else { "" }
    };
    let qps = format!("QPS, by number of clients{}", intervals(|it| &it.qps));
    let mut charts = vec![drawn(&|paper| panels.rates(paper, corner), qps)];
    if !ratios.is_empty() {
        let base = study.base_label();
        let rqps = format!("QPS divided by that of {base}{}", intervals(|it| &it.rqps));
        charts.push(drawn(&|paper| panels.ratios(paper, corner), rqps));
    }
    if test.systems.iter().any(|it| it.p95.iter().any(Option::is_some)) {
        let p95 = "95th percentile of the response time, ms".to_owned();
        charts.push(drawn(&|paper| panels.zero_based(paper, corner, |it| &it.p95), p95));
    }
    charts
}

const EDGE: f64 = 8.0;

fn message(sweep: &Sweep, tests: &[&TestCurves]) -> String {
    let describe = |test: &TestCurves, it: &SweptSystem| {
        let name = &sweep.systems[it.system];
        let points = test.clients.iter().zip(&it.qps);
        let point = |(clients, qps): (&u32, &Option<Estimate>)| {
            Some(format!("{} at {clients}", figure(Some((*qps)?.value))))
        };
        let points: Vec<String> = points.filter_map(point).collect();
        format!("{}, {name}: QPS {}.", test.test, points.join(", "))
    };
    let all = tests.iter().flat_map(|test| test.systems.iter().map(move |it| describe(test, it)));
    all.collect::<Vec<_>>().join(" ")
}

/// Writes the crossovers of a test; returns their height.
fn crossings(paper: &mut Paper, top: f64, sweep: &Sweep, test: &TestCurves) -> f64 {
    let left = MARGIN + PANEL + BETWEEN;
    let mut lines: Vec<(usize, String)> = test
        .crossings
        .iter()
        .map(|it| {
            let name = &sweep.systems[it.system];
            let Estimate { value, low, high } = it.clients;
            (it.system, format!("{name}: equal at about {value:.1} [{low:.1}, {high:.1}] clients"))
        })
        .collect();
    if lines.len() > CROSSINGS {
        let more = lines.len() - CROSSINGS;
        lines.truncate(CROSSINGS);
        if let Some((_, last)) = lines.last_mut() {
            *last = format!("{last}; {more} more");
        }
    }
    for (number, (system, line)) in lines.iter().enumerate() {
        let at = (left, top + SMALL + 13.0 * number as f64);
        let class = format!("small verdict line{}", system % 6);
        paper.text(at, Anchor::Start, &class, &fitted(line, SMALL, PANEL));
    }
    if lines.is_empty() { 0.0 } else { 13.0 * lines.len() as f64 + 4.0 }
}

struct CurvePanels<'a> {
    test: &'a TestCurves<'a>,
    scale: RatioScale,
}

impl CurvePanels<'_> {
    fn x(&self, left: f64, clients: f64) -> f64 {
        let counts = &self.test.clients;
        let [first, last] =
            [counts.first(), counts.last()].map(|it| f64::from(*it.unwrap_or(&1)).log2());
        let room = PANEL - LABELS - 24.0;
        left + LABELS + 12.0 + room * ((clients.log2() - first) / (last - first)).clamp(0.0, 1.0)
    }

    fn rates(&self, paper: &mut Paper, corner: (f64, f64)) {
        self.zero_based(paper, corner, |system| &system.qps);
    }

    fn zero_based(
        &self,
        paper: &mut Paper,
        (left, top): (f64, f64),
        series: fn(&SweptSystem) -> &[Option<Estimate>],
    ) {
        let ends = self.test.systems.iter().flat_map(|it| series(it).iter().flatten());
        let most = ends.map(|it| it.value.max(it.high)).fold(0.0, f64::max);
        if most <= 0.0 || !most.is_finite() {
            return;
        }
        let y = |value: f64| top + HEIGHT * (1.0 - value / (1.05 * most));
        for step in round_steps(most) {
            let at = y(step);
            paper.line("grid", (left + LABELS, at), (left + PANEL, at));
            let label = figure(Some(step));
            let label = label.strip_suffix(".0").unwrap_or(&label);
            paper.text((left + LABELS - 5.0, at + 3.5), Anchor::End, "small", label);
        }
        self.counts(paper, (left, top));
        for system in &self.test.systems {
            self.curve(paper, left, system.system, series(system), &y);
        }
    }

    fn ratios(&self, paper: &mut Paper, (left, top): (f64, f64)) {
        let y = |ratio: f64| top + HEIGHT * (1.0 - self.scale.x(ratio) / 100.0);
        ratio_ground(paper, self.scale, (left + LABELS, left + PANEL), 14.0, y);
        self.counts(paper, (left, top));
        for system in &self.test.systems {
            self.curve(paper, left, system.system, &system.rqps, &y);
        }
        for CurveCrossing { system, clients } in &self.test.crossings {
            let (x, at) = (self.x(left, clients.value), y(1.0));
            let class = line_class(*system);
            let [low, high] = [clients.low, clients.high].map(|end| self.x(left, end));
            paper.path(&format!("bars {class}"), &format!("M{low:.1} {at:.1}H{high:.1}"));
            let diamond = format!("M{:.1} {at:.1}l5-5 5 5-5 5z", x - 5.0);
            paper.path(&format!("fill {class}"), &diamond);
        }
    }

    fn counts(&self, paper: &mut Paper, (left, top): (f64, f64)) {
        let mut end = f64::NEG_INFINITY;
        for clients in &self.test.clients {
            let (x, text) = (self.x(left, f64::from(*clients)), clients.to_string());
            let half = 0.5 * assay_svg::width(&text, SMALL);
            if x - half > end + 4.0 {
                paper.text((x, top + HEIGHT + 13.0), Anchor::Middle, "small", &text);
                end = x + half;
            }
        }
    }

    fn curve(
        &self,
        paper: &mut Paper,
        left: f64,
        system: usize,
        values: &[Option<Estimate>],
        y: &dyn Fn(f64) -> f64,
    ) {
        let values = self.test.clients.iter().zip(values);
        let values = values.map(|(clients, value)| (self.x(left, f64::from(*clients)), *value));
        let CurvePaths { curve, bars, points } = CurvePaths::new(values, y);
        let class = line_class(system);
        paper.path(&format!("curve {class}"), &curve);
        paper.path(&format!("bars line{}", system % 6), &bars);
        paper.path(&format!("points line{}", system % 6), &points);
    }
}

/// 0 and a few round numbers up to `most`.
fn round_steps(most: f64) -> Vec<f64> {
    let step = round_step(most / 4.0);
    (0..=4).map(|number| f64::from(number) * step).filter(|at| *at <= 1.05 * most).collect()
}

fn response_times(sweep: &Sweep, tests: &[&TestCurves]) -> Option<ChartFile> {
    let first = tests.first()?;
    let of_test = |test: &TestCurves, chart: &Chart| format!("{}, {}", test.test, chart.caption);
    let charts: Vec<(String, &Chart)> = tests
        .iter()
        .filter_map(|test| Some((test, test.response_times.as_ref()?)))
        .map(|(test, chart)| (of_test(test, chart), chart))
        .collect();
    let quantity = &charts.first()?.1.title;
    let title = format!("{quantity}, by number of clients: {}", title(first.group));
    let sheet = Sheet {
        name: stem("response-times", [Some(first.group.word.clone()), first.data.clone()]),
        title: on_data(title, first),
        note: "Over all events of the slices that verdicts use, from 0. Response times have no interval.",
        systems: &sweep.systems,
        charts,
        place: Place::Clients,
    };
    Some(sheet.file())
}

fn seconds(sweep: &Sweep, test: &TestCurves) -> Option<ChartFile> {
    let heading = |chart: &Chart| format!("{}, {}", chart.title, chart.caption);
    let sheet = Sheet {
        name: stem("seconds", [Some(test.test.to_owned()), test.data.clone()]),
        title: on_data(format!("{}, second by second", test.test), test),
        note: SECONDS,
        systems: &sweep.systems,
        charts: test.seconds.iter().map(|chart| (heading(chart), chart)).collect(),
        place: Place::Clients,
    };
    (!sheet.charts.is_empty()).then(|| sheet.file())
}

/// Adds the data if the study has several.
fn on_data(title: String, test: &TestCurves) -> String {
    match &test.data {
        Some(data) => format!("{title} on {data}"),
        None => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_of_rates_have_round_labels() {
        assert_eq!(round_steps(19_120.0), [0.0, 5000.0, 10_000.0, 15_000.0, 20_000.0]);
        assert_eq!(round_steps(0.9), [0.0, 0.5]);
        for most in [1e-9, 0.07, 1.0, 3.3, 47.0, 8.1e8] {
            assert!(round_steps(most).len() >= 2, "{most}");
        }
    }
}
