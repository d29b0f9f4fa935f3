//! Simulated studies: their results against the truth.

use std::collections::BTreeMap;

use serde_json::Value;

use super::docs::{Table, markdown};
use super::stats::{self, Interval};
use super::svg::{self, Axis, Point, Series};
use super::{Plot, percent, percent_between};
use crate::lines::text;

/// The results of one case, all batches added up.
#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    name: String,
    /// Sums by path in the lines, such as `qps/kinds/null/wrong`.
    sums: BTreeMap<String, f64>,
}

/// The two quantities that are judged: name in the lines, and for people.
const QUANTITIES: [(&str, &str); 2] = [("qps", "QPS"), ("cpu", "CPU per operation")];

impl Case {
    /// The cases, by name, of the lines with this fingerprint, and the number of other lines.
    pub(super) fn from_lines(lines: &[Value], fingerprint: &str) -> (Vec<Self>, usize) {
        let mut cases: Vec<Self> = Vec::new();
        let is_latest = |line: &&Value| text(line, "fingerprint") == fingerprint;
        let stale = lines.iter().filter(|line| !is_latest(line)).count();
        for line in lines.iter().filter(is_latest) {
            let name = text(line, "case");
            let index = cases.iter().position(|case| case.name == name).unwrap_or_else(|| {
                cases.push(Self { name: name.to_owned(), ..Self::default() });
                cases.len() - 1
            });
            if let Some(case) = cases.get_mut(index) {
                case.add("", line);
            }
        }
        cases.sort_by(|one, other| one.name.cmp(&other.name));
        (cases, stale)
    }

    fn add(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(parts) => {
                let below = |name: &String| format!("{path}/{name}").trim_matches('/').to_owned();
                parts.iter().for_each(|(name, part)| self.add(&below(name), part));
            }
            Value::Number(number) => {
                *self.sums.entry(path.to_owned()).or_default() += number.as_f64().unwrap_or(0.0);
            }
            _ => {}
        }
    }

    fn sum(&self, path: &str) -> f64 {
        self.sums.get(path).copied().unwrap_or(0.0)
    }

    /// A count of one quantity over the cells of some kinds.
    fn count(&self, quantity: &str, kinds: &[&str], name: &str) -> f64 {
        kinds.iter().map(|kind| self.sum(&format!("{quantity}/kinds/{kind}/{name}"))).sum()
    }

    /// The share of the cells of some kinds that have a verdict.
    fn share(&self, quantity: &str, kinds: &[&str], name: &str) -> Option<Interval> {
        stats::share(self.count(quantity, kinds, name), self.count(quantity, kinds, "cells"))
    }

    fn covered(&self, quantity: &str, kinds: &[&str]) -> Option<Interval> {
        let intervals = self.count(quantity, kinds, "intervals");
        stats::share(self.count(quantity, kinds, "covered"), intervals)
    }

    fn of_study(&self, path: &str) -> f64 {
        self.sum(path) / self.sum("studies").max(1.0)
    }

    fn parts(&self) -> Vec<&str> {
        self.name.split('/').collect()
    }
}

const CHANGES: [u32; 4] = [1, 2, 3, 5];

const EQUAL: [&str; 3] = ["null", "write", "wide"];

const ALL: [&str; 6] = ["null", "write", "wide", "changed", "changed_write", "stalled"];

/// Cells with a difference of the case's size.
const CHANGED: [&str; 2] = ["changed", "changed_write"];

pub(super) fn tables(cases: &[Case]) -> Vec<Table> {
    vec![
        Table { name: "sim-early", text: early(cases) },
        Table { name: "sim-errors", text: errors(cases) },
        Table { name: "sim-same", text: same(cases) },
        Table { name: "sim-special", text: special(cases) },
        Table { name: "sim-power", text: power(cases) },
        Table { name: "sim-width", text: widths(cases) },
    ]
}

