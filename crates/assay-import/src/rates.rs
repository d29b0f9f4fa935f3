//! Summary tables of the Insert Benchmark: `tput.tsv`, `tputr.tsv` and `iput.tsv`.

use std::io::{BufRead, Result};

use assay_model::limits::SYSTEMS;

use crate::line::{Fault, each_line, name, value};

const SERVER: &str = "dbms";

/// Rates by step: of operations, the same relative to the first server, or of background inserts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RateTable {
    /// Such as `l.i0` and `qr100`, without the suffix of a loop.
    pub steps: Vec<String>,
    pub rows: Vec<RateRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RateRow {
    pub server: String,
    /// One per step; `None` if not a number.
    pub values: Vec<Option<f64>>,
}

pub fn rate_table(file: &str, content: impl BufRead) -> Result<(RateTable, Vec<Fault>)> {
    let mut table = RateTable::default();
    let faults = each_line(file, content, |_, line| {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        match cells.as_slice() {
            [""] => {}
            [SERVER, steps @ ..] => table.steps = steps.iter().map(|step| plain(step)).collect(),
            _ if table.rows.len() == SYSTEMS => {
                return Err(format!("more than {SYSTEMS} servers"));
            }
            [server, values @ ..] if values.len() == table.steps.len() && !values.is_empty() => {
                let values =
                    values.iter().map(|text| value(text)).collect::<std::result::Result<_, _>>()?;
                table.rows.push(RateRow { server: name(server)?, values });
            }
            other => {
                return Err(format!("{} of {} values", other.len() - 1, table.steps.len()));
            }
        }
        Ok(())
    })?;
    Ok((table, faults))
}

/// Strips the number of the loop: `qr100` for `qr100.L1`.
fn plain(step: &str) -> String {
    match step.rsplit_once(".L") {
        Some((plain, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => step,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_a_rate_for_each_step() {
        let text = "dbms\tl.i0\tqr100.L1\nmy5651_rel.cz11a\t93930\t100\nmy8036\t5\n\n";
        let (table, faults) = rate_table("iput.tsv", text.as_bytes()).unwrap();
        assert_eq!(table.steps, ["l.i0", "qr100"]);
        assert_eq!(table.rows[0].values, [Some(93930.0), Some(100.0)]);
        let message: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!((message, table.rows.len()), (vec!["iput.tsv:3: 1 of 2 values".to_owned()], 1));
    }
}
