//! Tables of queries per second: `qps.abs.*` and `qps.rel.*`, as tsv, csv or edited by hand.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::ops::RangeInclusive;

use assay_model::limits::{CELLS, SYSTEMS};
use assay_model::{Test, TestSet};
use assay_workloads::tests_of;

use crate::line::{ParseResult, each_line, name, value};

/// A run that only fills caches before `scan`; it is in the tables by mistake.
const WARM_UP: &str = "scan.warm";

const RATES: RangeInclusive<f64> = 0.001..=1e9;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QpsKind {
    /// Operations per second: queries, or for `scan` rows, in a unit that has changed over the years.
    Absolute,
    /// Relative to the operations per second of this server, which has no column.
    RelativeTo(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct QpsTable {
    pub kind: QpsKind,
    /// Names by column; empty for a csv file, which has none.
    pub servers: Vec<String>,
    /// Without those of `scan.warm`.
    pub rows: Vec<QpsRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QpsRow {
    /// Such as `read-only_range=10`.
    pub test: String,
    /// One per column; `None` if not a number.
    pub values: Vec<Option<f64>>,
}

/// A csv file has the test first and the values after it, and no names of servers.
pub fn qps_table(file: &str, content: impl BufRead) -> ParseResult<QpsTable> {
    let mut table = QpsTable { kind: QpsKind::Absolute, servers: Vec::new(), rows: Vec::new() };
    let mut names = BTreeSet::new();
    let faults = each_line(file, content, |_, line| {
        if let Some(base) = line.strip_prefix("Relative to:") {
            table.kind = QpsKind::RelativeTo(base.trim().to_owned());
            return Ok(());
        }
        if let Some((number, name)) = line.strip_prefix("col-").and_then(|it| it.split_once(':')) {
            return add_server(&mut table.servers, number.trim(), name.trim());
        }
        // A table edited by hand has headings.
        if line.trim().is_empty() || line.starts_with("col-") || line.starts_with("- ") {
            return Ok(());
        }
        let row = row(line)?;
        if row.test.starts_with(WARM_UP) {
            return Ok(());
        }
        if !table.servers.is_empty() && table.servers.len() != row.values.len() {
            return Err(format!("{} of {} values", row.values.len(), table.servers.len()));
        }
        if table.kind == QpsKind::Absolute {
            row.values.iter().flatten().try_for_each(|rate| plausible(*rate))?;
        }
        if table.rows.len() == CELLS {
            return Err(format!("more than {CELLS} tests"));
        }
        if !names.insert(row.test.clone()) {
            return Err(format!("`{}` is in the table already", assay_model::shortened(&row.test)));
        }
        table.rows.push(row);
        Ok(())
    })?;
    Ok((table, faults))
}

/// A rate of zero comes from a run that failed.
fn plausible(rate: f64) -> Result<(), String> {
    if rate == 0.0 || RATES.contains(&rate) {
        return Ok(());
    }
    Err(format!("{rate} is no rate between {} and {}", RATES.start(), RATES.end()))
}

/// The columns are listed in their order.
fn add_server(servers: &mut Vec<String>, number: &str, name: &str) -> Result<(), String> {
    match number.parse::<usize>() {
        Ok(_) if name.is_empty() => return Err("the column has no name".to_owned()),
        Ok(_) if servers.len() == SYSTEMS => return Err(format!("more than {SYSTEMS} servers")),
        Ok(number) if number == servers.len() + 1 => servers.push(self::name(name)?),
        _ => return Err(format!("column {number} follows column {}", servers.len())),
    }
    Ok(())
}

fn row(line: &str) -> Result<QpsRow, String> {
    let (test, values): (&str, Vec<&str>) = match line.rsplit_once('\t') {
        Some((values, test)) => (test, values.split('\t').collect()),
        None => {
            let (test, values) = line.split_once(',').ok_or("neither tabs nor commas")?;
            (test, values.split(',').collect())
        }
    };
    let test = test.trim();
    if test.is_empty() {
        return Err("the row names no test".to_owned());
    }
    let values = values.into_iter().map(|text| value(text.trim()));
    let values = values.collect::<Result<_, _>>()?;
    Ok(QpsRow { test: name(test)?, values })
}

/// The published set that differs in the fewest tests; it decides their groups.
pub(crate) fn nearest_set(tests: &BTreeSet<Test>) -> TestSet {
    let difference = |set: &TestSet| {
        let of_set: BTreeSet<Test> = tests_of(*set).into_iter().collect();
        of_set.symmetric_difference(tests).count()
    };
    TestSet::PUBLISHED.into_iter().min_by_key(difference).unwrap_or(TestSet::Set47)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (QpsTable, Vec<String>) {
        let (table, faults) = qps_table("qps", text.as_bytes()).unwrap();
        (table, faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_table_has_servers_and_tests() {
        let (table, faults) = read(
            "col-1 : x.my5651_rel.z12a.pk1\r\ncol-2 : x.my8044_rel.z12a.pk1\r\n\r\ncol-1\tcol-2\r\n\
             4527\t3926\thot-points_range=100\r\n100\tNA\tscan_range=100\r\n9\t9\tscan.warm_range=100\r\n",
        );
        assert_eq!(faults, [""; 0]);
        assert_eq!(table.kind, QpsKind::Absolute);
        assert_eq!(table.servers, ["x.my5651_rel.z12a.pk1", "x.my8044_rel.z12a.pk1"]);
        let row = |test: &str, values: [Option<f64>; 2]| QpsRow {
            test: test.to_owned(),
            values: values.to_vec(),
        };
        let scan = row("scan_range=100", [Some(100.0), None]);
        assert_eq!(table.rows, [row("hot-points_range=100", [Some(4527.0), Some(3926.0)]), scan]);
    }

    #[test]
    fn edited_and_csv_tables_are_read_too() {
        let (edited, faults) = read(
            "Relative to: my5651_rel.z12a\ncol-1 : my8044_rel.z12a\n\n- point queries\ncol-1\n0.87\thot-points\n\n\
             - writes\ncol-1\n1.10\tinsert\n",
        );
        assert_eq!(faults, [""; 0]);
        assert_eq!(edited.kind, QpsKind::RelativeTo("my5651_rel.z12a".to_owned()));
        let names: Vec<_> = edited.rows.iter().map(|row| row.test.as_str()).collect();
        assert_eq!(names, ["hot-points", "insert"]);
        let (csv, faults) = read("hot-points_range=100,3882,3956\n");
        assert_eq!(
            (csv.rows[0].values.as_slice(), faults.len()),
            (&[Some(3882.0), Some(3956.0)][..], 0)
        );
    }

    #[test]
    fn bad_rows_are_named_and_the_others_kept() {
        let (table, faults) =
            read("col-1 : a\ncol-3 : b\n1\tone\n1x\ttwo\n7\n\tthree\n2\tfour\textra\n");
        assert_eq!(
            faults,
            [
                "qps:2: column 3 follows column 1",
                "qps:4: `1x` is not a number",
                "qps:5: neither tabs nor commas",
                "qps:7: `four` is not a number",
            ]
        );
        let names: Vec<_> = table.rows.iter().map(|row| row.test.as_str()).collect();
        assert_eq!(names, ["one", "three"]);
        assert_eq!(table.rows[1].values, [None]);
    }

    /// The author's runs of the set of 32 include two before the writes.
    #[test]
    fn the_nearest_set_decides_the_groups() {
        let all = |set: TestSet, more: &[&str]| -> BTreeSet<Test> {
            let more = more.iter().map(|name| assay_workloads::published_test(name).unwrap());
            tests_of(set).into_iter().chain(more).collect()
        };
        let before = ["point-query.pre_range=100", "range-notcovered-si.pre_range=100"];
        assert_eq!(nearest_set(&all(TestSet::Set32, &before)), TestSet::Set32);
        for whole in TestSet::PUBLISHED {
            let mut tests = all(whole, &[]);
            assert_eq!(nearest_set(&tests), whole);
            tests.retain(|test| test.name() != "insert");
            assert_eq!(nearest_set(&tests), whole);
        }
        assert_eq!(nearest_set(&BTreeSet::new()), TestSet::Set27);
    }
}