/// Large changes: share of the changed tests that were called, among those reached by the first pass.
fn early(cases: &[Case]) -> String {
    let mut shown: Vec<(f64, u32, &Case)> =
        cases.iter().filter(|case| case.name.starts_with("early/")).filter_map(early_key).collect();
    shown.sort_by(|one, other| {
        let taken = |case: &Case| case.parts().len();
        let (a, b) = ((taken(one.2), one.0), (taken(other.2), other.0));
        a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal).then(one.1.cmp(&other.1))
    });
    let row = |(_, _, case): &(f64, u32, &Case)| {
        let count = |change: &str, name: &str| case.sum(&format!("changes/{change}/{name}"));
        let called = |change: &str, name: &str| {
            format!("{} of {}", count(change, name), count(change, "reached"))
        };
        let reached: f64 = EARLY.iter().map(|change| count(change, "reached")).sum();
        let covered = stats::share(case.sum("covered"), case.sum("intervals"));
        vec![
            format!("`{}`", case.name),
            format!("{:.0}", case.sum("studies")),
            stats::share(reached, case.sum("studies"))
                .map_or_else(String::new, |it| percent(it.value)),
            format!("{:.1}", case.of_study("blocks")),
            called("30", "first"),
            called("x2", "first"),
            called("x100", "first"),
            called("x2000", "first"),
            called("10", "second"),
            percent(case.of_study("false_share")),
            covered.map_or_else(String::new, |it| percent(it.value)),
        ]
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    let head = [
        "case",
        "studies",
        "changed test reached by the first pass",
        "blocks",
        "30%, first pass",
        "2×, first pass",
        "100×, first pass",
        "2,000×, first pass",
        "10%, second pass",
        "false share of all calls",
        "inside the 95% interval",
    ];
    markdown(&head, &rows)
}

const EARLY: [&str; 5] = ["10", "30", "x2", "x100", "x2000"];

/// An early case by its budget, seconds, and the number of its systems.
fn early_key(case: &Case) -> Option<(f64, u32, &Case)> {
    let parts = case.parts();
    let budget = parts.get(1)?;
    let seconds = match budget.strip_suffix('m') {
        Some(minutes) => 60.0 * minutes.parse::<f64>().ok()?,
        None => budget.strip_suffix('s')?.parse().ok()?,
    };
    Some((seconds, parts.get(2)?.parse().ok()?, case))
}

/// False calls, false discovery rate and coverage of the usual studies.
fn errors(cases: &[Case]) -> String {
    let is_shown = |case: &&Case| {
        let parts = case.parts();
        let is_usual = parts.len() == 3 && matches!(parts.get(2), Some(&("5m" | "10m")));
        is_usual && matches!(parts.get(1), Some(&("null" | "one-3" | "twelve-3")))
    };
    let rows: Vec<Vec<String>> = cases
        .iter()
        .filter(is_shown)
        .map(|case| {
            let studies = case.sum("studies");
            let mut row = vec![format!("`{}`", case.name), format!("{studies:.0}")];
            for (quantity, _) in QUANTITIES {
                let with_wrong = case.sum(&format!("{quantity}/with_wrong"));
                row.push(percent_between(case.share(quantity, &EQUAL, "wrong")));
                row.push(percent_between(stats::share(with_wrong, studies)));
                row.push(percent_between(case.covered(quantity, &ALL)));
            }
            row.push(percent(case.of_study("false_share")));
            row
        })
        .collect();
    let head = [
        "case",
        "studies",
        "equal cells called, QPS",
        "studies with a false call",
        "inside the 95% interval",
        "equal cells called, CPU",
        "studies with a false call",
        "inside the 95% interval",
        "false share of all calls",
    ];
    markdown(&head, &rows)
}

