//! Printed numbers beside those of a study. Pure: no I/O, no clock.

use std::collections::BTreeMap;

use assay_claim_check::Summary;
use assay_command::base::rebased;
use assay_model::{CellId, Estimate, Setup, StudyRecord, Verdict};
use assay_verdict::{CellJudgement, Judgement, METRICS, correlation};

use crate::printed::{PrintedColumn, PrintedPost, PrintedTable, PrintedUnit};

/// A table of a post with the numbers of a study.
#[derive(Debug)]
pub(crate) struct TableBeside<'a> {
    pub(crate) table: &'a PrintedTable,
    /// The base of the study.
    pub(crate) base: Option<String>,
    /// In the order of the study's tests.
    pub(crate) numbers: Vec<NumberBeside<'a>>,
    /// Of printed and measured numbers, without standard deviations.
    pub(crate) correlation: Option<Estimate>,
    /// The same of their ranks.
    pub(crate) rank_correlation: Option<Estimate>,
}

#[derive(Debug)]
pub(crate) struct NumberBeside<'a> {
    pub(crate) row: &'a str,
    pub(crate) column: PrintedColumn<'a>,
    /// The system of the study; `None` if none answers for that of the column.
    pub(crate) system: Option<String>,
    /// `None` if the study has no such setup.
    pub(crate) setup: Option<Setup>,
    pub(crate) printed: f64,
    pub(crate) here: Option<Estimate>,
}

impl NumberBeside<'_> {
    pub(crate) fn difference(&self) -> Option<f64> {
        let here = self.here.filter(|here| !here.is_bound())?;
        Some(here.value - self.printed)
    }

    /// Whether the printed number, which was rounded, lies in the interval measured here; `None` without one.
    pub(crate) fn is_within(&self, digits: usize) -> Option<bool> {
        let here = self.here.filter(|here| here.has_interval())?;
        let half = 0.5 * 10_f64.powi(-i32::try_from(digits).ok()?);
        Some(here.low <= self.printed + half && self.printed - half <= here.high)
    }
}

impl TableBeside<'_> {
    /// How many printed numbers lie in their intervals, of how many.
    pub(crate) fn within(&self) -> [usize; 2] {
        let known = || self.numbers.iter().filter_map(|it| it.is_within(self.table.digits));
        [known().filter(|is_within| *is_within).count(), known().count()]
    }
}

/// A study judged against each base that tables ask for.
pub(crate) struct MeasuredNumbers<'a> {
    record: &'a StudyRecord,
    /// By the name of the base; `None` if the study cannot have it.
    judged: BTreeMap<String, Option<(StudyRecord, Judgement)>>,
}

impl<'a> MeasuredNumbers<'a> {
    pub(crate) fn new(record: &'a StudyRecord) -> Self {
        Self { record, judged: BTreeMap::new() }
    }

    pub(crate) fn beside<'p>(
        &mut self,
        table: &'p PrintedTable,
        post: &'p PrintedPost,
    ) -> TableBeside<'p> {
        let record = self.record;
        let systems = &record.systems;
        let name = |printed: &str| Some(systems[post.answering(printed, systems)?].name.clone());
        let base = table.base.as_deref().and_then(name);
        let columns = table.columns();
        let names: Vec<Option<String>> = columns.iter().map(|it| name(it.system)).collect();
        let judged = self.judged_by(base.as_deref());
        let is_known = table.base.is_none() || base.is_some();
        let mut rows: Vec<(&String, &Vec<f64>)> = table.rows.iter().collect();
        rows.sort_by_key(|(row, _)| place(record, row));
        let mut numbers = Vec::new();
        for (row, printed) in rows {
            let shown = columns.iter().zip(&names).zip(printed);
            for ((column, name), printed) in shown.filter(|(_, printed)| !printed.is_nan()) {
                let number = |setup, here| NumberBeside {
                    row,
                    column: *column,
                    system: name.clone(),
                    setup,
                    printed: *printed,
                    here,
                };
                let system = name.as_deref().filter(|_| is_known);
                let found = system
                    .zip(judged)
                    .map(|(name, judged)| found(table, row, column.statistic, name, judged));
                match found.filter(|found| !found.is_empty()) {
                    Some(found) => {
                        let found = found.into_iter();
                        numbers.extend(found.map(|(setup, here)| number(Some(setup), here)));
                    }
                    None => numbers.push(number(None, None)),
                }
            }
        }
        let pairs = pairs(&numbers);
        let (printed, here): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let by_rank: Vec<(f64, f64)> = ranks(&printed).into_iter().zip(ranks(&here)).collect();
        TableBeside {
            table,
            base,
            numbers,
            correlation: correlation(&pairs),
            rank_correlation: correlation(&by_rank),
        }
    }

    /// `None` if the study has no single system with this name.
    fn judged_by(&mut self, base: Option<&str>) -> Option<&(StudyRecord, Judgement)> {
        let record = self.record;
        let judged = self.judged.entry(base.unwrap_or_default().to_owned()).or_insert_with(|| {
            let based = match base {
                Some(base) => rebased(record.clone(), base).ok()?,
                None => record.clone(),
            };
            let judgement = assay_verdict::judge(&based);
            Some((based, judgement))
        });
        judged.as_ref()
    }
}

/// Whether a printed row is a test. Printed names have a range, which most tests do not need.
pub(crate) fn names_test(row: &str, test: &str) -> bool {
    row == test || row.rsplit_once("_range=").is_some_and(|(name, _)| name == test)
}

