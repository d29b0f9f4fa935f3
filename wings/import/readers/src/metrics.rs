//! Metrics per operation: `o.met.*` and `met.*.txt`.

use std::collections::BTreeSet;
use std::io::BufRead;

use assay_model::Test;
use assay_model::limits::{CELLS, SYSTEMS};
use assay_workloads::{published_test, tests_of};

use crate::line::{ParseResult, each_line, name, value};
use crate::qps::{QpsKind, QpsRow, QpsTable, nearest_set};

const SERVER: &str = "dbms";

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    pub sections: Vec<MetricSection>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricSection {
    /// Such as `sb.met.point-query.range100.pk1.dop1`; that of a load begins with `sb.prepare`.
    pub title: String,
    /// Such as `cpu/o`, without the column of the server.
    pub columns: Vec<String>,
    /// In the order of the servers.
    pub absolute: Vec<MetricRow>,
    /// The printed ratios of all servers but the first.
    pub relative: Vec<MetricRow>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MetricRow {
    pub server: String,
    /// As printed, by column: a ratio to zero is `inf`.
    pub printed: Vec<String>,
    /// The same as numbers; `None` for other words.
    pub values: Vec<Option<f64>>,
}

/// The rate of a run; kept apart from the metrics.
pub(crate) const RATE: &str = "o/s";

/// Tables and metrics have rates as whole numbers.
const ROUNDING: f64 = 0.5;

impl Metrics {
    /// Number of clients of all runs; `None` if it differs or is unknown.
    pub fn clients(&self) -> Option<u32> {
        let mut clients = self.sections.iter().filter_map(|section| section.run()?.clients);
        let first = clients.next()?;
        clients.all(|it| it == first).then_some(first)
    }

    /// The rates of all runs that are reported as a table of queries per second.
    pub fn table(&self) -> QpsTable {
        let mut servers: Vec<String> = Vec::new();
        for row in self.sections.iter().flat_map(|section| &section.absolute) {
            if servers.len() < SYSTEMS && !servers.contains(&row.server) {
                servers.push(row.server.clone());
            }
        }
        let row = |section: &MetricSection| {
            let name = section.run().filter(|run| !run.is_warm_up())?.in_tables();
            let rate = section.column(RATE)?;
            let rate_of = |server: &String| {
                let row = section.absolute.iter().find(|row| row.server == *server)?;
                row.values.get(rate).copied().flatten()
            };
            Some(QpsRow { test: name, values: servers.iter().map(rate_of).collect() })
        };
        let mut rows: Vec<QpsRow> = self.sections.iter().filter_map(row).collect();
        let tests: BTreeSet<Test> =
            rows.iter().filter_map(|row| published_test(&row.test)).collect();
        let of_set = tests_of(nearest_set(&tests));
        if of_set.iter().all(|test| tests.contains(test)) {
            // Two reads before the writes are run with every set, but reported only with those that have them.
            let is_of_set =
                |row: &QpsRow| published_test(&row.test).is_some_and(|it| of_set.contains(&it));
            rows.retain(|row| !row.test.contains(".pre") || is_of_set(row));
        }
        QpsTable { kind: QpsKind::Absolute, servers, rows }
    }

    /// Whether it has all rates of a table: then both are of the same runs.
    pub fn has_rates_of(&self, table: &QpsTable) -> bool {
        let rates = table.rows.iter().flat_map(|row| {
            let servers = table.servers.iter().zip(&row.values);
            servers.filter_map(move |(server, rate)| Some((&row.test, server, (*rate)?)))
        });
        let mut rates = rates.filter(|(.., rate)| *rate > 0.0).peekable();
        rates.peek().is_some()
            && rates.all(|(test, server, rate)| {
                self.rate(test, server).is_some_and(|it| (it - rate).abs() <= ROUNDING)
            })
    }

    fn rate(&self, test: &str, server: &str) -> Option<f64> {
        let (section, row) = self.row(test, server)?;
        row.values.get(section.column(RATE)?).copied().flatten()
    }

    /// Metrics by the names in a table of queries per second, such as `point-query_range=100` and
    /// `x.my5651_rel.z12a.pk1`.
    pub(crate) fn of_run(&self, test: &str, server: &str) -> Option<Vec<(String, f64)>> {
        let (section, row) = self.row(test, server)?;
        let named = section.columns.iter().zip(&row.values);
        let known = named.filter_map(|(name, value)| Some((name.clone(), (*value)?)));
        Some(known.filter(|(name, _)| name != RATE).collect())
    }

    fn row(&self, test: &str, server: &str) -> Option<(&MetricSection, &MetricRow)> {
        let is_test = |section: &&MetricSection| section.run().is_some_and(|it| it.is_of(test));
        let section = self.sections.iter().find(is_test)?;
        let row = section.absolute.iter().find(|row| plain(&row.server) == plain(server))?;
        Some((section, row))
    }
}

/// Strips the prefix `x.`, which not every file has.
fn plain(server: &str) -> &str {
    server.strip_prefix("x.").unwrap_or(server)
}

/// The parts of the name of a run's file or section: `point-query.pre.range100.pk1.dop8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunName<'a> {
    /// Such as `point-query.pre`.
    pub(crate) test: &'a str,
    /// Length of the range; may be no number.
    pub(crate) range: Option<&'a str>,
    pub(crate) clients: Option<u32>,
}