/// Verdicts "same" where nothing differs.
fn same(cases: &[Case]) -> String {
    let rows: Vec<Vec<String>> = cases
        .iter()
        .filter(|case| case.parts().get(1) == Some(&"null"))
        .map(|case| {
            let mut row = vec![format!("`{}`", case.name)];
            for (quantity, _) in QUANTITIES {
                row.push(percent_between(case.share(quantity, &["null"], "same")));
                row.push(percent_between(case.share(quantity, &["write"], "same")));
            }
            let decided = case.count("qps", &EQUAL, "decided");
            let seconds = case.count("qps", &EQUAL, "decided_s");
            row.push(if decided > 0.0 {
                format!("{:.0} s", seconds / decided)
            } else {
                String::new()
            });
            row
        })
        .collect();
    let head = [
        "case",
        "reads called the same, QPS",
        "writes called the same, QPS",
        "reads, CPU",
        "writes, CPU",
        "mean time to a verdict, QPS",
    ];
    markdown(&head, &rows)
}

/// Cells in which one system stalls, and cells that vary more than others.
fn special(cases: &[Case]) -> String {
    let mut rows = Vec::new();
    for (kind, shown) in [("stalled", "one system stalls"), ("wide", "varies more")] {
        let has = |case: &&Case| case.count("qps", &[kind], "cells") > 0.0;
        for case in cases.iter().filter(has) {
            let share = |name| percent_between(case.share("qps", &[kind], name));
            rows.push(vec![
                format!("`{}`", case.name),
                shown.to_owned(),
                share("uneven"),
                share("right"),
                share("wrong"),
                share("same"),
                share("wrong_same"),
                percent_between(case.covered("qps", &[kind])),
            ]);
        }
    }
    let head = [
        "case",
        "cell",
        "uneven",
        "called rightly",
        "called wrongly",
        "same",
        "of these wrongly",
        "inside the 95% interval",
    ];
    markdown(&head, &rows)
}

/// Power: a row for each machine, number of changed tests, time and threshold, and a column for each change.
fn power(cases: &[Case]) -> String {
    let mut rows: BTreeMap<[String; 4], [String; 2 * CHANGES.len()]> = BTreeMap::new();
    for case in cases {
        let parts = case.parts();
        let [machine, change, minutes, rest @ ..] = parts.as_slice() else { continue };
        let Some((changed, size)) = change.split_once('-') else { continue };
        let threshold = rest.first().map_or("2", |it| it.trim_start_matches('t'));
        let Some(at) = CHANGES.iter().position(|it| it.to_string() == size) else { continue };
        for (kind, class) in CHANGED.into_iter().zip(["reads", "writes"]) {
            let key = [
                format!("`{machine}`"),
                format!("{changed}, {class}"),
                format!("{} min", minutes.trim_end_matches('m')),
                format!("{threshold}%"),
            ];
            let row = rows.entry(key).or_default();
            for ((quantity, _), place) in QUANTITIES.iter().zip([at, CHANGES.len() + at]) {
                if let Some(cell) = row.get_mut(place) {
                    *cell = percent_between(case.share(quantity, &[kind], "right"));
                }
            }
        }
    }
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(key, row)| [&key[..], &row].concat()).collect();
    let mut head = ["machine", "changed tests", "time", "threshold"].map(str::to_owned).to_vec();
    for (_, shown) in QUANTITIES {
        head.extend(CHANGES.map(|change| format!("{change}% in {shown}")));
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    markdown(&head, &rows)
}

fn widths(cases: &[Case]) -> String {
    let rows: Vec<Vec<String>> = cases
        .iter()
        .filter(|case| case.parts().get(1) == Some(&"null"))
        .map(|case| {
            let mut row = vec![format!("`{}`", case.name)];
            for (quantity, _) in QUANTITIES {
                for name in ["half_median", "half_nine_of_ten"] {
                    row.push(percent(case.of_study(&format!("{quantity}/{name}"))));
                }
                for kind in ["null", "write"] {
                    let half = case.count(quantity, &[kind], "half");
                    row.push(percent(half / case.count(quantity, &[kind], "intervals").max(1.0)));
                }
            }
            row
        })
        .collect();
    let head = [
        "case",
        "median half-width, QPS",
        "nine of ten at most",
        "mean of reads",
        "mean of writes",
        "median half-width, CPU",
        "nine of ten at most",
        "mean of reads",
        "mean of writes",
    ];
    markdown(&head, &rows)
}

