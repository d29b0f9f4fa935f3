//! Tables and plots of studies of real servers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::docs::{Table, markdown};
use super::stats::{self, Interval};
use super::svg::{self, Axis, Point, Series};
use super::{Plot, percent, percent_between};
use crate::lines::{number, text};
use crate::real::{SHORT_TURNS, TURNS};

/// Lengths of turns, milliseconds.
fn turns_ms() -> [u32; TURNS.len()] {
    TURNS.map(|(turn, _, _)| turn)
}

pub(super) fn tables(lines: &[Value]) -> Vec<Table> {
    vec![
        Table { name: "aa", text: aa(lines) },
        Table { name: "known", text: known(lines) },
        Table { name: "hour", text: hour(lines) },
        Table { name: "manual", text: manual(lines) },
        Table { name: "turns", text: turns(lines) },
        Table { name: "equal", text: equal(lines) },
        Table { name: "long", text: long(lines) },
        Table { name: "studies", text: studies(lines) },
    ]
}

pub(super) fn plots(lines: &[Value]) -> Vec<Plot> {
    vec![
        Plot { name: "aa", svg: aa_plot(lines) },
        Plot { name: "turns", svg: turns_plot(lines) },
        Plot { name: "manual", svg: manual_plot(lines) },
    ]
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| text(line, "kind") == kind)
}

fn cells(line: &Value) -> impl Iterator<Item = &Value> {
    line["cells"].as_array().into_iter().flatten()
}

/// The part of a key before the number of the repetition.
fn name(line: &Value) -> &str {
    let key = text(line, "key");
    key.rsplit_once(' ').map_or(key, |(name, _)| name)
}

/// A ratio with its interval: `[value, low, high]`.
fn interval(cell: &Value, quantity: &str) -> Option<Interval> {
    let part = |at: usize| cell[quantity][at].as_f64();
    let (value, low, high) = (part(0)?, part(1)?, part(2)?);
    Some(Interval { value, low, high })
}

/// Half the width of the interval of the logarithm.
fn half_width(interval: Interval) -> Option<f64> {
    (interval.low < interval.high).then(|| 0.5 * (interval.high / interval.low).ln())
}

/// The two quantities: name of the interval and of the verdict in the lines, and for people.
const QUANTITIES: [(&str, &str, &str); 2] =
    [("rqps", "verdict", "QPS"), ("cpu", "cpu_verdict", "CPU per operation")];

fn studies(lines: &[Value]) -> String {
    let mut groups: BTreeMap<[&str; 3], (&str, &str, f64, f64)> = BTreeMap::new();
    for line in lines {
        let key = ["kind", "machine", "assay"].map(|name| text(line, name));
        let date = text(line, "date");
        let group = groups.entry(key).or_insert((date, date, 0.0, 0.0));
        group.0 = group.0.min(date);
        group.1 = group.1.max(date);
        group.2 += 1.0;
        group.3 += number(line, "wall_s");
    }
    let row = |([kind, machine, assay], (first, last, count, seconds)): (
        &[&str; 3],
        &(&str, &str, f64, f64),
    )| {
        let dates = if first == last { (*first).to_owned() } else { format!("{first} to {last}") };
        let words = [*kind, &dates, machine, assay].map(str::to_owned);
        [&words[..], &[format!("{count:.0}"), format!("{:.1} h", seconds / 3600.0)]].concat()
    };
    let rows: Vec<Vec<String>> = groups.iter().map(row).collect();
    markdown(&["kind", "measured", "machine", "commit", "studies", "time"], &rows)
}

