//! Parser of the Insert Benchmark's rows of 21 columns: `o.sum.*`, `mrg.*` and `rel.*`.

use std::io::{BufRead, Result};

use assay_model::limits::SYSTEMS;

use crate::line::{Fault, each_line, name, value};

/// The columns before the name of the server: rates, disk and CPU per operation, sizes in GiB, the slowest operation in
/// seconds, and percentiles of the rate by second.
pub const COLUMNS: [&str; 20] = [
    "ips", "qps", "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups",
    "cspq", "cpupq", "dbgb1", "dbgb2", "rss", "maxop", "p50", "p99",
];

/// A server in a step, or a step of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    pub tag: String,
    /// Family of servers, from 0. Ratios are to the first row of a family.
    pub family: usize,
    /// As printed, in the order of [`COLUMNS`].
    pub printed: Vec<String>,
    /// The same as numbers; `None` for other words.
    pub values: Vec<Option<f64>>,
}

/// Skips a header and empty lines; a `-` separates families.
pub fn step_rows(file: &str, content: impl BufRead) -> Result<(Vec<StepRow>, Vec<Fault>)> {
    let mut rows: Vec<StepRow> = Vec::new();
    let mut family = 0;
    let faults = each_line(file, content, |_, line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        match cells.as_slice() {
            [] => {}
            ["-"] => family += usize::from(rows.last().is_some_and(|row| row.family == family)),
            [first, ..] if *first == COLUMNS[0] => {}
            _ if rows.len() == SYSTEMS => return Err(format!("more than {SYSTEMS} rows")),
            [values @ .., tag] if values.len() == COLUMNS.len() => {
                let numbers =
                    values.iter().map(|text| value(text)).collect::<std::result::Result<_, _>>()?;
                let printed = values.iter().map(|&text| text.to_owned()).collect();
                rows.push(StepRow { tag: name(tag)?, family, printed, values: numbers });
            }
            other => return Err(format!("{} of {} columns", other.len(), COLUMNS.len() + 1)),
        }
        Ok(())
    })?;
    Ok((rows, faults))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_belong_to_families() {
        let row = |tag: &str| format!("{} {tag}\n", ["1.5"; 20].join("\t"));
        let text = format!(
            "{} tag\n{}{}-\n-\n{}1 2 three\n",
            COLUMNS.join("\t"),
            row("my5651.cx6d"),
            row("my8021.cx6d").replacen("1.5", "NA", 1),
            row("pg131.cx5")
        );
        let (rows, faults) = step_rows("mrg.l.i0", text.as_bytes()).unwrap();
        let message: Vec<_> = rows.iter().map(|row| (row.tag.as_str(), row.family)).collect();
        assert_eq!(message, [("my5651.cx6d", 0), ("my8021.cx6d", 0), ("pg131.cx5", 1)]);
        assert_eq!((rows[1].values[0], rows[1].values[1]), (None, Some(1.5)));
        assert_eq!(faults[0].to_string(), "mrg.l.i0:7: 3 of 21 columns");
    }
}
