//! Charts of a study of several client counts besides its curves: response times, and each test second by second.

use super::file::{ChartFile, Place, stem};
use super::sheet::{SECONDS, Sheet};
use crate::view::Report;
use crate::view::drawing::Chart;
use crate::view::sweep::{Sweep, TestCurves};
use crate::words::title;

/// Response times of each group and data set, then the seconds of each test.
pub(super) fn charts(report: &Report) -> Vec<ChartFile> {
    let Some(sweep) = &report.sweep else { return Vec::new() };
    let mut tests: Vec<&TestCurves> = sweep.tests.iter().collect();
    // A stable sort keeps the tests of a group in the order in which they run.
    tests.sort_by(|one, next| (one.group, &one.data).cmp(&(next.group, &next.data)));
    let groups = tests.chunk_by(|one, next| (one.group, &one.data) == (next.group, &next.data));
    let response_times = groups.filter_map(|tests| response_times(sweep, tests));
    let seconds = sweep.tests.iter().filter_map(|test| seconds(sweep, test));
    response_times.chain(seconds).collect()
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