/// The same system twice.
fn aa(lines: &[Value]) -> String {
    let mut groups: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for line in of_kind(lines, "aa") {
        groups.entry(name(line)).or_default().push(line);
    }
    let mut rows = Vec::new();
    for (system, lines) in groups {
        let noise: Vec<f64> = lines.iter().filter_map(|line| line["noise"].as_f64()).collect();
        let noise = stats::quantile(&noise, 0.5).map_or_else(String::new, percent);
        for (quantity, verdict, shown) in QUANTITIES {
            let all: Vec<&Value> = lines.iter().flat_map(|line| cells(line)).collect();
            let has =
                |words: &[&str]| all.iter().filter(|it| words.contains(&text(it, verdict))).count();
            let share = |count: usize| stats::share(count as f64, all.len() as f64);
            let intervals: Vec<Interval> =
                all.iter().filter_map(|it| interval(it, quantity)).collect();
            let with_one = intervals.iter().filter(|it| it.low <= 1.0 && 1.0 <= it.high).count();
            let halves: Vec<f64> = intervals.iter().filter_map(|it| half_width(*it)).collect();
            let half = |share| stats::quantile(&halves, share).map_or_else(String::new, percent);
            rows.push(vec![
                system.to_owned(),
                shown.to_owned(),
                lines.len().to_string(),
                noise.clone(),
                percent_between(share(has(&["faster", "slower"]))),
                percent_between(share(has(&["same"]))),
                percent_between(share(has(&["uneven"]))),
                percent_between(stats::share(with_one as f64, intervals.len() as f64)),
                half(0.5),
                half(0.9),
            ]);
        }
    }
    let head = [
        "system",
        "quantity",
        "studies",
        "noise (median)",
        "called",
        "same",
        "uneven",
        "1 inside the 95% interval",
        "median half-width",
        "nine of ten at most",
    ];
    markdown(&head, &rows)
}

/// The median half-width of each study of a system against itself, by the machine's noise before it.
fn aa_plot(lines: &[Value]) -> String {
    let mut series: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for line in of_kind(lines, "aa") {
        let halves: Vec<f64> = cells(line)
            .filter_map(|cell| half_width(interval(cell, "rqps")?))
            .map(|half| 100.0 * half)
            .collect();
        let quantile = |share| stats::quantile(&halves, share);
        let (Some(noise), Some(value)) = (line["noise"].as_f64(), quantile(0.5)) else { continue };
        let (low, high) = (quantile(0.1).unwrap_or(value), quantile(0.9).unwrap_or(value));
        series.entry(name(line)).or_default().push(Point { at: 100.0 * noise, value, low, high });
    }
    let series: Vec<Series> = series
        .into_iter()
        .map(|(name, mut points)| {
            points.sort_by(|a, b| a.at.total_cmp(&b.at));
            Series { name: name.to_owned(), points }
        })
        .collect();
    if series.is_empty() {
        return String::new();
    }
    let points = || series.iter().flat_map(|it| &it.points);
    let x = Axis::from_zero("noise of fixed work before the study, %", points().map(|it| it.at));
    let y = Axis::from_zero(
        "half-width, median and 10 to 90% of the tests, %",
        points().map(|it| it.high),
    );
    svg::points("A system against itself", &x, &y, &series)
}

fn known(lines: &[Value]) -> String {
    let mut rows = Vec::new();
    for line in of_kind(lines, "known") {
        for (quantity, verdict, shown) in QUANTITIES {
            let count = |word: &str| cells(line).filter(|it| text(it, verdict) == word).count();
            let ratios: Vec<f64> =
                cells(line).filter_map(|it| Some(interval(it, quantity)?.value)).collect();
            let at = |share| {
                stats::quantile(&ratios, share).map_or_else(String::new, |it| format!("{it:.3}"))
            };
            let counts = ["slower", "faster", "same", "uneven", "undecided"].map(count);
            let mut row = vec![text(line, "key").to_owned(), shown.to_owned()];
            row.extend(counts.map(|count| count.to_string()));
            row.extend([at(0.01), at(0.5), at(1.0)]);
            rows.push(row);
        }
    }
    let head = [
        "change",
        "quantity",
        "slower",
        "faster",
        "same",
        "uneven",
        "undecided",
        "smallest ratio",
        "median",
        "largest",
    ];
    markdown(&head, &rows)
}