pub(super) fn plots(cases: &[Case]) -> Vec<Plot> {
    vec![
        Plot { name: "half-width", svg: half_width_plot(cases) },
        Plot { name: "power", svg: power_plot(cases) },
        Plot { name: "coverage", svg: coverage_plot(cases) },
    ]
}

fn minutes(case: &Case) -> Option<f64> {
    case.parts().get(2)?.strip_suffix('m')?.parse().ok()
}

fn half_width_plot(cases: &[Case]) -> String {
    let null = cases.iter().filter(|case| case.name.starts_with("virtual/null/"));
    let usual: Vec<&Case> = null.filter(|case| case.parts().len() == 3).collect();
    let mut series = Vec::new();
    for (quantity, shown) in QUANTITIES {
        for (name, what) in [("half_median", "median"), ("half_nine_of_ten", "nine of ten")] {
            let mut points: Vec<Point> = usual
                .iter()
                .filter_map(|case| {
                    let value = 100.0 * case.of_study(&format!("{quantity}/{name}"));
                    Some(Point { at: minutes(case)?, value, low: value, high: value })
                })
                .collect();
            points.sort_by(|one, other| one.at.total_cmp(&other.at));
            series.push(Series { name: format!("{shown}, {what}"), points });
        }
    }
    if usual.is_empty() {
        return String::new();
    }
    let all = || series.iter().flat_map(|it| &it.points);
    let x = Axis::logarithmic("time of the study, minutes", all().map(|it| it.at));
    let y = Axis::from_zero("half-width of the 95% interval, %", all().map(|it| it.value));
    svg::lines(
        "Half-width against time: 2 systems, 32 tests, simulated virtual machine",
        &x,
        &y,
        &series,
    )
}

fn power_plot(cases: &[Case]) -> String {
    let mut series = Vec::new();
    for (changed, shown) in [("one", "one test of 32"), ("twelve", "twelve tests")] {
        for budget in ["5m", "10m"] {
            let points: Vec<Point> = CHANGES
                .into_iter()
                .filter_map(|change| {
                    let name = format!("virtual/{changed}-{change}/{budget}");
                    let case = cases.iter().find(|case| case.name == name)?;
                    let share = case.share("qps", &CHANGED, "right")?;
                    Some(in_percent(change.into(), share))
                })
                .collect();
            if !points.is_empty() {
                let minutes = budget.trim_end_matches('m');
                series.push(Series { name: format!("{shown}, {minutes} minutes"), points });
            }
        }
    }
    if series.is_empty() {
        return String::new();
    }
    let x = Axis::from_zero("true change, %", [0.0, 5.0].into_iter());
    let y = Axis::from_zero("called, % of the changed tests", [0.0, 100.0].into_iter());
    svg::lines("Power, QPS, threshold 2%, simulated virtual machine", &x, &y, &series)
}

fn coverage_plot(cases: &[Case]) -> String {
    let cases: Vec<&Case> = cases
        .iter()
        .filter(|case| case.parts().get(1) == Some(&"null") && minutes(case) == Some(5.0))
        .collect();
    if cases.is_empty() {
        return String::new();
    }
    let kinds: [(&str, &[&str]); 3] = [
        ("usual tests", &["null", "write"]),
        ("tests that vary more", &["wide"]),
        ("tests with stalls", &["stalled"]),
    ];
    let series: Vec<Series> = kinds
        .into_iter()
        .map(|(name, kinds)| {
            let of_case = |(row, case): (usize, &&Case)| {
                Some(in_percent(row as f64, case.covered("qps", kinds)?))
            };
            let points = cases.iter().enumerate().filter_map(of_case).collect();
            Series { name: name.to_owned(), points }
        })
        .collect();
    let names: Vec<String> = cases.iter().map(|case| case.parts().join(" ")).collect();
    let x = Axis::from_zero("inside the 95% interval, % of the tests", [0.0, 100.0].into_iter());
    svg::rows("Coverage, QPS, five minutes", &names, &x, &series, &[95.0])
}