impl<'a> RunName<'a> {
    /// `name` is without the prefix before the test, such as `sb.met.`.
    pub(crate) fn parse(name: &'a str) -> Self {
        let (rest, clients) = match name.rsplit_once(".dop") {
            Some((rest, clients)) => (rest, clients.parse().ok()),
            None => (name, None),
        };
        let rest = rest.strip_suffix(".pk1").or_else(|| rest.strip_suffix(".pk0")).unwrap_or(rest);
        match rest.rsplit_once(".range") {
            Some((test, range)) => Self { test, range: Some(range), clients },
            None => Self { test: rest, range: None, clients },
        }
    }

    /// Whether it only fills caches.
    pub(crate) fn is_warm_up(&self) -> bool {
        self.test.ends_with(".warm") || self.test.ends_with(".warmpre")
    }

    /// Name of the test in tables of queries per second.
    pub(crate) fn in_tables(&self) -> String {
        match self.range {
            Some(range) => format!("{}_range={range}", self.test),
            None => self.test.to_owned(),
        }
    }

    /// `test` as named in a table of queries per second.
    fn is_of(&self, test: &str) -> bool {
        let (name, range) =
            test.split_once("_range=").map_or((test, None), |(it, r)| (it, Some(r)));
        self.test == name && (self.range == range || range.is_none())
    }
}

impl MetricSection {
    /// `None` for a load.
    fn run(&self) -> Option<RunName<'_>> {
        self.title.strip_prefix("sb.met.").map(RunName::parse)
    }

    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

/// Accepts missing columns, as in older files, and additional ones.
pub fn metrics(file: &str, content: impl BufRead) -> ParseResult<Metrics> {
    let mut all = Metrics::default();
    let mut is_relative = false;
    let faults = each_line(file, content, |_, line| {
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        if line.starts_with("sb.") {
            if all.sections.len() == CELLS {
                return Err(format!("more than {CELLS} sections"));
            }
            all.sections.push(MetricSection { title: name(line)?, ..MetricSection::default() });
            is_relative = false;
            return Ok(());
        }
        let section = all.sections.last_mut().ok_or("no title comes before it")?;
        match line.strip_prefix("---").map(str::trim) {
            Some("absolute") => is_relative = false,
            Some(words) if words.starts_with("relative") => is_relative = true,
            Some(other) => return Err(format!("unknown part `{other}`")),
            None => return add_row(section, line, is_relative),
        }
        Ok(())
    })?;
    Ok((all, faults))
}