/// Studies of an hour with preset standard, by the number of clients.
fn hour(lines: &[Value]) -> String {
    let mut rows = Vec::new();
    for line in of_kind(lines, "hour") {
        for (quantity, verdict, shown) in QUANTITIES {
            let halves: Vec<f64> =
                cells(line).filter_map(|cell| half_width(interval(cell, quantity)?)).collect();
            let half = |share| stats::quantile(&halves, share).map_or_else(String::new, percent);
            let open = cells(line).filter(|it| text(it, verdict) == "undecided").count();
            let minutes = format!("{:.0} min", number(line, "elapsed_s") / 60.0);
            let mut row = vec![name(line).to_owned(), minutes, shown.to_owned()];
            row.extend([halves.len().to_string(), half(0.5), half(0.9), open.to_string()]);
            rows.push(row);
        }
    }
    let head = [
        "clients",
        "time",
        "quantity",
        "cells",
        "median half-width",
        "nine of ten at most",
        "undecided",
    ];
    markdown(&head, &rows)
}

fn writes(test: &str) -> bool {
    test.starts_with("update") || test == "insert"
}

/// The same system twice with the turns that assay chooses and with long ones: the error of a measured second.
fn equal(lines: &[Value]) -> String {
    let errors = |named: &str| {
        let mut tests: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for cell in of_kind(lines, "equal").filter(|line| name(line) == named).flat_map(cells) {
            if let Some(error) = cell["of_second"].as_f64() {
                tests.entry(text(cell, "test")).or_default().push(error);
            }
        }
        tests
    };
    let (chosen, long) = (errors("chosen"), errors("50 ms"));
    let mut rows = Vec::new();
    // Reads, then writes.
    for (kind, is_write) in [("reads", false), ("writes", true)] {
        let mut ratios = Vec::new();
        for (test, errors) in &chosen {
            let Some(of_long) = long.get(test).filter(|_| is_write == writes(test)) else {
                continue;
            };
            let [one, other] = [errors, of_long].map(|it| root_mean_square(it.iter().copied()));
            ratios.push(one / other);
            let ratio = format!("{:.2}", one / other);
            rows.push(vec![(*test).to_owned(), percent(one), percent(other), ratio]);
        }
        if let Some(median) = stats::quantile(&ratios, 0.5) {
            let name = format!("median of the {kind}");
            rows.push(vec![name, String::new(), String::new(), format!("{median:.2}")]);
        }
    }
    let head = ["test", "turns as assay chooses", "turns of 50 ms", "ratio"];
    markdown(&head, &rows)
}

/// Logarithms of the ratios of a test in all studies with this name, and the half-widths from the studies.
fn results(lines: &[Value], kind: &str, named: &str) -> BTreeMap<String, (Vec<f64>, Vec<f64>)> {
    let mut tests: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for line in of_kind(lines, kind).filter(|line| name(line) == named) {
        for cell in cells(line) {
            let Some(found) = interval(cell, "rqps") else { continue };
            let (logs, halves) = tests.entry(text(cell, "test").to_owned()).or_default();
            logs.push(found.value.ln());
            halves.extend(half_width(found));
        }
    }
    tests
}

/// The manual design against assay's at equal time: for each test, half the width of the interval of one study of
/// either.
fn compared_by_hand(lines: &[Value]) -> Vec<(String, f64, f64)> {
    let by_hand = results(lines, "manual", "by hand");
    let assay = results(lines, "manual", "assay");
    let of_test = |(test, (logs, _)): (&String, &(Vec<f64>, Vec<f64>))| {
        let (_, halves) = assay.get(test)?;
        // The claim of one run if its spread were known, and equal to that of these few.
        let half_by_hand = stats::Z * stats::sd(logs)?;
        let half = stats::quantile(halves, 0.5)?;
        Some((test.clone(), half_by_hand, half))
    };
    by_hand.iter().filter_map(of_test).collect()
}

/// Root mean square: three runs of a test say little about its spread, those of all tests say more.
fn root_mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let squares: Vec<f64> = values.map(|value| value * value).collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

