//! Checks that the reference has a row for every field of JSON.

use assay_model::{Product, StudyRecord, TestSet};
use assay_report::{Format, TextOptions, json_fields, render};
use assay_verdict::judge;
use serde_json::Value;

use crate::common::count_study::{changed, counted};
use crate::common::record;
use crate::common::studies::{FOUR, ONE, study};

fn json(record: &StudyRecord) -> Value {
    let options = TextOptions { width: 80, color: false, verbose: true };
    serde_json::from_str(&render(record, &judge(record), Format::JSON, &options)).unwrap()
}

/// An interval is one path.
fn leaves(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.contains_key("low") => {
            for (key, value) in fields {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(value, &below, paths);
            }
        }
        Value::Array(elements) => {
            elements.iter().for_each(|element| leaves(element, &format!("{path}[]"), paths));
        }
        _ => paths.push(path.to_owned()),
    }
}

/// `*` is any key, a last one everything below. A null may replace a whole object or list.
fn describes(row: &str, path: &str) -> bool {
    let rows: Vec<&str> = row.split('.').collect();
    let parts: Vec<&str> = path.split('.').collect();
    let ends_in_star = rows.last() == Some(&"*");
    let is_null_object = parts.len() < rows.len();
    let is_null_list =
        |row: &str, part: &str| is_null_object && row.strip_suffix("[]") == Some(part);
    let alike = rows
        .iter()
        .zip(&parts)
        .all(|(row, part)| *row == "*" || row == part || is_null_list(row, part));
    alike && (rows.len() == parts.len() || is_null_object || ends_in_star || row == "host.doctor")
}

#[test]
fn every_field_of_json_is_described() {
    let table = json_fields();
    let rows: Vec<&str> = table.lines().filter_map(|line| line.split('`').nth(1)).collect();
    let others = ["11.4", "11.8"];
    let mut two_lines = record(&["8.0", "9.7"]);
    two_lines.systems[1..].iter_mut().for_each(|it| it.spec.product = Product::MySql);
    let records = [
        record(&others),
        two_lines,
        study(&others, TestSet::Set32, &FOUR, true),
        study(&others, TestSet::Set27, &[ONE], false),
        counted(&[(0, changed())]),
    ];
    for document in records.iter().map(json) {
        let mut paths = Vec::new();
        leaves(&document, "", &mut paths);
        assert!(paths.len() > 50, "{paths:?}");
        paths.retain(|path| !rows.iter().any(|row| describes(row, path)));
        paths.dedup();
        assert!(
            paths.is_empty(),
            "no list of fields in crates/assay-report/src/data has {paths:?}"
        );
    }
}