fn in_percent(at: f64, share: Interval) -> Point {
    Point { at, value: 100.0 * share.value, low: 100.0 * share.low, high: 100.0 * share.high }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(case: &str, studies: u64, wrong: u64) -> Value {
        let kind = json!({
            "cells": 32 * studies, "wrong": wrong, "same": 10, "right": 5, "intervals": 32 * studies,
            "covered": 30 * studies, "half": 0.5,
        });
        let quantity = json!({
            "kinds": {"null": kind, "changed": kind}, "with_wrong": 1, "half_median": 0.01 * studies as f64,
        });
        json!({"case": case, "studies": studies, "qps": quantity, "cpu": quantity, "false_share": 0.5})
    }

    #[test]
    fn early_cases_are_shown_by_budget_and_systems_with_those_that_were_reached() {
        let line = |case: &str| {
            let early = json!({"studies": 10, "reached": 9, "first": 8, "second": 7});
            json!({"case": case, "studies": 50, "blocks": 150, "false_share": 0.5, "intervals": 400, "covered": 380,
                "changes": {"10": early, "30": early, "x2": early, "x100": early, "x2000": early}})
        };
        let names = ["early/10m/2", "early/1m/12", "early/30s/2/taken", "early/1m/2"];
        let (cases, _) = Case::from_lines(&names.map(line), FINGERPRINT);
        let table = early(&cases);
        let shown: Vec<&str> =
            table.lines().skip(2).filter_map(|it| it.split('`').nth(1)).collect();
        assert_eq!(shown, ["early/1m/2", "early/1m/12", "early/10m/2", "early/30s/2/taken"]);
        let row =
            "| 50 | 90.0% | 3.0 | 8 of 9 | 8 of 9 | 8 of 9 | 8 of 9 | 7 of 9 | 1.00% | 95.0% |";
        assert!(table.lines().skip(2).all(|it| it.ends_with(row)), "{table}");
    }

    /// [`line`] has no fingerprint.
    const FINGERPRINT: &str = "";

    #[test]
    fn batches_are_added_up_by_case() {
        let mut stale = line("virtual/one-3/5m", 50, 9);
        stale["fingerprint"] = "other".into();
        let lines = [
            stale,
            line("virtual/one-3/5m", 50, 3),
            line("x/null/10m", 50, 0),
            line("virtual/one-3/5m", 50, 1),
        ];
        let (cases, stale) = Case::from_lines(&lines, FINGERPRINT);
        assert_eq!((cases.len(), stale), (2, 1));
        let first = &cases[0];
        assert_eq!(first.name, "virtual/one-3/5m");
        assert_eq!((first.sum("studies"), first.count("qps", &["null"], "wrong")), (100.0, 4.0));
        assert_eq!(first.count("qps", &["null", "changed"], "cells"), 6400.0);
        assert!((first.of_study("qps/half_median") - 0.01).abs() < 1e-12);
    }

    #[test]
    fn tables_and_plots_have_what_was_simulated_and_nothing_else() {
        let names =
            ["virtual/null/5m", "virtual/null/10m", "virtual/one-3/5m", "virtual/one-2/10m/t1"];
        let lines: Vec<Value> = names.iter().map(|name| line(name, 50, 1)).collect();
        let (cases, _) = Case::from_lines(&lines, FINGERPRINT);
        let table = |name| tables(&cases).into_iter().find(|it| it.name == name).unwrap().text;
        assert_eq!(table("sim-errors").lines().count(), 2 + 3);
        assert_eq!(table("sim-power").lines().count(), 2 + 4);
        assert!(table("sim-power").contains("| `virtual` | one, reads | 10 min | 1% |  | 0.31% ["));
        assert_eq!(table("sim-width").lines().count(), 2 + 2);
        assert_eq!(table("sim-special"), "");
        let svgs: Vec<Plot> = plots(&cases);
        assert!(svgs.iter().all(|plot| plot.svg.contains("<circle")));
        assert!(plots(&[]).iter().all(|plot| plot.svg.is_empty()));
    }
}