fn manual(lines: &[Value]) -> String {
    let found = compared_by_hand(lines);
    let mut rows: Vec<Vec<String>> = found
        .iter()
        .map(|(test, by_hand, assay)| {
            vec![
                test.clone(),
                percent(*by_hand),
                percent(*assay),
                format!("{:.1}", by_hand / assay),
            ]
        })
        .collect();
    if rows.len() > 1 {
        let by_hand = root_mean_square(found.iter().map(|it| it.1));
        let assay = root_mean_square(found.iter().map(|it| it.2));
        let ratio = format!("{:.1}", by_hand / assay);
        let name = "root mean square".to_owned();
        rows.push(vec![name, percent(by_hand), percent(assay), ratio]);
    }
    let head =
        ["test", "half-width of one manual run", "median half-width of assay", "times as wide"];
    markdown(&head, &rows)
}

fn manual_plot(lines: &[Value]) -> String {
    let found = compared_by_hand(lines);
    if found.is_empty() {
        return String::new();
    }
    let names: Vec<String> = found.iter().map(|it| it.0.clone()).collect();
    let points = |half: fn(&(String, f64, f64)) -> f64| -> Vec<Point> {
        let point = |(row, it): (usize, &(String, f64, f64))| {
            let half = 100.0 * half(it);
            Point { at: row as f64, value: 0.0, low: -half, high: half }
        };
        found.iter().enumerate().map(point).collect()
    };
    let series = [("by hand", points(|it| it.1)), ("assay", points(|it| it.2))]
        .map(|(name, points)| Series { name: name.to_owned(), points });
    let ends = series.iter().flat_map(|it| &it.points).flat_map(|it| [it.low, it.high]);
    let x = Axis::from_zero("95% interval around the estimate, %", ends);
    svg::rows("One study at equal machine time", &names, &x, &series, &[0.0])
}

/// The log ratio of long runs of every test. Each study is one value: the spread of repeated studies includes the
/// differences between instances.
fn long_runs(lines: &[Value]) -> BTreeMap<String, Interval> {
    let mut tests: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let studies = of_kind(lines, "long").filter(|line| name(line) != SHORT_TURNS);
    for cell in studies.flat_map(cells) {
        let Some(found) = interval(cell, "rqps") else { continue };
        tests.entry(text(cell, "test").to_owned()).or_default().push(found.value.ln());
    }
    let (names, logs): (Vec<String>, Vec<Vec<f64>>) = tests.into_iter().unzip();
    let means = stats::means_alike(&logs);
    names.into_iter().zip(means).filter_map(|(name, mean)| Some((name, mean?))).collect()
}

/// Every test in long runs and in the turns that assay chooses.
fn long(lines: &[Value]) -> String {
    let short = of_kind(lines, "long").filter(|line| name(line) == SHORT_TURNS);
    let short: BTreeMap<&str, Interval> = short
        .flat_map(cells)
        .filter_map(|cell| Some((text(cell, "test"), logarithm(interval(cell, "rqps")?))))
        .collect();
    let ratio = |log: Interval| {
        format!("{:.3} ± {:.3}", log.value.exp(), log.value.exp() * 0.5 * (log.high - log.low))
    };
    let mut differences = Vec::new();
    let mut rows = Vec::new();
    for (test, long) in long_runs(lines) {
        let mut row = vec![test.clone(), ratio(long)];
        if let Some(short) = short.get(test.as_str()) {
            let value = short.value - long.value;
            let half = 0.5 * (short.high - short.low).hypot(long.high - long.low);
            let difference = Interval { value, low: value - half, high: value + half };
            differences.push(value);
            row.extend([ratio(*short), percent_between(Some(difference))]);
        } else {
            row.extend([String::new(), String::new()]);
        }
        rows.push(row);
    }
    if let Some(mean) = stats::mean(&differences) {
        let name = "mean".to_owned();
        rows.push(vec![name, String::new(), String::new(), percent_between(Some(mean))]);
    }
    let head = ["test", "runs of a minute", "turns as assay chooses", "log of short less long"];
    markdown(&head, &rows)
}

fn logarithm(ratio: Interval) -> Interval {
    Interval { value: ratio.value.ln(), low: ratio.low.ln(), high: ratio.high.ln() }
}

/// Ratio of a test at each length of turns, in the order of [`TURNS`].
type ByTurn = Vec<Option<Interval>>;