fn add_row(section: &mut MetricSection, line: &str, is_relative: bool) -> Result<(), String> {
    let mut cells: Vec<&str> = line.split('\t').filter(|cell| !cell.is_empty()).collect();
    let server = cells.pop().unwrap_or_default();
    if server == SERVER {
        section.columns = cells.iter().map(|&name| name.to_owned()).collect();
        return Ok(());
    }
    if section.absolute.len().max(section.relative.len()) == SYSTEMS {
        return Err(format!("more than {SYSTEMS} servers"));
    }
    if cells.len() != section.columns.len() {
        return Err(format!("{} of {} values", cells.len(), section.columns.len()));
    }
    let values = cells.iter().map(|text| value(text)).collect::<Result<_, _>>()?;
    let printed = cells.iter().map(|&text| text.to_owned()).collect();
    let row = MetricRow { server: name(server)?, printed, values };
    if is_relative {
        section.relative.push(row)
    } else {
        section.absolute.push(row)
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_both_parts() {
        let text = "sb.met.point-query.range100.pk1.dop1\n--- absolute\ncpu/o\t\tcs/o\to/s\tdbms\n\
                    0.000510\t3.825\t24733\tx.my5651\n0.000599\t0\t21740\tx.my5744\n\
                    --- relative to first result\n1.17\t\t0.00\t0.88\tx.my5744\n\n\
                    sb.met.scan.range100.pk1.dop1\n--- absolute\ncpu/o\to/s\tdbms\n0.1\tx.my5651\n";
        let (found, faults) = metrics("o.met", text.as_bytes()).unwrap();
        let message: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(message, ["o.met:12: 1 of 2 values"]);
        let [first, second] = found.sections.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.columns.len(), first.column("o/s")), (3, Some(2)));
        assert_eq!(first.absolute[1].values, [Some(0.000_599), Some(0.0), Some(21740.0)]);
        assert_eq!(first.relative[0].printed, ["1.17", "0.00", "0.88"]);
        assert_eq!(
            (second.title.as_str(), second.absolute.len()),
            ("sb.met.scan.range100.pk1.dop1", 0)
        );
    }

    #[test]
    fn metrics_of_the_same_runs_have_all_rates_of_a_table() {
        let text = "sb.met.insert.range100.pk1.dop16\n--- absolute\ncpu/o\t\to/s\tdbms\n\
                    0.1\t900\tx.my5651\n0.2\t800\tx.my8044\n0.3\t700\tx.my9500\n";
        let (found, faults) = metrics("o.met.my.all", text.as_bytes()).unwrap();
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(found.clients(), Some(16));
        let has = |servers: [&str; 2], test: &str, values: [Option<f64>; 2]| {
            let row = QpsRow { test: test.to_owned(), values: values.to_vec() };
            let servers = servers.map(str::to_owned).to_vec();
            found.has_rates_of(&QpsTable { kind: QpsKind::Absolute, servers, rows: vec![row] })
        };
        let both = ["x.my5651", "x.my9500"];
        assert!(has(both, "insert_range=100", [Some(900.0), Some(700.0)]));
        assert!(has(both, "insert_range=100", [Some(900.0), None]));
        assert!(!has(both, "insert_range=100", [Some(900.0), Some(701.0)]));
        assert!(!has(both, "insert_range=100", [None, Some(0.0)]));
        assert!(!has(both, "delete_range=100", [Some(900.0), Some(700.0)]));
        assert!(!has(["x.my5651", "x.my5744"], "insert_range=100", [Some(900.0); 2]));
    }

    /// Of the runs of the set of 32, the table has 32.
    #[test]
    fn a_run_before_the_writes_is_no_row_of_a_set_without_it() {
        use assay_model::TestSet;
        let names = |set| tests_of(set).into_iter().map(|test| test.name().to_owned());
        let table = |names: &mut dyn Iterator<Item = String>| {
            let section = |name: String| {
                let (test, range) = name.split_once("_range=").unwrap_or((&name, "100"));
                format!(
                    "sb.met.{test}.range{range}.pk1.dop1\n--- absolute\ncpu/o\to/s\tdbms\n1\t9\tx\n\n"
                )
            };
            let text: String = names.map(section).collect();
            metrics("o.met", text.as_bytes()).unwrap().0.table().rows.len()
        };
        let before = ["point-query.pre", "range-notcovered-si.pre"].map(str::to_owned);
        assert_eq!(table(&mut names(TestSet::Set32).chain(before.clone())), 32);
        assert_eq!(table(&mut names(TestSet::Set42)), 42);
        assert_eq!(table(&mut before.into_iter()), 2);
    }

    #[test]
    fn lines_without_a_title_are_faults() {
        let (found, faults) = metrics("o.met", &b"1\tx\n--- other\n"[..]).unwrap();
        assert_eq!((found.sections.len(), faults.len()), (0, 2));
    }
}