fn is_meant(record: &StudyRecord, row: &str, has_groups: bool, cell: CellId) -> bool {
    match has_groups {
        true => cell.test.group(record.study.set).word == row,
        false => names_test(row, cell.test.name()),
    }
}

/// Position of the first test that a row is about.
fn place(record: &StudyRecord, row: &str) -> usize {
    let is_row =
        |cell: CellId| is_meant(record, row, false, cell) || is_meant(record, row, true, cell);
    record.study.cells.iter().position(|cell| is_row(cell.id)).unwrap_or(usize::MAX)
}

/// The setups of the study that the table is about: those with its clients and tables, else those with its tables, else
/// the only one.
fn setups(table: &PrintedTable, record: &StudyRecord) -> Vec<Setup> {
    let all = &record.study.setups;
    let has_tables = |setup: &Setup| table.tables.is_none_or(|tables| tables == setup.tables);
    let has_clients = |setup: &Setup| table.clients.is_none_or(|clients| clients == setup.clients);
    let exact: Vec<Setup> =
        all.iter().copied().filter(|it| has_tables(it) && has_clients(it)).collect();
    let alike: Vec<Setup> = all.iter().copied().filter(has_tables).collect();
    match (exact.is_empty(), alike.as_slice(), all.as_slice()) {
        (false, ..) => exact,
        (true, [only], _) | (true, _, [only]) => vec![*only],
        _ => Vec::new(),
    }
}

/// The numbers of a row and a column in each setup.
fn found(
    table: &PrintedTable,
    row: &str,
    statistic: Option<Summary>,
    system: &str,
    (record, judgement): &(StudyRecord, Judgement),
) -> Vec<(Setup, Option<Estimate>)> {
    let Some(system) = record.systems.iter().position(|it| it.name == system) else {
        return Vec::new();
    };
    let cells: Vec<&CellJudgement> = (judgement.cells.iter())
        .filter(|it| it.system == system && is_meant(record, row, statistic.is_some(), it.cell))
        .collect();
    let of_setup = |setup: Setup| {
        let mut cells = cells.iter().copied().filter(|it| it.cell.setup == setup).peekable();
        cells.peek()?;
        let found = match statistic {
            None => cells.find_map(|cell| value(table.unit, record, cell)),
            Some(statistic) => {
                let known = |cell: &CellJudgement| {
                    let value = value(table.unit, record, cell)?;
                    (!value.is_bound()).then_some(value.value)
                };
                // A test without a value may have had any.
                let values: Option<Vec<f64>> = cells.map(known).collect();
                let of_group = judgement
                    .groups
                    .iter()
                    .find(|it| it.system == system && it.setup == setup && it.group.word == row);
                let has_interval =
                    statistic == Summary::Median && table.unit == PrintedUnit::RelativeQps;
                let interval = of_group.filter(|_| has_interval).and_then(|it| it.median_interval);
                values.and_then(|values| {
                    interval.or_else(|| statistic.compute(&values).map(Estimate::without_interval))
                })
            }
        };
        Some((setup, found))
    };
    setups(table, record).into_iter().filter_map(of_setup).collect()
}

fn value(unit: PrintedUnit, record: &StudyRecord, cell: &CellJudgement) -> Option<Estimate> {
    if cell.verdict == Verdict::Failed {
        return None;
    }
    match unit {
        PrintedUnit::RelativeQps | PrintedUnit::RelativeRate => cell.relative_rate(record),
        PrintedUnit::ChangeOfRate => cell.relative_rate(record).map(|ratio| {
            let change = |ratio: f64| 100.0 * (ratio - 1.0);
            let Estimate { value, low, high } = ratio;
            Estimate { value: change(value), low: change(low), high: change(high) }
        }),
        PrintedUnit::RelativeCpu => cell.relative_cost(record),
        PrintedUnit::Cpu => {
            let metric = METRICS.iter().find(|metric| metric.name == unit.word())?;
            metric.value(cell, record).map(Estimate::without_interval)
        }
    }
}

/// Printed and measured numbers that can be compared.
fn pairs(numbers: &[NumberBeside<'_>]) -> Vec<(f64, f64)> {
    let pair = |number: &NumberBeside<'_>| {
        let here = number.here.filter(|here| !here.is_bound() && here.value.is_finite())?;
        let is_spread = number.column.statistic == Some(Summary::Stddev);
        (!is_spread).then_some((number.printed, here.value))
    };
    numbers.iter().filter_map(pair).collect()
}

/// From 1; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + 0.5 * (equal as f64 + 1.0)
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[0.9, 1.1, 0.9, 0.5]), [2.5, 4.0, 2.5, 1.0]);
    }

    #[test]
    fn rows_are_tests_by_their_printed_names() {
        assert!(names_test("scan_range=100", "scan") && names_test("l.x", "l.x"));
        assert!(names_test("read-only_range=10", "read-only_range=10"));
        assert!(!names_test("read-only_range=10", "read-only_range=100"));
        assert!(!names_test("read-only-count_range=1000", "read-only_range=1000"));
    }

    #[test]
    fn a_printed_number_may_be_off_by_half_a_digit() {
        let within = |printed: f64, low: f64, high: f64| {
            let here = Some(Estimate { value: 0.5 * (low + high), low, high });
            let column = PrintedColumn { system: "x", statistic: None };
            let number =
                NumberBeside { row: "scan", column, system: None, setup: None, printed, here };
            number.is_within(2)
        };
        assert_eq!(within(0.62, 0.6249, 0.7), Some(true));
        assert_eq!(within(0.62, 0.6251, 0.7), Some(false));
        assert_eq!(within(0.62, f64::NAN, f64::NAN), None);
    }
}