fn by_turn(lines: &[Value]) -> BTreeMap<String, ByTurn> {
    let mut tests: BTreeMap<String, ByTurn> = BTreeMap::new();
    for (at, ms) in turns_ms().into_iter().enumerate() {
        let found = results(lines, "turns", &format!("{ms} ms"));
        let logs: Vec<Vec<f64>> = found.values().map(|(logs, _)| logs.clone()).collect();
        for (test, mean) in found.keys().zip(stats::means_alike(&logs)) {
            let row = tests.entry(test.clone()).or_insert_with(|| vec![None; TURNS.len()]);
            if let Some(place) = row.get_mut(at) {
                *place = mean;
            }
        }
    }
    tests
}

/// The mean difference of the log ratios at one length of turns from those at the longest, over all tests.
fn from_longest(tests: &BTreeMap<String, ByTurn>, at: usize) -> Option<Interval> {
    let difference = |found: &ByTurn| {
        let [short, long] = [at, TURNS.len() - 1].map(|at| found.get(at).copied().flatten());
        Some(short?.value - long?.value)
    };
    let differences: Vec<f64> = tests.values().filter_map(difference).collect();
    (at + 1 < TURNS.len()).then(|| stats::mean(&differences)).flatten()
}

fn turns(lines: &[Value]) -> String {
    let ratio = |log: Option<Interval>| {
        log.map_or_else(String::new, |it| {
            format!("{:.3} ± {:.3}", it.value.exp(), it.value.exp() * 0.5 * (it.high - it.low))
        })
    };
    let all = by_turn(lines);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (test, found) in &all {
        let mut row = vec![test.clone()];
        row.extend(found.iter().copied().map(ratio));
        rows.push(row);
    }
    if all.len() > 1 {
        let mut row = vec!["mean difference from the longest".to_owned()];
        row.extend((0..TURNS.len()).map(|at| percent_between(from_longest(&all, at))));
        rows.push(row);
    }
    let lengths = turns_ms().map(|ms| format!("{ms} ms"));
    let head: Vec<&str> =
        std::iter::once("test").chain(lengths.iter().map(String::as_str)).collect();
    markdown(&head, &rows)
}

