//! Planted causes: where their changes were attributed.

use serde_json::Value;

use super::docs::{Table, markdown};
use super::percent;
use crate::lines::text;

/// Terms of the account in a row: their names in the results, which are added up.
const TERMS: [(&str, &[&str]); 4] = [
    ("client CPU", &["client_cpu"]),
    ("server CPU", &["server_cpu"]),
    ("waiting for a CPU", &["cpu_wait"]),
    ("other waiting, disk included", &["disk_wait", "other_wait", "unknown"]),
];

pub(super) fn table(lines: &[Value]) -> Table {
    let of_kind = lines.iter().filter(|line| text(line, "kind") == "causes");
    let rows: Vec<Vec<String>> = of_kind.flat_map(rows).collect();
    let head: Vec<&str> = ["planted", "test", "relative QPS", "time, µs"]
        .into_iter()
        .chain(TERMS.iter().map(|(name, _)| *name))
        .chain(["in the expected terms", "cause in the report"])
        .collect();
    Table { name: "causes", text: markdown(&head, &rows) }
}

fn rows(line: &Value) -> Vec<Vec<String>> {
    let terms: Vec<&str> =
        line["terms"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let cells = line["cells"].as_array().into_iter().flatten();
    cells.map(|cell| row(text(line, "key"), &terms, cell)).collect()
}

fn row(planted: &str, expected: &[&str], cell: &Value) -> Vec<String> {
    let change = &cell["change_us"];
    let total = |terms: &[&str]| -> f64 {
        terms.iter().filter_map(|term| change[*term][0].as_f64()).fold(0.0, |sum, it| sum + it)
    };
    let whole = total(&["time"]);
    let between = |interval: &Value, digits: usize| {
        let part = |at: usize| interval[at].as_f64();
        match (part(0), part(1), part(2)) {
            (Some(value), Some(low), Some(high)) => {
                format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
            }
            _ => String::new(),
        }
    };
    let mut row = vec![
        planted.to_owned(),
        text(cell, "test").to_owned(),
        between(&cell["rqps"], 2),
        between(&change["time"], 1),
    ];
    // A value that rounds to zero has no sign.
    let signed = |us: f64| format!("{:+.1}", (10.0 * us).round() / 10.0 + 0.0).replace('-', "−");
    row.extend(TERMS.iter().map(|(_, terms)| signed(total(terms))));
    row.push(percent(total(expected) / whole));
    row.push(text(cell, "cause").to_owned());
    row
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_part_in_the_expected_terms_is_told() {
        let change = json!({"time": [10.0, 9.0, 11.0], "server_cpu": [9.0, 8.0, 10.0],
            "client_cpu": [-1.0, -2.0, 0.0], "other_wait": [2.0, 1.0, 3.0]});
        let cells = [json!({"test": "insert", "rqps": [0.8, 0.79, 0.81], "change_us": change,
            "cause": "cpu"})];
        let line =
            json!({"kind": "causes", "key": "a flush", "terms": ["other_wait"], "cells": cells});
        let text = table(&[line]).text;
        let row = "| a flush | insert | 0.80 [0.79, 0.81] | 10.0 [9.0, 11.0] | −1.0 | +9.0 | +0.0 | +2.0 | \
                   20.0% | cpu |";
        assert!(text.contains(row), "{text}");
    }
}