/// The difference of each length of turns from the longest, with the errors of both.
fn turns_plot(lines: &[Value]) -> String {
    let tests = by_turn(lines);
    let mut series: Vec<Series> =
        turns_ms().map(|ms| Series { name: format!("{ms} ms"), points: Vec::new() }).into();
    let mut names = Vec::new();
    for (row, (test, found)) in tests.iter().enumerate() {
        names.push(test.clone());
        let Some(long) = found.last().copied().flatten() else { continue };
        for (series, short) in series.iter_mut().zip(found) {
            let Some(short) = short else { continue };
            let value = 100.0 * (short.value - long.value);
            let half = 50.0 * (short.high - short.low).hypot(long.high - long.low);
            if half > 0.0 && value.abs() > 0.0 {
                series.points.push(Point {
                    at: row as f64,
                    value,
                    low: value - half,
                    high: value + half,
                });
            }
        }
    }
    series.retain(|series| !series.points.is_empty());
    if series.is_empty() {
        return String::new();
    }
    let ends = series.iter().flat_map(|it| &it.points).flat_map(|it| [it.low, it.high]);
    let x = Axis::from_zero("log ratio at this length of turns less that at the longest, %", ends);
    svg::rows("Is it the same ratio? MariaDB 11.8 against 10.11", &names, &x, &series, &[0.0])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(kind: &str, key: &str, ratio: [f64; 3], verdict: &str) -> Value {
        let cells = [json!({"test": "scan", "rqps": ratio, "verdict": verdict,
            "cpu": ratio, "cpu_verdict": verdict})];
        json!({"kind": kind, "key": key, "cells": cells, "machine": "m", "assay": "c", "noise": 0.01,
            "date": "2026-01-01", "wall_s": 360.0})
    }

    #[test]
    fn pairs_of_the_same_system_are_counted_by_system() {
        let lines = [
            line("aa", "mariadb@11.8 1", [1.0, 0.99, 1.01], "same"),
            line("aa", "mariadb@11.8 2", [1.03, 1.01, 1.05], "faster"),
            line("aa", "mysql@8.0 1", [1.0, 0.99, 1.01], "same"),
        ];
        let table = aa(&lines);
        assert_eq!(table.lines().count(), 2 + 4, "{table}");
        let first = table.lines().nth(2).unwrap();
        assert!(first.starts_with("| mariadb@11.8 | QPS | 2 | 1.00% | 50.0% ["), "{first}");
        assert!(aa_plot(&lines).contains("<circle") && aa_plot(&[]).is_empty());
        assert!(studies(&lines).contains("| aa | 2026-01-01 | m | c | 3 | 0.3 h |"));
    }

    #[test]
    fn studies_of_an_hour_are_shown_by_the_number_of_clients() {
        let lines = [line("hour", "2 1", [1.0, 0.99, 1.01], "undecided")];
        assert!(hour(&lines).contains("| QPS | 1 | 1.00% | 1.00% | 1 |"), "{}", hour(&lines));
    }

    #[test]
    fn repeated_studies_say_how_accurate_long_runs_are() {
        let found = |ratio: f64| [ratio, 0.9 * ratio, 1.1 * ratio];
        let other = |mut line: Value| {
            line["cells"][0]["test"] = "insert".into();
            line
        };
        let lines = [
            line("long", "scan 1", found(1.0), ""),
            line("long", "scan 2", found(1.02), ""),
            other(line("long", "insert 1", found(1.01), "")),
            line("long", "chosen 1", [1.0, 0.99, 1.01], ""),
        ];
        let table = long(&lines);
        assert!(table.contains("| scan | 1.010 ± 0.127 | 1.000 ± 0.010 | -0.99%"), "{table}");
        assert!(table.contains("| insert | 1.010 ± 0.180 |  |  |"), "{table}");
    }

    #[test]
    fn short_turns_are_compared_with_long_ones() {
        let line = |key: &str, test: &str, error: f64| {
            let cells = [json!({"test": test, "of_second": error})];
            json!({"kind": "equal", "key": key, "cells": cells})
        };
        let lines = [
            line("chosen 1", "scan", 0.003),
            line("50 ms 1", "scan", 0.01),
            line("chosen 1", "insert", 0.01),
            line("50 ms 1", "insert", 0.02),
        ];
        let table = equal(&lines);
        assert!(table.contains("| scan | 0.30% | 1.00% | 0.30 |"), "{table}");
        assert!(table.contains("| median of the writes |  |  | 0.50 |"), "{table}");
    }

    #[test]
    fn one_manual_run_is_compared_with_a_study_of_the_same_time() {
        let mut lines = Vec::new();
        for (time, ratio) in [0.9, 1.0, 1.1].into_iter().enumerate() {
            lines.push(line("manual", &format!("by hand {time}"), [ratio; 3], ""));
            lines.push(line("manual", &format!("assay {time}"), [1.0, 0.99, 1.01], "same"));
        }
        let found = compared_by_hand(&lines);
        let (test, by_hand, assay) = &found[0];
        assert_eq!(test, "scan");
        assert!((by_hand / assay - 19.6).abs() < 0.2, "{}", by_hand / assay);
        assert!(manual_plot(&lines).contains("<circle"));
        assert_eq!(manual(&[]), "");
    }

    #[test]
    fn every_length_of_turns_is_compared_with_the_longest() {
        let mut lines = Vec::new();
        for time in 1..=3 {
            let off = f64::from(time) * 0.001;
            lines.push(line("turns", &format!("5 ms {time}"), [1.01 + off; 3], ""));
            lines.push(line("turns", &format!("1000 ms {time}"), [1.02 + off; 3], ""));
        }
        let table = turns(&lines);
        assert!(table.trim_end().ends_with("| 1.022 ± 0.002 |"), "{table}");
        let svg = turns_plot(&lines);
        assert!(svg.contains("scan") && svg.matches("class=\"e c").count() == 1, "{svg}");
        assert_eq!(turns_plot(&[]), "");
    }
}
